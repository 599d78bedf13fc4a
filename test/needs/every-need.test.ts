/** Words and commands of each need, with one and with two of everything: `vitest run test/needs/every-need.test.ts --update=all`. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { digestNotice } from '../../src/needs/digest.ts'
import { type NeedsFacts, needJson, type RunInNeed } from '../../src/needs/need.ts'
import { needsOf, newestOfEach } from '../../src/needs/needs-of.ts'
import type { RunStory } from '../../src/story/run-story.ts'
import { exportWith, kinds, made, summaryWith } from '../story/report/sample-facts.ts'
import { reason } from '../story/report/sample-reports.ts'

const NOW = Date.parse('2026-03-02T07:00:00Z')
const DAY = 86_400_000
const JOBS = ['night shift', 'roster'] as const

const storyOf = (job: string, run: string): RunStory => ({
  summary: summaryWith({
    ...{ job, run, records: kinds({ biometric: made({ accepted: 1, rejected: 3, inDoubt: 2 }) }) },
    exports: [{ ...exportWith(0), name: 'a.csv', state: 'failed', error: 'export-empty' }],
  }),
  reasons: [
    reason(3, 'date-invalid', 'no date', { exportName: 'a.csv' }),
    reason(2, 'in-doubt', 'no answer', { exportName: 'a.csv', outcome: 'in-doubt' }),
  ],
})

const left = (outcome: 'rejected' | 'in-doubt', code: string, count: number) => ({
  ...{ outcome, code, export: 'a.csv', rows: count - 1, records: count, since: NOW - 9 * DAY },
})

function runOf(
  job: string,
  at: number,
  more: Partial<RunInNeed>,
  open: Partial<RunInNeed['open']> = {},
): RunInNeed {
  const id = `run-${job.slice(0, 5)}-${at}`
  return {
    ...{ id, job, gateway: 'https://g.example', state: 'finished', reason: null, backfill: null },
    started_at: NOW - at * DAY,
    open: { isFailed: false, exports: [], left: [], unarchived: [], ...open },
    story: storyOf(job, id),
    ...more,
  } as RunInNeed
}

/** Facts with so many of each. */
function facts(count: number): NeedsFacts {
  const jobs = JOBS.slice(0, count)
  const each = <Value>(make: (job: string, at: number) => Value): Value[] =>
    jobs.map((job, at) => make(job, at + 1))
  const all = {
    now: NOW,
    refused: each((job, at) => ({
      ...{
        job,
        code: 'mapping-invalid',
        message: 'the mapping is wrong',
        findings: [`line ${at}`],
        remedy: 'Correct it.',
      },
      ...{ since: NOW - at * DAY, at: NOW, times: at },
    })),
    runs: [
      ...each((job, at) => runOf(`${job} a`, at, { state: 'interrupted', reason: 'gateway-failing' })),
      ...each((job, at) => runOf(`${job} b`, at, { state: 'running', backfill: '2026-01-01/2026-01-31' })),
      ...each((job, at) =>
        runOf(`${job} c`, at, { state: 'failed', reason: 'threshold-passed' }, { isFailed: true }),
      ),
      ...each((job, at) =>
        runOf(`${job} d`, at, {}, { exports: [{ name: 'a.csv', reason: 'export-empty' }] }),
      ),
      ...each((_, at) =>
        runOf(
          'same',
          at,
          {},
          { left: [left('rejected', 'date-invalid', at), left('in-doubt', 'in-doubt', at + 1)] },
        ),
      ),
      ...each((job, at) =>
        runOf(
          `${job} e`,
          at,
          {},
          { unarchived: [{ name: 'a.csv', message: 'may not be moved', remedy: 'Give the right.' }] },
        ),
      ),
    ],
    people: [{ job: 'same', outcome: 'rejected', code: 'date-invalid', people: count }],
    owing: each((job) => ({
      summary: summaryWith({ job, careTeams: { replaced: 0, removed: 0, owed: 1, unjudged: 0 } }),
      people: 1,
    })),
    waitingExports: each((job, at) => ({
      job,
      waiting: [{ words: `${at}.csv: marker ${at}.done is missing`, since: NOW - DAY }],
    })),
    overdue: each((job, at) => ({
      ...{ job, source: 'in/*.csv', due: NOW - at, expected: at, arrived: at - 1, isUnreachable: at === 2 },
    })),
    undelivered: each((job, at) => ({
      ...{
        job,
        target: `webhook ${at}.example`,
        count: at,
        error: at === 1 ? null : 'HTTP 404',
        since: NOW - at,
      },
    })),
    missed: each((job, at) => ({ job, due: NOW - at, reason: 'down' })).flatMap((one) => [
      one,
      { ...one, due: one.due - 1 },
    ]),
    pauses: each((job, at) => ({ job, by: 'ann', note: at === 1 ? null : 'a trial', at: NOW - 8 * DAY })),
    unscheduled: each((job, at) => ({ job, due: NOW - at })),
    late: each((job, at) => ({
      ...{ job: `${job} late`, by: NOW - at },
      fire: { due: NOW - DAY, state: at === 1 ? 'running' : 'missed', run_id: at === 1 ? 'run-1' : null },
    })),
    copy: { takenAt: NOW - DAY, jobs },
    ledger: undefined,
    room: undefined,
    backup: { latestAt: count === 1 ? undefined : NOW - 31 * DAY, firstRunAt: NOW - 40 * DAY },
  }
  return all as NeedsFacts
}

