import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { noTallies, type Reason } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { ERROR_CODES, type ErrorCode, remedyOf, WaybillError } from '../../src/model/errors.ts'
import { deadRunNotice, heldNotice, refusalNotice, runNotice } from '../../src/story/notices.ts'
import type { ExportSummary, RunSummary } from '../../src/story/run-story.ts'

const AT = Date.UTC(2026, 2, 2, 7, 31)
const RUN = '20260302T071500Z-4f2a9c'

function summaryOf(
  more: Partial<RunSummary> = {},
  change: (counts: RunSummary) => void = () => {},
): RunSummary {
  const { rows, records } = noCounts()
  const summary: RunSummary = {
    run: RUN,
    job: 'nightly-screenings',
    gateway: 'https://gateway.example',
    state: 'finished',
    balanced: true,
    warnings: [],
    leftOut: [],
    drift: [],
    exports: [],
    rows,
    records,
    ...noTallies(),
    files: {},
    startedAt: '2026-03-02T07:15:00.000Z',
    durationMs: 12_345,
    ...more,
  }
  change(summary)
  return summary
}

const exportOf = (name: string, error?: string): ExportSummary => ({
  name,
  sha256: 'ab',
  rows: 3,
  state: error === undefined ? 'finished' : 'failed',
  counts: noCounts(),
  reading: 'whole',
  ...(error === undefined ? {} : { error }),
})

const reason = (outcome: string, code: string, rule: string | null, count: number): Reason => ({
  ...{ outcome, code, rule, count, settled: 0, known: 0 },
  ...{ stage: 'map', exportName: 'a.csv', field: null, message: 'words that came from elsewhere' },
})

const told = (summary: RunSummary, exit: number, reasons: readonly Reason[] = [], error?: ErrorCode) =>
  runNotice({
    summary,
    exit,
    error,
    reasons,
    next: [{ say: 'To look', commands: ['waybill show RUN'] }],
    at: AT,
  })

