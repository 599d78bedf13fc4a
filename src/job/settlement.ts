/** What the ledger learns when a chunk is settled, beside its counts. */
import type { DeliveredRecord, DeliveredRow, Exception, HeldRecord, Ledger } from '../ledger/ledger.ts'
import type { LoadedChunk } from '../load/load-chunk.ts'
import type { EntryOutcome } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { ChunkRow } from './chunks.ts'

/**
 * Row keys under which something was accepted, with what was delivered under them, oldest first. What was replaced, came back and was not
 * taken is forgotten: it is no longer known to have been there, so that it is sent when it comes again.
 */
export async function newlyDelivered(
  ledger: Pick<Ledger, 'delivered'>,
  jobId: number,
  outcomes: readonly EntryOutcome[],
): Promise<DeliveredRow[]> {
  const byKey = Map.groupBy(outcomes, ({ entry }) => entry.rowKey)
  const before = await ledger.delivered(jobId, [...byKey.keys()])
  return [...byKey].flatMap(([rowKey, ofKey]) => {
    const known = before.get(rowKey) ?? []
    const records = afterChunk(known, ofKey)
    return records.length === known.length && records.every((one, at) => one === known[at])
      ? []
      : [{ rowKey, records }]
  })
}

function afterChunk(
  before: readonly DeliveredRecord[],
  outcomes: readonly EntryOutcome[],
): readonly DeliveredRecord[] {
  let records = before
  for (const one of outcomes) {
    const { ruleHash: rule, content } = one.entry
    const isOther = (known: DeliveredRecord): boolean => known.rule !== rule || known.content !== content
    if (isWithGateway(one)) records = [...records.filter(isOther), { rule, content }]
    else if (one.outcome !== 'unchanged') records = records.filter(isOther)
  }
  return records
}

/** Whether it was learned only now that the gateway has the record. */
export const isWithGateway = (one: EntryOutcome): boolean =>
  one.outcome === 'accepted' || (one.outcome === 'unchanged' && one.found === true)

export function heldBy(identity: Identity, outcomes: readonly EntryOutcome[]): HeldRecord[] {
  return outcomes.flatMap((one) => {
    if (one.outcome !== 'in-doubt') return []
    const { rowKey, content, ruleHash: rule, record } = one.entry
    return [{ rowKey, content, rule, series: one.isAsked ? identity.series(record.series) : null }]
  })
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
