import { expect, test } from 'vitest'
import { createRunReporter } from '../../src/cli/run-reporter.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { type Counts, noCounts } from '../../src/reconcile/balance.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { NO_PROGRESS } from '../../src/telemetry/progress.ts'

function reporting() {
  const lines: Record<string, unknown>[] = []
  const sink = {
    level: 'info',
    form: 'json',
    print: (line: string) => void lines.push(JSON.parse(line)),
  } as const
  const reporter = createRunReporter(
    NO_PROGRESS,
    createLogger(sink, undefined, () => 0),
    () => 0,
  )
  const start = (id: string) =>
    reporter.runStarted({ id, job: 'nightly', gateway: 'built-in', resumed: false, ...tallies })
  return { reporter, start, of: (what: string) => lines.filter(({ message }) => message === what) }
}

const tallies = { tallies: noTallies() }

function countsOf(rows: number, rejectedRows: number, accepted: number): Counts {
  const counts = noCounts()
  Object.assign(counts.rows, { read: rows, mapped: rows - rejectedRows, rejected: rejectedRows })
  Object.assign(counts.records.biometric, { made: accepted, accepted })
  return counts
}

test('a run that is stopped in the middle of an export says what of it was settled', () => {
  const { reporter, start, of } = reporting()
  start('one')
  reporter.exportStarted({ name: 'a.csv', counts: noCounts(), share: 0, bytes: 9 })
  reporter.exportEnded('a.csv', countsOf(10, 1, 20))
  reporter.exportStarted({ name: 'b.csv', counts: noCounts(), share: 0, bytes: 9 })
  reporter.exportAdvanced({ name: 'b.csv', counts: countsOf(5, 2, 7), share: 0.1 }, () => [])
  reporter.exportAdvanced({ name: 'b.csv', counts: countsOf(531, 3, 1_000), share: 0.2 }, () => [])
  reporter.runEnded({ state: 'interrupted', reason: 'interrupted', workedMs: 1 })
  expect(of('run ended')).toMatchObject([
    { state: 'interrupted', rows: 541, rejectedRows: 4, records: 1_020, accepted: 1_020, rejected: 0 },
  ])
})

test('the counts of a run are not those of the one before it', () => {
  const { reporter, start, of } = reporting()
  for (const id of ['one', 'two']) {
    start(id)
    reporter.exportStarted({ name: 'a.csv', counts: noCounts(), share: 0, bytes: 9 })
    reporter.exportEnded('a.csv', countsOf(10, 0, 20))
    reporter.runEnded({ state: 'finished', reason: null, workedMs: 1 })
  }
  expect(of('run ended')).toMatchObject([
    { run: 'one', rows: 10 },
    { run: 'two', rows: 10 },
  ])
})

test('a wait is told in whole milliseconds', () => {
  const { reporter, start, of } = reporting()
  start('one')
  const wait = { operation: 'x', class: 'unavailable', what: '503', givesUpAt: 0 }
  reporter.waiting({ ...wait, waitMs: 2202.32861328125 })
  expect(
    of('waiting 2 s for the gateway (unavailable: 503); gives up at 1970-01-01T00:00:00.000Z'),
  ).toMatchObject([{ waitMs: 2202 }])
})