describe('the end of a run', () => {
  it('that left nothing behind is no failure', () => {
    const summary = summaryOf({}, ({ rows, records }) => {
      Object.assign(rows, { read: 1200, mapped: 1200 })
      Object.assign(records.biometric, { made: 3600, accepted: 3600 })
    })
    const notice = told(summary, 0)
    expect(notice).toMatchObject({
      kind: 'run-ended',
      failure: false,
      subject: `${RUN} finished`,
      title: 'Waybill: nightly-screenings finished: all accounted for',
    })
    expect(notice.text).toContain(`Run      ${RUN}, finished, exit code 0`)
    expect(notice.text).toContain('Rows     read 1,200 = mapped 1,200 + skipped 0 + rejected 0')
    expect(notice.next).toEqual(['  To look', '    waybill show RUN'])
    expect(notice.data).toMatchObject({
      run: RUN,
      exit: 0,
      rows: { read: 1200 },
      startedAt: summary.startedAt,
    })
  })

  it('says in one line all that it left behind', () => {
    const summary = summaryOf(
      { exports: [exportOf('a.csv'), exportOf('b.csv', 'export-empty')] },
      ({ rows, records }) => {
        Object.assign(rows, { read: 9, mapped: 8, rejected: 1 })
        Object.assign(records.biometric, { made: 30, accepted: 6, rejected: 22, inDoubt: 2 })
      },
    )
    const notice = told(summary, 1)
    expect(notice.title).toBe(
      'Waybill: nightly-screenings finished with 1 export not sent; 1 rejected row, 22 rejected records, 2 records in doubt',
    )
    expect(notice.failure).toBe(true)
    expect(notice.text).toContain('Export   not sent: b.csv (export-empty)')
    expect(notice.data).toMatchObject({
      exports: [{ name: 'a.csv' }, { name: 'b.csv', error: 'export-empty' }],
    })
  })

  it('has its reasons by outcome, code and rule, over all exports, most frequent first; warnings are none', () => {
    const reasons = [
      reason('rejected', 'unit-unknown', 'hba1c', 3),
      reason('warning', 'implausible', 'hba1c', 90),
      reason('in-doubt', 'no-answer', 'hba1c', 4),
      reason('rejected', 'unit-unknown', 'hba1c', 2),
      reason('rejected', 'row-broken', null, 1),
    ]
    const { text, data } = told(summaryOf(), 1, reasons)
    expect(text.filter((line) => line.startsWith('Reason'))).toEqual([
      'Reason   5 rejected: unit-unknown at hba1c',
      'Reason   4 in-doubt: no-answer at hba1c',
      'Reason   1 rejected: row-broken',
    ])
    expect(data['reasons']).toHaveLength(3)
  })

  it('says what of it is new: in the title, in the text, and of each reason', () => {
    const left = (leftBehind: RunSummary['leftBehind'], exports: ExportSummary[] = []) =>
      told(
        summaryOf({ ...(leftBehind === undefined ? {} : { leftBehind }), exports }, ({ records }) =>
          Object.assign(records.biometric, { made: 24, rejected: 24 }),
        ),
        1,
        [
          {
            ...reason('rejected', 'unit-unknown', 'hba1c', 22),
            known: 20,
            knownSince: '2026-11-19T02:15:00.000Z',
          },
          {
            ...reason('rejected', 'unit-unknown', 'ldl', 2),
            known: 2,
            knownSince: '2026-11-18T02:15:00.000Z',
          },
        ],
      )
    const some = left({ new: 2, known: 22, since: '2026-11-18T02:15:00.000Z' })
    expect(some).toMatchObject({
      title: 'Waybill: nightly-screenings finished with 24 rejected records, 2 new',
      data: {
        leftBehind: { new: 2, known: 22 },
        reasons: [
          { count: 22, known: 20 },
          { count: 2, known: 2 },
        ],
      },
    })
    expect(some.known).toBeUndefined()
    expect(some.text).toContain('New      2, known 22 (since 2026-11-18)')
    expect(some.text).toContain('Reason   24 rejected, 22 known since 2026-11-18: unit-unknown at 2 rules')
    const known = { new: 0, known: 24, since: '2026-11-18T02:15:00.000Z' }
    expect(left(known)).toMatchObject({
      title: 'Waybill: nightly-screenings finished with 24 rejected records, none new',
      failure: true,
      known: true,
    })
    const unsent = left(known, [exportOf('b.csv', 'export-empty')])
    expect(unsent.title).toBe(
      'Waybill: nightly-screenings finished with 1 export not sent; 24 rejected records, none new',
    )
    expect(unsent.known).toBeUndefined()
    const all = left({ new: 24, known: 0 })
    expect(all.title).toBe('Waybill: nightly-screenings finished with 24 rejected records')
    expect(all.text.join('\n')).not.toContain('New ')
  })

  it('adds a cause up over its rules, and says how many reasons are left out', () => {
    const rare = ['a', 'b', 'c', 'd', 'e'].map((code, at) =>
      reason('rejected', `code-${code}`, 'hba1c', 50 - at),
    )
    const common = Array.from({ length: 14 }, (_, rule) =>
      reason('rejected', 'unit-unknown', `rule-${rule}`, 40),
    )
    const { text, data } = told(summaryOf(), 1, [...rare, ...common, reason('in-doubt', 'code-a', null, 3)])
    const from = text.findIndex((line) => line.startsWith('Reason'))
    expect(text.slice(from, from + 6)).toEqual([
      'Reason   560 rejected: unit-unknown at 14 rules',
      ...['a 50', 'b 49', 'c 48', 'd 47'].map((one) => {
        const [code, count] = one.split(' ')
        return `Reason   ${count} rejected: code-${code} at hba1c`
      }),
      `         and 2 more: waybill show ${RUN}`,
    ])
    expect(data['reasons']).toHaveLength(20)
  })

  it.each([5, 6])('names five of %i reasons and of as many exports, and counts the others', (count) => {
    const exports = Array.from({ length: count }, (_, at) => exportOf(`${at}.csv`, 'export-empty'))
    const reasons = exports.map((_, at) => reason('rejected', `code-${at}`, null, 1))
    const { text } = told(summaryOf({ exports }), 1, reasons)
    expect(text.filter((line) => line.startsWith('Export '))).toHaveLength(5)
    expect(text.filter((line) => line.startsWith('Reason '))).toHaveLength(5)
    expect(text.filter((line) => line.includes('more'))).toEqual(
      count === 5 ? [] : [`         and 1 more: waybill show ${RUN}`],
    )
  })

  it('says once that it was interrupted', () => {
    const stopped = told(summaryOf({ state: 'interrupted', reason: 'interrupted' }), 5, [], 'interrupted')
    expect(stopped.text[0]).toBe(`Run      ${RUN}, interrupted, exit code 5`)
  })

  it('by its threshold is an end; by anything else it is a stop, told each time that it is stopped', () => {
    const failed = told(summaryOf({ state: 'failed', reason: 'threshold-passed' }), 4, [], 'threshold-passed')
    expect(failed).toMatchObject({
      kind: 'run-ended',
      title: 'Waybill: nightly-screenings failed (threshold-passed)',
      data: { error: 'threshold-passed', exit: 4 },
    })
    const summary = summaryOf({ state: 'interrupted', reason: 'gateway-unreachable', soFar: true })
    const stopped = told(summary, 3, [], 'gateway-unreachable')
    expect(stopped).toMatchObject({
      kind: 'run-stopped',
      failure: true,
      title: 'Waybill: nightly-screenings was stopped (gateway-unreachable)',
    })
    expect(stopped.text.join()).not.toContain('Because')
    expect([stopped.text.join(), stopped.data]).toMatchObject([
      expect.stringContaining('Balanced so far: '),
      { soFar: true },
    ])
    expect(JSON.stringify(told(summaryOf(), 0))).not.toMatch(/so ?far/i)
    const detail =
      '"search profile" did not succeed for 600 s, the patience of the job (last: ECONNREFUSED, at https://g)'
    const known = told({ ...summary, detail }, 3, [], 'gateway-unreachable')
    expect(known.text[1]).toBe(`Because  ${detail}`)
    expect(known.data).toMatchObject({ error: 'gateway-unreachable', detail })
    const later = runNotice({ summary, exit: 3, reasons: [], next: [], at: AT + 60_000 })
    expect(later.subject).not.toBe(stopped.subject)
    expect(told(summaryOf(), 0).subject).toBe(
      runNotice({ summary: summaryOf(), exit: 0, reasons: [], next: [], at: AT + 60_000 }).subject,
    )
  })
})

