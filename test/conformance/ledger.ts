import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type BatchIntent,
  type BatchSettlement,
  type ChunkSettlement,
  type ChunkStart,
  type Exception,
  type Held,
  type KnownCareTeam,
  type KnownRequest,
  type Ledger,
  noTallies,
  type RunLedger,
  type RunStart,
  type Tallies,
  THE_PERSON,
  UNKNOWN_PERSON,
  UNUSABLE,
} from '../../src/ledger/ledger.ts'
import { packHolds, unpackHolds } from '../../src/ledger/packed-records.ts'
import { fault } from '../ledger/export-fault.ts'
import { keptSlot } from '../ledger/kept-slots.ts'

export interface OpenedLedger {
  readonly ledger: Ledger
  /** Closes the ledger and opens what it left on the disk. */
  /** @param place where the process runs that opens it; by default the first one's */
  reopen(place?: string): Promise<Ledger>
  cleanup(): Promise<void>
}

const NOW = 1_700_000_000_000
const TTL = 60_000
const alive = (_owner: string) => false
const hex = (text: string, digits: number): string =>
  Buffer.from(text).toString('hex').padStart(digits, '0').slice(-digits)
const rowKey = (at: number): string => hex(`row ${at}`, 32)
const content = (at: number): string => hex(`c ${at}`, 16)
const record = (at: number) => ({ rule: hex(`r ${at % 7}`, 8), content: content(at) })
const said = (at: number) =>
  keptSlot(record(at).rule, content(at), { arrival: 2 ** 32 - 1 - at, row: at, isLate: at % 3 === 0 })
/** @param more what is not as with most: rows, places */
const chunk = (number: number, more: Partial<ChunkStart> = {}): ChunkStart => {
  return { number, firstRow: 1, firstLine: 2, byteOffset: 50, rows: 3, ...more }
}
const person = (at: number, accountId: string | null = 'a') => {
  return { reference: rowKey(at), accountId, sentBefore: null }
}
const lost = { code: 'lease-lost' }
const illegal = { code: 'state-illegal' }
const holds: readonly Held[] = [1, 2, 3].map((row) => ({ row, rule: 'systolic-bp', content: content(row) }))

const exception = (fields: Partial<Exception> = {}): Exception => ({
  row: 2,
  line: 3,
  byteOffset: 200,
  kind: 'biometric',
  rule: 'systolic-bp',
  content: content(2),
  outcome: 'rejected',
  stage: 'submit',
  code: 'refused',
  field: null,
  message: 'HTTP 400: no',
  batchId: 'batch-1',
  ...fields,
})

