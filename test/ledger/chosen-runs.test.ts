/** Runs by what is asked of them, and what is still open of them. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Exception, Ledger, RunFilter } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { beginExport, beginRun, openChunk, settleChunk } from './begun-run.ts'

const left = (row: number, more: Partial<Exception> = {}): Exception => ({
  ...{ row, line: row + 1, byteOffset: row, kind: 'biometric', rule: 'weight', content: null },
  ...{
    outcome: 'rejected',
    stage: 'transform',
    code: 'not-a-number',
    field: null,
    message: 'm',
    batchId: null,
  },
  ...more,
})

interface Past {
  readonly job?: string
  readonly exports?: Readonly<Record<string, readonly Exception[]>>
  /** Exports that could not be read, by their reason. */
  readonly failed?: Readonly<Record<string, string>>
}

let ledger: Ledger
let runs = 0

/** @param end undefined for a run that is still at work */
async function past(
  id: string,
  end?: { readonly state: 'finished' | 'failed' | 'interrupted'; readonly reason?: string },
  { job = 'nightly', exports = {}, failed = {} }: Past = {},
): Promise<Readonly<Record<string, number>>> {
  const startedAt = ++runs * 100
  const run = await beginRun(ledger, id, { job, startedAt })
  const rows: Record<string, number> = {}
  const all = [...Object.keys(exports), ...Object.keys(failed)]
  for (const [at, name] of all.entries()) {
    const start = { ordinal: at + 1, exportId: name, name, path: `/in/${name}`, sha256: `${name} ${runs}` }
    const exportRow = await beginExport(run, start)
    rows[name] = exportRow
    const exceptions = exports[name]
    if (exceptions === undefined) {
      await run.endExport(exportRow, 'failed', { reason: failed[name] ?? '', detail: 'd', remedy: null })
      continue
    }
    await openChunk(run, exportRow, 1)
    await settleChunk(run, exportRow, 1, { exceptions })
    await run.endExport(exportRow, 'finished')
  }
  if (end !== undefined) await run.endRun({ reason: null, ...end, endedAt: startedAt + 50 })
  return rows
}

beforeEach(async () => {
  runs = 0
  ledger = await openLedger(':memory:')
  return () => ledger.close()
})

const [CLEAN, REJECTS, STOPPED, WEEKLY, AT_WORK] = [
  '20260301T040000-aaa1',
  '20260302T040000-aaa2',
  '20260303T040000-bbb1',
  '20260304T040000-ccc1',
  '20260305T040000-ccc2',
]

describe('of five runs', () => {
  beforeEach(async () => {
    await past(CLEAN, { state: 'finished' }, { exports: { 'a.csv': [] } })
    const exports = { 'b.csv': [left(1)], 'c.csv': [left(2, { code: 'refused' })] }
    await past(REJECTS, { state: 'finished' }, { exports })
    await past(STOPPED, { state: 'failed', reason: 'threshold-passed' }, { exports: { 'a.csv': [left(7)] } })
    const weekly = { job: 'weekly', failed: { 'w.csv': 'export-unreadable' } }
    await past(WEEKLY, { state: 'finished' }, weekly)
    await past(AT_WORK)
  })

  test.each<[string, RunFilter, readonly string[]]>([
    ['all', {}, [AT_WORK, WEEKLY, STOPPED, REJECTS, CLEAN]],
    ['those of a job', { job: 'nightly' }, [AT_WORK, STOPPED, REJECTS, CLEAN]],
    ['those begun from an instant on', { since: 300 }, [AT_WORK, WEEKLY, STOPPED]],
    ['those begun after it', { since: 301 }, [AT_WORK, WEEKLY]],
    ['those in two states', { states: ['failed', 'running'] }, [AT_WORK, STOPPED]],
    ['those among two', { among: [CLEAN, WEEKLY] }, [WEEKLY, CLEAN]],
    ['all but two', { except: [CLEAN, WEEKLY] }, [AT_WORK, STOPPED, REJECTS]],
    ['those of a day', { named: '20260302' }, [REJECTS]],
    ['those of a month', { named: '202603' }, [AT_WORK, WEEKLY, STOPPED, REJECTS, CLEAN]],
    ['one by the part behind the hyphen', { named: 'aaa1' }, [CLEAN]],
    ['none by a piece of that part', { named: 'aa1' }, []],
    ['none by the end of the time', { named: '040000' }, []],
    ['those with an export of a name', { export: 'a.csv' }, [STOPPED, CLEAN]],
    ['those that a reason has ended', { reason: 'threshold-passed' }, [STOPPED]],
    ['those that left something for a reason', { reason: 'not-a-number' }, [STOPPED, REJECTS]],
    ['those with an export that failed for a reason', { reason: 'export-unreadable' }, [WEEKLY]],
    ['those of a job in a state', { job: 'nightly', states: ['finished'] }, [REJECTS, CLEAN]],
    ['those that need somebody', { failed: true }, [AT_WORK, WEEKLY, STOPPED, REJECTS]],
  ])('%s are given, the newest first, and counted', async (_, only, expected) => {
    expect((await ledger.runs.list(9, only)).map(({ id }) => id)).toEqual(expected)
    expect(await ledger.runs.count(only)).toBe(expected.length)
    expect((await ledger.runs.list(1, only, 1)).map(({ id }) => id)).toEqual(expected.slice(1, 2))
  })

  test('each open matter is given with its exports and reasons', async () => {
    const open = await ledger.runs.openMatters()
    const matter = (code: string, name: string) => ({
      ...{ outcome: 'rejected', code, export: name, rows: 0, records: 1, since: null },
    })
    const nothing = { isFailed: false, exports: [], unarchived: [], left: [] }
    expect(Object.fromEntries(open)).toEqual({
      [REJECTS]: { ...nothing, left: [matter('not-a-number', 'b.csv'), matter('refused', 'c.csv')] },
      // Rejects of a run that failed stand for themselves once its exports are read again.
      [STOPPED]: { ...nothing, isFailed: true },
      [WEEKLY]: { ...nothing, exports: [{ name: 'w.csv', reason: 'export-unreadable' }] },
    })
  })
})

