/** What was delivered under a row key as one value: 16 bytes a record, of them 4 of the rule, 8 of the content, 4 of who said so. */
import type { DeliveredRecord } from './left-records.ts'

const RECORD_BYTES = 16
/** Of the last four bytes; the others are the arrival, which is an id of an export. */
const CONTESTED = 0x8000_0000
const BY_BACKFILL = 0x4000_0000

export function packDelivered(records: readonly DeliveredRecord[]): Buffer {
  const packed = Buffer.alloc(records.length * RECORD_BYTES)
  for (const [at, { rule, content, arrival, byBackfill, isContested }] of records.entries()) {
    packed.write(rule + content, at * RECORD_BYTES, 'hex')
    packed.writeUInt32BE(
      arrival + (byBackfill ? BY_BACKFILL : 0) + (isContested ? CONTESTED : 0),
      at * RECORD_BYTES + 12,
    )
  }
  return packed
}

export function unpackDelivered(packed: Buffer): DeliveredRecord[] {
  const records: DeliveredRecord[] = []
  for (let at = 0; at < packed.length; at += RECORD_BYTES) {
    const said = packed.readUInt32BE(at + 12)
    records.push({
      rule: packed.toString('hex', at, at + 4),
      content: packed.toString('hex', at + 4, at + 12),
      arrival: said % BY_BACKFILL,
      byBackfill: (said & BY_BACKFILL) !== 0,
      isContested: said >= CONTESTED,
    })
  }
  return records
}