/** What every ledger does, whatever it is kept in. */
export function ledgerConformance(name: string, open: () => Promise<OpenedLedger>): void {
  describe(`${name} as a ledger`, () => {
    let opened: OpenedLedger
    let ledger: Ledger
    let jobId: number
    beforeEach(async () => {
      opened = await open()
      ledger = opened.ledger
      jobId = await ledger.jobId('job', 'gateway')
    })
    afterEach(() => opened.cleanup())

    const ask = (fields: { runId?: string; owner?: string; now?: number } = {}, isDead = alive) =>
      ledger.acquireLease({ jobId, runId: 'run-1', owner: 'here:1', now: NOW, ttlMs: TTL, ...fields }, isDead)
    const lease = async (fields: Parameters<typeof ask>[0] = {}, isDead = alive) => {
      const answer = await ask(fields, isDead)
      if (!answer.ok) throw new Error('the lease is held')
      return answer.lease
    }
    const begun = (id: string, more: Partial<RunStart> = {}): RunStart => {
      return {
        id,
        jobId,
        startedAt: NOW,
        rejectsPath: `rejects/${id}`,
        receiptsPath: `receipts/${id}`,
        ...more,
      }
    }
    const startRun = async (id = 'run-1'): Promise<RunLedger> =>
      ledger.startRun(await lease({ runId: id }), begun(id))
    const runOf = async (id = 'run-1') => (await ledger.run(id)) ?? expect.fail(`the run ${id} is gone`)
    /** What earlier readings of the export left behind. */
    const leftBefore = (
      before: number,
      rows: readonly number[],
      selection: 'rejected' | 'left-behind' = 'rejected',
    ) => ledger.left.ofEarlierReadings({ jobId, exportId: '0123456789abcdef', before, selection }, rows)
    const unfinished = (kind: 'ordinary' | 'backfill' = 'ordinary') => ledger.unfinishedRun(jobId, kind)
    const addExport = (run: RunLedger, ordinal = 1) =>
      run.addExport({
        ordinal,
        exportId: '0123456789abcdef',
        name: 'a.csv',
        path: '/in/a.csv',
        sha256: '0123456789abcdef'.repeat(4),
        bytes: 77,
        mapping: { name: 'm', digest: 'd', content: '{"a":1}' },
      })
    const heldUnder = (...of: number[]) =>
      of.map((at, nth) => ({ ...record(at), isOpen: nth > 0, sentUntil: null }))
    /** A run with an export and its first chunk open. */
    const openChunk = async () => {
      const run = await startRun()
      const { id: exportRow } = await addExport(run)
      await run.openChunk(exportRow, chunk(1))
      const intent: BatchIntent = {
        exportRow,
        chunk: 1,
        batchId: 'batch-1',
        kind: 'biometric',
        records: holds.length,
        holds: packHolds(holds),
        at: NOW,
      }
      const settled = (id: number, fields: Partial<BatchSettlement> = {}): BatchSettlement => ({
        id,
        exportRow,
        chunk: 1,
        answer: 'accepted',
        status: 201,
        attempts: 2,
        accepted: packHolds(holds.slice(0, 1)),
        exceptions: [exception()],
        held: [],
        at: NOW + 5,
        ...fields,
      })
      const chunkSettled = (fields: Partial<ChunkSettlement> = {}): ChunkSettlement => ({
        exportRow,
        chunk: 1,
        counts: '{}',
        receiptsLength: 10,
        rejectsLength: 20,
        delivered: [{ rowKey: rowKey(1), records: [said(1), said(2)] }],
        held: [{ rowKey: rowKey(2), ...record(3), series: null }],
        arrival: 1,
        exceptions: [exception({ row: 9, batchId: null })],
        tallies: { ...noTallies(), requests: { sent: 4, retried: 1, readBack: 2 } },
        at: NOW + 9,
        ...fields,
      })
      return { run, exportRow, intent, settled, chunkSettled, key: { exportRow, chunk: 1 } }
    }

    it('knows what exports of a job and mapping looked like, once they are finished, latest first', async () => {
      const run = await startRun()
      const key = { job: 'job', mapping: 'm' }
      const start = (sha256: string, fields: object = {}) => {
        return { ...key, sha256, accepted: false, content: `{"of":"${sha256}"}`, ...fields }
      }
      const ids: number[] = []
      for (const ordinal of [1, 2, 3, 4, 5]) ids.push((await addExport(run, ordinal)).id)
      const [a = 0, b = 0, c = 0, d = 0, again = 0] = ids
      await run.saveProfile(a, start('a'))
      await run.saveProfile(b, start('b', { accepted: true }))
      await run.saveProfile(c, start('c', { mapping: 'n' }))
      await run.saveProfile(d, start('d'))
      expect(await ledger.profiles(key, 20)).toEqual([])
      for (const id of [a, b, c]) await run.endExport(id, 'finished')
      await run.endExport(d, 'failed', fault('export-changed'))
      const [ofA, ofB] = [start('a'), start('b')].map(({ content }) => ({ accepted: false, content }))
      expect(await ledger.profiles(key, 20)).toEqual([{ ...ofB, accepted: true }, ofA])
      expect(await ledger.profiles(key, 1)).toEqual([{ ...ofB, accepted: true }])
      expect(await Promise.all(['a', 'c', 'd'].map((sha256) => ledger.isProfiled(key, sha256)))).toEqual([
        true,
        false,
        false,
      ])
      // What failed and is delivered again takes the place of what was kept of it.
      await run.saveProfile(again, start('d', { accepted: true }))
      await run.endExport(again, 'finished')
      expect(await ledger.isProfiled(key, 'd')).toBe(true)
      expect([...(await ledger.profilesOfRun('run-1'))]).toEqual(
        expect.arrayContaining(
          [a, b, c, d].slice(0, 3).map((id, at) => [id, start('abc'[at] ?? '').content]),
        ),
      )
      expect((await ledger.profilesOfRun('run-2')).size).toBe(0)
      await run.noteDrift(a, '[1]')
      expect((await ledger.exportsOf('run-1')).map(({ drift }) => drift)).toEqual([
        '[1]',
        null,
        null,
        null,
        null,
      ])
    })

    it('knows a job by name and gateway', async () => {
      expect(await ledger.jobId('job', 'gateway')).toBe(jobId)
      expect(await ledger.jobId('job', 'another')).not.toBe(jobId)
      expect(await ledger.jobId('another', 'gateway')).not.toBe(jobId)
    })

    describe('leases', () => {
      it('holds until it runs out, and says who has it', async () => {
        await lease()
        const answer = await ask({ runId: 'run-2', owner: 'there:2', now: NOW + TTL - 1 })
        expect(answer).toMatchObject({
          ok: false,
          holder: { run_id: 'run-1', owner: 'here:1', acquired_at: NOW, expires_at: NOW + TTL },
        })
        expect((await ask({ owner: 'there:2', now: NOW + TTL })).ok).toBe(true)
      })

      it('does not hold against the living for a dead owner', async () => {
        await lease()
        const asked: string[] = []
        const answer = await ask({ owner: 'there:2' }, (owner) => asked.push(owner) > 0)
        expect(answer.ok).toBe(true)
        expect(asked).toEqual(['here:1'])
      })

      it('is free once released, and its token grows with every change of hands', async () => {
        const tokens: number[] = []
        for (let at = 0; at < 3; at++) {
          const one = await lease({ owner: `here:${at}` })
          tokens.push(one.token)
          await ledger.releaseLease(one)
        }
        expect(tokens).toEqual([1, 2, 3])
      })

      it('is not released by who lost it', async () => {
        const lost = await lease()
        await lease({ owner: 'there:2' }, () => true)
        await ledger.releaseLease(lost)
        expect((await ask({ owner: 'third:3' })).ok).toBe(false)
      })

      it('lasts longer when renewed', async () => {
        const run = await startRun()
        await run.renew(NOW + TTL / 2, TTL)
        expect((await ask({ now: NOW + TTL })).ok).toBe(false)
        expect((await ask({ now: NOW + TTL * 1.5 })).ok).toBe(true)
      })

      it('is that of the run that is on, of several one after the other', async () => {
        await startRun('run-1')
        const [held] = [await ledger.holder(jobId, NOW, alive)]
        expect(held).toMatchObject({ run_id: 'run-1', gives_way: 0 })
        const lease = { jobId, runId: 'run-2', token: held?.token ?? 0 }
        await ledger.startRun(lease, begun('run-2'))
        expect(await ledger.holder(jobId, NOW, alive)).toMatchObject({ run_id: 'run-2', token: held?.token })
        const first = await runOf()
        await ledger.resumeRun({ ...lease, runId: 'run-1' }, first, NOW)
        expect(await ledger.holder(jobId, NOW, alive)).toMatchObject({ run_id: 'run-1', token: held?.token })
      })

      it('says why its run waits, until that is over, or another run or process has it', async () => {
        const waits = async () => (await ledger.lastLease(jobId))?.outage
        const run = await startRun()
        expect(await waits()).toBeNull()
        await run.noteOutage('{"since":1}')
        expect(await waits()).toBe('{"since":1}')
        await run.noteOutage(null)
        expect(await waits()).toBeNull()
        await run.noteOutage('{"since":2}')
        const next = { ...run.lease, runId: 'run-2' }
        const second = await ledger.startRun(next, begun('run-2'))
        expect(await waits()).toBeNull()
        await second.noteOutage('{"since":3}')
        await lease({ runId: 'run-3', owner: 'there:2' }, () => true)
        expect(await waits()).toBeNull()
        await expect(second.noteOutage('{"since":4}')).rejects.toMatchObject(lost)
        expect(await waits()).toBeNull()
      })

      it('lets nobody write with an old token', async () => {
        const { run, exportRow, intent, settled, chunkSettled, key } = await openChunk()
        const batch = await run.beginBatch(intent)
        await lease({ owner: 'there:2' }, () => true)
        for (const write of [
          () => run.renew(NOW, TTL),
          () => run.assertHeld(),
          () => addExport(run, 2),
          () => ledger.startRun({ ...run.lease, runId: 'run-2' }, begun('run-2')),
          () => run.endExport(exportRow, 'finished'),
          () => run.openChunk(exportRow, chunk(2)),
          () => run.beginBatch(intent),
          () => run.settleBatch(settled(batch)),
          () => run.splitBatch(batch, 'refused', 400, NOW),
          () => run.settleChunk(chunkSettled()),
          () => run.saveAccounts('gateway', [person(1)], NOW),
          () => run.endRun({ state: 'finished', endedAt: NOW, reason: null }),
        ])
          await expect(write(), String(write)).rejects.toMatchObject(lost)

        expect(await ledger.run('run-2')).toBeUndefined()
        expect(await ledger.exportsOf('run-1')).toMatchObject([{ id: exportRow, state: 'open' }])
        expect(await ledger.chunksOf(exportRow)).toMatchObject([{ number: 1, state: 'open' }])
        expect(await ledger.batchesOf(key)).toMatchObject([{ id: batch, state: 'sending' }])
        expect(await ledger.exceptionsOf(key)).toEqual([])
        expect(await ledger.delivered(jobId, [rowKey(1)])).toEqual(new Map())
        expect(await ledger.accounts('gateway', [rowKey(1)])).toEqual(new Map())
        expect(await ledger.run('run-1')).toMatchObject({ state: 'running' })
      })
    })

    describe('right of way', () => {
      const waiting = (owner: string, now = NOW) => ledger.way.ask({ jobId, owner, now, ttlMs: TTL })
      const waiter = (now = NOW, isDead = alive) => ledger.way.waiter(jobId, now, isDead)
      const give = (fields: { jobId?: number; owner?: string } = {}) =>
        ledger.acquireLease(
          { jobId, runId: 'run-1', owner: 'here:1', now: NOW, ttlMs: TTL, givesWay: true, ...fields },
          alive,
        )

      it('is told of a holder that gives way', async () => {
        await give()
        expect(await ledger.holder(jobId, NOW, alive)).toMatchObject({ owner: 'here:1', gives_way: 1 })
        expect(await ask({ owner: 'there:2' })).toMatchObject({ ok: false, holder: { gives_way: 1 } })
        expect((await ask({ owner: 'there:2', now: NOW + TTL })).ok).toBe(true)
        expect(await ledger.holder(jobId, NOW + TTL, alive)).toMatchObject({ gives_way: 0 })
      })

      it('is that of who has waited longest and lives', async () => {
        expect(await waiter()).toBeUndefined()
        await waiting('there:2', NOW)
        await waiting('third:3', NOW + 1)
        await waiting('there:2', NOW + 2)
        expect(await waiter(NOW + 2)).toEqual({ owner: 'there:2', since: NOW })
        expect(await waiter(NOW + 2, (owner) => owner === 'there:2')).toMatchObject({ owner: 'third:3' })
        expect(await waiter(NOW + 2, () => true)).toBeUndefined()
        expect(await ledger.way.waiter(await ledger.jobId('another', 'gateway'), NOW, alive)).toBeUndefined()
      })

      it('is lost by who says nothing for a while, and kept by who asks again', async () => {
        await waiting('there:2')
        await waiting('third:3', NOW + TTL / 2)
        expect(await waiter(NOW + TTL - 1)).toMatchObject({ owner: 'there:2' })
        expect(await waiter(NOW + TTL)).toMatchObject({ owner: 'third:3' })
        expect(await waiter(NOW + TTL * 1.5)).toBeUndefined()
      })

      it('is not taken back by who was killed while it waited, once the job has changed hands', async () => {
        await waiting('there:2', NOW - TTL)
        await waiting('third:3', NOW)
        await lease()
        // A clock that was set back would find it waiting still.
        expect(await waiter(NOW - TTL)).toMatchObject({ owner: 'third:3' })
      })

      it('is asked for no more by who has the job, or withdraws', async () => {
        await waiting('there:2')
        await waiting('third:3', NOW + 1)
        await lease({ owner: 'there:2' })
        expect(await waiter()).toMatchObject({ owner: 'third:3' })
        await ledger.way.withdraw(jobId, 'third:3')
        expect(await waiter()).toBeUndefined()
      })

      it('belongs to other jobs at the gateway, but for those that give way themselves', async () => {
        const busy = (now = NOW, isDead = alive) => ledger.way.busy('gateway', jobId, now, isDead)
        await lease()
        const elsewhere = await ledger.jobId('job', 'another')
        const filling = await ledger.jobId('filling', 'gateway')
        await ledger.acquireLease({ jobId: elsewhere, runId: 'e', owner: 'a:1', now: NOW, ttlMs: TTL }, alive)
        await give({ jobId: filling, owner: 'b:2' })
        expect(await busy()).toBeUndefined()
        const other = await ledger.jobId('other', 'gateway')
        const taken = { jobId: other, runId: 'run-7', owner: 'c:3', now: NOW, ttlMs: TTL }
        const answer = await ledger.acquireLease(taken, alive)
        expect(await busy()).toMatchObject({ job: 'other', run_id: 'run-7', owner: 'c:3', acquired_at: NOW })
        expect(await busy(NOW + TTL)).toBeUndefined()
        expect(await busy(NOW, (owner) => owner === 'c:3')).toBeUndefined()
        if (answer.ok) await ledger.releaseLease(answer.lease)
        expect(await busy()).toBeUndefined()
      })
    })

    describe('runs', () => {
      it('knows a backfill by its range, and apart from what else is unfinished', async () => {
        const held = await lease()
        const days = { from: '2026-01-01', to: '2026-03-31' }
        await ledger.startRun(held, begun('filling', { backfill: { ...days, in: '/archive' } }))
        expect(await unfinished()).toBeUndefined()
        expect(await unfinished('backfill')).toMatchObject({
          id: 'filling',
          backfill: '2026-01-01/2026-03-31',
          backfill_folder: '/archive',
        })
        const run = await ledger.startRun({ ...held, runId: 'run-2' }, begun('run-2'))
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
        const resumed = await ledger.resumeRun(run.lease, left, NOW + 5)
        expect(await ledger.run('run-1')).toMatchObject({
          state: 'running',
          reason: null,
          detail: null,
          ended_at: null,
          job: 'job',
          gateway: 'gateway',
        })
        await resumed.endRun({ state: 'finished', endedAt: NOW + 7, reason: null })
        // A millisecond before it was interrupted, and two after it was resumed.
        expect(await ledger.run('run-1')).toMatchObject({ state: 'finished', worked_ms: 3 })
        expect(await unfinished()).toBeUndefined()
        expect(
          await ledger.unfinishedRun(await ledger.jobId('another', 'gateway'), 'ordinary'),
        ).toBeUndefined()
      })

      it('counts its time at work as it goes: a session that is killed up to its last sign, and no pause', async () => {
        const worked = async () => (await ledger.run('run-1'))?.worked_ms
        const { run, exportRow, chunkSettled } = await openChunk()
        await run.renew(NOW + 10_000, TTL)
        await run.settleChunk(chunkSettled({ at: NOW + 12_000 }))
        expect(await worked()).toBe(12_000)
        expect((await ledger.chunksOf(exportRow)).map(({ worked_ms }) => worked_ms)).toEqual([12_000])
        await run.pauseWork(NOW + 14_000)
        await run.renew(NOW + 20_000, TTL)
        await run.goOnWorking(NOW + 24_000)
        await run.renew(NOW + 25_000, TTL)
        expect(await worked()).toBe(15_000)
        // Killed, and taken up by another process after three seconds.
        const again = await lease({ owner: 'there:2', now: NOW + 28_000 }, () => true)
        await ledger.amendRun(again).renew(NOW + 29_000, TTL)
        expect(await worked()).toBe(15_000)
        const left = await runOf()
        const resumed = await ledger.resumeRun(again, left, NOW + 30_000)
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
        await expect(ledger.resumeRun(run.lease, record, NOW)).rejects.toMatchObject(illegal)
      })

      it('does not resume for who has lost the job a run that another one has ended since', async () => {
        const run = await startRun()
        const before = await unfinished()
        if (before === undefined) throw new Error('the run is gone')
        const taken = await lease({ owner: 'there:2' }, () => true)
        const resumed = await ledger.resumeRun(taken, before, NOW)
        await resumed.endRun({ state: 'finished', endedAt: NOW, reason: null })
        await expect(ledger.resumeRun(run.lease, before, NOW)).rejects.toMatchObject(lost)
        expect(await ledger.run('run-1')).toMatchObject({ state: 'finished' })
      })

      it('lists the newest first, and no more than asked for', async () => {
        const held = await lease()
        for (const at of [1, 3, 2]) await ledger.startRun(held, begun(`run-${at}`, { startedAt: NOW + at }))
        expect((await ledger.runs(2)).map((run) => run.id)).toEqual(['run-3', 'run-2'])
        expect(await ledger.run('run-9')).toBeUndefined()
      })
    })

    it('keeps exports in their order, by content too, with their mapping', async () => {
      const run = await startRun()
      const second = await addExport(run, 2)
      const first = await addExport(run, 1)
      await run.endExport(second.id, 'failed', fault('export-empty'))
      expect((await ledger.exportsOf('run-1')).map((one) => [one.id, one.state, one.reason])).toEqual([
        [first.id, 'open', null],
        [second.id, 'failed', 'export-empty'],
      ])
      expect((await ledger.exportsWithContent('0123456789abcdef')).map((one) => one.id)).toEqual([
        first.id,
        second.id,
      ])
      expect(await ledger.exportsWithContent('ffffffffffffffff')).toEqual([])
      expect(await ledger.mapping('d')).toBe('{"a":1}')
      expect(await ledger.mapping('e')).toBeUndefined()
    })

    describe('chunks', () => {
      it('keeps an open chunk’s rows as they are by now, and a settled one’s as they were', async () => {
        const { run, exportRow, chunkSettled } = await openChunk()
        await run.openChunk(exportRow, chunk(1, { rows: 8 }))
        expect(await ledger.chunksOf(exportRow)).toMatchObject([
          { number: 1, rows: 8, state: 'open', counts: null },
        ])
        await run.settleChunk(chunkSettled())
        await run.openChunk(exportRow, chunk(1, { rows: 9 }))
        expect(await ledger.chunksOf(exportRow)).toMatchObject([
          {
            number: 1,
            rows: 8,
            state: 'settled',
            counts: '{}',
            rejects_length: 20,
            settled_at: NOW + 9,
          },
        ])
      })

      it('settles with everything that is to be known of it', async () => {
        const { run, chunkSettled, key } = await openChunk()
        await run.settleChunk(chunkSettled())
        expect(await ledger.delivered(jobId, [rowKey(1), rowKey(2)])).toEqual(
          new Map([[rowKey(1), [said(1), said(2)]]]),
        )
        expect(await ledger.held(jobId, [rowKey(1), rowKey(2)])).toEqual(new Map([[rowKey(2), heldUnder(3)]]))
        expect(await ledger.exceptionsOf(key)).toMatchObject([
          { row: 9, line: 3, byte_offset: 200, batch_id: null, outcome: 'rejected' },
        ])
        const { tallies, receipts_length: receipts } = (await ledger.run('run-1')) ?? {}
        expect([JSON.parse(tallies ?? ''), receipts]).toMatchObject([
          { requests: { sent: 4, retried: 1, readBack: 2 } },
          10,
        ])
      })

      it('has been counted as far as anything was written, and no further', async () => {
        const { run, intent, settled } = await openChunk()
        const counted = async () => JSON.parse((await ledger.run('run-1'))?.tallies ?? '') as Tallies
        run.tallies.requests.sent++
        const id = await run.beginBatch(intent)
        expect((await counted()).requests.sent).toBe(1)
        run.tallies.requests.sent++
        expect((await counted()).requests.sent).toBe(1)
        await run.assertHeld()
        run.tallies.accounts.registered += 2
        const people = [2, 3].map((at) => ({ ...person(at, `acc-${at}`), isNew: true }))
        await Promise.all(people.map((one) => run.saveAccounts('gateway', [one], NOW)))
        expect(await counted()).toMatchObject({ requests: { sent: 2 }, accounts: { registered: 2 } })
        run.tallies.requests.retried++
        await run.settleBatch(settled(id))
        const other = await opened.reopen()
        expect(JSON.parse((await other.run('run-1'))?.tallies ?? '')).toEqual(run.tallies)
        expect(
          await other.accounts(
            'gateway',
            people.map(({ reference }) => reference),
          ),
        ).toHaveProperty('size', 2)
      })

      it('settles wholly or not at all', async () => {
        const { run, exportRow, chunkSettled, key } = await openChunk()
        const before = structuredClone(run.tallies)
        // The column takes no null: the failure comes after chunk and exceptions were written.
        const broken = { rowKey: rowKey(2), ...record(3), series: null }
        Object.defineProperty(broken, 'content', {
          get: () => {
            throw new Error('the disk is on fire')
          },
        })
        await expect(run.settleChunk(chunkSettled({ held: [broken] }))).rejects.toThrow('the disk is on fire')
        expect(await ledger.chunksOf(exportRow)).toMatchObject([{ state: 'open', counts: null }])
        expect(await ledger.exceptionsOf(key)).toEqual([])
        expect(await ledger.delivered(jobId, [rowKey(1)])).toEqual(new Map())
        expect(await ledger.held(jobId, [rowKey(2)])).toEqual(new Map())
        expect(run.tallies).toEqual(before)
        await run.settleChunk(chunkSettled())
        expect(await ledger.chunksOf(exportRow)).toMatchObject([{ state: 'settled' }])
      })

      it('settles once', async () => {
        const { run, chunkSettled } = await openChunk()
        await run.settleChunk(chunkSettled())
        await expect(run.settleChunk(chunkSettled())).rejects.toMatchObject(illegal)
      })
    })

    describe('batches', () => {
      it('go from sending to settled', async () => {
        const { run, intent, settled, key } = await openChunk()
        const id = await run.beginBatch(intent)
        const [sending] = await ledger.batchesOf(key)
        expect(sending).toMatchObject({
          id,
          batch_id: 'batch-1',
          kind: 'biometric',
          records: 3,
          state: 'sending',
          attempts: 1,
          begun_at: NOW,
          answer: null,
        })
        expect(unpackHolds(sending?.holds ?? new Uint8Array())).toEqual(holds)
        await run.settleBatch(settled(id))
        const [done] = await ledger.batchesOf(key)
        expect(done).toMatchObject({
          state: 'settled',
          answer: 'accepted',
          status: 201,
          attempts: 2,
          settled_at: NOW + 5,
          records: 3,
        })
        expect(unpackHolds(done?.holds ?? new Uint8Array())).toEqual(holds.slice(0, 1))
        expect(await ledger.exceptionsOf(key)).toMatchObject([
          { row: 2, rule: 'systolic-bp', content: content(2), batch_id: 'batch-1' },
        ])
      })

      it('of a chunk are planned together, and what was not sent is planned anew', async () => {
        const { run, intent, settled, key, chunkSettled } = await openChunk()
        const named = (...ids: string[]) => ids.map((batchId) => ({ ...intent, batchId }))
        const [first = 0, ...others] = await run.planBatches(named('a', 'b', 'c'))
        expect(others).toHaveLength(2)
        await run.sendBatch(first, NOW + 1, false)
        await run.planBatches(named('d'))
        const states = async () => (await ledger.batchesOf(key)).map((one) => [one.batch_id, one.state])
        expect(await states()).toEqual([
          ['a', 'sending'],
          ['d', 'planned'],
        ])
        await run.settleBatch(settled(first))
        expect(await run.planBatches([])).toEqual([])
        await run.settleChunk(chunkSettled())
        expect(await states()).toEqual([['a', 'settled']])
      })

      it('that are planned were not sent, unless the machine was started again since', async () => {
        const { run, intent, settled, key } = await openChunk()
        const [row = 0] = await run.planBatches([intent])
        await expect(run.settleBatch(settled(row))).rejects.toMatchObject(illegal)
        await run.endRun({ state: 'failed', endedAt: NOW, reason: 'given-up' })
        const sentContents = holds.map((one) => one.content)
        ledger = await opened.reopen()
        expect(await ledger.batchesOf(key)).toMatchObject([{ state: 'planned' }])
        expect((await ledger.left.sentByGivenUp(jobId, sentContents)).size).toBe(0)
        ledger = await opened.reopen('here, after a start of the machine')
        expect(await ledger.batchesOf(key)).toMatchObject([{ state: 'sending' }])
        expect((await ledger.left.sentByGivenUp(jobId, sentContents)).size).toBe(holds.length)
        const later = ledger.amendRun(run.lease)
        await later.settleBatch(settled(row))
        expect(await ledger.batchesOf(key)).toMatchObject([{ state: 'settled' }])
      })

      it('are split when refused, and hold nothing then', async () => {
        const { run, intent, key } = await openChunk()
        const id = await run.beginBatch(intent)
        await run.splitBatch(id, 'refused', 400, NOW + 1)
        const [split] = await ledger.batchesOf(key)
        expect(split).toMatchObject({ state: 'split', answer: 'refused', status: 400 })
        expect(unpackHolds(split?.holds ?? new Uint8Array())).toEqual([])
      })

      it('make no move from where they ended', async () => {
        const { run, intent, settled, key } = await openChunk()
        const [settledId, splitId] = await Promise.all([
          run.beginBatch(intent),
          run.beginBatch({ ...intent, batchId: 'batch-2' }),
        ])
        await run.settleBatch(settled(settledId))
        await run.splitBatch(splitId, 'refused', 400, NOW)
        await expect(run.settleBatch(settled(settledId))).rejects.toMatchObject(illegal)
        await expect(run.splitBatch(settledId, 'refused', 400, NOW)).rejects.toMatchObject(illegal)
        await expect(run.settleBatch(settled(splitId))).rejects.toMatchObject(illegal)
        await expect(run.splitBatch(splitId, 'refused', 400, NOW)).rejects.toMatchObject(illegal)
        expect(await ledger.exceptionsOf(key)).toHaveLength(1)
      })

      it('of open chunks, of runs of the job that were given up, tell how these sent what was never answered', async () => {
        const { run, exportRow, intent, settled, chunkSettled } = await openChunk()
        const holding = (chunk: number, batchId: string, at: number): BatchIntent => ({
          ...{ ...intent, chunk, batchId },
          records: 1,
          holds: packHolds([{ row: at, rule: 'systolic-bp', content: content(at) }]),
        })
        const exportId = (await ledger.exportRecord(exportRow))?.export_id
        const sent = (row: number, batchId: string) =>
          [
            content(row),
            { ...{ exportId, row, rule: 'systolic-bp' }, content: content(row), batchId },
          ] as const
        const asked = [4, 5, 6, 8].map(content)
        const told = async (of = jobId, contents = asked) => ledger.left.sentByGivenUp(of, contents)
        // What is settled with its chunk is known as delivered, or held.
        await run.settleBatch(settled(await run.beginBatch(intent)))
        await run.settleChunk(chunkSettled())
        await run.openChunk(exportRow, chunk(2))
        await run.beginBatch(holding(2, 'never answered', 4))
        await run.beginBatch(holding(2, 'not asked for', 9))
        const taken = await run.beginBatch(holding(2, 'taken', 5))
        await run.settleBatch(settled(taken, { chunk: 2, accepted: holding(2, 'taken', 5).holds }))
        await run.splitBatch(await run.beginBatch(holding(2, 'split', 8)), 'refused', 400, NOW)
        await run.endRun({ state: 'interrupted', endedAt: NOW + 20, reason: 'given-up' })
        expect(await told()).toEqual(new Map())
        await run.endRun({ state: 'failed', endedAt: NOW + 30, reason: 'given-up' })
        expect(await told()).toEqual(new Map([sent(4, 'never answered')]))
        expect(await told(jobId, [])).toEqual(new Map())
        expect(await told(await ledger.jobId('job', 'other'))).toEqual(new Map())
        ledger = await opened.reopen()
        expect(await told()).toEqual(new Map([sent(4, 'never answered')]))
      })

      it('are held in doubt at once; given up, their run has sent what nobody has looked for, until somebody does', async () => {
        const { run, exportRow, intent, settled, chunkSettled } = await openChunk()
        const doubt = (at: number, series: string | null = null) => ({
          ...record(at),
          rowKey: rowKey(at),
          series,
        })
        const states = async () =>
          [...(await ledger.held(jobId, [1, 2, 3, 4].map(rowKey)))].map(([key, of]) => [
            key,
            of.map(({ isOpen, sentUntil }) => [isOpen, sentUntil]),
          ])
        const batch = async (held: BatchSettlement['held']): Promise<void> =>
          run.settleBatch(settled(await run.beginBatch(intent), { held }))
        await batch([doubt(1, content(7)), doubt(2)])
        expect(await states()).toEqual([
          [rowKey(1), [[true, null]]],
          [rowKey(2), [[false, null]]],
        ])
        expect(await ledger.heldSeries(jobId)).toEqual(new Set([content(7)]))
        expect(await ledger.left.heldRecords(jobId)).toBe(2)
        const delivered = [
          { rowKey: rowKey(9), records: [keptSlot(record(9).rule, content(9), { arrival: 1 })] },
        ]
        const sent = [1, 2, 3].map((at) => ({ ...doubt(at), exportRow, isTaken: at === 3 }))
        await run.endRun({
          ...{ state: 'failed', endedAt: NOW + 30, reason: 'given-up', left: { delivered, sent } },
        })
        expect(await states()).toEqual([
          [rowKey(1), [[true, NOW + 30]]],
          [rowKey(2), [[false, NOW + 30]]],
          [rowKey(3), [[false, 0]]],
        ])
        // They are asked for wherever they come again: no series waits for that, and they are not counted with what was looked for.
        expect(await ledger.heldSeries(jobId)).toEqual(new Set())
        expect([await ledger.left.heldRecords(jobId), await ledger.left.unasked('run-1')]).toEqual([0, 2])
        expect([...(await ledger.delivered(jobId, [rowKey(9)])).keys()]).toEqual([rowKey(9)])
        // Somebody has looked: what was found counts, and what was in doubt before stays as it was.
        await run.settleChunk(chunkSettled({ held: [doubt(1), doubt(2, content(8)), doubt(4, content(6))] }))
        await run.openChunk(exportRow, chunk(2))
        await run.settleChunk(chunkSettled({ chunk: 2, held: [doubt(4)] }))
        expect(await states()).toEqual([
          [rowKey(1), [[false, null]]],
          [rowKey(2), [[true, null]]],
          [rowKey(3), [[false, 0]]],
          [rowKey(4), [[true, null]]],
        ])
      })

      it('are held once each, also where the person was forgotten before the chunk was settled', async () => {
        const { run, intent, settled, chunkSettled } = await openChunk()
        const doubt = { ...record(1), series: null }
        await run.settleBatch(
          settled(await run.beginBatch(intent), { held: [{ ...doubt, rowKey: rowKey(1) }] }),
        )
        await run.settleChunk(chunkSettled({ held: [{ ...doubt, rowKey: rowKey(2) }] }))
        expect([...(await ledger.held(jobId, [rowKey(1), rowKey(2)])).keys()]).toEqual([rowKey(2)])
      })

      it('written at the same time are all there, in their order; one that fails leaves none', async () => {
        const { run, intent, settled, key } = await openChunk()
        const ids = await Promise.all(
          Array.from({ length: 50 }, (_, at) => run.beginBatch({ ...intent, batchId: `batch-${at}` })),
        )
        expect((await ledger.batchesOf(key)).map((batch) => [batch.id, batch.batch_id])).toEqual(
          ids.map((id, at) => [id, `batch-${at}`]),
        )
        const [first = 0] = ids
        await run.settleBatch(settled(first))
        const results = await Promise.allSettled([
          run.beginBatch(intent),
          run.settleBatch(settled(first)),
          run.beginBatch(intent),
        ])
        expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected'])
        expect(await ledger.batchesOf(key)).toHaveLength(50)
      })
    })

    describe('what was left behind', () => {
      /** Two runs of the job over the same export: row 2 rejected and row 3 in doubt, in the second row 3 held back. */
      const leaveBehind = async () => {
        const first = await openChunk()
        await first.run.settleChunk(
          first.chunkSettled({
            exceptions: [
              exception({ row: 2, byteOffset: 200 }),
              exception({ row: 3, byteOffset: 300, content: content(3), outcome: 'in-doubt' }),
              exception({ row: 4, byteOffset: 400, kind: null, rule: null, content: null }),
            ],
          }),
        )
        await first.run.endRun({ state: 'finished', endedAt: NOW, reason: null })
        await ledger.releaseLease(first.run.lease)
        const run = await startRun('run-2')
        const { id: exportRow } = await addExport(run)
        await run.openChunk(exportRow, chunk(1))
        const held = exception({
          row: 3,
          content: content(3),
          outcome: 'in-doubt',
          code: 'held',
          batchId: null,
        })
        await run.settleChunk(first.chunkSettled({ exportRow, exceptions: [held], held: [] }))
        return { first: first.exportRow, second: exportRow, run }
      }

      it('is found by run, by content in every run of the job, and by row of the same export', async () => {
        const { first, second } = await leaveBehind()
        const [one] = await ledger.left.inDoubt('run-1', 0, 10)
        expect(one).toMatchObject({
          exportRow: first,
          exportId: '0123456789abcdef',
          row: 3,
          content: content(3),
        })
        expect(await ledger.left.inDoubt('run-1', one?.id ?? 0, 10)).toEqual([])
        const everywhere = await ledger.left.inDoubtWith(jobId, [content(3), content(9)])
        expect(everywhere.map(({ exportRow }) => exportRow)).toEqual([first, second])
        expect(await ledger.left.inDoubtWith(jobId + 1, [content(3)])).toEqual([])
        // More than one query carries, what is found among the last of them.
        const many = [...Array.from({ length: 1_200 }, (_, at) => content(at + 100)), content(3)]
        expect(await ledger.left.inDoubtWith(jobId, many)).toEqual(everywhere)
        expect(await ledger.left.heldWith(jobId + 1, [content(3)])).toEqual([])
        expect(await ledger.left.heldWith(jobId, [content(3)])).toEqual([
          { rowKey: rowKey(2), ...record(3), series: null, sentUntil: null },
        ])
        const rejected = await leftBefore(second, [2, 3, 4, 5])
        expect(rejected.map(({ row, rule }) => `${row} ${rule}`)).toEqual(['2 systolic-bp', '4 null'])
        const all = await leftBefore(second, [2, 3], 'left-behind')
        expect(all.map(({ row }) => row).toSorted()).toEqual([2, 3])
        expect(await leftBefore(first, [2])).toEqual([])
        const places = (selection: 'rejected' | 'in-doubt' | 'left-behind' | 'any', after = -1) =>
          ledger.left.rows({ exportRow: first, selection, runId: 'run-9' }, after, 2)
        expect((await places('rejected')).map(({ row }) => row)).toEqual([2, 4])
        expect((await places('in-doubt')).map(({ row }) => row)).toEqual([3])
        expect(await places('left-behind')).toEqual([
          { row: 2, line: 3, byteOffset: 200 },
          { row: 3, line: 3, byteOffset: 300 },
        ])
        expect((await places('any', 300)).map(({ row }) => row)).toEqual([4])
      })

      it('is ruled on once: moved, let go, written down, and counted as what it is by then', async () => {
        const { first, run } = await leaveBehind()
        const doubts = await ledger.left.inDoubtWith(jobId, [content(3)])
        const [reject] = await leftBefore(99, [2])
        const ruling = {
          run: 'run-2',
          decisions: [
            ...doubts.map(({ id }) => ({ exception: id, event: 'deliver' as const })),
            { exception: reject?.id ?? 0, event: 'deliver' as const },
          ],
          released: [{ rowKey: rowKey(2), ...record(3), series: null }],
          delivered: [{ rowKey: rowKey(2), records: [said(3)] }],
        }
        await run.rule(ruling, NOW + 20)
        expect(await ledger.held(jobId, [rowKey(2)])).toEqual(new Map())
        expect(await ledger.delivered(jobId, [rowKey(2)])).toEqual(new Map([[rowKey(2), [said(3)]]]))
        const move = { kind: 'biometric', count: 1 }
        // Neither has got it through: not the run that left it in doubt, nor one that only held it back.
        expect(await ledger.left.moves('run-1')).toEqual([{ ...move, exportRow: first, to: 'rejected' }])
        expect(await ledger.left.moves('run-2')).toMatchObject([{ ...move, to: 'rejected' }])
        expect(await ledger.left.settledBy('run-1')).toEqual([{ run: 'run-2', count: 2 }])
        expect(await ledger.left.settledBy('run-2')).toEqual([{ run: 'run-2', count: 1 }])
        expect(await ledger.left.decisions([reject?.id ?? 0])).toEqual([
          { exception: reject?.id, event: 'deliver', run: 'run-2', by: null, note: null, at: NOW + 20 },
        ])
        const reasons = await ledger.reasonsOf('run-1')
        expect(reasons.map(({ outcome, rule, count, settled }) => [outcome, rule, count, settled])).toEqual([
          ['rejected', 'systolic-bp', 2, 2],
          ['rejected', null, 1, 0],
        ])
        // What this run has settled it still selects: it may be resumed.
        const rows = (runId: string) =>
          ledger.left.rows({ exportRow: first, selection: 'rejected', runId }, -1, 9)
        expect((await rows('run-2')).map(({ row }) => row)).toEqual([2, 3, 4])
        expect((await rows('run-3')).map(({ row }) => row)).toEqual([4])
        const left = await leftBefore(99, [2, 4])
        expect(left.map(({ row }) => row)).toEqual([4])
        await expect(run.rule(ruling, NOW)).rejects.toMatchObject(illegal)
      })

      it('is decided by a person for one run, which names its origin', async () => {
        const { first, run } = await leaveBehind()
        const [doubt] = await ledger.left.inDoubt('run-1', 0, 1)
        const why = { by: 'Night desk', note: 'lost on the way', at: NOW }
        const resolution = { run: 'run-1', decision: 'resend', ...why } as const
        const decided = [{ exception: doubt?.id ?? 0, event: 'resend' as const }]
        await run.rule({ run: 'run-2', decisions: decided, released: [], resolution }, NOW)
        // What one command decides page by page is one decision.
        await run.rule({ run: 'run-2', decisions: [], released: [], resolution }, NOW + 1)
        expect(await ledger.left.resolutions('run-1')).toEqual([{ ...resolution, code: null }])
        expect(await ledger.left.resolutions('run-2')).toEqual([])
        expect(await ledger.left.decisions([doubt?.id ?? 0])).toMatchObject([{ event: 'resend', ...why }])
        const again = { ...resolution, by: 'Day desk', at: NOW + 5 }
        await run.rule({ run: 'run-2', decisions: decided, released: [], resolution: again }, NOW + 5)
        expect((await ledger.left.decisions([doubt?.id ?? 0])).map(({ by }) => by)).toEqual([
          ...['Night desk', 'Day desk'],
        ])
        expect(await ledger.left.decidedContents(first, 'run-2')).toEqual(new Set([content(3)]))
        expect(await ledger.left.decidedContents(first, 'run-3')).toEqual(new Set())
        expect(await ledger.left.decidedContents(first + 1, 'run-2')).toEqual(new Set())
        expect(await ledger.left.moves('run-1')).toEqual([])
        const origin = { run: 'run-1', selection: 'decided' as const }
        await ledger.releaseLease(run.lease)
        const held = await lease({ runId: 'run-3' }, () => true)
        await ledger.startRun(held, begun('run-3', { origin }))
        expect(await ledger.run('run-3')).toMatchObject({ origin_run: 'run-1', selection: 'decided' })
      })

      it('speaks from the place of its export: that of the first reading, where the same file is read again', async () => {
        const places: number[] = []
        for (const id of ['run-1', 'run-2']) {
          const run = await startRun(id)
          const { id: exportRow } = await addExport(run)
          places.push(exportRow)
          await run.openChunk(exportRow, chunk(1))
          const doubt = exception({ content: content(3), outcome: 'in-doubt' })
          await run.settleChunk({
            ...{
              exportRow,
              chunk: 1,
              counts: '{}',
              receiptsLength: 0,
              rejectsLength: 0,
              delivered: [],
              held: [],
            },
            ...{
              arrival: 1,
              tallies: noTallies(),
              at: NOW,
              exceptions: [doubt],
            },
          })
          await run.endExport(exportRow, 'finished')
          await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
          await ledger.releaseLease(run.lease)
        }
        const found = await ledger.left.inDoubtWith(jobId, [content(3)])
        expect(found.map(({ exportRow, arrival }) => [exportRow, arrival])).toEqual(
          places.map((one) => [one, places[0]]),
        )
      })

      it('is of one job: another one that reads the same export has left nothing of it', async () => {
        const { second } = await leaveBehind()
        const request = { exportId: '0123456789abcdef', before: second, selection: 'left-behind' as const }
        const rows = async (job: number) =>
          (await ledger.left.ofEarlierReadings({ ...request, jobId: job }, [2, 3])).length
        expect(await rows(jobId)).toBe(2)
        expect(await rows(await ledger.jobId('another', 'gateway'))).toBe(0)
      })

      it('is settled by the run that delivered it, not by whoever has decided before that it is sent again', async () => {
        const { run } = await leaveBehind()
        const [{ id = 0 } = {}] = await ledger.left.inDoubt('run-1', 0, 1)
        for (const [by, event] of [
          ['run-2', 'resend'],
          ['run-3', 'deliver'],
        ] as const)
          await run.rule({ run: by, decisions: [{ exception: id, event }], released: [] }, NOW)
        expect(await ledger.left.settledBy('run-1')).toEqual([{ run: 'run-3', count: 1 }])
      })

      it('is let go under the key that is named, with the content that is named, in this job alone', async () => {
        const { run, exportRow, chunkSettled } = await openChunk()
        const held = [
          { rowKey: rowKey(2), ...record(3), series: null },
          { rowKey: rowKey(2), ...record(4), series: null },
          { rowKey: rowKey(5), ...record(3), series: null },
        ]
        await run.settleChunk(chunkSettled({ held }))
        const other = await ledger.jobId('another', 'gateway')
        await saveOfJob(other, 'run-8', [], held)
        await run.openChunk(exportRow, chunk(2))
        await run.rule({ run: 'run-1', decisions: [], released: held.slice(0, 1) }, NOW)
        const left = async (job: number) =>
          [...(await ledger.held(job, [rowKey(2), rowKey(5)]))].map(([key, of]) => [
            key,
            of.map((one) => one.content),
          ])
        expect(await left(jobId)).toEqual([
          [rowKey(2), [content(4)]],
          [rowKey(5), [content(3)]],
        ])
        expect(await left(other)).toEqual([
          [rowKey(2), [content(3), content(4)]],
          [rowKey(5), [content(3)]],
        ])
      })

      it('has its receipts counted with whatever settles it, and what settles nothing of them leaves them', async () => {
        const { run, intent, settled } = await openChunk()
        const length = async () => (await ledger.run('run-1'))?.receipts_length
        const id = await run.beginBatch(intent)
        await run.settleBatch(settled(id, { receiptsLength: 30 }))
        expect(await length()).toBe(30)
        await run.settleBatch(settled(await run.beginBatch(intent)))
        expect(await length()).toBe(30)
        await run.rule({ run: 'run-1', decisions: [], released: [], receiptsLength: 40 }, NOW)
        expect(await length()).toBe(40)
        await run.endRun({ state: 'finished', endedAt: NOW, reason: null, receiptsLength: 50 })
        expect(await length()).toBe(50)
      })

      it('is not ruled on by who lost the job; who amends a run leaves its state alone', async () => {
        const { run } = await leaveBehind()
        const [doubt] = await ledger.left.inDoubt('run-1', 0, 1)
        const ruling = {
          run: null,
          decisions: [{ exception: doubt?.id ?? 0, event: 'accept' as const }],
          released: [],
        }
        const amending = ledger.amendRun(await lease({ runId: 'run-1', owner: 'there:2' }, () => true))
        await expect(run.rule(ruling, NOW)).rejects.toMatchObject(lost)
        await amending.rule(ruling, NOW)
        expect(await ledger.run('run-1')).toMatchObject({ state: 'finished' })
        expect(await ledger.left.inDoubt('run-1', 0, 1)).toEqual([])
      })
    })

    it('groups reasons, the most frequent first', async () => {
      const { run, chunkSettled } = await openChunk()
      const exceptions = [
        exception(),
        exception({ row: 3 }),
        exception({ row: 4, code: 'too-large', outcome: 'in-doubt' }),
      ]
      await run.settleChunk(chunkSettled({ exceptions }))
      expect(await ledger.reasonsOf('run-1')).toMatchObject([
        { outcome: 'rejected', code: 'refused', exportName: 'a.csv', count: 2 },
        { outcome: 'in-doubt', code: 'too-large', count: 1 },
      ])
      expect(await ledger.reasonsOf('run-2')).toEqual([])
    })

    it('says of each reason how much of it is settled, and names one that is not and became a record', async () => {
      const { run, chunkSettled } = await openChunk()
      const exceptions = [
        exception({ row: 3, content: null }),
        exception({ row: 4, content: content(4) }),
        exception({ row: 5, content: content(5) }),
      ]
      await run.settleChunk(chunkSettled({ exceptions }))
      const example = async () =>
        (await ledger.reasonsOf('run-1')).map(({ settled, example }) => [settled, example?.row])
      expect(await example()).toEqual([[0, 4]])
      const left = await leftBefore(9, [3, 4, 5])
      const settle = async (row: number): Promise<void> => {
        const decisions = left.flatMap((one) =>
          one.row === row ? [{ exception: one.id, event: 'deliver' as const }] : [],
        )
        await run.rule({ run: 'run-1', decisions, released: [] }, NOW)
      }
      await settle(4)
      expect(await example()).toEqual([[1, 5]])
      await settle(5)
      expect(await example()).toEqual([[2, undefined]])
      await settle(3)
      expect(await example()).toEqual([[3, undefined]])
    })

    it('lists the runs of a job, and those that came to no end or left something behind', async () => {
      const { run, chunkSettled } = await openChunk()
      const listed = async (only: { job?: string; failed?: boolean }) =>
        (await ledger.runs(9, only)).map(({ id }) => id)
      expect(await listed({ failed: true })).toEqual(['run-1'])
      await run.settleChunk(
        chunkSettled({ exceptions: [exception(), exception({ row: 3, outcome: 'warning' })] }),
      )
      await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
      expect(await listed({ failed: true })).toEqual(['run-1'])
      expect(await listed({ job: 'job', failed: true })).toEqual(['run-1'])
      expect(await listed({ job: 'another' })).toEqual([])
      const [{ id = 0 } = {}] = await leftBefore(9, [2])
      await run.rule({ run: 'run-1', decisions: [{ exception: id, event: 'deliver' }], released: [] }, NOW)
      expect(await listed({ failed: true })).toEqual([])
      expect(await listed({})).toEqual(['run-1'])
    })

    it('knows of each row key what was delivered last, however many chunks have spoken of it', async () => {
      const { run, exportRow, chunkSettled } = await openChunk()
      const expected = new Map<string, ReturnType<typeof said>[]>()
      const asked = Array.from({ length: 120 }, (_, at) => rowKey(at))
      for (let number = 1; number <= 80; number++) {
        await run.openChunk(exportRow, chunk(number, { firstRow: number }))
        // Of the three one stood in the chunk before, and one in the seventh before.
        const delivered = [number, number - 1, 100 + (number % 7)].map((at) => ({
          rowKey: rowKey(at),
          records: [said(number), said(number + at)],
        }))
        await run.settleChunk(chunkSettled({ chunk: number, delivered, held: [], exceptions: [] }))
        for (const { rowKey, records } of delivered) expected.set(rowKey, records)
        if (number % 9 === 0) expect(await ledger.delivered(jobId, asked)).toEqual(expected)
      }
      ledger = await opened.reopen()
      expect(await ledger.delivered(jobId, asked)).toEqual(expected)
    })

    it('finds thousands of keys, and none of another job or gateway', async () => {
      const { run, chunkSettled } = await openChunk()
      const COUNT = 5_000
      const all = Array.from({ length: COUNT }, (_, at) => at)
      await run.settleChunk(
        chunkSettled({
          delivered: all.map((at) => ({ rowKey: rowKey(at), records: [said(at), said(at + 1)] })),
          held: all.slice(0, 1500).flatMap((at) => [
            { rowKey: rowKey(at), ...record(at), series: null },
            { rowKey: rowKey(at), ...record(at + 7), series: content(at % 3) },
          ]),
          exceptions: all.slice(0, 1200).map((row) => exception({ row })),
        }),
      )
      const accountOf = (at: number) => ({
        reference: rowKey(at),
        accountId: at % 2 === 0 ? `account-${at}` : null,
        sentBefore: at % 5 === 0 ? NOW : null,
      })
      await run.saveAccounts('gateway', all.map(accountOf), NOW)
      const keys = Array.from({ length: 2 * COUNT }, (_, at) => rowKey(at))
      expect(await ledger.delivered(jobId, keys)).toEqual(
        new Map(all.map((at) => [rowKey(at), [said(at), said(at + 1)]])),
      )
      expect(await ledger.held(jobId, keys)).toEqual(
        new Map(all.slice(0, 1500).map((at) => [rowKey(at), heldUnder(at, at + 7)])),
      )
      expect(await ledger.accounts('gateway', keys)).toEqual(
        new Map(all.map((at) => [rowKey(at), { ...accountOf(at), born: null, named: null }])),
      )
      expect(await ledger.heldSeries(jobId)).toEqual(new Set([0, 1, 2].map(content)))
      expect(await ledger.heldContents([content(3), content(1506), content(4_000)])).toEqual(
        new Set([content(3), content(1506)]),
      )
      const other = await ledger.jobId('another', 'gateway')
      expect(await ledger.heldSeries(other)).toEqual(new Set())
      expect(await ledger.delivered(other, keys)).toEqual(new Map())
      expect(await ledger.held(other, keys)).toEqual(new Map())
      expect(await ledger.accounts('another', keys)).toEqual(new Map())
      expect(await ledger.delivered(jobId, [])).toEqual(new Map())
    })

    it('knows which account ids several people of one gateway have', async () => {
      const { run } = await openChunk()
      const ids = ['id-1', 'id-2', 'id-3']
      await run.saveAccounts('gateway', [person(1, 'id-1'), person(2, 'id-1'), person(3, 'id-2')], NOW)
      await run.saveAccounts('another', [person(4, 'id-2'), person(5, 'id-3'), person(6, 'id-3')], NOW)
      expect(await ledger.sharedIds('gateway', ids)).toEqual(new Set(['id-1']))
      expect(await ledger.sharedIds('another', ids)).toEqual(new Set(['id-3']))
      expect(await ledger.sharedIds('gateway', ['id-2'])).toEqual(new Set())
    })

    it('knows whom a run has registered', async () => {
      const { run } = await openChunk()
      const accounts = [true, false].map((isNew, at) => ({ ...person(at, null), isNew }))
      await run.saveAccounts('gateway', accounts, NOW)
      const keys = [rowKey(0), rowKey(1), rowKey(2)]
      expect(await ledger.registeredBy('gateway', keys, run.lease.runId)).toEqual(new Set([rowKey(0)]))
      expect(await ledger.registeredBy('gateway', keys, 'another')).toEqual(new Set())
      expect(await ledger.registeredBy('another', keys, run.lease.runId)).toEqual(new Set())
    })

    describe('claims of accounts', () => {
      const [ann, ben, cleo] = [rowKey(1), rowKey(2), rowKey(3)]
      let runs = 0
      /** A run of a job of its own, whose lease lasts until `NOW + TTL`. */
      const jobOf = async (name: string, owner: string): Promise<RunLedger> => {
        const id = await ledger.jobId(name, 'gateway')
        const request = { jobId: id, runId: `run ${++runs}`, owner, now: NOW, ttlMs: TTL }
        const answer = await ledger.acquireLease(request, alive)
        if (!answer.ok) throw new Error('the lease is held')
        return ledger.startRun(answer.lease, { ...begun(request.runId), jobId: id })
      }
      const claim = async (
        run: RunLedger,
        accounts: readonly string[],
        { gateway = 'gateway', now = NOW, isDead = alive } = {},
      ) => {
        const claimed = await run.claimAccounts({ gateway, accounts, now }, isDead)
        return { accounts: accounts.filter((one) => claimed.accounts.has(one)), taken: claimed.isTakenOver }
      }
      let one: RunLedger
      let other: RunLedger
      beforeEach(async () => {
        one = await jobOf('one', 'here:1')
        other = await jobOf('other', 'here:2')
        expect(await claim(one, [ann, ben])).toEqual({ accounts: [ann, ben], taken: false })
      })

      it('are of one job at a time, by gateway, until it lets go', async () => {
        expect(await claim(other, [ben, cleo])).toEqual({ accounts: [cleo], taken: false })
        expect(await claim(other, [ben], { gateway: 'another' })).toEqual({ accounts: [ben], taken: false })
        expect(await claim(one, [ann, ben, cleo])).toEqual({ accounts: [ann, ben], taken: false })
        // Nobody lets go what another has.
        await other.saveCareTeams('gateway', [], [ann, cleo])
        expect(await claim(other, [ann, cleo])).toEqual({ accounts: [cleo], taken: false })
        await one.saveCareTeams('gateway', [], [ann])
        expect(await claim(other, [ann, ben])).toEqual({ accounts: [ann], taken: false })
        await one.endRun({ state: 'finished', endedAt: NOW, reason: null })
        expect(await claim(other, [ann, ben])).toEqual({ accounts: [ann, ben], taken: false })
      })

      it('are given to one alone of many that ask at once', async () => {
        const many = Array.from({ length: 5_000 }, (_, at) => rowKey(at + 10))
        const given = await Promise.all([claim(one, many), claim(other, many)])
        expect(given.flatMap(({ accounts }) => accounts).toSorted()).toEqual(many.toSorted())
      })

      it.each([
        ['process is gone', { isDead: (owner: string) => owner === 'here:1' }],
        ['lease has run out', { now: NOW + TTL }],
      ])('of one whose %s are taken over, and it writes nothing more', async (_, how) => {
        expect(await claim(other, [ben, cleo], how)).toEqual({ accounts: [ben, cleo], taken: true })
        expect(await claim(other, [ann], how)).toEqual({ accounts: [ann], taken: false })
        await expect(one.assertHeld()).rejects.toMatchObject(lost)
        await expect(one.renew(NOW, TTL)).rejects.toMatchObject(lost)
        await expect(claim(one, [cleo])).rejects.toMatchObject(lost)
        await expect(one.saveCareTeams('gateway', [], [ben])).rejects.toMatchObject(lost)
        expect(await claim(await jobOf('one', 'here:3'), [ben])).toEqual({ accounts: [], taken: false })
        await other.assertHeld()
      })

      it('nobody is disturbed whose people are not asked for', async () => {
        expect(await claim(other, [cleo], { now: NOW + TTL })).toEqual({ accounts: [cleo], taken: false })
        await one.assertHeld()
      })

      it('end with the lease; those of an earlier lease of the job are its own', async () => {
        await ledger.releaseLease(one.lease)
        const again = await jobOf('one', 'here:1')
        expect(await claim(again, [ann])).toEqual({ accounts: [ann], taken: false })
        await ledger.releaseLease(again.lease)
        expect(await claim(other, [ann])).toEqual({ accounts: [ann], taken: true })
      })

      it('of another job of the same process are not taken over, whatever it knows of itself', async () => {
        const same = await jobOf('same', 'here:1')
        const isDead = (owner: string) => owner === 'here:1'
        expect(await claim(same, [ann], { isDead })).toEqual({ accounts: [], taken: false })
        expect(await claim(same, [ann], { isDead, now: NOW + TTL })).toEqual({ accounts: [ann], taken: true })
      })
    })

    it('knows whom exports list, and whom the newest one that has a person lists no more', async () => {
      const { run, exportRow, chunkSettled } = await openChunk()
      const [ann, bob] = [rowKey(1), rowKey(2)]
      const [first, second] = [rowKey(11), rowKey(12)]
      let number = 1
      const list = async (arrival: number, ...listed: readonly (readonly [string, string, number])[]) => {
        if (number > 1) await run.openChunk(exportRow, chunk(number))
        const rows = listed.map(([account, npi, at]) => ({ account, npi, at }))
        await run.settleChunk(
          chunkSettled({ chunk: number++, arrival, listed: rows, delivered: [], held: [] }),
        )
      }
      const listing = (arrival: number, ...npis: string[]) => ({ arrival, npis: new Set(npis) })
      await list(4, [ann, THE_PERSON, 0], [ann, first, 70], [ann, second, 60], [bob, THE_PERSON, 0])
      expect(await ledger.missingCareTeams(jobId, 4, 9)).toEqual([])
      await list(6, [ann, THE_PERSON, 0], [ann, first, 50])
      expect(await ledger.listedCareTeams(jobId, [ann, bob, rowKey(3)])).toEqual(
        new Map([
          [ann, listing(6, first, second)],
          [bob, listing(4)],
        ]),
      )
      const missing = [{ account: ann, npi: second, at: 60 }]
      expect(await ledger.missingCareTeams(jobId, 6, 9)).toEqual(missing)
      expect(await ledger.missingCareTeams(jobId, 6, 0)).toEqual([])
      expect(await ledger.missingCareTeams(jobId + 1, 6, 9)).toEqual([])
      await run.noteMissing('gateway', missing, [])
      expect(await ledger.missingCareTeams(jobId, 6, 9)).toEqual([])
      // An older export, read again, says nothing of a person whom a later one has.
      await list(4, [ann, THE_PERSON, 0], [ann, second, 60], [bob, second, 60])
      expect(await ledger.listedCareTeams(jobId, [ann, bob])).toEqual(
        new Map([
          [ann, listing(6, first)],
          [bob, listing(4, second)],
        ]),
      )
      await list(8, [ann, THE_PERSON, 0], [ann, UNUSABLE, 0], [bob, THE_PERSON, 0])
      expect(await ledger.missingCareTeams(jobId, 8, 9)).toEqual([{ account: bob, npi: second, at: 60 }])
      await list(8, [UNKNOWN_PERSON, UNUSABLE, 0])
      expect(await ledger.missingCareTeams(jobId, 8, 9)).toBe('unreadable')
      await list(9, [ann, THE_PERSON, 0])
      expect(await ledger.missingCareTeams(jobId, 9, 9)).toEqual([{ account: ann, npi: first, at: 70 }])
      await ledger.forgetPerson('gateway', [ann], null)
      expect(await ledger.listedCareTeams(jobId, [ann])).toEqual(new Map())
    })

    it('knows of care teams the newest date of each NPI, one mark an account, and who owes a mark or a deletion', async () => {
      const { run } = await openChunk()
      const account = rowKey(1)
      const [first, second] = [rowKey(11), rowKey(12)]
      const known = (npi: string, observedAt: number, mark: KnownCareTeam['mark'], of = account) => {
        const content = mark === 'to-set' ? 'c0ffee00c0ffee00' : null
        const row = {
          account: of,
          npi,
          observedAt,
          storedAt: NOW,
          mark,
          accountId: `id of ${of}`,
          heardAt: 7,
          content,
        }
        const isOwed = mark === 'to-set' || mark === 'to-unset'
        return { ...row, deletions: [], markBy: isOwed ? jobId : null, deletionsBy: null }
      }
      await run.saveCareTeams('gateway', [known(first, 5, 'set'), known(first, 5, 'set', rowKey(2))])
      await run.saveCareTeams('gateway', [known(second, 7, 'set')])
      expect(await ledger.owedCareTeams('gateway', jobId, '', 9)).toEqual([])
      // An id that is not known this time is the one that was known before.
      await run.saveCareTeams('gateway', [{ ...known(first, 3, 'to-set'), accountId: null }])
      expect(await ledger.careTeams('gateway', [account, rowKey(2), rowKey(3)])).toEqual(
        new Map([
          [account, [known(first, 5, 'to-set'), known(second, 7, 'set')]],
          [rowKey(2), [known(first, 5, 'set', rowKey(2))]],
        ]),
      )
      await run.saveCareTeams('gateway', [known(second, 5, 'to-unset', rowKey(3))])
      expect(await ledger.owedCareTeams('gateway', jobId, '', 9)).toEqual([account, rowKey(3)])
      expect(await ledger.owedCareTeams('gateway', jobId, account, 9)).toEqual([rowKey(3)])
      expect(await ledger.owedCareTeams('another', jobId, '', 9)).toEqual([])
      expect(await ledger.owedCareTeams('gateway', jobId + 1, '', 9)).toEqual([])
      const owed = { by: [['id-2', 'ours']], until: 7, isSeen: true, inDoubt: ['c0ffee00c0ffee00'] }
      const replaced = { ...known(first, 5, 'set', rowKey(2)), deletions: [owed], deletionsBy: jobId }
      await run.saveCareTeams('gateway', [replaced])
      expect((await ledger.careTeams('gateway', [rowKey(2)])).get(rowKey(2))).toEqual([replaced])
      expect(await ledger.owedCareTeams('gateway', jobId, account, 9)).toEqual([rowKey(2), rowKey(3)])
      await run.saveCareTeams('gateway', [{ ...replaced, deletions: [] }])
      expect(await ledger.owedCareTeams('gateway', jobId, account, 9)).toEqual([rowKey(3)])
      expect(await ledger.careTeams('another', [account])).toEqual(new Map())
    })

    it('keeps of a care-team entry the latest row that was heard, and forgets one that is gone, no other', async () => {
      const { run } = await openChunk()
      const known = (npi: string, heardAt: number, more: Partial<KnownCareTeam> = {}): KnownCareTeam => ({
        ...{ account: rowKey(1), npi, observedAt: 5, storedAt: NOW, mark: 'none', accountId: null, heardAt },
        ...{ content: null, deletions: [], markBy: null, deletionsBy: null },
        ...more,
      })
      await run.saveCareTeams('gateway', [known(rowKey(11), 7), known(rowKey(12), 7)])
      await run.saveCareTeams('another', [known(rowKey(11), 7)])
      await run.saveCareTeams('gateway', [known(rowKey(11), 6), known(rowKey(12), 8)])
      const heard = async (gateway: string, account = rowKey(1)) =>
        (await ledger.careTeams(gateway, [account])).get(account)?.map(({ npi, heardAt }) => [npi, heardAt])
      expect(await heard('gateway')).toEqual([
        [rowKey(11), 7],
        [rowKey(12), 8],
      ])
      await run.saveCareTeams('gateway', [known(rowKey(11), 9, { isGone: true }), known(rowKey(13), 9)])
      expect(await heard('gateway')).toEqual([
        [rowKey(12), 8],
        [rowKey(13), 9],
      ])
      expect(await heard('another')).toEqual([[rowKey(11), 7]])
    })

    it('keeps as many care-team entries and requests as come at once', async () => {
      const { run } = await openChunk()
      const people = Array.from({ length: 1_100 }, (_, at) => rowKey(at + 1))
      await run.saveCareTeams(
        'gateway',
        people.map((account) => ({
          ...{ account, npi: rowKey(9), observedAt: 5, storedAt: NOW, mark: 'none', accountId: null },
          ...{ heardAt: 7, content: null, deletions: [], markBy: null, deletionsBy: null },
        })),
      )
      await run.saveMedicalRequests(
        'gateway',
        people.map((reference) => ({
          ...{ reference, content: content(1), heardAt: 7, state: 'awaiting', run: 'run-1' },
        })),
      )
      expect([...(await ledger.careTeams('gateway', people)).keys()].toSorted()).toEqual(people.toSorted())
      expect([...(await ledger.medicalRequests('gateway', people)).keys()].toSorted()).toEqual(
        people.toSorted(),
      )
    })

    it('knows requests for medical records as they were sent last, and the latest row that said so', async () => {
      const { run } = await openChunk()
      const request: KnownRequest = {
        ...{ reference: rowKey(1), content: content(1), heardAt: 7 },
        ...{ state: 'awaiting', run: 'run-1' },
      }
      await run.saveMedicalRequests('gateway', [request, { ...request, reference: rowKey(2) }])
      await run.saveMedicalRequests('gateway', [
        { ...request, content: content(2), state: 'complete', heardAt: 5, run: null },
      ])
      const asked = [rowKey(1), rowKey(2), rowKey(3)]
      expect(await ledger.medicalRequests('gateway', asked)).toEqual(
        new Map([
          [rowKey(1), { ...request, content: content(2), state: 'complete', run: null }],
          [rowKey(2), { ...request, reference: rowKey(2) }],
        ]),
      )
      expect(await ledger.medicalRequests('another', asked)).toEqual(new Map())
    })

    /** A run of the job that has collected of these people, and has listed care teams of them. */
    const saveOfJob = async (
      id: number,
      runId: string,
      people: readonly string[],
      held: ChunkSettlement['held'] = [],
    ) => {
      const answer = await ledger.acquireLease(
        { jobId: id, runId, owner: 'here:1', now: NOW, ttlMs: TTL },
        alive,
      )
      if (!answer.ok) throw new Error('the lease is held')
      const run = await ledger.startRun(answer.lease, { ...begun(runId), jobId: id })
      const { id: exportRow } = await addExport(run)
      await run.openChunk(exportRow, chunk(1))
      await run.settleChunk({
        ...{ exportRow, chunk: 1, counts: '{}', receiptsLength: 0, rejectsLength: 0, delivered: [] },
        ...{
          held,
          arrival: 1,
          exceptions: [],
          tallies: noTallies(),
          at: NOW,
        },
        listed: people.flatMap((account) =>
          [THE_PERSON, rowKey(9)].map((npi) => ({ account, npi, at: NOW })),
        ),
        collected: { collection: '{}', people: people.map((person) => ({ person, content: content(1) })) },
      })
    }

    it('forgets a person at one gateway, by hash and by account id', async () => {
      const { run } = await openChunk()
      const entry = (account: string): KnownCareTeam => ({
        ...{ account, npi: rowKey(9), observedAt: 5, storedAt: NOW, mark: 'set', accountId: null },
        ...{ heardAt: 7, content: null, deletions: [], markBy: null, deletionsBy: null },
      })
      const people = [rowKey(1), rowKey(2), rowKey(3)]
      for (const gateway of ['gateway', 'another']) {
        await run.saveAccounts(
          gateway,
          people.map((reference, at) => ({ reference, accountId: `id-${at}`, sentBefore: null })),
          NOW,
        )
        await run.saveCareTeams(gateway, people.map(entry))
      }
      const jobs = new Map<string, number[]>()
      for (const [gateway, name] of [
        ['gateway', 'one'],
        ['gateway', 'other'],
        ['another', 'one'],
      ] as const) {
        const id = await ledger.jobId(name, gateway)
        jobs.set(gateway, [...(jobs.get(gateway) ?? []), id])
        await saveOfJob(id, `run of ${name} ${gateway}`, people)
      }
      await ledger.forgetPerson('gateway', [rowKey(1)], 'id-1')
      /** By what the ledger has of people: of whom. */
      const left = async (gateway: string) => {
        const kept: ReadonlyMap<string, unknown>[] = [
          await ledger.accounts(gateway, people),
          await ledger.careTeams(gateway, people),
        ]
        for (const id of jobs.get(gateway) ?? [])
          kept.push(await ledger.collected(id, people), await ledger.listedCareTeams(id, people))
        return new Set(kept.map((one) => [...one.keys()].sort().join()))
      }
      expect(await left('gateway')).toEqual(new Set([rowKey(3)]))
      expect(await left('another')).toEqual(new Set([people.join()]))
      await ledger.forgetPerson('gateway', [rowKey(3)], null)
      expect(await left('gateway')).toEqual(new Set(['']))
      // Each time, what was delivered to them counts as not delivered.
      await ledger.forgetPerson('gateway', [rowKey(3), rowKey(3)], null)
      expect(await ledger.forgotten('gateway', () => people)).toEqual(
        new Map([...[rowKey(1), rowKey(2)].map((one) => [one, 1] as const), [rowKey(3), 2]]),
      )
      expect(await ledger.forgotten('another', () => people)).toEqual(new Map())
      expect(await left('another')).toEqual(new Set([people.join()]))
    })

    it('knows whether an export of that name and content was read to its end before', async () => {
      const { run, exportRow } = await openChunk()
      const [record] = await ledger.exportsOf('run-1')
      if (record === undefined) throw new Error('one was begun')
      const again = { ...record, id: record.id + 1 }
      expect(await ledger.lastReading(jobId, again)).toBeUndefined()
      await run.endExport(exportRow, 'finished')
      expect(await ledger.lastReading(jobId, again)).toBe(record.id)
      expect(await ledger.lastReading(jobId, record)).toBeUndefined()
      expect(await ledger.lastReading(jobId, { ...again, name: 'another.csv' })).toBeUndefined()
      expect(await ledger.lastReading(jobId, { ...again, sha256: 'another' })).toBeUndefined()
      expect(await ledger.lastReading(await ledger.jobId('another', 'gateway'), again)).toBeUndefined()
    })

    it('gives an export the place of its word: another one where its name has shown other bytes since', async () => {
      type Read = {
        readonly sha: string
        readonly path?: string
        readonly end?: 'finished' | 'failed' | 'open'
        readonly chunk?: true
        readonly more?: Parameters<typeof begun>[1]
        readonly reading?: 'whole' | 'selected'
        /** The reading, by its number, of which it keeps the place; none: its own. */
        readonly as?: number
      }
      const backfill = { backfill: { from: '2026-01-01', to: '2026-01-31' } }
      const history: readonly Read[] = [
        { sha: 'a' },
        { sha: 'a', as: 1 },
        { sha: 'b' },
        { sha: 'a' },
        { sha: 'a', as: 4 },
        // What was not read, or nothing of which can have been sent, stands between none.
        { sha: 'b', end: 'failed' },
        { sha: 'a', as: 4 },
        { sha: 'c', end: 'open', chunk: true },
        { sha: 'a' },
        // Not read to its end.
        { sha: 'd', end: 'failed' },
        { sha: 'd' },
        { sha: 'a' },
        // A backfill is neither earlier nor later, and comes between none.
        { sha: 'b', more: backfill, as: 3 },
        { sha: 'a', as: 12 },
        // Rows that are taken up speak as the last reading of the whole did.
        { sha: 'b', reading: 'selected', as: 3 },
        { sha: 'd', reading: 'selected', as: 11 },
        { sha: 'a', as: 12 },
        // Two files of one name, each read again.
        { sha: 'b', path: '/other/a.csv' },
        { sha: 'a', as: 12 },
        { sha: 'b', path: '/other/a.csv', as: 18 },
        { sha: 'a', path: '/other/a.csv' },
      ]
      const ids: number[] = []
      for (const [
        at,
        { sha, path = '/in/a.csv', end = 'finished', chunk: sent, ...one },
      ] of history.entries()) {
        const id = `run-${at}`
        const run = await ledger.startRun(await lease({ runId: id }), begun(id, one.more ?? {}))
        const mapping = { name: 'm', digest: 'd', content: '{}' }
        const record = await run.addExport({
          ...{ ordinal: 1, exportId: sha, name: 'a.csv', path, sha256: sha, bytes: 1, mapping },
          ...(one.reading === undefined ? {} : { reading: one.reading }),
        })
        ids.push(record.id)
        const wanted = ids[(one.as ?? at + 1) - 1]
        expect([at + 1, await ledger.arrivalOf(jobId, record)]).toEqual([at + 1, wanted])
        if (sent === true) await run.openChunk(record.id, chunk(1))
        if (end !== 'open') await run.endExport(record.id, end)
        await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
        await ledger.releaseLease(run.lease)
        expect([at + 1, await ledger.arrivalOf(jobId, record)]).toEqual([at + 1, wanted])
      }
    })

    it('replaces what was delivered under a key, and keeps the first account id', async () => {
      const { run, exportRow, chunkSettled } = await openChunk()
      await run.settleChunk(chunkSettled())
      await run.openChunk(exportRow, chunk(2))
      await run.settleChunk(
        chunkSettled({
          chunk: 2,
          delivered: [{ rowKey: rowKey(1), records: [said(2), said(8), said(1)] }],
        }),
      )
      expect(await ledger.delivered(jobId, [rowKey(1)])).toEqual(
        new Map([[rowKey(1), [said(2), said(8), said(1)]]]),
      )
      expect(await ledger.held(jobId, [rowKey(2)])).toEqual(new Map([[rowKey(2), heldUnder(3)]]))
      await run.saveAccounts('gateway', [person(1, 'first')], NOW)
      await run.saveAccounts('gateway', [person(1, 'second')], NOW)
      expect(await ledger.accounts('gateway', [rowKey(1)])).toMatchObject(
        new Map([[rowKey(1), { accountId: 'first' }]]),
      )
    })

    it('remembers fires, each written down once and moved by one process', async () => {
      const { fires } = ledger
      const hourly = { cron: '0 * * * *', zone: 'Etc/UTC' }
      const from = { ...hourly, seenUntil: NOW }
      expect(await fires.timetable(jobId)).toBeUndefined()
      expect(await fires.comeDue(jobId, undefined, from, [])).toBe(true)
      expect(await fires.comeDue(jobId, undefined, from, [NOW + 1])).toBe(false)
      const to = { ...hourly, cron: '5 * * * *', seenUntil: NOW + 3 }
      expect(await fires.comeDue(jobId, from, to, [NOW + 1, NOW + 2, NOW + 3])).toBe(true)
      expect(await fires.comeDue(jobId, from, to, [NOW + 4])).toBe(false)
      expect(await fires.comeDue(jobId, { ...to, zone: 'Asia/Tokyo' }, to, [NOW + 4])).toBe(false)
      expect(await fires.comeDue(jobId, { ...to, cron: '6 * * * *' }, to, [NOW + 4])).toBe(false)
      expect(await fires.timetable(jobId)).toEqual(to)
      // The clock was set back: an instant that is known is not due again.
      expect(await fires.comeDue(jobId, to, { ...to, seenUntil: NOW }, [NOW + 2])).toBe(true)
      const [first, second, third] = await fires.open(jobId)
      if (first === undefined || second === undefined || third === undefined) throw new Error('not due')
      expect([first.due, second.due, third.due]).toEqual([NOW + 1, NOW + 2, NOW + 3])
      expect(first).toMatchObject({ state: 'due', owner: null, run_id: null, made_up_by: null, reason: null })

      const begin = (owner: string) => fires.move(first, 'begin', { owner, begun_at: NOW + 5 })
      const begun = await begin('here:1')
      expect(begun).toMatchObject({ state: 'running', owner: 'here:1', begun_at: NOW + 5 })
      expect(await begin('there:2')).toBeUndefined()
      if (begun === undefined) throw new Error('not begun')
      await fires.noteRun(begun, 'run-1')
      const taken = await fires.move(begun, 'interrupt')
      expect(taken).toMatchObject({ state: 'interrupted', run_id: 'run-1' })
      if (taken === undefined) throw new Error('not taken')
      // Who had it before has nothing to say of it, not only once another one goes on with it.
      expect(await fires.move(begun, 'end', { exit: 0 })).toBeUndefined()
      await fires.noteRun(begun, 'run-9')
      expect((await fires.open(jobId))[0]).toMatchObject({ state: 'interrupted', run_id: 'run-1' })
      const resumed = await fires.move(taken, 'resume', { owner: 'there:2', begun_at: NOW + 6 })
      // Whose fire it was before has nothing more to say of it.
      expect(await fires.move(begun, 'end', { exit: 0 })).toBeUndefined()
      await fires.noteRun(begun, 'run-9')
      if (resumed === undefined) throw new Error('not resumed')
      const end = { exit: 1, error: 'interrupted', ended_at: NOW + 7 }
      expect(await fires.move(resumed, 'end', end)).toMatchObject({ state: 'ended', run_id: 'run-1', ...end })
      const why = { reason: 'job-held', detail: 'there:2' }
      expect(await fires.move(second, 'miss', why)).toMatchObject({ state: 'missed', ...why })
      await expect(fires.move(third, 'end')).rejects.toMatchObject(illegal)

      const other = await ledger.jobId('other', 'gateway')
      expect(await fires.latest(other, 5)).toEqual([])
      expect((await fires.latest(jobId, 2)).map(({ due }) => due)).toEqual([NOW + 3, NOW + 2])
      await fires.forget(jobId, 'unscheduled', NOW + 8)
      expect(await fires.timetable(jobId)).toBeUndefined()
      expect(await fires.open(jobId)).toEqual([])
      const states = (await fires.latest(jobId, 5)).map(({ state, reason }) => `${state} ${reason}`)
      expect(states).toEqual(['skipped unscheduled', 'skipped unscheduled', 'ended null'])
    })

    it('skips what a job that left the schedule has open; what is running ends by itself', async () => {
      const { fires } = ledger
      const hourly = { cron: '0 * * * *', zone: 'Etc/UTC', seenUntil: NOW + 5 }
      await fires.comeDue(jobId, undefined, hourly, [1, 2, 3, 4, 5])
      const moves = [[], ['miss'], ['begin'], ['begin', 'interrupt'], ['begin', 'end']] as const
      for (const [at, fire] of (await fires.open(jobId)).entries()) {
        let now = fire
        for (const event of moves[at] ?? []) now = (await fires.move(now, event)) ?? expect.fail('not moved')
      }
      await fires.forget(jobId, 'unscheduled', NOW + 8)
      const said = (await fires.latest(jobId, 9)).map(({ due, state, reason, ended_at }) => [
        ...[due, state, reason, ended_at],
      ])
      const skipped = ['skipped', 'unscheduled', NOW + 8]
      expect(said).toEqual([
        [5, 'ended', null, null],
        [4, ...skipped],
        [3, 'running', null, null],
        [2, ...skipped],
        [1, ...skipped],
      ])
    })

    it('tells who holds a job', async () => {
      const holder = async (now: number, isDead = alive) => (await ledger.holder(jobId, now, isDead))?.owner
      expect(await holder(NOW)).toBeUndefined()
      const held = await lease()
      expect(await holder(NOW + TTL - 1)).toBe('here:1')
      expect(await holder(NOW + TTL)).toBeUndefined()
      expect(await holder(NOW, () => true)).toBeUndefined()
      await ledger.releaseLease(held)
      expect(await holder(NOW)).toBeUndefined()
    })

    it('asks whoever runs it to stop, as long as somebody does; not what comes after', async () => {
      const stopBy = async () => (await ledger.lastLease(jobId))?.stop_by
      const run = await startRun()
      expect(await ledger.askToStop('run-9', { by: 'ann', note: null, at: NOW })).toBe(false)
      expect(await ledger.askToStop('run-1', { by: 'ann', note: null, at: NOW + TTL })).toBe(false)
      expect(await stopBy()).toBeNull()
      expect(await ledger.askToStop('run-1', { by: 'ann', note: null, at: NOW + TTL - 1 })).toBe(true)
      expect(await stopBy()).toBe('ann')
      await ledger.startRun({ ...run.lease, runId: 'run-2' }, begun('run-2'))
      expect(await stopBy()).toBeNull()
      await ledger.askToStop('run-2', { by: 'ann', note: null, at: NOW })
      await lease({ runId: 'run-3', owner: 'there:2' }, () => true)
      expect(await stopBy()).toBeNull()
    })

    it('tells who held a job last, also when it has run out or was let go', async () => {
      expect(await ledger.lastLease(jobId)).toBeUndefined()
      const held = await lease()
      expect(await ledger.lastLease(jobId)).toMatchObject({ owner: 'here:1', expires_at: NOW + TTL })
      await ledger.releaseLease(held)
      expect(await ledger.lastLease(jobId)).toMatchObject({ owner: 'here:1', expires_at: 0 })
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
        jobId: await from.jobId('job', 'gateway'),
        run: await from.run('run-1'),
        exports: await from.exportsOf('run-1'),
        mapping: await from.mapping('d'),
        chunks: await from.chunksOf(exportRow),
        batches: (await from.batchesOf(key)).map(({ holds: held, ...batch }) => ({
          ...batch,
          holds: unpackHolds(held),
        })),
        exceptions: await from.exceptionsOf(key),
        delivered: await from.delivered(jobId, [rowKey(1)]),
        held: await from.held(jobId, [rowKey(2)]),
        accounts: await from.accounts('gateway', [rowKey(1)]),
      })
      const before = await look(ledger)
      expect(before.batches.map((batch) => batch.state)).toEqual(['settled', 'sending'])
      ledger = await opened.reopen()
      expect(await look(ledger)).toEqual(before)
      expect((await ask({ owner: 'there:2' })).ok).toBe(false)
    })
  })
}
