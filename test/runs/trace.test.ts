/** From a transaction id back to the chunk that its row stood in, and forward to what each run made of it. */
import { expect, onTestFinished, test } from 'vitest'
import type { ExceptionRecord } from '../../src/ledger/ledger.ts'
import { packHolds } from '../../src/ledger/packed-records.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { outcomeOf, traceRecord } from '../../src/runs/trace.ts'

const EXPORT = '3f9a1c0b2d4e5f60'
const CONTENT = '9c41d2aa00000000'
const idOf = (row: number): string => `${EXPORT}-00000${row}-a1c-9c41d2aa`

/** Runs over one export of two chunks with two rows each, one after the other. @param sent rows whose record each has delivered */
async function ranOver(...sent: readonly (readonly number[])[]) {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('job', 'gateway')
  for (const [at, rows] of sent.entries()) {
    const id = `run-${at + 1}`
    const held = await ledger.leases.acquire(
      { jobId, runId: id, owner: 'x:1', now: at, ttlMs: 9 },
      () => true,
    )
    if (!held.ok) return expect.fail('the job is held')
    const start = { id, jobId, startedAt: at, rejectsPath: id, receiptsPath: id }
    const run = await ledger.runs.start(held.lease, start)
    const { id: exportRow } = await run.addExport({
      ...{
        ordinal: 1,
        exportId: EXPORT,
        name: 'a.csv',
        path: '/gone/a.csv',
        sha256: EXPORT.repeat(4),
        bytes: 1,
      },
      mapping: { name: 'm', digest: 'd', content: '{}' },
    })
    for (const number of [0, 1]) {
      const firstRow = 1 + 2 * number
      await run.openChunk(exportRow, { number, firstRow, firstLine: firstRow + 1, byteOffset: 0, rows: 2 })
      const own = rows.filter((row) => row >= firstRow && row < firstRow + 2)
      const holds = packHolds(own.map((row) => ({ row, rule: 'a1c', content: CONTENT })))
      const key = { exportRow, chunk: number }
      if (own.length > 0) {
        const batchId = `${id}-${number}`
        const batch = await run.beginBatch({
          ...key,
          batchId,
          kind: 'biometric',
          records: own.length,
          holds,
          at,
        })
        await run.settleBatch({
          ...{
            ...key,
            id: batch,
            answer: 'accepted',
            status: 201,
            attempts: 1,
            accepted: 'all',
            exceptions: [],
            held: [],
            at,
          },
        })
      }
      await run.settleChunk({
        ...{
          ...key,
          counts: JSON.stringify(noCounts()),
          receiptsLength: 0,
          rejectsLength: 0,
          tallies: {},
          at,
        },
        ...{ delivered: [], held: [], exceptions: [], arrival: at },
      })
    }
    await run.endExport(exportRow, 'finished')
    await run.endRun({ state: 'finished', endedAt: at, reason: null })
    await ledger.leases.release(held.lease)
  }
  return ledger
}

test.each([1, 2, 3, 4])('row %i is found in the chunk that it stands in', async (row) => {
  const ledger = await ranOver([1, 2, 3, 4])
  const { runs } = await traceRecord(ledger, idOf(row))
  const chunk = row < 3 ? 0 : 1
  expect(runs).toMatchObject([
    { run: 'run-1', chunk, outcome: 'accepted', batches: [{ batchId: `run-1-${chunk}` }] },
  ])
})

test('a row that no chunk has was never read', async () => {
  const ledger = await ranOver([1, 2, 3, 4])
  await expect(traceRecord(ledger, idOf(5))).rejects.toMatchObject({
    code: 'transaction-not-found',
    message: 'the export a.csv was never read as far as row 5',
  })
})

test('a run that neither sent nor rejected it has found it delivered, where an earlier one had delivered it', async () => {
  const ledger = await ranOver([1], [1, 3], [])
  const { runs } = await traceRecord(ledger, idOf(3))
  expect(runs.map(({ run, outcome }) => `${run} ${outcome}`)).toEqual(['run-3 unchanged', 'run-2 accepted'])
  await expect(traceRecord(ledger, idOf(2))).rejects.toMatchObject({
    code: 'transaction-not-found',
    message: expect.stringContaining('no run has sent or rejected such a record of row 2'),
  })
})

test.each<[ExceptionRecord['state'], batch: string | null, outcome: string | undefined]>([
  ['warning', null, undefined],
  ['rejected', null, 'rejected'],
  ['settled', null, 'rejected'],
  ['in-doubt', 'b', 'in-doubt'],
  ['accepted', 'b', 'accepted'],
  // Found delivered by another batch than its own: nothing of it was sent.
  ['accepted', null, 'unchanged'],
])('an exception that is %s, of batch %s, is %s', (state, batch_id, outcome) => {
  expect(outcomeOf({ state, batch_id } as ExceptionRecord)).toBe(outcome)
})
