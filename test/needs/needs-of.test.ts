/** The list of needs as a pure function: edges of its ages, and causes that become one. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NeedsFacts } from '../../src/needs/need.ts'
import { needsOf } from '../../src/needs/needs-of.ts'

const DAY = 86_400_000
const NOW = Date.parse('2026-03-02T07:00:00Z')

const NOTHING: NeedsFacts = {
  now: NOW,
  refused: [],
  runs: [],
  people: [],
  waitingExports: [],
  owing: [],
  overdue: [],
  undelivered: [],
  missed: [],
  pauses: [],
  unscheduled: [],
  late: [],
  copy: undefined,
  ledger: undefined,
  room: undefined,
  backup: { latestAt: undefined, firstRunAt: undefined },
}

const refused = (job: string, more: Partial<NeedsFacts['refused'][number]> = {}) => ({
  job,
  code: 'mapping-invalid',
  message: 'the mapping clinic is wrong',
  findings: [],
  remedy: 'Correct it.',
  since: NOW - DAY,
  at: NOW,
  times: 2,
  ...more,
})

const causes = (facts: Partial<NeedsFacts>): string[] =>
  needsOf({ ...NOTHING, ...facts }).map(({ cause }) => cause)

test('nothing needs somebody where nothing is wrong', () => {
  expect(needsOf(NOTHING)).toEqual([])
})

test.each([
  ['7 days', 7 * DAY, ['paused']],
  ['a moment less', 7 * DAY - 1, []],
])('a pause of %s', (_, age, found) => {
  expect(causes({ pauses: [{ job: 'a', by: 'ann', note: null, at: NOW - age }] })).toEqual(found)
})

test.each([
  ['12 hours', 12 * 3_600_000, [], ['export-waiting']],
  ['a moment less', 12 * 3_600_000 - 1, [], []],
  ['12 hours, and the next start was refused for it', 12 * 3_600_000, [refused('a')], ['start-refused']],
])('an incomplete export that waits for %s', (_, age, starts, found) => {
  const waiting = [{ words: 'a.csv: marker a.csv.done is missing', since: NOW - age }]
  expect(causes({ waitingExports: [{ job: 'a', waiting }], refused: starts })).toEqual(found)
})

test('the people of rows and records stand with the need of their job and reason', () => {
  const left = (code: string) => ({
    outcome: 'rejected' as const,
    code,
    export: 'a.csv',
    rows: 0,
    records: 3,
    since: null,
  })
  const run = (job: string) => ({
    ...{
      id: job,
      job,
      gateway: 'g',
      state: 'finished' as const,
      reason: null,
      started_at: NOW,
      backfill: null,
    },
    open: {
      isFailed: false,
      exports: [],
      unarchived: [],
      left: [left('unit-unknown'), left('date-invalid')],
    },
  })
  const people = [
    { job: 'a', outcome: 'rejected' as const, code: 'unit-unknown', people: 2 },
    { job: 'b', outcome: 'rejected' as const, code: 'unit-unknown', people: 1 },
    { job: 'b', outcome: 'rejected' as const, code: 'date-invalid', people: 0 },
  ]
  const needs = needsOf({ ...NOTHING, runs: [run('a'), run('b')], people })
  expect(needs.map(({ jobs, code, people: count }) => [...jobs, code, count])).toEqual([
    ['a', 'unit-unknown', 2],
    ['a', 'date-invalid', undefined],
    ['b', 'unit-unknown', 1],
    ['b', 'date-invalid', undefined],
  ])
  expect(needs[0]?.what).toBe('a: 3 records rejected (unit-unknown), 2 people')
})

test('a job past its deadline is a need, unless its run stopped or was refused: that is one', () => {
  const late = (job: string, state: string, run: string | null) => ({
    job,
    by: NOW - 1,
    fire: { due: NOW - DAY, state, run_id: run },
  })
  const [running, held, ...others] = needsOf({
    ...NOTHING,
    late: [late('a', 'running', 'run-1'), late('b', 'missed', null), late('c', 'ended', null)],
    refused: [refused('c')],
  }).filter(({ cause }) => cause === 'job-late')
  expect(others).toEqual([])
  expect(running).toMatchObject({ jobs: ['a'], runs: ['run-1'], since: NOW - 1 })
  expect(running?.steps.flatMap(({ commands }) => commands)).toEqual(['waybill watch run-1'])
  expect(held?.steps.flatMap(({ commands }) => commands)).toEqual(['waybill run b'])
})

/** Run of a job whose records are all delivered. */
const runOf = (job: string, more: Partial<NeedsFacts['runs'][number]>) => ({
  ...{ id: `run of ${job}`, job, gateway: 'g', state: 'finished' as const, reason: null, started_at: NOW },
  ...{ backfill: null, open: { isFailed: false, exports: [], unarchived: [], left: [] } },
  ...more,
})
const FAILED = { isFailed: true, exports: [], unarchived: [], left: [] } as const
const RANGE = '{"from":"2026-01-01"}'

