import { expect, onTestFinished, test } from 'vitest'
import type { DeadlineRecord } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'

const HOUR = 3_600_000

test('what stands open is counted by job: notifications, exports that are overdue, backfills', async () => {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  expect(await ledger.overview.standing()).toEqual({ notifications: [], overdue: [], backfills: [] })

  const nightly = await ledger.jobs.id('nightly', 'gateway')
  const weekly = await ledger.jobs.id('weekly', 'gateway')
  const notice = (id: number, target: string) => ({
    ...{ messageId: `m${id}`, kind: 'run-ended', subject: `r${id}`, target, address: target, notice: '{}' },
  })
  await ledger.notifications.add(nightly, [notice(1, 'a'), notice(2, 'b'), notice(3, 'c')], 0)
  await ledger.notifications.add(weekly, [notice(4, 'd')], 0)
  for (const event of ['deliver', 'give-up'] as const) {
    const claimed = (await ledger.notifications.claim(0, HOUR)) ?? expect.fail('none is due')
    await ledger.notifications.move(claimed, event, { at: 0, ...(event === 'deliver' ? {} : { error: 'e' }) })
  }

  const judge = (job: string, source: string, due: number, state: DeadlineRecord['state']) =>
    ledger.expectations.judge({
      ...{ job, mapping: 'm', source, timetable: 't', due, judged_at: due, state },
      ...{ expected: 1, arrived: 0, small: 0, known: null },
    })
  await judge('nightly', 'a', HOUR, 'missing')
  await judge('nightly', 'b', HOUR, 'unreachable')
  await judge('nightly', 'c', HOUR, 'missing')
  // Its next one is in time: what was missing then is told no more.
  await judge('nightly', 'c', 25 * HOUR, 'arrived')
  await judge('weekly', 'a', HOUR, 'late')

  for (const [job, jobId, backfill] of [
    ['nightly', nightly, { from: '2026-01-01', to: '2026-02-01' }],
    ['weekly', weekly, undefined],
  ] as const) {
    const asked = { jobId, runId: job, owner: `here:${jobId}`, now: 0, ttlMs: HOUR }
    const answer = await ledger.leases.acquire(asked, () => true)
    if (!answer.ok) throw new Error('held')
    const start = { id: job, jobId, startedAt: 0, rejectsPath: 'r', receiptsPath: 'r' }
    await ledger.runs.start(answer.lease, backfill === undefined ? start : { ...start, backfill })
  }

  const { notifications, overdue, backfills } = await ledger.overview.standing()
  expect(notifications.toSorted((a, b) => (`${a.job}${a.state}` < `${b.job}${b.state}` ? -1 : 1))).toEqual([
    { job: 'nightly', state: 'given-up', count: 1 },
    { job: 'nightly', state: 'pending', count: 1 },
    { job: 'weekly', state: 'pending', count: 1 },
  ])
  expect(overdue).toEqual([{ job: 'nightly', count: 2 }])
  expect(backfills).toEqual(['nightly'])
})
