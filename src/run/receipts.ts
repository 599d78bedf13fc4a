/**
 * Receipts: one line of JSON for each record found to be with the gateway, in the file of the run that found it. Each write is a separate gzip
 * member, so that the file can be appended to and `zcat` reads the whole (RFC 1952, section 2.2). Receipts hold ids and states, and no health data
 * except the age result of an answered test.
 */

import { lstatSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { PlacedRecord } from '../ledger/ledger.ts'
import { isDiskFull, reasonOf, WaybillError } from '../model/errors.ts'
import { transactionId } from '../model/ids.ts'
import type { AcceptedOutcome, EntryOutcome } from '../model/outcome.ts'
import { pieceOf, TextWriter } from '../model/text-writer.ts'
import { openOwn } from '../system/own-files.ts'

const compress = promisify(gzip)
/** Compressed bytes at a time: zlib goes through the thread pool once for each piece. */
const PIECE_BYTES = 1024 * 1024

/** Source of the finding, where no answer named the record: the profile, or the decision of a person. */
export type LearnedFrom = 'read-back' | 'decision'

export interface Receipt {
  readonly transactionId: string
  /** Null if the batch of the record is unknown. */
  readonly batchId: string | null
  /** Null if no answer came. */
  readonly status: number | null
  /** Id of the record at the gateway, if given in the answer. */
  readonly gatewayId?: string | undefined
  readonly learnedFrom?: LearnedFrom | undefined
  /** Age result of an answered test. */
  readonly ageResult?: object | undefined
}

/** Content hash → how the record was sent, in any export; null if the record has its receipt. */
export type SentAs = ReadonlyMap<string, PlacedRecord | null>

/** Receipt of a sent record. @param status of the answer; null if none came */
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

/** Receipts for records newly known to be with the gateway: one for each record without a receipt. */
export const receiptsOfSent = (sentAs: SentAs, learnedFrom: LearnedFrom): Receipt[] =>
  [...sentAs.values()].flatMap((record) => (record === null ? [] : receiptOf(record, learnedFrom)))

const isAccepted = (one: EntryOutcome): one is AcceptedOutcome => one.outcome === 'accepted'

/** Receipts for accepted and for found records. @param sentAs records sent before, and found now */
export function receiptsOf(
  outcomes: readonly EntryOutcome[],
  sentAs: SentAs,
): readonly (Receipt | AcceptedOutcome)[] {
  if (outcomes.every(isAccepted)) return outcomes
  const receipts: (Receipt | AcceptedOutcome)[] = []
  const found = new Set<string>()
  for (const one of outcomes) {
    if (one.outcome === 'accepted') receipts.push(one)
    if (one.outcome !== 'unchanged' || one.found !== true) continue
    const { transactionId, content } = one.entry
    if (found.has(content)) continue
    const sent = sentAs.get(content)
    if (sent === null || (sent === undefined && one.readBack !== true)) continue
    found.add(content)
    const shown = { transactionId: one.storedAs ?? transactionId, batchId: null, status: null }
    receipts.push(
      sent === undefined || one.storedAs !== undefined
        ? { ...shown, learnedFrom: 'read-back' }
        : receiptOf(sent, 'read-back'),
    )
  }
  return receipts
}

/** Lines of the receipts, compressed. @param receipts accepted outcomes stand for themselves: they are most */
export async function receiptsText(receipts: readonly (Receipt | AcceptedOutcome)[]): Promise<Uint8Array> {
  const writer = new TextWriter(
    Buffer.allocUnsafe(receipts.reduce((bytes, one) => bytes + mostBytes(one), 0)),
  )
  const lines = new Map<string, Line>()
  for (let at = 0; at < receipts.length; at++) {
    const one = receipts[at]
    if (one === undefined) continue
    if ('entry' in one && isPlain(one)) writeAlike(writer, lines, one)
    else writeLine(writer, one)
  }
  const { written } = writer
  return written.length === 0
    ? written
    : compress(written, { level: constants.Z_BEST_SPEED, chunkSize: PIECE_BYTES })
}

/** Last line written for a rule. */
interface Line {
  from: number
  length: number
  beginning: number
  batchId: string | null
  status: number | null
}

const isPlain = ({ gatewayId, readBack, ageResult }: AcceptedOutcome): boolean =>
  gatewayId === undefined && readBack === undefined && ageResult === undefined

/** Copies the last line of the rule with the same answer, and replaces row and content. */
function writeAlike(writer: TextWriter, lines: Map<string, Line>, one: AcceptedOutcome): void {
  const { batchId, status } = one
  const { rule, idStart, first } = one.entry
  const from = writer.at
  const line = lines.get(rule)
  if (line?.batchId === batchId && line.status === status && line.beginning === idStart.length) {
    writer.repeat(line.from, line.length)
    const id = from + BEFORE_ID.bytes.length
    writer.put(id, idStart)
    writer.putDigits(id + idStart.length + rule.length + 1, first)
    line.from = from
    return
  }
  writeLine(writer, one)
  lines.set(rule, { from, length: writer.at - from, beginning: idStart.length, batchId, status })
}

function writeLine(writer: TextWriter, one: Receipt | AcceptedOutcome): void {
  const { batchId, status, gatewayId, ageResult } = one
  // Only the gateway's own id can hold a character that JSON escapes.
  writer.piece(BEFORE_ID)
  if ('entry' in one) one.entry.writeId(writer)
  else writer.text(one.transactionId)
  const batch = batchId === null ? 'null' : `"${batchId}"`
  writer.text(`","outcome":"accepted","batchId":${batch},"status":${status}`)
  if (gatewayId !== undefined) {
    writer.piece(BEFORE_GATEWAY_ID)
    writer.text(JSON.stringify(gatewayId))
  }
  const learnedFrom = 'entry' in one ? one.readBack && 'read-back' : one.learnedFrom
  if (learnedFrom !== undefined) writer.text(`,"learnedFrom":"${learnedFrom}"`)
  if (ageResult !== undefined) writer.text(`,"ageResult":${JSON.stringify(ageResult)}`)
  writer.piece(END)
}

const BEFORE_ID = pieceOf('{"transactionId":"')
const BEFORE_GATEWAY_ID = pieceOf(',"gatewayId":')
const END = pieceOf('}\n')

/** Upper bound: names, punctuation, status; six bytes for a character of an id that JSON escapes. */
function mostBytes(one: Receipt | AcceptedOutcome): number {
  const { batchId, gatewayId = '', ageResult } = one
  return (
    150 +
    ('entry' in one ? one.entry.idLength : one.transactionId.length) +
    (batchId?.length ?? 0) +
    6 * gatewayId.length +
    (ageResult === undefined ? 0 : 20 + Buffer.byteLength(JSON.stringify(ageResult)))
  )
}

export interface AppendedFile {
  readonly path: string
  /**
   * Appends, syncs, and returns the new length of the file.
   * @throws WaybillError `home-unusable` if the file cannot be written, or if a link is in its place; errors of `assertOurs`
   */
  append(bytes: Uint8Array): Promise<number>
  readonly length: number
  /** Closes the file. A file that now belongs to another process stays as it is. */
  close(): Promise<void>
}

/**
 * Opens the file at the settled length; creates nothing on the disk before the first append. If the file is lost, as with a ledger restored without
 * it, writing starts from an empty file.
 * @param home folder that must hold the file, without a link on the way
 * @param assertOurs called before each change: throws if another process now holds the run, and writes to the file
 */
export function openAppended(
  home: string,
  path: string,
  settledLength: number,
  assertOurs: () => Promise<void>,
): AppendedFile {
  let length = Math.min(settledLength, lengthOf(path))
  let handle: FileHandle | undefined
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (handle === undefined) {
      handle = await openOwn(home, path)
      await handle.truncate(length)
    }
    for (let written = 0; written < bytes.length; ) {
      written += (await handle.write(bytes, written, bytes.length - written, length + written)).bytesWritten
    }
    await handle.datasync()
  }
  return {
    path,
    get length() {
      return length
    },
    async append(bytes) {
      if (bytes.length === 0) return length
      await assertOurs()
      await write(bytes).catch((cause) => {
        throw unwritable(path, cause)
      })
      length += bytes.length
      return length
    },
    async close() {
      if (handle !== undefined) return handle.close()
      if (lengthOf(path) <= length) return
      const isOurs = await assertOurs().then(
        () => true,
        () => false,
      )
      if (!isOurs) return
      const left = await openOwn(home, path)
      await left.truncate(length).finally(() => left.close())
    },
  }
}

/** Length in bytes; 0 for a file that cannot be inspected: writing reports the problem. */
function lengthOf(path: string): number {
  try {
    return lstatSync(path).size
  } catch {
    return 0
  }
}

const unwritable = (path: string, cause: unknown): WaybillError => {
  if (cause instanceof WaybillError) return cause
  const reason = reasonOf(cause)
  const code = isDiskFull(cause) ? 'disk-full' : 'home-unusable'
  return new WaybillError(code, `${path} cannot be written: ${reason}`, {
    place: { file: path },
    cause,
  })
}