test.each([
  ['has finished well', {}, ['job-late'], []],
  ['is under way', { state: 'running' }, [], ['run of a']],
  ['was interrupted', { state: 'interrupted' }, [], ['run of a']],
  ['failed', { state: 'failed', open: FAILED }, [], []],
  ['is an unfinished backfill', { state: 'interrupted', backfill: RANGE }, [], []],
  ['is of another job', { state: 'interrupted', job: 'b' }, ['job-late'], []],
] as const)('a job past its deadline, and one with a refused start, whose run %s', (_, run, late, heldUp) => {
  const fire = { due: NOW - DAY, state: 'ended', run_id: null }
  const lateCauses = causes({ late: [{ job: 'a', by: NOW - 1, fire }], runs: [runOf('a', run)] })
  expect(lateCauses.filter((cause) => cause === 'job-late')).toEqual(late)
  const needs = needsOf({ ...NOTHING, refused: [refused('a')], runs: [runOf('a', run)] })
  expect(needs.find(({ cause }) => cause === 'start-refused')?.runs).toEqual(heldUp)
})

test.each([
  ['30 days old', { latestAt: NOW - 30 * DAY, firstRunAt: 0 }, ['backup-old']],
  ['a moment younger', { latestAt: NOW - 30 * DAY + 1, firstRunAt: 0 }, []],
  [
    'missing 30 days after the first run',
    { latestAt: undefined, firstRunAt: NOW - 30 * DAY },
    ['backup-old'],
  ],
  ['missing in the first month', { latestAt: undefined, firstRunAt: NOW - 30 * DAY + 1 }, []],
  ['missing, and no run yet', { latestAt: undefined, firstRunAt: undefined }, []],
])('a backup that is %s', (_, backup, found) => {
  expect(causes({ backup })).toEqual(found)
})

test.each([
  ['a byte short', 99, ['disk']],
  ['just enough', 100, []],
])('room that is %s', (_, free, found) => {
  expect(causes({ room: { free, least: 100, home: '/var/lib/waybill' } })).toEqual(found)
})

test('jobs that one trouble keeps from running are one need, with a command each', () => {
  const [need, ...others] = needsOf({
    ...NOTHING,
    refused: [refused('b'), refused('a', { since: NOW - 2 * DAY })],
  })
  expect(others).toEqual([])
  expect(need).toMatchObject({ jobs: ['a', 'b'], since: NOW - 2 * DAY, times: 4, code: 'mapping-invalid' })
  expect(need?.steps.flatMap(({ commands }) => commands)).toEqual([
    'waybill run b',
    'waybill run a',
    'waybill acknowledge --job b',
    'waybill acknowledge --job a',
  ])
})

test('a ledger that cannot be used is one need with the starts that it refused', () => {
  const trouble = { code: 'ledger-missing', message: 'no ledger', remedy: 'Restore a backup.' }
  const kept = refused('a', { code: 'ledger-missing', message: 'no ledger' })
  const [need, ...others] = needsOf({ ...NOTHING, ledger: trouble, refused: [kept, refused('b')] })
  expect(need).toMatchObject({ cause: 'ledger', jobs: ['a'] })
  expect(others.map(({ cause, jobs }) => [cause, jobs])).toEqual([['start-refused', ['b']]])
})

const Refused = fc.record({
  job: fc.constantFrom('a', 'b', 'c', 'd'),
  code: fc.constantFrom('mapping-invalid', 'exports-none', 'disk-full', 'ledger-missing'),
  since: fc.integer({ min: NOW - 40 * DAY, max: NOW }),
  times: fc.integer({ min: 1, max: 9 }),
})

const Starts = fc.uniqueArray(Refused, { selector: ({ job }) => job })

test('each refused job is in one need of its cause, the oldest first, whatever else is wrong', () => {
  fc.assert(
    fc.property(Starts, fc.boolean(), fc.boolean(), (starts, isFull, isLost) => {
      const needs = needsOf({
        ...NOTHING,
        refused: starts.map(({ job, code, ...one }) => refused(job, { code, message: code, ...one })),
        room: { free: isFull ? 1 : 100, least: 100, home: '/home' },
        ledger: isLost ? { code: 'ledger-missing', message: 'gone', remedy: 'Restore it.' } : undefined,
      })
      for (const { job, code } of starts) {
        const own = needs.filter(({ jobs }) => jobs.includes(job))
        expect(own.map((need) => need.code)).toEqual([code])
        expect(own[0]?.steps.flatMap(({ commands }) => commands)).toContain(`waybill run ${job}`)
      }
      const sinces = needs.map(({ since }) => since ?? 0)
      expect(sinces).toEqual(sinces.toSorted((a, b) => a - b))
      expect(new Set(needs.map(({ code }) => code)).size).toBe(needs.length)
    }),
  )
})
