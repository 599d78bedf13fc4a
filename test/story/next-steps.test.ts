import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { noTallies, type Reason } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { nextSteps, type Step } from '../../src/story/next-steps.ts'
import type { ExportSummary, RunSummary } from '../../src/story/run-story.ts'
import { shellPath, shellWord, shown } from '../../src/system/shown-text.ts'

const RUN = '20260302T071500Z-4f2a9c'

const exported = (name: string, more: Partial<ExportSummary> = {}): ExportSummary => ({
  name,
  sha256: 'f'.repeat(64),
  rows: 1,
  state: 'finished',
  counts: noCounts(),
  mapping: 'clinic',
  reading: 'whole',
  ...more,
})

function summary(more: Partial<RunSummary> = {}): RunSummary {
  const { rows, records } = noCounts()
  return {
    ...noTallies(),
    ...{ run: RUN, job: 'clinic', gateway: 'built-in', state: 'finished', balanced: true },
    ...{ warnings: [], leftOut: [], drift: [], exports: [exported('day.csv')], rows, records, files: {} },
    ...{ startedAt: '2026-03-02T07:15:00.000Z', durationMs: 1000 },
    ...more,
  }
}

const reason = (code: string, more: Partial<Reason> = {}): Reason => ({
  ...{ outcome: 'rejected', stage: 'transform', code, rule: 'a1c', exportName: 'day.csv' },
  ...{ field: null, message: 'words', count: 1, settled: 0, known: 0 },
  ...more,
})

const ACKNOWLEDGE = `waybill acknowledge ${RUN}`
/** Without that what is left may stay as it is, which goes for whatever is left. */
const commands = (steps: readonly Step[]): string[] =>
  steps.flatMap((one) => one.commands).filter((one) => one !== ACKNOWLEDGE)
const words = (steps: readonly Step[]): string => steps.map(({ say }) => say).join('\n')

const rejecting = (rejected: number): Pick<RunSummary, 'rows'> => ({ rows: { ...noCounts().rows, rejected } })

