/**
 * The JSON text of a record as sent: its prepared content with the ids put in. Biometrics and conditions carry a
 * transactionId (interface, "Biometric record, as sent", "Condition record, as sent"); care-team entries have no such field.
 */
import type { Entry } from './entry.ts'

/** Bytes that the ids and the punctuation around them add, at most, for cutting batches by bytes. */
const IDS_BYTES = 400

export function recordText({ record, transactionId }: Entry, batchId: string): string {
  const open = record.kind === 'careTeam' ? '{' : `{"transactionId":"${transactionId}",`
  return `${open}${record.content}${batchId}","persistentRecordId":"${transactionId}"}}}`
}

/** An upper bound of the record's length on the wire. */
export function recordBytes({ record }: Entry): number {
  return Buffer.byteLength(record.content) + IDS_BYTES
}

export function batchText(entries: readonly Entry[], batchId: string): string {
  let text = '['
  for (const [at, entry] of entries.entries()) text += at === 0 ? recordText(entry, batchId) : `,${recordText(entry, batchId)}`
  return `${text}]`
}
