import { beforeEach, describe, expect, it } from 'vitest'
import type { BatchIntent, HeldRecord, Ledger, Tallies } from '../../../src/ledger/ledger.ts'
import { packHolds, unpackHolds } from '../../../src/ledger/packed-records.ts'
import { keptSlot } from '../kept-slots.ts'
import {
  chunk,
  content,
  holds,
  illegal,
  ledgerScene,
  NOW,
  type OpenLedger,
  person,
  record,
  rowKey,
  said,
} from './scene.ts'

export function batchesSuite(open: OpenLedger): void {
  describe('chunks and batches', () => {
    const scene = ledgerScene(open)
    const { heldUnder, openChunk } = scene
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
    })

    describe('chunks', () => {
      it('keeps an open chunk’s rows as they are by now, and a settled one’s as they were', async () => {
        const { run, exportRow, chunkSettled } = await openChunk()
        await run.openChunk(exportRow, chunk(1, { rows: 8 }))
        expect(await ledger.chunks.ofExport(exportRow)).toMatchObject([
          { number: 1, rows: 8, state: 'open', counts: null },
        ])
        await run.settleChunk(chunkSettled())
        await run.openChunk(exportRow, chunk(1, { rows: 9 }))
        expect(await ledger.chunks.ofExport(exportRow)).toMatchObject([
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
        expect(await ledger.slots.delivered(jobId, [rowKey(1), rowKey(2)])).toEqual(
          new Map([[rowKey(1), [said(1), said(2)]]]),
        )
        expect(await ledger.slots.held(jobId, [rowKey(1), rowKey(2)])).toEqual(
          new Map([[rowKey(2), heldUnder(3)]]),
        )
        expect(await ledger.chunks.exceptions(key)).toMatchObject([
          { row: 9, line: 3, byte_offset: 200, batch_id: null, outcome: 'rejected' },
        ])
        const { tallies, receipts_length: receipts } = (await ledger.runs.find('run-1')) ?? {}
        expect([JSON.parse(tallies ?? ''), receipts]).toMatchObject([
          { requests: { sent: 4, retried: 1, readBack: 2 } },
          10,
        ])
      })

      it('has been counted as far as anything was written, and no further', async () => {
        const { run, intent, settled } = await openChunk()
        const counted = async () => JSON.parse((await ledger.runs.find('run-1'))?.tallies ?? '') as Tallies
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
        const other = await scene.reopen()
        expect(JSON.parse((await other.runs.find('run-1'))?.tallies ?? '')).toEqual(run.tallies)
        expect(
          await other.people.accounts(
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
        expect(await ledger.chunks.ofExport(exportRow)).toMatchObject([{ state: 'open', counts: null }])
        expect(await ledger.chunks.exceptions(key)).toEqual([])
        expect(await ledger.slots.delivered(jobId, [rowKey(1)])).toEqual(new Map())
        expect(await ledger.slots.held(jobId, [rowKey(2)])).toEqual(new Map())
        expect(run.tallies).toEqual(before)
        await run.settleChunk(chunkSettled())
        expect(await ledger.chunks.ofExport(exportRow)).toMatchObject([{ state: 'settled' }])
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
        const [sending] = await ledger.chunks.batches(key)
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
        const [done] = await ledger.chunks.batches(key)
        expect(done).toMatchObject({
          state: 'settled',
          answer: 'accepted',
          status: 201,
          attempts: 2,
          settled_at: NOW + 5,
          records: 3,
        })
        expect(unpackHolds(done?.holds ?? new Uint8Array())).toEqual(holds.slice(0, 1))
        expect(await ledger.chunks.exceptions(key)).toMatchObject([
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
        const states = async () => (await ledger.chunks.batches(key)).map((one) => [one.batch_id, one.state])
        expect(await states()).toEqual([
          ['a', 'sending'],
          ['d', 'planned'],
        ])
        await run.settleBatch(settled(first))
        expect(await run.planBatches([])).toEqual([])
        await run.settleChunk(chunkSettled())
        expect(await states()).toEqual([['a', 'settled']])
      })

      it('are planned with the records in doubt that a profile has shown, and no more than these', async () => {
        const { run, intent, settled } = await openChunk()
        const doubt = (at: number) => ({ ...record(at), rowKey: rowKey(at), series: content(7) })
        const held = [doubt(1), doubt(2)]
        await run.settleBatch(settled(await run.beginBatch(intent), { held }))
        await run.planBatches([{ ...intent, batchId: 'b' }], [doubt(1)])
        ledger = await scene.reopen()
        const found = await ledger.slots.held(jobId, [rowKey(1), rowKey(2)])
        expect([...found].map(([key, of]) => [key, of.map(({ sentUntil }) => sentUntil)])).toEqual([
          [rowKey(1), [0]],
          [rowKey(2), [null]],
        ])
        expect(await ledger.left.heldRecords(jobId)).toBe(1)
      })

      it('that are planned were not sent, unless the machine was started again since', async () => {
        const { run, intent, settled, key } = await openChunk()
        const [row = 0] = await run.planBatches([intent])
        await expect(run.settleBatch(settled(row))).rejects.toMatchObject(illegal)
        await run.endRun({ state: 'failed', endedAt: NOW, reason: 'given-up' })
        const sentContents = holds.map((one) => one.content)
        ledger = await scene.reopen()
        expect(await ledger.chunks.batches(key)).toMatchObject([{ state: 'planned' }])
        expect((await ledger.left.sentByGivenUp(jobId, sentContents)).size).toBe(0)
        ledger = await scene.reopen('here, after a start of the machine')
        expect(await ledger.chunks.batches(key)).toMatchObject([{ state: 'sending' }])
        expect((await ledger.left.sentByGivenUp(jobId, sentContents)).size).toBe(holds.length)
        const later = ledger.runs.amend(run.lease)
        await later.settleBatch(settled(row))
        expect(await ledger.chunks.batches(key)).toMatchObject([{ state: 'settled' }])
      })

      it('are split when refused, and hold nothing then', async () => {
        const { run, intent, key } = await openChunk()
        const id = await run.beginBatch(intent)
        await run.splitBatch(id, 'refused', 400, NOW + 1)
        const [split] = await ledger.chunks.batches(key)
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
        expect(await ledger.chunks.exceptions(key)).toHaveLength(1)
      })

      it('of open chunks, of runs of the job that were given up, tell how these sent what was never answered', async () => {
        const { run, exportRow, intent, settled, chunkSettled } = await openChunk()
        const holding = (chunk: number, batchId: string, at: number): BatchIntent => ({
          ...{ ...intent, chunk, batchId },
          records: 1,
          holds: packHolds([{ row: at, rule: 'systolic-bp', content: content(at) }]),
        })
        const exportId = (await ledger.exports.find(exportRow))?.export_id
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
        expect(await told(await ledger.jobs.id('job', 'other'))).toEqual(new Map())
        ledger = await scene.reopen()
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
          [...(await ledger.slots.held(jobId, [1, 2, 3, 4].map(rowKey)))].map(([key, of]) => [
            key,
            of.map(({ isOpen, sentUntil }) => [isOpen, sentUntil]),
          ])
        const batch = async (held: readonly HeldRecord[]): Promise<void> =>
          run.settleBatch(settled(await run.beginBatch(intent), { held }))
        await batch([doubt(1, content(7)), doubt(2), doubt(4)])
        expect(await states()).toEqual([
          [rowKey(1), [[true, null]]],
          [rowKey(2), [[false, null]]],
          [rowKey(4), [[false, null]]],
        ])
        expect(await ledger.slots.heldSeries(jobId)).toEqual(new Set([content(7)]))
        expect(await ledger.left.heldRecords(jobId)).toBe(3)
        const delivered = [
          { rowKey: rowKey(9), records: [keptSlot(record(9).rule, content(9), { arrival: 1 })] },
        ]
        const sent = [1, 2, 3].map((at) => ({ ...doubt(at), exportRow, isTaken: at === 3 }))
        await run.endRun({
          ...{
            state: 'failed',
            endedAt: NOW + 30,
            reason: 'given-up',
            left: { ruling: { run: null, decisions: [], released: [doubt(4)], delivered }, sent },
          },
        })
        expect(await states()).toEqual([
          [rowKey(1), [[true, NOW + 30]]],
          [rowKey(2), [[false, NOW + 30]]],
          [rowKey(3), [[false, 0]]],
        ])
        // They are asked for wherever they come again: no series waits for that, and they are not counted with what was looked for.
        expect(await ledger.slots.heldSeries(jobId)).toEqual(new Set())
        expect([await ledger.left.heldRecords(jobId), await ledger.left.unasked('run-1')]).toEqual([0, 2])
        expect([...(await ledger.slots.delivered(jobId, [rowKey(9)])).keys()]).toEqual([rowKey(9)])
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
        expect([...(await ledger.slots.held(jobId, [rowKey(1), rowKey(2)])).keys()]).toEqual([rowKey(2)])
      })

      it('written at the same time are all there, in their order; one that fails leaves none', async () => {
        const { run, intent, settled, key } = await openChunk()
        const ids = await Promise.all(
          Array.from({ length: 50 }, (_, at) => run.beginBatch({ ...intent, batchId: `batch-${at}` })),
        )
        expect((await ledger.chunks.batches(key)).map((batch) => [batch.id, batch.batch_id])).toEqual(
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
        expect(await ledger.chunks.batches(key)).toHaveLength(50)
      })
    })
  })
}
