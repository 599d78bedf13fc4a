/** Runs, exports and chunks of a ledger, as tests begin and settle them. */
import { onTestFinished } from 'vitest'
import { LEASE_MS } from '../../src/ledger/concerns.ts'
import {
  type ChunkSettlement,
  type ExportStart,
  type Ledger,
  noTallies,
  type RunLedger,
  type RunStart,
} from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'

/** In memory, and closed after the test. */
export async function passingLedger(): Promise<Ledger> {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  return ledger
}

/** Whoever held the job before is gone. */
export async function beginRun(
  ledger: Ledger,
  id: string,
  {
    job = 'nightly',
    gateway = 'gateway',
    ...start
  }: Partial<RunStart> & { readonly job?: string; readonly gateway?: string } = {},
): Promise<RunLedger> {
  const jobId = await ledger.jobs.id(job, gateway)
  const startedAt = start.startedAt ?? 0
  const asked = { jobId, runId: id, owner: 'here:1#boot.1', now: startedAt, ttlMs: LEASE_MS }
  const answer = await ledger.leases.acquire(asked, () => true)
  if (!answer.ok) throw new Error('the lease is held')
  return ledger.runs.start(answer.lease, {
    ...{ id, jobId, startedAt, rejectsPath: 'r', receiptsPath: 'r' },
    ...start,
  })
}

/** @returns its row */
export async function beginExport(run: RunLedger, more: Partial<ExportStart> = {}): Promise<number> {
  const { id } = await run.addExport({
    ...{ ordinal: 1, exportId: 'e', name: 'a.csv', path: '/in/a.csv', sha256: 'first', bytes: 1 },
    ...{ mapping: { name: 'm', digest: 'd', content: '{}' } },
    ...more,
  })
  return id
}

export const openChunk = (run: RunLedger, exportRow: number, chunk: number, rows = 1): Promise<void> =>
  run.openChunk(exportRow, {
    ...{ number: chunk, firstRow: chunk * 10, firstLine: chunk * 10 + 1, byteOffset: chunk * 1_000, rows },
  })

export const settleChunk = (
  run: RunLedger,
  exportRow: number,
  chunk: number,
  more: Partial<ChunkSettlement> = {},
): Promise<void> =>
  run.settleChunk({
    ...{ exportRow, chunk, counts: '{}', receiptsLength: 0, rejectsLength: 0, delivered: [], held: [] },
    ...{ arrival: 1, exceptions: [], tallies: noTallies(), at: 0 },
    ...more,
  })
