import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { BackfillRange } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { beginRun, passingLedger } from './begun-run.ts'

test('a backfill that failed is settled by a later one of its range, whatever its rate; not by one of another range or folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  onTestFinished(async () => {
    await ledger.close()
    await rm(folder, { recursive: true })
  })
  const jobId = await ledger.jobs.id('job', 'gateway')
  let at = 0
  const backfill = async (id: string, range: BackfillRange, state: 'failed' | 'finished') => {
    at += 1
    const held = await ledger.leases.acquire(
      { jobId, runId: id, owner: 'here:1', now: at, ttlMs: 1 },
      () => true,
    )
    if (!held.ok) throw new Error('the lease is held')
    const paths = { rejectsPath: id, receiptsPath: id }
    const run = await ledger.runs.start(held.lease, { id, jobId, startedAt: at, ...paths, backfill: range })
    await run.endRun({ state, endedAt: at, reason: null })
    await ledger.leases.release(held.lease)
  }
  const failed = async () => (await ledger.runs.list(9, { failed: true })).map(({ id }) => id)
  const days = { from: '2026-01-01', to: '2026-03-31' }
  await backfill('run-1', { ...days, rate: 5 }, 'failed')
  await backfill('run-2', { ...days, to: '2026-03-30', rate: 5 }, 'finished')
  expect(await failed()).toEqual(['run-1'])
  await backfill('run-3', { ...days, in: '/archive' }, 'finished')
  expect(await failed()).toEqual(['run-1'])
  await backfill('run-4', { ...days, acceptDrift: true }, 'finished')
  expect(await failed()).toEqual([])
  await backfill('run-5', { ...days, in: '/archive' }, 'failed')
  await backfill('run-6', days, 'finished')
  expect(await failed()).toEqual(['run-5'])
  await backfill('run-7', { ...days, in: '/archive', rate: 1 }, 'finished')
  expect(await failed()).toEqual([])
})

test.each([
  ['another job', 300],
  ['nightly', 100],
])(
  'work goes on while %s is begun, or counts no longer where its job was taken over',
  async (job, worked) => {
    const ledger = await passingLedger()
    const run = await beginRun(ledger, 'run-1')
    await run.renew(100, 60_000)
    const other = await beginRun(ledger, 'run-2', { job, startedAt: 200 })
    const last = job === 'nightly' ? other : run
    await last.renew(300, 60_000)
    expect((await ledger.runs.find('run-1'))?.worked_ms).toBe(worked)
  },
)
