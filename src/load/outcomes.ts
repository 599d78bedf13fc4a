/** Outcomes that are no success, in the forms in which rejects file and ledger take them. Pure. */
import type { Exception, Held } from '../ledger/ledger.ts'
import type { Entry, EntryOutcome, Reason } from '../model/entry.ts'
import { told, type Words } from './gateway-words.ts'

/** How the ledger names an entry within its batch. */
export const toHeld = ({ row, record, content }: Entry): Held => ({
  row: row.row,
  rule: record.rule,
  content,
})

/** The ledger's line for an outcome that is not a success. */
export function toException(outcome: EntryOutcome): Exception | undefined {
  if (outcome.outcome !== 'rejected' && outcome.outcome !== 'in-doubt') return undefined
  const { entry, reason } = outcome
  return {
    row: entry.row.row,
    line: entry.row.line,
    byteOffset: entry.row.byteOffset,
    kind: entry.record.kind,
    rule: entry.record.rule,
    content: entry.content,
    outcome: outcome.outcome,
    stage: reason.stage,
    code: reason.code,
    field: reason.field ?? null,
    message: reason.scrubbed,
    batchId: outcome.batchId,
  }
}

export function rejection(entry: Entry, batchId: string, code: string, words: Words): EntryOutcome {
  const reason: Reason = { stage: 'submit', code, ...told(words, entry) }
  return { entry, outcome: 'rejected', batchId, reason }
}

const IN_DOUBT = 'no answer came, and the profile cannot tell whether the record was stored'

export const inDoubt = (entry: Entry, batchId: string, verdict: 'hidden' | 'unreadable'): EntryOutcome => ({
  entry,
  outcome: 'in-doubt',
  batchId,
  ...(verdict === 'unreadable' ? { isAsked: true } : {}),
  reason: { stage: 'read-back', code: 'in-doubt', message: IN_DOUBT, scrubbed: IN_DOUBT },
})
