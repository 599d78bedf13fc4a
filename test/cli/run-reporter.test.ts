import { expect, test } from 'vitest'
import { createRunReporter, tellingWaits } from '../../src/cli/run-reporter.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { type Counts, noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { createRunEvents } from '../../src/run/events.ts'
import { waitsLines, waitsText } from '../../src/story/words.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createProgress, NO_PROGRESS, type ProgressState } from '../../src/telemetry/progress.ts'

function reporting(level: 'info' | 'debug' = 'info', now = () => 0) {
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
    now,
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

test.each([
  ['a.csv', 10],
  ['b.csv', 15],
])('of an export that failed nothing counts at the end of its run: %s', (failed, rows) => {
  const { reporter, start, of } = reporting()
  const error = new WaybillError('export-changed', 'words')
  start('one')
  reporter.exportStarted({ name: 'done.csv', counts: noCounts(), share: 0, bytes: 9 })
  reporter.exportEnded({ name: 'done.csv', counts: countsOf(10, 0, 20) })
  reporter.exportStarted({ name: 'a.csv', counts: countsOf(5, 0, 7), share: 0, bytes: 9 })
  reporter.exportFailed({ name: failed, error })
  reporter.runEnded({ state: 'interrupted', reason: 'interrupted', workedMs: 1 })
  expect(of('run ended')).toMatchObject([{ rows }])
})

test('members of an archive are exports of their own, and its share never goes back', () => {
  const shares: number[] = []
  const add = ({ share }: ProgressState): void => void shares.push(share)
  const progress = {
    ...NO_PROGRESS,
    start: (_name: string, state: ProgressState) => add(state),
    advance: add,
  }
  const logger = createLogger({ level: 'error', form: 'json', print: () => {} }, undefined, () => 0)
  const events = createRunReporter(progress, logger, () => 0)
  for (const [number, member, from] of [
    [1, 'a.zip!1.csv', 0],
    [1, 'a.zip!2.csv', 0],
    [2, 'b.csv', 400],
  ] as const) {
    const position = { number, of: 2, bytes: 400, bytesBefore: from, bytesOfAll: 800 }
    events.exportStarted({ name: member, counts: noCounts(), share: 0, bytes: 1, position })
    events.exportAdvanced({ name: member, counts: counts(1), share: 0.5, left: () => [] })
    events.exportEnded({ name: member, counts: counts(2) })
  }
  expect(shares).toEqual([0, 0.25, 0.5, 0.5, 0.5, 0.5, 0.5, 0.75, 1])
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
    'Gateway available again after 0 s and 9 failed requests; 2,500 records are pending.',
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

/** A reporter whose standard error is kept, with a clock that the test moves. */
function reporter(columns: number | undefined) {
  const at = { ms: 0 }
  let text = ''
  const write = (more: string): void => {
    text += more
  }
  const now = (): number => at.ms
  const progress = createProgress({ columns: columns !== undefined && (() => columns), now, write })
  const logger = createLogger({ level: 'info', form: 'text', print: write }, undefined, now).beside((line) =>
    progress.note(line.trimEnd()),
  )
  return { at, events: createRunReporter(progress, logger, now), text: () => text }
}

/** What stands on a terminal in the end, line by line. */
function screen(text: string): string[] {
  let shown = ''
  for (const drawn of text.split('\r\x1b[2K')) shown = shown.slice(0, shown.lastIndexOf('\n') + 1) + drawn
  return shown.split('\n')
}

const counts = (rows: number, rejected = 0): Counts => {
  const none = noCounts()
  return { ...none, rows: { ...none.rows, read: rows, mapped: rows - rejected, rejected } }
}

/** So many exports of 1,000 bytes and 100 rows each, one each second; of the fifth three rows are rejected. */
function backfill({ at, events }: ReturnType<typeof reporter>, of: number, upTo = of, from = 1): void {
  for (let number = from; number <= upTo; number++) {
    const name = `day-${number}.csv`
    const position = { number, of, bytes: 1_000, bytesBefore: (number - 1) * 1_000, bytesOfAll: of * 1_000 }
    events.exportStarted({ name, counts: noCounts(), share: 0, bytes: 1_000, position })
    at.ms += 500
    events.exportAdvanced({ name, counts: counts(50), share: 0.5, left: () => [] })
    at.ms += 500
    events.exportEnded({ name: name, counts: counts(100, number === 5 ? 3 : 0) })
  }
}

const end = { reason: null, workedMs: 0 }

test('one bar over all bytes of a backfill, with which export it is; a line for those alone that left something behind', () => {
  const shown = reporter(100)
  backfill(shown, 739, 312)
  expect(screen(shown.text())).toEqual([
    'day-5.csv: 100 rows, 0 records, 3 left behind',
    // 427 exports of a second each are left, or 7:07.
    '42 % [████████░░░░░░░░░░░░] 312 of 739, 31,200 rows, 0 records, 100 rows/s, 7:07 left  day-312.csv',
  ])
  shown.events.runEnded({ ...end, state: 'finished' })
  expect(screen(shown.text()).at(-2)).toBe(
    'Backfill of 739 exports: 31,200 rows, 0 records in 312.0 s, 100 rows/s',
  )
})

test('a line for each export of a backfill of few', () => {
  const shown = reporter(100)
  backfill(shown, 10)
  expect(screen(shown.text()).slice(0, -1)).toEqual(
    Array.from(
      { length: 10 },
      (_, at) => `day-${at + 1}.csv: 100 rows, 0 records${at === 4 ? ', 3 left behind' : ''}`,
    ),
  )
})

test('without a terminal: a line every five seconds, however many exports there are', () => {
  const shown = reporter(undefined)
  backfill(shown, 20)
  shown.events.runEnded({ ...end, state: 'finished' })
  expect(shown.text()).toBe(`day-5.csv: 100 rows, 0 records, 3 left behind
5 of 20, day-5.csv: 500 rows, 0 records, 25 %, 100 rows/s, 0:15 left
10 of 20, day-10.csv: 1,000 rows, 0 records, 50 %, 100 rows/s, 0:10 left
15 of 20, day-15.csv: 1,500 rows, 0 records, 75 %, 100 rows/s, 0:05 left
20 of 20, day-20.csv: 2,000 rows, 0 records, 99 %, 100 rows/s, 0:00 left
Backfill of 20 exports: 2,000 rows, 0 records in 20.0 s, 100 rows/s
`)
})

test('a backfill that is stopped leaves no bar behind, and one that goes on has its share from the start', () => {
  const shown = reporter(100)
  backfill(shown, 100, 50)
  shown.events.runEnded({ ...end, state: 'interrupted' })
  expect(screen(shown.text()).at(-1)).toBe('')
  const position = { number: 51, of: 100, bytes: 1_000, bytesBefore: 50_000, bytesOfAll: 100_000 }
  shown.events.exportStarted({ name: 'day-51.csv', counts: noCounts(), share: 0, bytes: 1_000, position })
  expect(screen(shown.text()).at(-1)).toContain(
    '50 % [██████████░░░░░░░░░░] 51 of 100, 0 rows, 0 records, 0 rows/s',
  )
})

test('of a run that waits, and of one that is settled for another, it is said which', () => {
  const { events, text } = reporter(undefined)
  const other = { job: 'clinic', run: 'run-1', owner: 'host:1', since: 0 }
  events.waitingForRun({ ...other, givesWay: true })
  events.waitingForRun({ ...other, givesWay: false })
  const run = { id: 'run-1', job: 'clinic', gateway: 'built-in', resumed: true, tallies: noTallies() }
  events.runStarted({ ...run, settledOnly: true })
  events.runStarted(run)
  const lines = text().trimEnd().split('\n')
  expect(lines[0]).toContain(
    'waiting for the backfill of clinic (run run-1, host:1, since 1970-01-01T00:00:00.000Z), which gives way',
  )
  expect(lines[1]).toContain('waiting for another run, which goes first: clinic')
  expect(lines[2]).toContain('open batches are settled first')
  expect(lines[2]).not.toContain('continues where it stopped')
  expect(lines[3]).toBe('Run run-1 is unfinished: it continues where it stopped.')
})

test('looking for many exports again is told when it takes long', () => {
  const { at, events, text } = reporter(undefined)
  for (let number = 1; number <= 300; number++) {
    events.lookingAgain?.({ run: 'run-1', number, of: 300 })
    at.ms += 30
  }
  // In nine seconds: after two of them, and five later.
  expect(text()).toBe(`Looking for the exports of run run-1: 68 of 300.
Looking for the exports of run run-1: 235 of 300.
`)
})

test('a backfill that has gone on counts what it has read since, and names the exports that this was', () => {
  const shown = reporter(undefined)
  backfill(shown, 40, 40, 30)
  shown.events.runEnded({ ...end, state: 'finished' })
  expect(shown.text().trimEnd().split('\n').at(-1)).toBe(
    'Backfill, exports 30 to 40: 1,100 rows, 0 records in 11.0 s, 100 rows/s',
  )
})

const SINCE = Date.parse('2026-03-02T02:17:05.250Z')
const WHAT = 'create biometrics: POST /health-profile/biometrics failed: ECONNREFUSED, at https://g.example'
const GONE = {
  ...{
    since: SINCE,
    givesUpAt: SINCE + 1_800_000,
    isOver: false,
    failures: 7,
    isNotable: true,
    ofBatch: false,
  },
  ...{ class: 'not-sent' as const, what: WHAT, pending: 2_500 },
}
const NOTED = {
  ...{ since: '2026-03-02T02:17:05.250Z', givesUpAt: '2026-03-02T02:47:05.250Z' },
  ...{ class: 'not-sent', what: WHAT, pending: 1 },
}

test('the log says since when, why, until when, and how much waits', () => {
  const clock = { now: SINCE }
  const { reporter, lines } = reporting('info', () => clock.now)
  reporter.outage(GONE)
  reporter.outage({ ...GONE, class: 'not-taken', what: 'x was answered 503' })
  clock.now = SINCE + 754_000
  reporter.outage({ ...GONE, isOver: true, pending: 1 })
  // A clock may be set back.
  clock.now = SINCE - 1
  reporter.outage({ ...GONE, isOver: true, failures: 1 })
  expect(lines.map(({ message }) => message)).toEqual([
    `gateway unavailable since 2026-03-02T02:17:05Z (not-sent: ${WHAT}); waiting, gives up at 2026-03-02T02:47:05Z; 2,500 records are pending`,
    'gateway still unavailable, now for another cause (not-taken: x was answered 503)',
    'gateway available again after 12 min 34 s and 7 failed requests; 1 record is pending',
    'gateway available again after 0 s and 1 failed request; 2,500 records are pending',
  ])
})

test.each([
  [1_800_000, 'waiting for the gateway since 02:17, gives up at 02:47 UTC'],
  [86_399_999, 'waiting for the gateway since 02:17, gives up at 02:17 UTC'],
  [86_400_000, 'waiting for the gateway since 2026-03-02 02:17, gives up at 2026-03-03 02:17 UTC'],
])('progress, with a patience of %i ms', (patience, words) => {
  const { reporter, shown } = reporting()
  reporter.outage({ ...GONE, givesUpAt: SINCE + patience })
  expect(shown).toEqual([words])
})

test('of a run of another process', () => {
  expect(waitsText(NOTED)).toBe(
    `waits for the gateway since 2026-03-02T02:17:05Z, gives up at 2026-03-02T02:47:05Z: unavailable (not-sent: ${WHAT}); 1 record is pending`,
  )
  expect(waitsLines(NOTED)).toEqual([
    'Waiting  for the gateway since 2026-03-02T02:17:05Z: unavailable (not-sent)',
    `         ${WHAT}`,
    '         gives up at 2026-03-02T02:47:05Z; 1 record is pending. To check the gateway',
    '    waybill doctor',
  ])
})

test('the time of an export is its own', () => {
  let now = 5_000
  const { reporter, start, of } = reporting('info', () => now)
  start('one')
  for (const name of ['a.csv', 'b.csv']) {
    reporter.exportStarted({ name, counts: noCounts(), share: 0, bytes: 9 })
    now += 1_500
    reporter.exportEnded({ name, counts: countsOf(10, 0, 20) })
  }
  expect(of('export ended').map(({ durationMs }) => durationMs)).toEqual([1_500, 1_500])
})

test.each([
  ['https://gateway.example', true, 1],
  ['https://gateway.example', false, 0],
  ['built-in', true, 0],
])('at %s, a first run (%s) warns of a new ledger %i times', (gateway, isFirst, times) => {
  const { reporter, lines } = reporting()
  reporter.runStarted({ id: 'one', job: 'nightly', gateway, resumed: false, isFirst, ...tallies })
  expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(times)
})

test.each([
  [1_999, 0],
  [2_000, 1],
])('a wait of %i ms has %i lines', (waitMs, count) => {
  const { reporter, lines } = reporting()
  reporter.waiting({
    operation: 'o',
    waitMs,
    class: 'not-taken',
    what: 'HTTP 503',
    givesUpAt: 60_000,
  })
  expect(lines).toHaveLength(count)
})

test('what is left is a row or a record, and a second look is told in seconds', () => {
  const { reporter, start, lines, shown } = reporting('debug')
  start('one')
  const left = (rule: string | null) => ({
    ...{ outcome: 'rejected' as const, row: 1, line: 2, rule, stage: 'transform' as const },
    ...{ code: 'date-invalid', transaction: undefined, batchId: null },
  })
  reporter.exportAdvanced({
    ...{ name: 'a.csv', counts: countsOf(1, 1, 0), share: 1 },
    left: () => [left(null), left('hba1c')],
  })
  expect(lines.map(({ message }) => message).filter((one) => String(one).includes('rejected'))).toEqual([
    'row rejected',
    'record rejected',
  ])
  reporter.lookingTwice({ againInMs: 5_000 })
  expect(shown).toEqual(['Looking again in 5 s, for exports that may still change.'])
})

/** Counts of an export, each different: no figure stands for another. */
function differentCounts(): Counts {
  const all = noCounts()
  Object.assign(all.rows, { read: 100, mapped: 93, skipped: 5, rejected: 2 })
  const figures = { made: 90, accepted: 60, rejected: 11, unchanged: 12, inDoubt: 7 }
  Object.assign(all.records.biometric, figures)
  return all
}
const FIGURES = {
  ...{ rows: 100, rejectedRows: 2, records: 90, accepted: 60, rejected: 11, unchanged: 12, inDoubt: 7 },
}

test('the end of an export and of its run has each figure under its name, once, and the time of the work', () => {
  const { reporter, start, of } = reporting()
  start('one')
  const counts = differentCounts()
  reporter.exportStarted({ name: 'a.csv', counts: noCounts(), share: 0, bytes: 9 })
  reporter.exportAdvanced({ name: 'a.csv', counts, share: 0.5, left: () => [] })
  reporter.exportEnded({ name: 'a.csv', counts })
  reporter.runEnded({ state: 'finished', reason: null, workedMs: 1_234 })
  expect(of('export ended')).toMatchObject([FIGURES])
  expect(of('run ended')).toMatchObject([{ ...FIGURES, durationMs: 1_234 }])
})

test.each([
  [0, {}],
  [40, { resumed: true, rows: 40 }],
])('an export that earlier processes have read %i rows of begins so', (rows, expected) => {
  const { reporter, start, of } = reporting()
  start('one')
  reporter.exportStarted({ name: 'a.csv', counts: countsOf(rows, 0, 0), share: 0, bytes: 9 })
  const [{ resumed, rows: read } = {}] = of('export started')
  expect({ resumed, rows: read }).toEqual({ resumed: undefined, rows: undefined, ...expected })
})

test('what a worker logs of its part names the part, and a part that ends ends an outage', () => {
  const { reporter, lines, shown } = reporting()
  reporter.partStarted({ run: 'run-1', job: 'nightly', part: '2 of 4' })
  reporter.outage(AWAY)
  reporter.partEnded({ code: undefined })
  reporter.outage(AWAY)
  const part = { run: 'run-1', job: 'nightly', part: '2 of 4' }
  expect(lines).toMatchObject([
    { ...part, level: 'warn' },
    { ...part, message: 'part ended' },
    { ...part, level: 'warn' },
  ])
  expect(shown).toEqual([SHOWN, 'over', SHOWN])
})

test('each note on an export, and each difference from earlier ones, is a warning', () => {
  const { reporter, start, lines } = reporting()
  start('one')
  reporter.exportNoted({ name: 'a.xlsx', notes: ['first', 'second'] })
  const finding = { export: 'a.xlsx', level: 'warn' as const }
  const findings = [
    { ...finding, measure: 'rows' as const, message: '20, usually 50' },
    { ...finding, measure: 'columns' as const, message: '"a" is new' },
  ]
  reporter.exportDrifted({ name: 'a.xlsx', sha256: 's', findings, isSmall: false })
  expect(lines.slice(1)).toMatchObject([
    { level: 'warn', message: 'a.xlsx: first', export: 'a.xlsx' },
    { level: 'warn', message: 'a.xlsx: second' },
    { level: 'warn', message: 'a.xlsx differs from earlier deliveries: rows: 20, usually 50' },
    { level: 'warn', message: 'a.xlsx differs from earlier deliveries: columns: "a" is new' },
  ])
})

test.each([
  [undefined, 'The export is empty (a.csv). '],
  [{ file: '/in/a.csv', line: 7 }, 'The export is empty (/in/a.csv:7). '],
])('a failed export is told with its place: %j', (place, expected) => {
  const { reporter, start, lines } = reporting()
  start('one')
  const error = new WaybillError('export-empty', 'The export is empty.', {
    remedy: 'Ask.',
    ...(place === undefined ? {} : { place }),
  })
  reporter.exportFailed({ name: 'a.csv', error })
  reporter.exportNotArchived({ name: 'a.csv', error })
  expect(lines.slice(1).map(({ message }) => message)).toEqual([`${expected}Ask.`, `${expected}Ask.`])
})

test('nothing is gathered of records and answers for a log that would not have it', () => {
  const { reporter, start } = reporting('info')
  start('one')
  const left = () => expect.fail('gathered')
  reporter.exportAdvanced({ name: 'a.csv', counts: countsOf(1, 0, 0), share: 1, left })
  expect(reporter.batchAnswered).toBeUndefined()
  expect(reporting('debug').reporter.batchAnswered).toBeDefined()
})

test.each([
  ['warning', 'record warned of'],
  ['in-doubt', 'record left in doubt'],
  ['rejected', 'record rejected'],
] as const)('a record that is %s is a line of a full log', (outcome, message) => {
  const { reporter, start, lines } = reporting('debug')
  start('one')
  const one = { outcome, row: 1, line: 2, rule: 'hba1c', stage: 'read-back' as const, code: 'no-answer' }
  reporter.exportAdvanced({
    ...{ name: 'a.csv', counts: countsOf(1, 1, 0), share: 1 },
    left: () => [{ ...one, transaction: 't-1', batchId: 'b-1' }],
  })
  expect(lines.at(-1)).toMatchObject({ message, run: 'one', export: 'a.csv', row: 1, line: 2, rule: 'hba1c' })
})

test('a search is told two seconds behind its start, and each five seconds from then on', () => {
  const { at, events, text } = reporter(undefined)
  for (const ms of [0, 1_999, 2_000, 6_999, 7_000]) {
    at.ms = ms
    events.lookingAgain({ run: 'run-1', number: ms, of: 9_000 })
  }
  expect(text().match(/\d+ of/g)).toEqual(['2000 of', '7000 of'])
})

test.each([
  ['finished', 'end'],
  ['interrupted', 'stop'],
] as const)(
  'the bar of a range lives through a failed export, to the end of a run that is %s',
  (state, last) => {
    const calls: string[] = []
    const called = (name: string) => () => void calls.push(name)
    const progress = {
      ...{ ...NO_PROGRESS, start: called('start'), advance: called('advance') },
      ...{ end: called('end'), stop: called('stop') },
    }
    const logger = createLogger({ level: 'error', form: 'json', print: () => {} }, undefined, () => 0)
    const events = createRunReporter(progress, logger, () => 0)
    const begin = (number: number): void => {
      const position = { number, of: 2, bytes: 400, bytesBefore: 0, bytesOfAll: 800 }
      events.exportStarted({ name: `${number}.csv`, counts: noCounts(), share: 0, bytes: 1, position })
    }
    begin(1)
    events.exportFailed({ name: '1.csv', error: new WaybillError('export-empty', 'empty') })
    begin(2)
    expect(calls).toEqual(['start', 'advance'])
    events.runEnded({ ...end, state })
    expect(calls.splice(0)).toEqual(['start', 'advance', last])
    // A bar of its own ends with its export, sent or not, and takes the place of that of a range.
    begin(1)
    events.exportStarted({ name: 'a.csv', counts: noCounts(), share: 0, bytes: 1 })
    events.exportFailed({ name: 'a.csv', error: new WaybillError('export-empty', 'empty') })
    expect(calls).toEqual(['start', 'stop', 'start', 'stop'])
  },
)

test('exports that wait, and one that is strangely small, are each told by name', () => {
  const { reporter, start, lines } = reporting()
  start('one')
  reporter.exportsWaiting({ job: 'nightly', waiting: ['a.csv grows', 'b.csv has no marker'] })
  reporter.exportSmall({ name: 'c.csv', bytes: 10, usual: 100, modifiedAt: 0, source: 's', mapping: 'm' })
  expect(lines.slice(1)).toMatchObject([
    { level: 'warn', message: 'not taken: a.csv grows', job: 'nightly' },
    { level: 'warn', message: 'not taken: b.csv has no marker' },
    { level: 'warn', message: expect.stringContaining('strangely small: c.csv'), export: 'c.csv', bytes: 10 },
  ])
})

test('a command that runs no job itself tells of its wait on standard error', () => {
  let written = ''
  const sink = { level: 'info', form: 'text', print: () => expect.fail('not beside') } as const
  const writeError = (text: string): void => {
    written += text
  }
  const logger = createLogger(sink, undefined, () => 0)
  const events = createRunEvents(tellingWaits({ logger, writeError }))
  events.emit({ type: 'waitingForRun', job: 'nightly', owner: 'host:1', since: 0 })
  expect(written).toMatch(
    /warn {2}waiting for another run, which goes first: nightly \(host:1, since 1970-01-01T00:00:00\.000Z\) job=nightly\n$/,
  )
})

test('the end of an outage has its length', () => {
  let now = 0
  const { reporter, start, lines } = reporting('info', () => now)
  start('one')
  reporter.outage(AWAY)
  now = 65_000
  reporter.outage({ ...AWAY, isOver: true })
  expect(lines.at(-1)).toMatchObject({ level: 'info', durationMs: 65_000 })
})
