/**
 * Receipts: one line of JSON for each record of which it was learned that the gateway has it, in the file of the run that learned it. What
 * is written together is a gzip member of its own, so that it can be appended and `zcat` reads the whole (RFC 1952, section 2.2). They hold
 * ids and states, no health data.
 */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { PlacedRecord } from '../ledger/ledger.ts'
import type { EntryOutcome } from '../model/entry.ts'
import { transactionId } from '../model/ids.ts'

const compress = promisify(gzip)

/** How it was learned, where no answer named the record: from the profile, or a person has decided so. */
export type LearnedFrom = 'read-back' | 'decision'

export interface Receipt {
  readonly transactionId: string
  /** Null where it is not known in which it was sent. */
  readonly batchId: string | null
  /** Null where no answer came. */
  readonly status: number | null
  /** The gateway's id of the record, where the answer gave one. */
  readonly gatewayId?: string | undefined
  readonly learnedFrom?: LearnedFrom | undefined
}

/** Content hash → how the record was sent, in whatever export. */
export type SentAs = ReadonlyMap<string, PlacedRecord>

/** @param status of the answer; null where none came */
export const receiptOf = (
  { exportId, row, rule, content, batchId }: PlacedRecord,
  learnedFrom: LearnedFrom | undefined,
  status: number | null = null,
): Receipt => ({
  transactionId: transactionId(exportId, row, rule ?? '', content ?? ''),
  batchId,
  status,
  learnedFrom,
})

/** @param sentAs of what was sent before, and has been found now */
export function receiptsOf(outcomes: readonly EntryOutcome[], sentAs: SentAs): Receipt[] {
  const receipts: Receipt[] = []
  const found = new Set<string>()
  for (const one of outcomes) {
    const { transactionId, content } = one.entry
    if (one.outcome === 'accepted') {
      const { batchId, status, gatewayId, readBack } = one
      const learnedFrom = readBack === true ? 'read-back' : undefined
      receipts.push({ transactionId, batchId, status, gatewayId, learnedFrom })
    }
    if (one.outcome !== 'unchanged' || one.found !== true || found.has(content)) continue
    const sent = sentAs.get(content)
    if (sent === undefined && one.readBack !== true) continue
    found.add(content)
    const asHere = { transactionId, batchId: null, status: null, learnedFrom: 'read-back' as const }
    receipts.push(sent === undefined ? asHere : receiptOf(sent, 'read-back'))
  }
  return receipts
}

export async function receiptsText(receipts: readonly Receipt[]): Promise<Uint8Array> {
  let text = ''
  for (const { transactionId, batchId, status, gatewayId, learnedFrom } of receipts) {
    const batch = batchId === null ? 'null' : `"${batchId}"`
    const id = gatewayId === undefined ? '' : `,"gatewayId":${JSON.stringify(gatewayId)}`
    const how = learnedFrom === undefined ? '' : `,"learnedFrom":"${learnedFrom}"`
    // None of these ids but the gateway's own can hold a character that JSON escapes.
    text += `{"transactionId":"${transactionId}","outcome":"accepted","batchId":${batch},"status":${status}${id}${how}}\n`
  }
  return text === '' ? new Uint8Array() : compress(text, { level: constants.Z_BEST_SPEED })
}
