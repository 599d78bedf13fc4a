/** Chunks that an earlier process of a run has settled, and where its exports go on: numbers of several chunks and exports, all different. */
import { expect, test } from 'vitest'
import { noCounts, type RowCounts } from '../../src/model/balance.ts'
import { isGivenUp, openChunksOf, resumptionOf, settledBefore, unansweredOf } from '../../src/run/resume.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { fault } from '../ledger/export-fault.ts'

/** By export: rows of its chunks, settled but for those that are open. */
async function begun(exports: readonly (readonly (Omit<RowCounts, 'corrected'> | 'open')[])[]) {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  for (const [at, chunks] of exports.entries()) {
    const exportRow = await beginExport(run, { ordinal: at + 1 })
    for (const [index, rows] of chunks.entries()) {
      const chunk = index + 1
      await openChunk(run, exportRow, chunk, rows === 'open' ? 7 + index : rows.read)
      if (rows === 'open') continue
      const counts = JSON.stringify({ ...noCounts(), rows: { corrected: 0, ...rows } })
      await settleChunk(run, exportRow, chunk, { counts, rejectsLength: chunk * 100 })
    }
  }
  return ledger
}

test('each row that is settled counts as what it was, over all chunks of all exports', async () => {
  const ledger = await begun([
    [
      { read: 111, mapped: 64, skipped: 32, rejected: 15 },
      { read: 222, mapped: 128, skipped: 70, rejected: 24 },
      'open',
    ],
    [{ read: 1_000, mapped: 500, skipped: 400, rejected: 100 }],
    [],
  ])
  expect(await settledBefore(ledger, 'run-1')).toEqual({ read: 1_333, rejected: 139, skipped: 502 })
  expect(await settledBefore(ledger, 'run-2')).toEqual({ read: 0, rejected: 0, skipped: 0 })
})

test('an export goes on behind its last settled chunk, with the counts of all; what is open is named with its rows', async () => {
  const ledger = await begun([
    [
      { read: 111, mapped: 64, skipped: 32, rejected: 15 },
      { read: 222, mapped: 128, skipped: 70, rejected: 24 },
      'open',
      'open',
    ],
  ])
  const [record] = await ledger.exports.ofRun('run-1')
  expect(resumptionOf(await ledger.chunks.ofExport(record?.id ?? 0))).toEqual({
    counts: { ...noCounts(), rows: { read: 333, mapped: 192, skipped: 102, rejected: 39, corrected: 0 } },
    ...{ from: { row: 20, line: 21, byteOffset: 2_000 }, skip: 222, number: 3, rejectsLength: 200 },
    open: new Map([
      [3, 9],
      [4, 10],
    ]),
  })
})

test('an export of which nothing is settled begins anew', () => {
  expect(resumptionOf([])).toEqual({
    ...{ counts: noCounts(), from: undefined, skip: 0, number: 1, rejectsLength: 0, open: new Map() },
  })
})

test('open are the chunks of exports that are open; unanswered what was sent of them, but for tests', async () => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const [done, exportRow] = [await beginExport(run), await beginExport(run, { ordinal: 2 })]
  await openChunk(run, done, 9)
  await run.endExport(done, 'failed', fault('export-changed'))
  for (const chunk of [1, 2, 3, 4]) await openChunk(run, exportRow, chunk)
  await settleChunk(run, exportRow, 1)
  const send = (chunk: number, batchId: string, kind: string) =>
    run.beginBatch({ exportRow, chunk, batchId, kind, records: 1, holds: new Uint8Array(), at: 0 })
  await send(2, 'test', 'assessment')
  await send(3, 'test', 'assessment')
  await send(3, 'sent', 'biometric')
  const answered = await send(3, 'answered', 'biometric')
  await run.settleBatch({
    ...{ id: answered, exportRow, chunk: 3, answer: 'accepted', status: 201, attempts: 1 },
    ...{ accepted: 'all', exceptions: [], held: [], at: 0 },
  })
  const record = (await ledger.runs.find('run-1')) ?? expect.fail('the run is gone')
  expect(await openChunksOf(ledger, record)).toEqual(new Set([2, 3, 4]))
  const unanswered = await Array.fromAsync(unansweredOf(ledger, exportRow))
  expect(unanswered.map(({ chunk, batches }) => [chunk.number, batches.map((one) => one.batch_id)])).toEqual([
    [3, ['sent']],
  ])
})

test('given up is a run that failed by that, and no other', () => {
  expect(isGivenUp({ state: 'failed', reason: 'given-up' })).toBe(true)
  expect(isGivenUp({ state: 'failed', reason: 'threshold-passed' })).toBe(false)
  expect(isGivenUp({ state: 'finished', reason: 'given-up' })).toBe(false)
})