describe('what kept a job from being run', () => {
  const about = { job: 'nightly-screenings', gateway: 'built-in', at: AT }

  it('is told once, until it is another error or a run has begun', () => {
    const error = (message: string) => new WaybillError('mapping-not-found', message)
    const { subject } = refusalNotice(about, error('one'), RUN)
    expect(refusalNotice({ ...about, at: AT + 60_000 }, error('one'), RUN).subject).toBe(subject)
    expect(refusalNotice(about, error('two'), RUN).subject).not.toBe(subject)
    expect(refusalNotice(about, error('one'), 'another').subject).not.toBe(subject)
  })

  it.each(Object.keys(ERROR_CODES) as ErrorCode[])('is told with its code, words and remedy: %s', (code) => {
    const findings = Array.from({ length: 7 }, (_, line) => ({
      place: { file: 'm.yaml', line },
      message: 'is wrong',
    }))
    const error = new WaybillError(code, 'what was found', { findings })
    const { title, text, data, failure, kind } = refusalNotice(about, error)
    expect([kind, failure]).toEqual(['run-refused', true])
    expect(title).toBe(`Waybill: nightly-screenings was not run (${code})`)
    expect(text).toContain('what was found')
    expect(text).toContain(`What to do: ${remedyOf(code)}`)
    expect(text.filter((line) => line.includes('is wrong'))).toHaveLength(5)
    expect(text).toContain('  and 2 more')
    expect(data).toEqual({ error: code, exit: ERROR_CODES[code].exit })
  })

  it('is told without its words where nobody foresaw it', () => {
    const notice = refusalNotice(about, new TypeError('Zephyrwell is no number'))
    expect(notice.data).toEqual({ error: 'unexpected', exit: 70 })
    expect(JSON.stringify(notice)).not.toContain('Zephyrwell')
  })

  it('is who holds the job, told once of each holding', () => {
    const held = heldNotice(about, { owner: 'there:7', run: RUN, since: AT - 60_000 })
    const again = heldNotice({ ...about, at: AT + 5 }, { owner: 'there:7', run: RUN, since: AT - 60_000 })
    expect(held.subject).toBe(again.subject)
    expect(held.text).toContain('Held by  there:7')
    expect(held.subject).not.toBe(heldNotice(about, { owner: 'there:7', run: RUN, since: AT }).subject)
  })

  it('is a run whose process is gone, told once of each process', () => {
    const one = deadRunNotice(about, { owner: 'there:7', run: RUN, since: AT }, true)
    expect(one).toMatchObject({ kind: 'run-stopped', failure: true, data: { run: RUN, owner: 'there:7' } })
    expect(one.text.at(-1)).toBe('Its progress is stored: it continues by itself.')
    expect(one.next).toEqual(['  To see the run', `    waybill show ${RUN}`])
    expect(one.subject).not.toBe(
      deadRunNotice(about, { owner: 'there:8', run: RUN, since: AT }, true).subject,
    )
  })
})

test('whatever the words of reasons are, nothing of them is told', () => {
  const words = fc.string({ minLength: 12, unit: 'grapheme' })
  fc.assert(
    fc.property(fc.array(fc.tuple(words, words, fc.nat(99)), { maxLength: 8 }), (given) => {
      const withWords = (message: string, content: string, count: number): Reason => ({
        ...reason('rejected', 'unit-unknown', 'hba1c', count),
        message,
        example: { exportId: 'e', row: 1, rule: 'hba1c', content },
      })
      const notice = told(
        summaryOf(),
        1,
        given.map(([message, content, n]) => withWords(message, content, n)),
      )
      expect(notice).toEqual(
        told(
          summaryOf(),
          1,
          given.map(([, , n]) => withWords('', '', n)),
        ),
      )
    }),
  )
})
