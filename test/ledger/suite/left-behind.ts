import { beforeEach, describe, expect, it } from 'vitest'
import { type Ledger, noTallies } from '../../../src/ledger/ledger.ts'
import {
  chunk,
  content,
  exception,
  illegal,
  LATER,
  ledgerScene,
  lost,
  NOW,
  type OpenLedger,
  record,
  rowKey,
  said,
} from './scene.ts'

export function leftBehindSuite(open: OpenLedger): void {
  describe('what runs left behind', () => {
    const scene = ledgerScene(open)
    const { lease, begun, startRun, leftBefore, addExport, openChunk, saveOfJob } = scene
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
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
        await ledger.leases.release(first.run.lease)
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

      it('of an open chunk of a given-up run moves nothing in its balance, as the chunk has no counts', async () => {
        const first = await openChunk()
        const batch = await first.run.beginBatch(first.intent)
        const doubt = exception({ row: 3, content: content(3), outcome: 'in-doubt' })
        await first.run.settleBatch(first.settled(batch, { exceptions: [doubt] }))
        await first.run.endRun({ state: 'failed', endedAt: NOW, reason: 'given-up' })
        await ledger.leases.release(first.run.lease)
        const [left] = await ledger.left.inDoubt('run-1', 0, 10)
        const later = await startRun('run-2')
        const decisions = [{ exception: left?.id ?? 0, event: 'deliver' as const }]
        await later.rule({ run: 'run-2', decisions, released: [] }, NOW + 20)
        expect(await ledger.left.inDoubt('run-1', 0, 10)).toEqual([])
        expect([await ledger.left.moves('run-1'), await ledger.left.settledBy('run-1')]).toEqual([[], []])
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
        expect(await ledger.slots.held(jobId, [rowKey(2)])).toEqual(new Map())
        expect(await ledger.slots.delivered(jobId, [rowKey(2)])).toEqual(new Map([[rowKey(2), [said(3)]]]))
        const move = { kind: 'biometric', count: 1 }
        // Neither has got it through: not the run that left it in doubt, nor one that only held it back.
        expect(await ledger.left.moves('run-1')).toEqual([{ ...move, exportRow: first, to: 'rejected' }])
        expect(await ledger.left.moves('run-2')).toMatchObject([{ ...move, to: 'rejected' }])
        expect(await ledger.left.settledBy('run-1')).toEqual([{ run: 'run-2', count: 2 }])
        expect(await ledger.left.settledBy('run-2')).toEqual([{ run: 'run-2', count: 1 }])
        expect(await ledger.left.decisions([reject?.id ?? 0])).toEqual([
          { exception: reject?.id, event: 'deliver', run: 'run-2', by: null, note: null, at: NOW + 20 },
        ])
        const reasons = await ledger.reasons.ofRun('run-1')
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
        await ledger.leases.release(run.lease)
        const held = await lease({ runId: 'run-3' }, () => true)
        await ledger.runs.start(held, begun('run-3', { origin }))
        expect(await ledger.runs.find('run-3')).toMatchObject({ origin_run: 'run-1', selection: 'decided' })
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
          await ledger.leases.release(run.lease)
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
        expect(await rows(await ledger.jobs.id('another', 'gateway'))).toBe(0)
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
        const other = await ledger.jobs.id('another', 'gateway')
        await saveOfJob(other, 'run-8', [], held)
        await run.openChunk(exportRow, chunk(2))
        await run.rule({ run: 'run-1', decisions: [], released: held.slice(0, 1) }, NOW)
        const left = async (job: number) =>
          [...(await ledger.slots.held(job, [rowKey(2), rowKey(5)]))].map(([key, of]) => [
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
        const length = async () => (await ledger.runs.find('run-1'))?.receipts_length
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
        const amending = ledger.runs.amend(await lease({ runId: 'run-1', owner: 'there:2' }, () => true))
        await expect(run.rule(ruling, NOW)).rejects.toMatchObject(lost)
        await amending.rule(ruling, NOW)
        expect(await ledger.runs.find('run-1')).toMatchObject({ state: 'finished' })
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
      expect(await ledger.reasons.ofRun('run-1')).toMatchObject([
        { outcome: 'rejected', code: 'refused', exportName: 'a.csv', count: 2 },
        { outcome: 'in-doubt', code: 'too-large', count: 1 },
      ])
      expect(await ledger.reasons.ofRun('run-2')).toEqual([])
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
        (await ledger.reasons.ofRun('run-1')).map(({ settled, example }) => [settled, example?.row])
      expect(await example()).toEqual([[0, 4]])
      const left = await leftBefore(LATER, [3, 4, 5])
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
  })
}
