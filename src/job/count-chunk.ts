/** Counts what became of a chunk's rows and records. Pure. */
import type { EntryOutcome } from '../load/entry.ts'
import { type Counts, noCounts } from '../reconcile/balance.ts'
import type { ChunkRow } from './chunks.ts'

/** @param outcomes of the chunk's records; a record without one is pending */
export function countChunk(
  rows: readonly ChunkRow[],
  outcomes: readonly EntryOutcome[],
  rowsCorrected: number,
): Counts {
  const counts = noCounts()
  counts.rows.corrected = rowsCorrected
  for (const { outcome } of rows) {
    counts.rows.read++
    counts.rows[outcome.outcome]++
    if (outcome.outcome !== 'mapped') continue
    for (const { kind } of outcome.records) {
      counts.records[kind].made++
      counts.records[kind].pending++
    }
    for (const { kind } of outcome.rejected) {
      counts.records[kind].made++
      counts.records[kind].rejected++
    }
  }
  for (const { outcome, entry } of outcomes) {
    const records = counts.records[entry.record.kind]
    records.pending--
    records[outcome === 'in-doubt' ? 'inDoubt' : outcome]++
  }
  return counts
}
