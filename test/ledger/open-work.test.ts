/** Open work beside the runs, at the edges: of ages, of the latest among several, of one job among two. */
import { expect, test } from 'vitest'
import { type DeadlineRecord, type Ledger, noTallies } from '../../src/ledger/ledger.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from './begun-run.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const NOW = 100 * DAY

test('undelivered are notifications that failed, wait for long, or were given up lately: by job and target', async () => {
  const ledger = await passingLedger()
  const { notifications } = ledger
  let ids = 0
  const tell = async (job: string, target: string, at: number, end?: 'fail' | 'give-up' | 'deliver') => {
    const row = {
      kind: 'run-ended',
      subject: `s${++ids}`,
      target,
      address: `mail to ${target}`,
      notice: '{}',
    }
    const added = await notifications.add(
      await ledger.jobs.id(job, 'gateway'),
      [{ messageId: `m${ids}`, ...row }],
      at,
    )
    expect(added).toBe(1)
    if (end === undefined) return
    for (;;) {
      const claimed = (await notifications.claim(at, NOW)) ?? expect.fail('none is due')
      if (claimed.subject !== `s${ids}`) continue
      const error = end === 'deliver' ? {} : { error: `e${ids}` }
      await notifications.move(claimed, end, { at, ...error, ...(end === 'fail' ? { nextAt: 2 * NOW } : {}) })
      return
    }
  }
  await tell('nightly', 'a', NOW - 1, 'fail')
  await tell('nightly', 'b', NOW - 10 * MINUTE)
  await tell('nightly', 'c', NOW - 10 * MINUTE - 1)
  await tell('nightly', 'd', NOW - 7 * DAY, 'give-up')
  await tell('nightly', 'e', NOW - 7 * DAY + 1, 'give-up')
  await tell('nightly', 'e', NOW - DAY, 'give-up')
  await tell('nightly', 'f', NOW - DAY, 'deliver')
  await tell('a-weekly', 'e', NOW - DAY, 'give-up')
  const one = (job: string, key: string) => ({ job, key, target: `mail to ${key}`, count: 1 })
  expect((await ledger.overview.openWork(NOW)).undelivered).toEqual([
    { ...one('a-weekly', 'e'), state: 'given-up', error: 'e8', since: NOW - DAY },
    { ...one('nightly', 'a'), state: 'pending', error: 'e1', since: NOW - 1 },
    { ...one('nightly', 'c'), state: 'pending', error: null, since: NOW - 10 * MINUTE - 1 },
    { ...one('nightly', 'e'), count: 2, state: 'given-up', error: 'e6', since: NOW - 7 * DAY + 1 },
  ])
  const again = {
    messageId: 'other',
    kind: 'run-ended',
    subject: 's1',
    target: 'a',
    address: 'x',
    notice: '{}',
  }
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  expect(await notifications.add(jobId, [again, { ...again, subject: 'new' }], NOW)).toBe(1)
})

test('overdue is what the latest deadline of an expectation found: of each job, mapping, source and timetable', async () => {
  const ledger = await passingLedger()
  const judge = (due: number, state: DeadlineRecord['state'], more: Partial<DeadlineRecord> = {}) =>
    ledger.expectations.judge({
      ...{ job: 'nightly', mapping: 'm', source: 's', timetable: 't', due, judged_at: due, state },
      ...{ expected: 3, arrived: 1, small: 0, known: null },
      ...more,
    })
  await judge(50, 'missing')
  await judge(60, 'arrived')
  await judge(40, 'unreachable', { mapping: 'n', source: 'of n' })
  await judge(30, 'missing', { source: 'r' })
  await judge(35, 'missing', { timetable: 'u' })
  await judge(45, 'missing', { job: 'weekly' })
  await judge(46, 'late', { job: 'monthly' })
  const of = (job: string, source: string, due: number, state = 'missing') => ({
    ...{ job, source, due, state, expected: 3, arrived: 1 },
  })
  expect((await ledger.overview.openWork(NOW)).overdue).toEqual([
    of('nightly', 'r', 30),
    of('nightly', 's', 35),
    of('nightly', 'of n', 40, 'unreachable'),
    of('weekly', 's', 45),
  ])
})

