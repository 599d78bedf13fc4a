import { beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { unpackHolds } from '../../../src/ledger/packed-records.ts'
import {
  exception,
  illegal,
  LATER,
  ledgerScene,
  lost,
  NOW,
  type OpenLedger,
  person,
  rowKey,
  TTL,
} from './scene.ts'

export function runsSuite(open: OpenLedger): void {
  describe('runs', () => {
    const scene = ledgerScene(open)
    const { ask, lease, begun, startRun, runOf, leftBefore, unfinished, openChunk } = scene
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
    })

    it('knows a job by name and gateway', async () => {
      expect(await ledger.jobs.id('job', 'gateway')).toBe(jobId)
      expect(await ledger.jobs.id('job', 'another')).not.toBe(jobId)
      expect(await ledger.jobs.id('another', 'gateway')).not.toBe(jobId)
    })

    describe('runs', () => {
      it('knows a backfill by its range, and apart from what else is unfinished', async () => {
        const held = await lease()
        const days = { from: '2026-01-01', to: '2026-03-31' }
        await ledger.runs.start(held, begun('filling', { backfill: { ...days, in: '/archive' } }))
        expect(await unfinished()).toBeUndefined()
        expect(await unfinished('backfill')).toMatchObject({
          id: 'filling',
          backfill: '2026-01-01/2026-03-31',
          backfill_folder: '/archive',
        })
        const run = await ledger.runs.start({ ...held, runId: 'run-2' }, begun('run-2'))
        expect(await unfinished()).toMatchObject({ id: 'run-2', backfill: null })
        await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await unfinished()).toBeUndefined()
        expect(await unfinished('backfill')).toMatchObject({ id: 'filling' })
      })

      it('gives the oldest unfinished run of the job, and none once all are finished', async () => {
        expect(await unfinished()).toBeUndefined()
        const run = await startRun()
        expect(await unfinished()).toMatchObject({
          id: 'run-1',
          state: 'running',
          started_at: NOW,
        })
        const end = { state: 'interrupted', reason: 'gateway-unreachable', detail: 'ECONNREFUSED' } as const
        await run.endRun({ ...end, endedAt: NOW + 1 })
        const left = await unfinished()
        expect(left).toMatchObject({ ...end, ended_at: NOW + 1 })
        if (left === undefined) return
        const resumed = await ledger.runs.resume(run.lease, left, NOW + 5)
        expect(await ledger.runs.find('run-1')).toMatchObject({
          state: 'running',
          reason: null,
          detail: null,
          ended_at: null,
          job: 'job',
          gateway: 'gateway',
        })
        await resumed.endRun({ state: 'finished', endedAt: NOW + 7, reason: null })
        // A millisecond before it was interrupted, and two after it was resumed.
        expect(await ledger.runs.find('run-1')).toMatchObject({ state: 'finished', worked_ms: 3 })
        expect(await unfinished()).toBeUndefined()
        expect(
          await ledger.runs.unfinished(await ledger.jobs.id('another', 'gateway'), 'ordinary'),
        ).toBeUndefined()
      })

      it('counts its time at work as it goes: a session that is killed up to its last sign, and no pause', async () => {
        const worked = async () => (await ledger.runs.find('run-1'))?.worked_ms
        const { run, exportRow, chunkSettled } = await openChunk()
        await run.renew(NOW + 10_000, TTL)
        await run.settleChunk(chunkSettled({ at: NOW + 12_000 }))
        expect(await worked()).toBe(12_000)
        expect((await ledger.chunks.ofExport(exportRow)).map(({ worked_ms }) => worked_ms)).toEqual([12_000])
        await run.pauseWork(NOW + 14_000)
        await run.renew(NOW + 20_000, TTL)
        await run.goOnWorking(NOW + 24_000)
        await run.renew(NOW + 25_000, TTL)
        expect(await worked()).toBe(15_000)
        // Killed, and taken up by another process after three seconds.
        const again = await lease({ owner: 'there:2', now: NOW + 28_000 }, () => true)
        await ledger.runs.amend(again).renew(NOW + 29_000, TTL)
        expect(await worked()).toBe(15_000)
        const left = await runOf()
        const resumed = await ledger.runs.resume(again, left, NOW + 30_000)
        await resumed.renew(NOW + 31_000, TTL)
        // A clock that is set back, and a machine that sleeps for an hour.
        await resumed.renew(NOW + 1_000, TTL)
        await resumed.renew(NOW + 3_600_000, TTL)
        const end = { state: 'finished', endedAt: NOW + 3_602_000, reason: null } as const
        await resumed.endRun(end)
        expect(await worked()).toBe(15_000 + 1_000 + 2_000)
        await resumed.renew(NOW + 3_603_000, TTL)
        expect(await worked()).toBe(18_000)
      })

      it.each(['finished', 'failed'] as const)('does not resume a run that is %s', async (state) => {
        const run = await startRun()
        await run.endRun({ state, endedAt: NOW, reason: null })
        const record = await runOf()
        await expect(ledger.runs.resume(run.lease, record, NOW)).rejects.toMatchObject(illegal)
      })

      it('does not resume for who has lost the job a run that another one has ended since', async () => {
        const run = await startRun()
        const before = await unfinished()
        if (before === undefined) throw new Error('the run is gone')
        const taken = await lease({ owner: 'there:2' }, () => true)
        const resumed = await ledger.runs.resume(taken, before, NOW)
        await resumed.endRun({ state: 'finished', endedAt: NOW, reason: null })
        await expect(ledger.runs.resume(run.lease, before, NOW)).rejects.toMatchObject(lost)
        expect(await ledger.runs.find('run-1')).toMatchObject({ state: 'finished' })
      })

      it('lists the newest first, and no more than asked for', async () => {
        const held = await lease()
        for (const at of [1, 3, 2]) await ledger.runs.start(held, begun(`run-${at}`, { startedAt: NOW + at }))
        expect((await ledger.runs.list(2)).map((run) => run.id)).toEqual(['run-3', 'run-2'])
        expect(await ledger.runs.find('run-9')).toBeUndefined()
      })
    })

    it('lists the runs of a job, and those that came to no end or left something behind', async () => {
      const { run, chunkSettled } = await openChunk()
      const listed = async (only: { job?: string; failed?: boolean }) =>
        (await ledger.runs.list(9, only)).map(({ id }) => id)
      expect(await listed({ failed: true })).toEqual(['run-1'])
      await run.settleChunk(
        chunkSettled({ exceptions: [exception(), exception({ row: 3, outcome: 'warning' })] }),
      )
      await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
      expect(await listed({ failed: true })).toEqual(['run-1'])
      expect(await listed({ job: 'job', failed: true })).toEqual(['run-1'])
      expect(await listed({ job: 'another' })).toEqual([])
      const [{ id = 0 } = {}] = await leftBefore(LATER, [2])
      await run.rule({ run: 'run-1', decisions: [{ exception: id, event: 'deliver' }], released: [] }, NOW)
      expect(await listed({ failed: true })).toEqual([])
      expect(await listed({})).toEqual(['run-1'])
    })

    it('is the same after it was opened again', async () => {
      const { run, exportRow, intent, settled, chunkSettled, key } = await openChunk()
      const [first] = await Promise.all([
        run.beginBatch(intent),
        run.beginBatch({ ...intent, batchId: 'batch-2' }),
      ])
      await run.settleBatch(settled(first))
      await run.settleChunk(chunkSettled())
      await run.saveAccounts('gateway', [person(1)], NOW)
      const look = async (from: Ledger) => ({
        jobId: await from.jobs.id('job', 'gateway'),
        run: await from.runs.find('run-1'),
        exports: await from.exports.ofRun('run-1'),
        mapping: await from.exports.mapping('d'),
        chunks: await from.chunks.ofExport(exportRow),
        batches: (await from.chunks.batches(key)).map(({ holds: held, ...batch }) => ({
          ...batch,
          holds: unpackHolds(held),
        })),
        exceptions: await from.chunks.exceptions(key),
        delivered: await from.slots.delivered(jobId, [rowKey(1)]),
        held: await from.slots.held(jobId, [rowKey(2)]),
        accounts: await from.people.accounts('gateway', [rowKey(1)]),
      })
      const before = await look(ledger)
      expect(before.batches.map((batch) => batch.state)).toEqual(['settled', 'sending'])
      ledger = await scene.reopen()
      expect(await look(ledger)).toEqual(before)
      expect((await ask({ owner: 'there:2' })).ok).toBe(false)
    })
  })
}
