/**
 * The receipts of a chunk: one line of JSON for each record that the gateway has taken, compressed as a gzip member of its own, so that
 * chunks can be appended and `zcat` reads the whole (RFC 1952, section 2.2). They hold ids and states, no health data.
 */
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { EntryOutcome } from '../load/entry.ts'

const compress = promisify(gzip)

export async function receiptsOf(outcomes: readonly EntryOutcome[]): Promise<Uint8Array> {
  let text = ''
  for (const outcome of outcomes) {
    if (outcome.outcome !== 'accepted') continue
    const { entry, batchId, status, gatewayId, readBack } = outcome
    const how = readBack === true ? ',"readBack":true' : ''
    const id = gatewayId === undefined ? '' : `,"gatewayId":${JSON.stringify(gatewayId)}`
    // None of these ids can hold a character that JSON escapes.
    text += `{"transactionId":"${entry.transactionId}","outcome":"accepted","batchId":"${batchId}","status":${status}${id}${how}}\n`
  }
  return text === '' ? new Uint8Array() : compress(text, { level: constants.Z_BEST_SPEED })
}