/** A run of a job, which owes a mark or not, and ends at once. */
async function past(
  ledger: Ledger,
  id: string,
  state: 'finished' | 'failed',
  more: Parameters<typeof beginRun>[2] & { readonly owed?: number } = {},
): Promise<void> {
  const { owed = 0, ...start } = more
  const run = await beginRun(ledger, id, start)
  const exportRow = await beginExport(run)
  await openChunk(run, exportRow, 1)
  await settleChunk(run, exportRow, 1, { tallies: { careTeams: { ...noTallies().careTeams, owed } } })
  await run.endExport(exportRow, 'finished')
  await run.endRun({ state, endedAt: 0, reason: state === 'failed' ? 'threshold-passed' : null })
  await ledger.leases.release(run.lease)
}

test.each<[string, number, 'finished' | 'failed' | undefined, Parameters<typeof beginRun>[2], boolean]>([
  ['nothing has run since', -DAY, undefined, {}, true],
  ['a run has finished since', -DAY, 'finished', {}, false],
  ['a run began at its instant', -DAY, 'finished', { startedAt: NOW - DAY }, true],
  ['a run has failed since', -DAY, 'failed', {}, true],
  ['a part has run since', -DAY, 'finished', { part: 'limit' }, true],
  [
    'a backfill has run since',
    -DAY,
    'finished',
    { backfill: { from: '2026-01-01', to: '2026-01-02' } },
    true,
  ],
  ['another job has run since', -DAY, 'finished', { job: 'weekly' }, true],
  ['it is less than 30 days old', -30 * DAY + 1, undefined, {}, true],
  ['it is 30 days old', -30 * DAY, undefined, {}, false],
])('a fire is missed where %s', async (_what, due, state, more, isMissed) => {
  const ledger = await passingLedger()
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const timetable = { cron: '* * * * *', zone: 'UTC', seenUntil: NOW }
  await ledger.fires.comeDue(jobId, undefined, timetable, [NOW + due])
  for (const fire of await ledger.fires.open(jobId))
    await ledger.fires.move(fire, 'skip', { reason: 'job-held', ended_at: NOW })
  if (state !== undefined) await past(ledger, 'run-1', state, { startedAt: NOW - 1, ...more })
  const { missed, timetables } = await ledger.overview.openWork(NOW)
  expect(missed).toEqual(isMissed ? [{ job: 'nightly', due: NOW + due, reason: 'job-held' }] : [])
  expect(timetables).toEqual([{ job: 'nightly', gateway: 'gateway', ...timetable }])
})

test('owing are the latest finished runs of jobs, by what they owe; backfills aside', async () => {
  const ledger = await passingLedger()
  const backfill = { from: '2026-01-01', to: '2026-01-02' }
  expect(await ledger.overview.openWork(NOW)).toMatchObject({ owing: [], firstRunAt: undefined })
  await past(ledger, 'a-1', 'finished', { job: 'a', startedAt: 11, owed: 1 })
  await past(ledger, 'a-2', 'finished', { job: 'a', startedAt: 12 })
  await past(ledger, 'b-1', 'finished', { job: 'b', startedAt: 13 })
  await past(ledger, 'b-2', 'finished', { job: 'b', startedAt: 14, owed: 2 })
  await past(ledger, 'b-3', 'failed', { job: 'b', startedAt: 15 })
  await past(ledger, 'c-1', 'finished', { job: 'c', startedAt: 16, owed: 1 })
  await past(ledger, 'c-2', 'finished', { job: 'c', startedAt: 17, backfill })
  await past(ledger, 'd-1', 'finished', { job: 'd', startedAt: 18, owed: 1, backfill })
  await past(ledger, 'e-2', 'finished', { job: 'e', startedAt: 19, owed: 1 })
  await past(ledger, 'e-1', 'finished', { job: 'e', startedAt: 19 })
  const { owing, firstRunAt } = await ledger.overview.openWork(NOW)
  expect(owing.map(({ run }) => run).toSorted()).toEqual(['b-2', 'c-1', 'e-2'])
  expect(firstRunAt).toBe(11)
})