describe('what to type next', () => {
  it('of columns that are missing names what tells which, as the ledger has their code alone', () => {
    const lacking = exported('day.csv', { state: 'failed', error: 'columns-missing', file: '/in/my day.csv' })
    expect(commands(nextSteps(summary({ exports: [lacking] })))).toEqual([
      "waybill mapping check clinic --export '/in/my day.csv'",
      'waybill run clinic',
    ])
    const { file: _, ...gone } = lacking
    expect(commands(nextSteps(summary({ exports: [gone] })))).toEqual(['waybill run clinic'])
  })

  it('of a file that the run was told to take names that file: the job need not find it', () => {
    const named = { state: 'failed', error: 'export-unreadable', named: '/in/my day.csv' }
    const one = exported('my day.csv', named)
    expect(commands(nextSteps(summary({ exports: [one] })))).toEqual([
      "waybill run clinic --file '/in/my day.csv'",
    ])
    const drifted = exported('my day.csv', { ...named, error: 'export-drifted' })
    expect(commands(nextSteps(summary({ exports: [drifted] })))).toContain(
      "waybill run clinic --file '/in/my day.csv' --accept-drift",
    )
  })

  it('names files as they are typed here; for who reads it elsewhere, from the root', () => {
    const file = join(process.cwd(), 'inbox/day.csv')
    const failed = summary({
      exports: [exported('day.csv', { state: 'failed', error: 'columns-missing', file })],
    })
    expect(commands(nextSteps(failed))[0]).toBe('waybill mapping check clinic --export inbox/day.csv')
    expect(commands(nextSteps(failed, [], shellWord))[0]).toBe(
      `waybill mapping check clinic --export ${file}`,
    )
  })

  it('is nothing where nothing is left, or where the detail of the run is gone', () => {
    expect(nextSteps(summary())).toEqual([])
    expect(nextSteps(summary({ ...rejecting(3), pruned: '2026-09-01T00:00:00.000Z' }))).toEqual([])
    const settled = [{ run: RUN, count: 3 }]
    expect(
      nextSteps(summary({ ...rejecting(3), settled }), [reason('unit-unknown', { count: 3, settled: 3 })]),
    ).toEqual([])
  })

  it('of a run that was killed, or interrupted, is to run its job', () => {
    const activity = { kind: 'stopped', lastSign: '2026-03-02T07:15:00.000Z' } as const
    expect(commands(nextSteps(summary({ state: 'running', activity })))).toEqual(['waybill run clinic'])
    expect(commands(nextSteps(summary({ state: 'interrupted', reason: 'interrupted' })))).toEqual([
      'waybill run clinic',
    ])
    expect(commands(nextSteps(summary({ state: 'interrupted', reason: 'gateway-unreachable' })))).toEqual([
      'waybill doctor',
      'waybill run clinic',
    ])
  })

  it('of a run whose worker has died is to wait for another one', () => {
    const stopped = { kind: 'stopped', lastSign: '2026-03-02T00:00:00Z' } as const
    const of = (activity: NonNullable<RunSummary['activity']>) =>
      nextSteps(summary({ state: 'running', activity }))
    expect(words(of({ ...stopped, byWorkers: true }))).toContain('Another worker continues it within 30 s')
    expect(words(of(stopped))).not.toContain('worker')
    expect(commands(of(stopped))).toEqual(['waybill run clinic'])
  })

  it('of a backfill that was interrupted is to type it again', () => {
    const backfill = { from: '2026-01-01', to: '2026-01-31', in: join(process.cwd(), 'old files') }
    expect(commands(nextSteps(summary({ state: 'interrupted', reason: 'interrupted', backfill })))).toEqual([
      "waybill backfill clinic --from 2026-01-01 --to 2026-01-31 --in 'old files'",
    ])
  })

  it('of a backfill with exports that could not be read is to type it again, with what it was begun with', () => {
    const backfill = { from: '2026-01-01', to: '2026-01-31', in: join(process.cwd(), 'old'), rate: 5 }
    const typed = 'waybill backfill clinic --from 2026-01-01 --to 2026-01-31 --in old --rate 5'
    const failed = (error: string, more: Partial<ExportSummary> = {}) =>
      nextSteps(summary({ backfill, exports: [exported('day.csv', { state: 'failed', error, ...more })] }))
    expect(commands(failed('export-empty'))).toEqual([typed])
    expect(commands(failed('export-drifted'))).toEqual([typed, `${typed} --accept-drift`])
    expect(words(failed('source-unreachable'))).toContain(`then type \`${typed}\` again`)
    expect(failed('export-empty', { readSince: RUN })).toEqual([])
    const unread = [reason('rest-unreadable')]
    expect(commands(nextSteps(summary({ backfill, ...rejecting(1) }), unread))).toEqual([typed])
    const taken = { ...backfill, acceptDrift: true }
    const exports = [exported('day.csv', { state: 'failed', error: 'export-drifted' })]
    expect(commands(nextSteps(summary({ backfill: taken, exports })))).toEqual([`${typed} --accept-drift`])
  })

  it.each([
    [{}, ['--accept-end']],
    [{ acceptDrift: true }, ['--accept-drift', '--accept-drift --accept-end']],
    [{ acceptEnd: true }, ['--accept-end']],
  ])('of an export that looks cut off, by a backfill with %j, is to accept its end', (accepted, added) => {
    const backfill = { from: '2026-01-01', to: '2026-01-31', ...accepted }
    const exports = [exported('day.csv', { state: 'failed', error: 'export-cut' })]
    const typed = commands(nextSteps(summary({ backfill, exports })))
    const accepting = typed.filter((one) => one.includes(' --accept-'))
    expect(accepting.map((one) => one.slice(one.indexOf(' --accept-') + 1))).toEqual(added)
  })

  it('of an export that came again is to look at the run that has read it, before what is put right by hand', () => {
    const anew = [{ export: 'day.csv', run: 'later' }]
    const open = nextSteps(summary({ anew, ...rejecting(1) }), [reason('unit-unknown')])
    expect(open[0]).toMatchObject({ commands: ['waybill show later'] })
    expect(open.at(-1)?.commands).toEqual([ACKNOWLEDGE])
    const settled = [{ run: 'later', count: 1 }]
    const put = nextSteps(summary({ anew, settled, ...rejecting(1) }), [
      reason('unit-unknown', { settled: 1 }),
    ])
    expect(put).toEqual([])
  })

  it('of a run that was given up is to begin anew', () => {
    const given = summary({ state: 'failed', reason: 'given-up', ...rejecting(1) })
    expect(commands(nextSteps(given, [reason('unit-unknown')]))).toEqual(['waybill run clinic'])
    const { records } = noCounts()
    const doubtful = { ...given, records: { ...records, condition: { ...records.condition, inDoubt: 1 } } }
    const acknowledged = [{ by: 'ann', at: '2026-03-02T08:00:00.000Z', code: 'given-up' }]
    const doubt = [reason('in-doubt', { outcome: 'in-doubt' })]
    expect(nextSteps({ ...given, acknowledged }, doubt)).toEqual([])
    expect(commands(nextSteps({ ...doubtful, acknowledged }, doubt))).toContain(`waybill reconcile ${RUN}`)
  })

  it('of a run that is under way is to look, not to run the job again', () => {
    const activity = { kind: 'under-way', owner: 'host:1', since: '2026-03-02T07:15:00.000Z' } as const
    const underWay = { state: 'running', activity } as const
    expect(commands(nextSteps(summary(underWay)))).toEqual([`waybill watch ${RUN}`])
    const elsewhere = summary({ ...underWay, settingsName: 'https://other.example' })
    expect(commands(nextSteps(elsewhere))).toEqual([`waybill watch ${RUN}`])
  })

  it('names the very file that must come back, where the one of a run was replaced', () => {
    const exports = [exported('day.csv', { state: 'open' }), exported('done.csv')]
    const lines = nextSteps(summary({ state: 'interrupted', reason: 'export-changed', exports }))
    expect(words(lines)).toContain(`Put the file back that was day.csv (SHA-256 ${'f'.repeat(64)})`)
    expect(words(lines)).not.toContain('done.csv')
    expect(commands(lines)).toEqual([
      'waybill run clinic',
      `waybill resolve ${RUN} --give-up`,
      'waybill run clinic',
    ])
  })

  it('names the rejects files of the exports concerned, five at most, and where the others are', () => {
    const exports = Array.from({ length: 8 }, (_, at) =>
      exported(`${at}.csv`, { rejects: join(process.cwd(), `rejects/${at}.csv`) }),
    )
    const files = { rejects: join(process.cwd(), 'rejects') }
    const all = exports.map(({ name }) => reason('npi-invalid', { exportName: name }))
    const lines = nextSteps(summary({ ...rejecting(8), exports, files }), all)
    expect(commands(lines)).toEqual(
      [0, 1, 2, 3, 4].map((at) => `waybill run clinic --file rejects/${at}.csv`),
    )
    expect(lines.at(-2)).toEqual({ say: 'and 3 more rejects files in rejects', commands: [] })
    const one = nextSteps(summary({ ...rejecting(8), exports, files }), all.slice(6, 7))
    expect(commands(one)).toEqual(['waybill run clinic --file rejects/6.csv'])
  })

  it('checks each mapping against the export that does not fit it, where that is still there', () => {
    const exports = [
      exported('day.csv', { file: join(process.cwd(), 'inbox/day one.csv') }),
      exported('day two.csv', { file: join(process.cwd(), 'inbox/day two.csv') }),
      exported('lab.csv', { mapping: 'lab' }),
    ]
    const both = ['day.csv', 'day two.csv', 'lab.csv'].map((exportName) =>
      reason('unit-unknown', { exportName }),
    )
    expect(commands(nextSteps(summary({ ...rejecting(2), exports }), both))).toEqual([
      "waybill mapping check clinic --export 'inbox/day one.csv'",
      'waybill mapping check lab',
      `waybill rerun ${RUN} --only rejected`,
    ])
  })

  it('names reasons by how often they came, whatever rules they came from', () => {
    const reasons = [
      reason('date-invalid', { count: 3, rule: null }),
      ...['a', 'b', 'c', 'd'].map((rule) => reason('unit-unknown', { rule })),
    ]
    expect(nextSteps(summary(rejecting(7)), reasons)[0]?.say).toContain('(unit-unknown, date-invalid)')
    const settled = [...reasons, reason('code-unknown', { count: 9, settled: 7 })]
    expect(nextSteps(summary(rejecting(16)), settled)[0]?.say).toContain(
      '(unit-unknown, date-invalid, code-unknown)',
    )
  })

  it('traces five at most of the records that the source has withdrawn', () => {
    const sentAs = Array.from({ length: 4 }, (_, at) => `id-${at}`)
    const withdrawn = ['a.csv', 'b.csv'].map((exportName) =>
      reason('withdrawn', { exportName, sentAs: sentAs.map((id) => `${exportName}-${id}`) }),
    )
    const traced = commands(nextSteps(summary(rejecting(8)), withdrawn))
    expect(traced.filter((one) => one.startsWith('waybill trace'))).toEqual(
      ['a.csv-id-0', 'a.csv-id-1', 'a.csv-id-2', 'a.csv-id-3', 'b.csv-id-0'].map(
        (id) => `waybill trace ${id}`,
      ),
    )
  })

  it('says it without reasons, from the counts alone', () => {
    const exports = [exported('day.csv', { rejects: join(process.cwd(), 'rejects/1.csv') })]
    expect(commands(nextSteps(summary({ ...rejecting(1), exports })))).toEqual([
      'waybill mapping check clinic',
      `waybill rerun ${RUN} --only rejected`,
      'waybill run clinic --file rejects/1.csv',
    ])
  })

  it('ends with what is to stay as it is, and is nothing once a person has said so', () => {
    const by = { by: 'ann', at: '2026-03-02T08:00:00.000Z' }
    const lacking = exported('day.csv', { state: 'failed', error: 'columns-missing' })
    for (const [run, reasons, code] of [
      [summary(rejecting(1)), [reason('unit-unknown')], 'unit-unknown'],
      [summary({ exports: [lacking] }), [], 'columns-missing'],
      [summary({ state: 'failed', reason: 'threshold-passed' }), [], 'threshold-passed'],
    ] as const) {
      expect(nextSteps(run, reasons).at(-1)?.commands).toEqual([ACKNOWLEDGE])
      expect(nextSteps({ ...run, acknowledged: [by] }, reasons)).toEqual([])
      expect(nextSteps({ ...run, acknowledged: [{ ...by, code }] }, reasons)).toEqual([])
      expect(nextSteps({ ...run, acknowledged: [{ ...by, code: 'another' }] }, reasons)).not.toEqual([])
    }
    const doubt = reason('in-doubt', { outcome: 'in-doubt' })
    const { records } = noCounts()
    const doubtful = summary({ records: { ...records, biometric: { ...records.biometric, inDoubt: 1 } } })
    const steps = nextSteps({ ...doubtful, acknowledged: [by] }, [doubt])
    expect(commands(steps)).toContain(`waybill reconcile ${RUN}`)
    expect(steps.at(-1)?.commands).not.toEqual([ACKNOWLEDGE])
  })

  it('of a run that its threshold has ended is also to read the rest', () => {
    const lines = nextSteps(summary({ state: 'failed', reason: 'threshold-passed', ...rejecting(1) }), [
      reason('unit-unknown'),
    ])
    expect(commands(lines).slice(-2)).toEqual(['waybill run clinic --dry-run', 'waybill run clinic'])
  })
})

