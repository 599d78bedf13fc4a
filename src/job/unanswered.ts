/** Batches of open chunks whose answer nobody has, and what of a run that was given up nobody can tell. */
import type { BatchRecord, ChunkRecord, ExportRecord, Held, Ledger, RunRecord } from '../ledger/ledger.ts'
import { type LearnedFrom, type Receipt, receiptOf } from './receipts.ts'

type Reading = Pick<Ledger, 'chunksOf' | 'batchesOf' | 'exceptionsOf' | 'exportsOf'>

/** By chunk; those without such a batch are left out. */
export async function* unansweredOf(
  ledger: Pick<Reading, 'chunksOf' | 'batchesOf'>,
  exportRow: number,
): AsyncGenerator<{ readonly chunk: ChunkRecord; readonly batches: readonly BatchRecord[] }> {
  for (const chunk of await ledger.chunksOf(exportRow)) {
    if (chunk.state !== 'open') continue
    const batches = await ledger.batchesOf({ exportRow, chunk: chunk.number })
    const sending = batches.filter(({ state }) => state === 'sending')
    if (sending.length > 0) yield { chunk, batches: sending }
  }
}

/** What of it is not accepted has no outcome. */
export const settlementOf = ({ id, attempts }: BatchRecord, accepted: readonly Held[]) => ({
  id,
  answer: 'ambiguous',
  status: null,
  attempts,
  accepted,
  exceptions: [],
})

/** For what is settled without its chunk, as the chunk never will be: its run was given up. */
export const receiptsOfBatch = (
  { export_id: exportId }: Pick<ExportRecord, 'export_id'>,
  { batch_id: batchId, status }: BatchRecord,
  accepted: readonly Held[],
  learnedFrom: LearnedFrom | undefined,
): Receipt[] => accepted.map((held) => receiptOf({ ...held, exportId, batchId }, learnedFrom, status))

export const isGivenUp = ({ state, reason }: Pick<RunRecord, 'state' | 'reason'>): boolean =>
  state === 'failed' && reason === 'given-up'

/** How many records such a run has in open chunks, which no balance counts, of which nobody can tell whether they are stored. */
export async function doubtsOfGivenUp(ledger: Reading, run: RunRecord): Promise<number> {
  if (!isGivenUp(run)) return 0
  let records = 0
  for (const { id } of await ledger.exportsOf(run.id)) {
    for await (const { batches } of unansweredOf(ledger, id))
      records += batches.reduce((sum, batch) => sum + batch.records, 0)
    for (const { number, state } of await ledger.chunksOf(id)) {
      if (state !== 'open') continue
      const exceptions = await ledger.exceptionsOf({ exportRow: id, chunk: number })
      records += exceptions.filter((one) => one.state === 'in-doubt').length
    }
  }
  return records
}
