/** Counts what became of a chunk's rows and records. Pure. */
import type { ChunkTallies } from '../ledger/ledger.ts'
import type { EntryOutcome } from '../load/entry.ts'
import type { LoadedChunk } from '../load/load-chunk.ts'
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
    if (outcome.outcome === 'rejected') continue
    for (const { issue } of outcome.warnings)
      counts.warnings[issue.code] = (counts.warnings[issue.code] ?? 0) + 1
    if (outcome.outcome === 'skipped') continue
    for (const { kind } of outcome.records) {
      counts.records[kind].made++
      counts.records[kind].pending++
    }
    for (const { kind } of outcome.rejected) {
      counts.records[kind].made++
      counts.records[kind].rejected++
    }
  }
  for (const one of outcomes) {
    const records = counts.records[one.entry.record.kind]
    records.pending--
    records[one.outcome === 'in-doubt' ? 'inDoubt' : one.outcome]++
    if (one.outcome === 'unchanged' && one.passedOver !== undefined)
      counts.warnings[one.passedOver] = (counts.warnings[one.passedOver] ?? 0) + 1
  }
  return counts
}

/** What the run counts of it beside. Of a chunk that is loaded once more, after a kill, the last time counts. */
export function tallyChunk({
  accounts,
  followUpFailures,
}: Pick<LoadedChunk, 'accounts' | 'followUpFailures'>): ChunkTallies {
  const notReplaced = followUpFailures.filter(({ reason }) => reason.stage === 'replace').length
  return { accounts, careTeams: { notReplaced } }
}