test('what is left is counted by rows and records, the most frequent first, and people by reason', async () => {
  const doubt = { outcome: 'in-doubt', stage: 'read-back', code: 'in-doubt' } as const
  const [ann, ben] = ['a'.repeat(32), 'b'.repeat(32)]
  await past(
    'run-1',
    { state: 'finished' },
    {
      exports: {
        'a.csv': [
          left(1, { rule: null, person: ann }),
          left(2, { person: ann }),
          left(3, { rule: 'height', person: ben }),
          left(4, { ...doubt, content: 'c'.repeat(16), person: ben }),
        ],
        'b.csv': [left(1, { rule: null })],
      },
    },
  )
  const all = (await ledger.runs.openMatters()).get('run-1')?.left
  expect(
    all?.map(({ code, export: name, rows, records, outcome }) => [code, name, rows, records, outcome]),
  ).toEqual([
    ['not-a-number', 'a.csv', 1, 2, 'rejected'],
    ['in-doubt', 'a.csv', 0, 1, 'in-doubt'],
    ['not-a-number', 'b.csv', 1, 0, 'rejected'],
  ])
  const people = await ledger.runs.openPeople()
  expect(people.map((one) => `${one.job} ${one.outcome} ${one.code} ${one.people}`).sort()).toEqual([
    'nightly in-doubt in-doubt 1',
    'nightly rejected not-a-number 2',
  ])
})

test.each<[string, Past, boolean]>([
  ['finishes', {}, true],
  ['is of another job', { job: 'weekly' }, false],
])('a failure is over once a later run %s', async (_, later, isOver) => {
  await past(
    'run-1',
    { state: 'failed', reason: 'threshold-passed' },
    { failed: { 'a.csv': 'export-unreadable' } },
  )
  await past('run-2', { state: 'finished' }, later)
  expect((await ledger.runs.openMatters()).has('run-1')).toBe(!isOver)
})

test.each([
  ['threshold-passed', null, false],
  ['gateway-failing', null, true],
] as const)('an acknowledgement of %s or of the run', async (code, reason, isOpen) => {
  await past('run-1', { state: 'failed', reason: 'threshold-passed' })
  await ledger.acknowledgements.add(['run-1'], { code, by: 'ann', note: 'n', at: 1 })
  expect((await ledger.runs.openMatters()).has('run-1')).toBe(isOpen)
  await ledger.acknowledgements.add(['run-1'], { code: reason, by: 'ann', note: 'n', at: 2 })
  expect((await ledger.runs.openMatters()).has('run-1')).toBe(false)
})

test('an export that was delivered and could not be moved is open until the run is acknowledged', async () => {
  const rows = await past('run-1', { state: 'finished' }, { exports: { 'a.csv': [] } })
  const run = await beginRun(ledger, 'run-2', { startedAt: 150 })
  await run.noteUnarchived(rows['a.csv'] ?? 0, { detail: 'disk full', remedy: 'Make room.' })
  const unarchived = [{ name: 'a.csv', message: 'disk full', remedy: 'Make room.' }]
  expect((await ledger.runs.openMatters()).get('run-1')).toMatchObject({ unarchived, exports: [], left: [] })
  await ledger.acknowledgements.add(['run-1'], { code: null, by: 'ann', note: 'n', at: 1 })
  expect((await ledger.runs.openMatters()).has('run-1')).toBe(false)
})