/** What shells, terminals and lines are sharp on. */
const SHARP = [...'\n\r\t\u001b\u007f\u009b\u200b\u202e\u2028\ufeff\\\'"`$!;|&<>(){}[]*?~#% 07afé😀']

describe('a command to be typed', () => {
  it.each([
    ['plain-1.csv', 'plain-1.csv'],
    ['two words.csv', "'two words.csv'"],
    ["Ann's.csv", `'Ann'\\''s.csv'`],
    ['a\ncurl x | sh', "$'a\\012curl x | sh'"],
    ["\u202eit's!", "$'\\342\\200\\256it\\047s\\041'"],
    ['$HOME;rm *', "'$HOME;rm *'"],
    ['', "''"],
  ])('quotes %s where it must', (text, quoted) => {
    expect(shellWord(text)).toBe(quoted)
  })

  it('is what it was once bash has read it, byte for byte, and shows all that it holds', () => {
    const any = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...SHARP) }))
    fc.assert(
      fc.property(fc.array(any, { minLength: 500, maxLength: 500 }), (texts) => {
        // No argument of a program holds NUL.
        const given = texts.map((text) => text.toWellFormed().replaceAll('\0', '0'))
        const typed = given.map(shellWord).join(' ')
        expect(shown(typed)).toBe(typed)
        const printed = execFileSync('bash', { input: `printf '%s\\0' ${typed}` })
        expect(printed.toString()).toBe(given.map((text) => `${text}\0`).join(''))
      }),
      { numRuns: 2, endOnFailure: true },
    )
  })

  it('takes no file for an option', () => {
    expect(shellPath(join(process.cwd(), '-x.csv'))).toBe('./-x.csv')
  })
})

it.each([
  [5, '(code-1, code-2, code-3, code-4, code-5)'],
  [6, '(code-1, code-2, code-3, code-4, code-5 and 1 more)'],
  [7, '(code-1, code-2, code-3, code-4, code-5 and 2 more)'],
])('of %i codes the five that are most frequent are named', (count, named) => {
  const reasons = Array.from({ length: count }, (_, at) => reason(`code-${at + 1}`, { count: 100 - at }))
  expect(words(nextSteps(summary(rejecting(count)), reasons))).toContain(named)
})

it.each([0, 1, 2])('of %i records in doubt each is looked for, then decided by a person', (inDoubt) => {
  const { records } = noCounts()
  const { biometric, ...others } = records
  const steps = nextSteps(summary({ records: { ...others, biometric: { ...biometric, inDoubt } } }))
  const wanted = [
    `waybill rerun ${RUN} --only in-doubt`,
    `waybill reconcile ${RUN}`,
    `waybill resolve ${RUN} --accept`,
    `waybill resolve ${RUN} --resend`,
  ]
  expect(commands(steps)).toEqual(inDoubt === 0 ? [] : wanted)
})
