import { beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import {
  chunk,
  content,
  exception,
  ledgerScene,
  NOW,
  type OpenLedger,
  person,
  record,
  rowKey,
  said,
} from './scene.ts'

export function slotsSuite(open: OpenLedger): void {
  describe('slots', () => {
    const scene = ledgerScene(open)
    const { heldUnder, openChunk } = scene
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
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
        if (number % 9 === 0) expect(await ledger.slots.delivered(jobId, asked)).toEqual(expected)
      }
      ledger = await scene.reopen()
      expect(await ledger.slots.delivered(jobId, asked)).toEqual(expected)
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
      expect(await ledger.slots.delivered(jobId, keys)).toEqual(
        new Map(all.map((at) => [rowKey(at), [said(at), said(at + 1)]])),
      )
      expect(await ledger.slots.held(jobId, keys)).toEqual(
        new Map(all.slice(0, 1500).map((at) => [rowKey(at), heldUnder(at, at + 7)])),
      )
      expect(await ledger.people.accounts('gateway', keys)).toEqual(
        new Map(all.map((at) => [rowKey(at), { ...accountOf(at), born: null, named: null }])),
      )
      expect(await ledger.slots.heldSeries(jobId)).toEqual(new Set([0, 1, 2].map(content)))
      expect(await ledger.slots.heldContents([content(3), content(1506), content(4_000)])).toEqual(
        new Set([content(3), content(1506)]),
      )
      const other = await ledger.jobs.id('another', 'gateway')
      expect(await ledger.slots.heldSeries(other)).toEqual(new Set())
      expect(await ledger.slots.delivered(other, keys)).toEqual(new Map())
      expect(await ledger.slots.held(other, keys)).toEqual(new Map())
      expect(await ledger.people.accounts('another', keys)).toEqual(new Map())
      expect(await ledger.slots.delivered(jobId, [])).toEqual(new Map())
    })

    it('keeps the print of a row until something else is delivered under its key', async () => {
      const { run, exportRow, chunkSettled } = await openChunk()
      const print = (first: number) => ({ first, last: -first, biometrics: 12, conditions: 1 })
      const delivered = [1, 2, 3].map((at) => ({ rowKey: rowKey(at), records: [said(at)], print: print(at) }))
      await run.settleChunk(chunkSettled({ delivered }))
      await run.openChunk(exportRow, chunk(2))
      const later = [
        { rowKey: rowKey(1), records: [said(7)] },
        { rowKey: rowKey(2), records: [said(2)], print: print(9) },
      ]
      await run.settleChunk(chunkSettled({ chunk: 2, delivered: later }))
      const keys = [1, 2, 3, 4].map(rowKey)
      const found = new Map([
        [rowKey(2), print(9)],
        [rowKey(3), print(3)],
      ])
      expect(await ledger.slots.prints(jobId, keys)).toEqual(found)
      ledger = await scene.reopen()
      expect(await ledger.slots.prints(jobId, keys)).toEqual(found)
      expect(await ledger.slots.prints(jobId, [])).toEqual(new Map())
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
      expect(await ledger.slots.delivered(jobId, [rowKey(1)])).toEqual(
        new Map([[rowKey(1), [said(2), said(8), said(1)]]]),
      )
      expect(await ledger.slots.held(jobId, [rowKey(2)])).toEqual(new Map([[rowKey(2), heldUnder(3)]]))
      await run.saveAccounts('gateway', [person(1, 'first')], NOW)
      await run.saveAccounts('gateway', [person(1, 'second')], NOW)
      expect(await ledger.people.accounts('gateway', [rowKey(1)])).toMatchObject(
        new Map([[rowKey(1), { accountId: 'first' }]]),
      )
    })
  })
}
