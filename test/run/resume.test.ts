/** What an earlier process of a run has settled, and where its exports go on: numbers of several chunks and exports, all different. */
import { expect, onTestFinished, test } from 'vitest'
import { noTallies } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { noCounts, type RowCounts } from '../../src/model/balance.ts'
import { resumptionOf, settledBefore } from '../../src/run/resume.ts'

const NOW = 1_700_000_000_000

/** By export: rows of its chunks, settled but for those that are open. */
async function begun(exports: readonly (readonly (Omit<RowCounts, 'corrected'> | 'open')[])[]) {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobId('nightly', 'gateway')
  const answer = await ledger.acquireLease(
    { jobId, runId: 'run-1', owner: 'here:1', now: NOW, ttlMs: 60_000 },
    () => true,
  )
  if (!answer.ok) throw new Error('the lease is held')
  const start = { id: 'run-1', jobId, startedAt: NOW, rejectsPath: 'r', receiptsPath: 'r' }
  const run = await ledger.startRun(answer.lease, start)
  for (const [at, chunks] of exports.entries()) {
    const { id: exportRow } = await run.addExport({
      ...{ ordinal: at + 1, exportId: `e${at}`, name: `${at}.csv`, path: `/in/${at}.csv`, sha256: `${at}` },
      ...{ bytes: 1, mapping: { name: 'm', digest: 'd', content: '{}' } },
    })
    for (const [index, rows] of chunks.entries()) {
      const chunk = index + 1
      const [firstRow, firstLine, byteOffset] = [chunk * 10, chunk * 10 + 1, chunk * 1_000]
      const read = rows === 'open' ? 7 + index : rows.read
      await run.openChunk(exportRow, { number: chunk, firstRow, firstLine, byteOffset, rows: read })
      if (rows === 'open') continue
      const counts = JSON.stringify({ ...noCounts(), rows: { corrected: 0, ...rows } })
      await run.settleChunk({
        ...{
          exportRow,
          chunk,
          counts,
          receiptsLength: 0,
          rejectsLength: chunk * 100,
          delivered: [],
          held: [],
        },
        ...{ said: { arrival: 1, byBackfill: false }, exceptions: [], tallies: noTallies(), at: NOW },
      })
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
  const [record] = await ledger.exportsOf('run-1')
  expect(resumptionOf(await ledger.chunksOf(record?.id ?? 0))).toEqual({
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