test('each need says what is wrong, since when, and what to type', async () => {
  const full = {
    ...{ room: { free: 1_000, least: 5_000_000, home: '/home' } },
    ledger: { code: 'ledger-missing', message: 'there is no ledger', remedy: 'Restore a backup.' },
  }
  const said = {
    'one of everything': needsOf(facts(1)).map(needJson),
    'two of everything': needsOf(facts(2)).map(needJson),
    'a full disk, and no ledger': needsOf({ ...facts(1), ...full, runs: [] })
      .filter(({ cause }) => ['disk', 'ledger'].includes(cause))
      .map(needJson),
  }
  await expect(stringify(said, { lineWidth: 0 })).toMatchFileSnapshot(
    join(import.meta.dirname, 'golden/every-need.yaml'),
  )
})

test('a digest counts what failed, what ended by itself, and what is open', async () => {
  const about = { job: 'roster', gateway: 'https://g.example', at: NOW }
  const times = { due: NOW, since: NOW - DAY }
  const many = Array.from({ length: 12 }, (_, at) => `job-${at}`)
  const needs = needsOf(facts(2))
  const said = {
    nothing: digestNotice(about, { ...times, failed: [], needs: [] }),
    'one ended by itself': digestNotice(about, { ...times, failed: ['x'], needs: [] }),
    'one open': digestNotice(about, { ...times, failed: ['roster', 'x', 'y'], needs: needs.slice(0, 1) }),
    'more than are named': digestNotice(about, { ...times, failed: many, needs }),
  }
  const brief = Object.fromEntries(
    Object.entries(said).map(([name, { data: _, ...notice }]) => [name, notice]),
  )
  await expect(stringify(brief, { lineWidth: 0 })).toMatchFileSnapshot(
    join(import.meta.dirname, 'golden/digests.yaml'),
  )
})

test('the newest run of each matter gives the steps', () => {
  const { runs } = facts(2)
  // The older of two runs gives none, unless a matter of it is its own.
  expect([...newestOfEach(runs.filter(({ job }) => job === 'same'))]).toEqual(['run-same-1'])
  const older = runOf('same', 3, {}, { left: [left('rejected', 'code-unknown', 1)] })
  expect([...newestOfEach([...runs.filter(({ job }) => job === 'same'), older])]).toEqual([
    'run-same-1',
    'run-same-3',
  ])
  const states: Partial<RunInNeed>[] = [
    { state: 'interrupted', reason: 'gateway-failing' },
    { state: 'running', backfill: 'x' },
  ]
  for (const more of states) {
    const two = [runOf('j', 1, more), runOf('j', 2, more)]
    expect([...newestOfEach(two)], JSON.stringify(more)).toEqual(['run-j-1'])
  }
  expect([...newestOfEach([runOf('j', 1, { state: 'finished' })])]).toEqual([])
})
