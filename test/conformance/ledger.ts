import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unpackHolds } from '../../src/ledger/holds.ts'
import {
  type BatchIntent,
  type BatchSettlement,
  type ChunkSettlement,
  type Exception,
  type Held,
  type Ledger,
  noTallies,
  type RunLedger,
} from '../../src/ledger/ledger.ts'

export interface OpenedLedger {
  readonly ledger: Ledger
  /** Closes the ledger and opens what it left on the disk. */
  reopen(): Promise<Ledger>
  cleanup(): Promise<void>
}

const NOW = 1_700_000_000_000
const TTL = 60_000
const alive = (_owner: string) => false
const hex = (text: string, digits: number): string =>
  Buffer.from(text).toString('hex').padStart(digits, '0').slice(-digits)
const rowKey = (at: number): string => hex(`row ${at}`, 32)
const content = (at: number): string => hex(`c ${at}`, 16)
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
    const startRun = async (id = 'run-1'): Promise<RunLedger> =>
      ledger.startRun(await lease({ runId: id }), {
        id,
        jobId,
        startedAt: NOW,
        rejectsPath: `rejects/${id}`,
        receiptsPath: `receipts/${id}`,
      })
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
    /** A run with an export and its first chunk open. */
    const openChunk = async () => {
      const run = await startRun()
      const { id: exportRow } = await addExport(run)
      await run.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 50, rows: 3 })
      const intent: BatchIntent = {
        exportRow,
        chunk: 1,
        batchId: 'batch-1',
        kind: 'biometric',
        holds,
        at: NOW,
      }
      const settled = (id: number, fields: Partial<BatchSettlement> = {}): BatchSettlement => ({
        id,
        exportRow,
        chunk: 1,
        answer: 'accepted',
        status: 201,
        attempts: 2,
        accepted: holds.slice(0, 1),
        exceptions: [exception()],
        at: NOW + 5,
        ...fields,
      })
      const chunkSettled = (fields: Partial<ChunkSettlement> = {}): ChunkSettlement => ({
        exportRow,
        chunk: 1,
        counts: '{}',
        receiptsLength: 10,
        rejectsLength: 20,
        delivered: [{ rowKey: rowKey(1), contents: [content(1), content(2)] }],
        held: [{ rowKey: rowKey(2), content: content(3) }],
        exceptions: [exception({ row: 9, batchId: null })],
        tallies: { ...noTallies(), requests: { sent: 4, retried: 1, readBack: 2 } },
        at: NOW + 9,
        ...fields,
      })
      return { run, exportRow, intent, settled, chunkSettled, key: { exportRow, chunk: 1 } }
    }

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

      it('lets nobody write with an old token', async () => {
        const { run, exportRow, intent, settled, chunkSettled, key } = await openChunk()
        const batch = await run.beginBatch(intent)
        await lease({ owner: 'there:2' }, () => true)
        const lost = { code: 'lease-lost' }
        await expect(run.renew(NOW, TTL)).rejects.toMatchObject(lost)
        await expect(addExport(run, 2)).rejects.toMatchObject(lost)
        await expect(run.endExport(exportRow, 'finished', null)).rejects.toMatchObject(lost)
        await expect(
          run.openChunk(exportRow, { number: 2, firstRow: 4, firstLine: 5, byteOffset: 99, rows: 1 }),
        ).rejects.toMatchObject(lost)
        await expect(run.beginBatch(intent)).rejects.toMatchObject(lost)
        await expect(run.settleBatch(settled(batch))).rejects.toMatchObject(lost)
        await expect(run.splitBatch(batch, 'refused', 400, NOW)).rejects.toMatchObject(lost)
        await expect(run.settleChunk(chunkSettled())).rejects.toMatchObject(lost)
        await expect(
          run.saveAccounts('gateway', [{ reference: rowKey(1), accountId: 'a' }], NOW),
        ).rejects.toMatchObject(lost)
        await expect(
          run.endRun({ state: 'finished', endedAt: NOW, workedMs: 1, reason: null }, noTallies()),
        ).rejects.toMatchObject(lost)

        expect(await ledger.exportsOf('run-1')).toMatchObject([{ id: exportRow, state: 'open' }])
        expect(await ledger.chunksOf(exportRow)).toMatchObject([{ number: 1, state: 'open' }])
        expect(await ledger.batchesOf(key)).toMatchObject([{ id: batch, state: 'sending' }])
        expect(await ledger.exceptionsOf(key)).toEqual([])
        expect(await ledger.delivered(jobId, [rowKey(1)])).toEqual(new Map())
        expect(await ledger.accounts('gateway', [rowKey(1)])).toEqual(new Map())
        expect(await ledger.run('run-1')).toMatchObject({ state: 'running' })
      })
    })

    describe('runs', () => {
      it('gives the oldest unfinished run of the job, and none once all are finished', async () => {
        expect(await ledger.unfinishedRun(jobId)).toBeUndefined()
        const run = await startRun()
        expect(await ledger.unfinishedRun(jobId)).toMatchObject({
          id: 'run-1',
          state: 'running',
          started_at: NOW,
        })
        await run.endRun(
          { state: 'interrupted', endedAt: NOW + 1, workedMs: 10, reason: 'interrupted' },
          noTallies(),
        )
        const left = await ledger.unfinishedRun(jobId)
        expect(left).toMatchObject({ state: 'interrupted', reason: 'interrupted', ended_at: NOW + 1 })
        if (left === undefined) return
        const resumed = await ledger.resumeRun(run.lease, left)
        expect(await ledger.run('run-1')).toMatchObject({
          state: 'running',
          reason: null,
          ended_at: null,
          job: 'job',
          gateway: 'gateway',
        })
        await resumed.endRun({ state: 'finished', endedAt: NOW + 2, workedMs: 5, reason: null }, noTallies())
        expect(await ledger.run('run-1')).toMatchObject({ state: 'finished', worked_ms: 15 })
        expect(await ledger.unfinishedRun(jobId)).toBeUndefined()
        expect(await ledger.unfinishedRun(await ledger.jobId('another', 'gateway'))).toBeUndefined()
      })

      it.each(['finished', 'failed'] as const)('does not resume a run that is %s', async (state) => {
        const run = await startRun()
        await run.endRun({ state, endedAt: NOW, workedMs: 1, reason: null }, noTallies())
        const record = await ledger.run('run-1')
        if (record === undefined) throw new Error('the run is gone')
        await expect(ledger.resumeRun(run.lease, record)).rejects.toMatchObject({ code: 'state-illegal' })
      })

      it('lists the newest first, and no more than asked for', async () => {
        const held = await lease()
        for (const at of [1, 3, 2]) {
          await ledger.startRun(held, {
            id: `run-${at}`,
            jobId,
            startedAt: NOW + at,
            rejectsPath: '',
            receiptsPath: '',
          })
        }
        expect((await ledger.runs(2)).map((run) => run.id)).toEqual(['run-3', 'run-2'])
        expect(await ledger.run('run-9')).toBeUndefined()
      })
    })

    it('keeps exports in their order, by content too, with their mapping', async () => {
      const run = await startRun()
      const second = await addExport(run, 2)
      const first = await addExport(run, 1)
      await run.endExport(second.id, 'failed', 'export-empty')
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
        await run.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 50, rows: 8 })
        expect(await ledger.chunksOf(exportRow)).toMatchObject([
          { number: 1, rows: 8, state: 'open', counts: null },
        ])
        await run.settleChunk(chunkSettled())
        await run.openChunk(exportRow, { number: 1, firstRow: 1, firstLine: 2, byteOffset: 50, rows: 9 })
        expect(await ledger.chunksOf(exportRow)).toMatchObject([
          {
            number: 1,
            rows: 8,
            state: 'settled',
            counts: '{}',
            receipts_length: 10,
            rejects_length: 20,
            settled_at: NOW + 9,
          },
        ])
      })

      it('settles with everything that is to be known of it', async () => {
        const { run, chunkSettled, key } = await openChunk()
        await run.settleChunk(chunkSettled())
        expect(await ledger.delivered(jobId, [rowKey(1), rowKey(2)])).toEqual(
          new Map([[rowKey(1), new Set([content(1), content(2)])]]),
        )
        expect(await ledger.held(jobId, [rowKey(1), rowKey(2)])).toEqual(
          new Map([[rowKey(2), new Set([content(3)])]]),
        )
        expect(await ledger.exceptionsOf(key)).toMatchObject([
          { row: 9, line: 3, byte_offset: 200, batch_id: null, outcome: 'rejected' },
        ])
        expect(JSON.parse((await ledger.run('run-1'))?.tallies ?? '')).toMatchObject({
          requests: { sent: 4, retried: 1, readBack: 2 },
        })
      })

      it('settles wholly or not at all', async () => {
        const { run, exportRow, chunkSettled, key } = await openChunk()
        // The column takes no null: the failure comes after chunk and exceptions were written.
        const broken = { rowKey: rowKey(2), content: content(3) }
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
        await run.settleChunk(chunkSettled())
        expect(await ledger.chunksOf(exportRow)).toMatchObject([{ state: 'settled' }])
      })

      it('settles once', async () => {
        const { run, chunkSettled } = await openChunk()
        await run.settleChunk(chunkSettled())
        await expect(run.settleChunk(chunkSettled())).rejects.toMatchObject({ code: 'state-illegal' })
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
        const illegal = { code: 'state-illegal' }
        await expect(run.settleBatch(settled(settledId))).rejects.toMatchObject(illegal)
        await expect(run.splitBatch(settledId, 'refused', 400, NOW)).rejects.toMatchObject(illegal)
        await expect(run.settleBatch(settled(splitId))).rejects.toMatchObject(illegal)
        await expect(run.splitBatch(splitId, 'refused', 400, NOW)).rejects.toMatchObject(illegal)
        expect(await ledger.exceptionsOf(key)).toHaveLength(1)
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

    it('finds thousands of keys, and none of another job or gateway', async () => {
      const { run, chunkSettled } = await openChunk()
      const COUNT = 5_000
      const all = Array.from({ length: COUNT }, (_, at) => at)
      await run.settleChunk(
        chunkSettled({
          delivered: all.map((at) => ({ rowKey: rowKey(at), contents: [content(at), content(at + 1)] })),
          held: all.slice(0, 1500).flatMap((at) => [
            { rowKey: rowKey(at), content: content(at) },
            { rowKey: rowKey(at), content: content(at + 7) },
          ]),
          exceptions: all.slice(0, 1200).map((row) => exception({ row })),
        }),
      )
      await run.saveAccounts(
        'gateway',
        all.map((at) => ({ reference: rowKey(at), accountId: at % 2 === 0 ? `account-${at}` : null })),
        NOW,
      )
      const keys = Array.from({ length: 2 * COUNT }, (_, at) => rowKey(at))
      expect(await ledger.delivered(jobId, keys)).toEqual(
        new Map(all.map((at) => [rowKey(at), new Set([content(at), content(at + 1)])])),
      )
      expect(await ledger.held(jobId, keys)).toEqual(
        new Map(all.slice(0, 1500).map((at) => [rowKey(at), new Set([content(at), content(at + 7)])])),
      )
      expect(await ledger.accounts('gateway', keys)).toEqual(
        new Map(all.map((at) => [rowKey(at), at % 2 === 0 ? `account-${at}` : null])),
      )
      const other = await ledger.jobId('another', 'gateway')
      expect(await ledger.delivered(other, keys)).toEqual(new Map())
      expect(await ledger.held(other, keys)).toEqual(new Map())
      expect(await ledger.accounts('another', keys)).toEqual(new Map())
      expect(await ledger.delivered(jobId, [])).toEqual(new Map())
    })

    it('replaces what was delivered under a key, and keeps the first account id', async () => {
      const { run, exportRow, chunkSettled } = await openChunk()
      await run.settleChunk(chunkSettled())
      await run.openChunk(exportRow, { number: 2, firstRow: 4, firstLine: 5, byteOffset: 99, rows: 1 })
      await run.settleChunk(
        chunkSettled({
          chunk: 2,
          delivered: [{ rowKey: rowKey(1), contents: [content(1), content(2), content(8)] }],
        }),
      )
      expect(await ledger.delivered(jobId, [rowKey(1)])).toEqual(
        new Map([[rowKey(1), new Set([content(1), content(2), content(8)])]]),
      )
      expect(await ledger.held(jobId, [rowKey(2)])).toEqual(new Map([[rowKey(2), new Set([content(3)])]]))
      await run.saveAccounts('gateway', [{ reference: rowKey(1), accountId: 'first' }], NOW)
      await run.saveAccounts('gateway', [{ reference: rowKey(1), accountId: 'second' }], NOW)
      expect(await ledger.accounts('gateway', [rowKey(1)])).toEqual(new Map([[rowKey(1), 'first']]))
    })

    it('is the same after it was opened again', async () => {
      const { run, exportRow, intent, settled, chunkSettled, key } = await openChunk()
      const [first] = await Promise.all([
        run.beginBatch(intent),
        run.beginBatch({ ...intent, batchId: 'batch-2' }),
      ])
      await run.settleBatch(settled(first))
      await run.settleChunk(chunkSettled())
      await run.saveAccounts('gateway', [{ reference: rowKey(1), accountId: 'a' }], NOW)
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
