import { expect, test } from 'vitest'
import { createRunReporter } from '../../src/cli/run-reporter.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { type Counts, noCounts } from '../../src/model/balance.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { NO_PROGRESS } from '../../src/telemetry/progress.ts'

function reporting(level: 'info' | 'debug' = 'info') {
  const lines: Record<string, unknown>[] = []
  const shown: string[] = []
  const sink = {
    level,
    form: 'json',
    print: (line: string) => void lines.push(JSON.parse(line)),
  } as const
  const reporter = createRunReporter(
    {
      ...NO_PROGRESS,
      wait: (text) => void shown.push(text ?? 'over'),
      note: (text) => void shown.push(text),
    },
    createLogger(sink, undefined, () => 0),
    () => 0,
  )
  const start = (id: string) =>
    reporter.runStarted({ id, job: 'nightly', gateway: 'built-in', resumed: false, ...tallies })
  return {
    reporter,
    start,
    lines,
    shown,
    of: (what: string) => lines.filter(({ message }) => message === what),
  }
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
  reporter.exportEnded({ name: 'a.csv', counts: countsOf(10, 1, 20) })
  reporter.exportStarted({ name: 'b.csv', counts: noCounts(), share: 0, bytes: 9 })
  reporter.exportAdvanced({ name: 'b.csv', counts: countsOf(5, 2, 7), share: 0.1, left: () => [] })
  reporter.exportAdvanced({ name: 'b.csv', counts: countsOf(531, 3, 1_000), share: 0.2, left: () => [] })
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
    reporter.exportEnded({ name: 'a.csv', counts: countsOf(10, 0, 20) })
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

const AWAY = {
  ...{ since: 0, givesUpAt: 1_800_000, isOver: false, failures: 5, isNotable: true, ofBatch: false },
  ...{ class: 'not-sent' as const, what: 'ECONNREFUSED, at GATEWAY', pending: 2_500 },
}
const WAIT = { operation: 'x', class: 'not-sent', what: 'ECONNREFUSED', givesUpAt: 1_800_000, waitMs: 15_000 }
const SHOWN = 'waiting for the gateway since 00:00, gives up at 00:30 UTC'

test('an outage is a line when it begins and one when it ends; each try only at debug', () => {
  const { reporter, start, lines, shown } = reporting('debug')
  start('one')
  reporter.outage(AWAY)
  reporter.waiting(WAIT)
  reporter.outage({ ...AWAY, class: 'not-taken', status: 503, what: 'answered 503' })
  reporter.waiting(WAIT)
  reporter.outage({ ...AWAY, failures: 9, isOver: true })
  reporter.waiting(WAIT)
  expect(lines.slice(1)).toMatchObject([
    { level: 'warn', run: 'one', class: 'not-sent', pending: 2_500 },
    { level: 'debug', waitMs: 15_000 },
    { level: 'info', class: 'not-taken', status: 503 },
    { level: 'debug' },
    { level: 'info', pending: 2_500, durationMs: 0 },
    { level: 'warn', waitMs: 15_000 },
  ])
  expect(shown).toEqual([
    ...Array.from({ length: 4 }, () => SHOWN),
    'over',
    'The gateway answers again, after 0 s and 9 requests in vain; 2,500 records are pending.',
  ])
})

test('the outage in which a run ends is not that of the next one', () => {
  const { reporter, start, lines, shown } = reporting()
  start('one')
  reporter.outage(AWAY)
  reporter.runEnded({ state: 'interrupted', reason: 'gateway-unreachable', workedMs: 1 })
  expect(shown).toEqual([SHOWN, 'over'])
  start('two')
  reporter.outage(AWAY)
  expect(lines.map(({ level }) => level)).toEqual(['info', 'warn', 'info', 'info', 'warn'])
})
