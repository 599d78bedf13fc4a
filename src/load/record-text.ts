/**
 * The JSON text of a record as sent: its prepared content with the ids put in. Biometrics and conditions carry a
 * transactionId (interface, "Biometric record, as sent", "Condition record, as sent"); care-team entries have no such field.
 */
import type { Entry } from '../model/entry.ts'

/** Bytes that batch id, field names and punctuation add, at most: the batch id has 42 characters, or a few more. */
const FRAME_BYTES = 150

export function recordText({ record, transactionId }: Entry, batchId: string): string {
  const open = record.kind === 'careTeam' ? '{' : `{"transactionId":"${transactionId}",`
  return `${open}${record.content}${batchId}","persistentRecordId":"${transactionId}"}}}`
}

/** An upper bound of the record's length on the wire. */
export function recordBytes({ record, transactionId }: Entry): number {
  return Buffer.byteLength(record.content) + 2 * Buffer.byteLength(transactionId) + FRAME_BYTES
}

/** An upper bound of a batch's length on the wire, in bytes. */
export function batchBytes(entries: readonly Entry[]): number {
  return entries.reduce((bytes, entry) => bytes + recordBytes(entry) + 1, 2)
}

/** Writes a batch as a JSON array into a buffer that is long enough; gives the part that it takes. */
export function writeBatch(buffer: Buffer, entries: readonly Entry[], batchId: string): Buffer {
  let at = 0
  for (const entry of entries) at += buffer.write(`${at === 0 ? '[' : ','}${recordText(entry, batchId)}`, at)
  at += buffer.write(']', at)
  return buffer.subarray(0, at)
}

/** Buffers are made in multiples of this, so that one serves many batches. */
const STEP_BYTES = 256 * 1024

export interface BodyBuffers {
  /** A buffer of at least so many bytes. */
  take(bytes: number): Buffer
  /** Gives a buffer back; only once nothing can be reading it any more. */
  giveBack(buffer: Buffer): void
}

export function createBodyBuffers(): BodyBuffers {
  const free: Buffer[] = []
  return {
    take(bytes) {
      const at = free.findIndex((buffer) => buffer.length >= bytes)
      const [found] = at < 0 ? [] : free.splice(at, 1)
      return found ?? Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)
    },
    giveBack: (buffer) => {
      free.push(buffer)
    },
  }
}
