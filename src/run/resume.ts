/**
 * Work left open by earlier processes, from the ledger. A job may have two unfinished runs, a backfill and an ordinary run. Records in flight of the
 * first, not known to be stored, may also be in exports of the second.
 */
import type {
  BatchRecord,
  ChunkRecord,
  ExportRecord,
  Held,
  Ledger,
  PartOf,
  RunRecord,
} from '../ledger/ledger.ts'
import { packHolds, unpackHolds } from '../ledger/packed-records.ts'
import { addCounts, type Counts, noCounts, readCounts } from '../model/balance.ts'
import type { Origin } from '../model/row.ts'
import type { RowsBefore } from './chunks.ts'
import { type LearnedFrom, type Receipt, receiptOf } from './receipts.ts'

type Chunks = Pick<Ledger, 'chunks'>

/** Numbers of the open chunks. Exports run in sequence, so all numbers belong to a single export. */
export async function openChunksOf(
  ledger: Pick<Ledger, 'exports' | 'chunks'>,
  run: Pick<RunRecord, 'id'>,
): Promise<ReadonlySet<number>> {
  const exports = (await ledger.exports.ofRun(run.id)).filter(({ state }) => state === 'open')
  const chunks = await Promise.all(exports.map(({ id }) => ledger.chunks.ofExport(id)))
  return new Set(chunks.flat().flatMap(({ number, state }) => (state === 'open' ? [number] : [])))
}

/** Unanswered batches by chunk; chunks without any are left out. Tests are excluded: no profile shows a test, and the gateway knows its progress. */
export async function* unansweredOf(
  ledger: Chunks,
  exportRow: number,
): AsyncGenerator<{ chunk: ChunkRecord; batches: readonly BatchRecord[] }> {
  for (const chunk of await ledger.chunks.ofExport(exportRow)) {
    if (chunk.state !== 'open') continue
    const batches = await ledger.chunks.batches({ exportRow, chunk: chunk.number })
    const sending = batches.filter(({ state, kind }) => state === 'sending' && kind !== 'assessment')
    if (sending.length > 0) yield { chunk, batches: sending }
  }
}

/** Settlement of an unanswered batch. Records that are not accepted get no outcome. */
export const settlementOf = ({ id, attempts }: BatchRecord, accepted: readonly Held[]) => ({
  id,
  answer: 'ambiguous',
  status: null,
  attempts,
  accepted: packHolds(accepted),
  exceptions: [],
  held: [],
})

/** Records still in doubt in a batch of a given-up run. Later runs account for the rest. */
export async function stillHeld(
  { left }: Pick<Ledger, 'left'>,
  jobId: number,
  { holds }: BatchRecord,
): Promise<Held[]> {
  const carried = unpackHolds(holds)
  const contents = carried.map(({ content }) => content)
  const open = new Set((await left.heldWith(jobId, contents)).map(({ content }) => content))
  return carried.filter(({ content }) => open.has(content))
}

/** Receipts for records settled without their chunk: the chunk of a run that was given up is never settled. */
export const receiptsOfBatch = (
  { export_id: exportId }: Pick<ExportRecord, 'export_id'>,
  { batch_id: batchId, status }: BatchRecord,
  accepted: readonly Held[],
  learnedFrom: LearnedFrom | undefined,
): Receipt[] => accepted.map((held) => receiptOf({ ...held, exportId, batchId }, learnedFrom, status))

export const isGivenUp = ({ state, reason }: Pick<RunRecord, 'state' | 'reason'>): boolean =>
  state === 'failed' && reason === 'given-up'

/** Point at which an export resumes. */
interface Resumption {
  readonly counts: Counts
  readonly from: Origin | undefined
  readonly number: number
  readonly skip: number
  /** Chunks possibly sent in part by an earlier process: number → rows. */
  readonly open: ReadonlyMap<number, number>
  readonly rejectsLength: number
}

/** Point at which an export, or its part, resumes, from its chunks in the ledger. Chunks settle in order, so the last settled chunk gives the point. */
export function resumptionOf(
  chunks: readonly ChunkRecord[],
  { number, of }: Pick<PartOf, 'number' | 'of'> = { number: 0, of: 1 },
): Resumption {
  const counts = noCounts()
  let last: ChunkRecord | undefined
  const open = new Map<number, number>()
  for (const chunk of chunks) {
    if ((chunk.number - 1) % of !== number) continue
    if (chunk.state === 'settled') {
      addCounts(counts, readCounts(chunk.counts))
      last = chunk
    } else open.set(chunk.number, chunk.rows)
  }
  return {
    counts,
    from: last && { row: last.first_row, line: last.first_line, byteOffset: last.byte_offset },
    number: last === undefined ? number + 1 : last.number + of,
    skip: last?.rows ?? 0,
    open,
    rejectsLength: last?.rejects_length ?? 0,
  }
}

/** Settled rows of a run. @param except row of an export that is counted otherwise */
export async function settledBefore({ chunks }: Chunks, runId: string, except?: number): Promise<RowsBefore> {
  const counted = (await chunks.ofRun(runId)).filter((chunk) => chunk.export_row !== except)
  return sumOf(counted.map(({ counts }) => readCounts(counts).rows))
}

export function sumOf(counts: readonly RowsBefore[]): RowsBefore {
  const sum = { read: 0, rejected: 0, skipped: 0 }
  for (const { read, rejected, skipped } of counts) {
    sum.read += read
    sum.rejected += rejected
    sum.skipped += skipped
  }
  return sum
}
