/**
 * Parts of an export. A part is the export, read for some people: all rows of a person, by the keyed hash of the reference, are in one part. A row
 * without a person belongs to the first part. Chunks of the parts take turns in numbers: the first part of three has the chunks 1, 4, 7.
 */
import { lstatSync } from 'node:fs'
import { open, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { ExportRecord, Ledger, PartOf, PartRecord } from '../ledger/ledger.ts'
import { ERROR_CODES, type ErrorCode, WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountKey } from '../model/record.ts'
import type { Row } from '../model/row.ts'
import { assertWithin } from '../system/own-files.ts'
import type { RowMapper } from '../transform/compile.ts'
import { type AppendedFile, openAppended } from './receipts.ts'
import { rejectsPath } from './rejects.ts'
import { resumptionOf } from './resume.ts'

/** Digits of a hash that choose the part: far more values than parts. */
const DIGITS = 8

/** Number of the part, from 0, that has the rows of a person. Pure. */
const partOfPerson = (
  { account: hashOf }: Pick<Identity, 'account'>,
  person: AccountKey | undefined,
  of: number,
): number => (person === undefined ? 0 : Number.parseInt(hashOf(person).slice(0, DIGITS), 16) % of)

/** Leaves the rows of a part. */
export async function* ownRows(
  blocks: AsyncIterable<readonly Row[]>,
  mapper: RowMapper,
  identity: Pick<Identity, 'account'>,
  { number, of }: PartOf,
): AsyncGenerator<readonly Row[]> {
  const known = (row: Row): AccountKey | undefined =>
    row.kind === 'cells' ? mapper.recogniser?.identify(row)?.account : undefined
  for await (const block of blocks) {
    const own = block.filter(
      (row) => partOfPerson(identity, known(row) ?? mapper(row).account, of) === number,
    )
    if (own.length > 0) yield own
  }
}

/** Files of a part, until the export has ended; side by side, so that both are pruned together. */
export function filesOfPart(
  context: { rejectsFolder: string },
  record: Pick<ExportRecord, 'ordinal' | 'name' | 'reading'>,
  { number }: Pick<PartOf, 'number'>,
): { rejects: string; receipts: string } {
  const name = `.part-${number + 1}`
  return {
    rejects: rejectsPath(context, record, name),
    receipts: join(context.rejectsFolder, `${record.ordinal}${name}.receipts.ndjson.gz`),
  }
}

const PartFault = z.object({
  /** Undefined for an unforeseen error. */
  code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]).optional(),
  message: z.string(),
  remedy: z.string(),
})

/** Error of a part as text for the ledger. The message of an unforeseen error may hold anything, and stays out. */
export function faultText(error: unknown): string {
  if (!(error instanceof WaybillError))
    return JSON.stringify({ message: 'an unforeseen error: see the log of its worker', remedy: '' })
  const { code, message, remedy } = error
  return JSON.stringify({ code, message, remedy })
}

/** Error of a part; undefined for a part without one. @param of number of parts, for an error that may concern one of them */
export function faultOf({ number, state, fault }: PartRecord, of: number): Error | undefined {
  if (fault === null) return undefined
  const { code, message: told, remedy } = PartFault.parse(JSON.parse(fault))
  const message = state === 'failed' ? told : `part ${number + 1} of ${of}: ${told}`
  return code === undefined ? new Error(message) : new WaybillError(code, message, { remedy })
}

/** True for a part whose share of rejected or skipped rows has ended the run. */
export const endsRun = (part: PartRecord): boolean => {
  const error = faultOf(part, 1)
  return error instanceof WaybillError && error.code === 'threshold-passed'
}

interface Joining {
  readonly ledger: Pick<Ledger, 'parts' | 'chunks'>
  readonly assertHeld: () => Promise<void>
  readonly home: string
  readonly rejectsFolder: string
}

/**
 * Makes the files of the parts one, in the order of the parts: rejects of the export, and receipts behind those of the run.
 * @returns removes the files of the parts; call once the ledger has the length of the receipts
 */
export async function joinFiles(
  { ledger, assertHeld, home, rejectsFolder }: Joining,
  record: ExportRecord,
  receipts: AppendedFile,
): Promise<() => Promise<void>> {
  const parts = await ledger.parts.ofExport(record.id)
  const chunks = await ledger.chunks.ofExport(record.id)
  const files: string[] = []
  const rejects = openAppended(home, rejectsPath({ rejectsFolder }, record), 0, assertHeld)
  for (const { number, receiptsLength, state } of parts) {
    const own = filesOfPart({ rejectsFolder }, record, { number })
    files.push(own.receipts, own.rejects)
    await copy(home, own.receipts, receiptsLength, receipts)
    const { rejectsLength } = resumptionOf(chunks, { number, of: parts.length })
    // A run that is over has a sample of held-back rows behind the settled ones.
    const length = state === 'failed' ? lengthOf(own.rejects) : rejectsLength
    await copy(home, own.rejects, length, rejects, rejects.length > 0)
  }
  await rejects.close()
  return async () => {
    for (const file of files) await rm(file, { force: true })
    // Other exports of the run may have rejects.
    await rmdir(rejectsFolder).catch(() => {})
  }
}

/** Removes leftover files of joined parts: a process may end between the join and the removal. */
export async function removeJoined(
  rejectsFolder: string,
  exports: readonly Pick<ExportRecord, 'ordinal' | 'name' | 'reading' | 'state'>[],
): Promise<void> {
  const over = exports.filter(({ state }) => state !== 'open')
  for (const name of await readdir(rejectsFolder).catch(() => [])) {
    const number = Number(/\.part-(\d+)\./.exec(name)?.[1]) - 1
    const file = join(rejectsFolder, name)
    if (over.some((one) => Object.values(filesOfPart({ rejectsFolder }, one, { number })).includes(file)))
      await rm(file, { force: true })
  }
}

/** Bytes copied at a time: each piece is synced. */
const PIECE_BYTES = 4 * 1024 * 1024

/** @param withoutHeader true to leave out the first line */
async function copy(
  home: string,
  path: string,
  length: number,
  to: AppendedFile,
  withoutHeader = false,
): Promise<void> {
  if (length === 0 || lengthOf(path) === 0) return
  assertWithin(home, path)
  const file = await open(path, 'r')
  try {
    let from = 0
    const header = new FirstLine()
    while (from < length) {
      const { buffer, bytesRead } = await file.read(
        Buffer.allocUnsafe(Math.min(PIECE_BYTES, length - from)),
        { position: from },
      )
      if (bytesRead === 0) return
      from += bytesRead
      const piece = buffer.subarray(0, bytesRead)
      await to.append(withoutHeader ? header.behind(piece) : piece)
    }
  } finally {
    await file.close()
  }
}

const QUOTE = 0x22
const LINE_END = 0x0a

/** First line of a CSV, with line ends within quotes. */
class FirstLine {
  #isOver = false
  #isQuoted = false

  /** Leaves what stands behind the first line. @param piece the next bytes of the file */
  behind(piece: Uint8Array): Uint8Array {
    if (this.#isOver) return piece
    for (const [at, byte] of piece.entries()) {
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted
      if (byte !== LINE_END || this.#isQuoted) continue
      this.#isOver = true
      return piece.subarray(at + 1)
    }
    return new Uint8Array()
  }
}

function lengthOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
}
