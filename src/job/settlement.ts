/** What the ledger learns when a chunk is settled, beside its counts. */
import type { DeliveredRow, Exception, Ledger } from '../ledger/ledger.ts'
import type { EntryOutcome } from '../load/entry.ts'
import type { LoadedChunk } from '../load/load-chunk.ts'
import type { ChunkRow } from './chunks.ts'

/** Row keys under which something was accepted, with all that was ever delivered under them. */
export async function newlyDelivered(
  ledger: Pick<Ledger, 'delivered'>,
  jobId: number,
  outcomes: readonly EntryOutcome[],
): Promise<DeliveredRow[]> {
  const accepted = new Map<string, Set<string>>()
  for (const outcome of outcomes) {
    if (!isWithGateway(outcome)) continue
    const { entry } = outcome
    const contents = accepted.get(entry.rowKey)
    if (contents === undefined) accepted.set(entry.rowKey, new Set([entry.content]))
    else contents.add(entry.content)
  }
  const before = await ledger.delivered(jobId, [...accepted.keys()])
  return [...accepted].map(([rowKey, contents]) => ({
    rowKey,
    contents: [...(before.get(rowKey)?.union(contents) ?? contents)],
  }))
}

/** Whether it was learned only now that the gateway has the record. */
export const isWithGateway = (one: EntryOutcome): boolean =>
  one.outcome === 'accepted' || (one.outcome === 'unchanged' && one.found === true)

export function heldBy(outcomes: readonly EntryOutcome[]): { rowKey: string; content: string }[] {
  return outcomes.flatMap(({ outcome, entry: { rowKey, content } }) =>
    outcome === 'in-doubt' ? [{ rowKey, content }] : [],
  )
}

/**
 * Exceptions of the chunk that no batch has brought into the ledger: rows and records that never came so far as to be sent, and
 * marks that could not be set.
 * @param unsent the exception of an outcome that is not in the ledger yet
 */
export function exceptionsOf(
  rows: readonly ChunkRow[],
  loaded: LoadedChunk,
  unsent: (outcome: EntryOutcome & { outcome: 'rejected' | 'in-doubt' }) => Exception | undefined,
): Exception[] {
  const exceptions: Exception[] = []
  for (const { outcome } of rows) {
    if (outcome.outcome === 'skipped') continue
    const { row, line, byteOffset } = outcome
    const place = { row, line, byteOffset, content: null, batchId: null, outcome: 'rejected' as const }
    if (outcome.outcome === 'rejected') {
      const { stage, code, field, message } = outcome.issue
      exceptions.push({ ...place, kind: null, rule: null, stage, code, field: field ?? null, message })
      continue
    }
    for (const { kind, rule, issue } of outcome.rejected) {
      const { stage, code, field, message } = issue
      exceptions.push({ ...place, kind, rule, stage, code, field: field ?? null, message })
    }
  }
  for (const outcome of loaded.outcomes) {
    if (outcome.outcome !== 'rejected' && outcome.outcome !== 'in-doubt') continue
    const exception = unsent(outcome)
    if (exception !== undefined) exceptions.push(exception)
  }
  for (const { entry, reason } of loaded.followUpFailures) {
    const { row, line, byteOffset } = entry.row
    const { stage, code, scrubbed: message } = reason
    exceptions.push({
      row,
      line,
      byteOffset,
      kind: entry.record.kind,
      rule: entry.record.rule,
      content: entry.content,
      outcome: 'warning',
      stage,
      code,
      field: null,
      message,
      batchId: null,
    })
  }
  return exceptions
}
