/** Opens an export: looks at it once, then gives its rows, from the start or from a checkpoint, as often as asked. */
import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { WaybillError } from '../errors.ts'
import { ByteWindow } from './byte-window.ts'
import { detectEncoding, type Encoding, readContent, unreadable } from './content.ts'
import { csvFormat } from './csv.ts'
import { type RowFormat, readRows } from './framing.ts'
import { ndjsonFormat } from './ndjson.ts'
import type { ReadDefinition } from './read-definition.ts'
import type { Origin, Row } from './row.ts'

const BOM = Buffer.from('\ufeff')

export interface OpenExport {
  /** CSV: the names in the header, trimmed; a name may be empty, and such a column cannot be mapped. */
  readonly columns?: readonly string[]
  /**
   * The rows in blocks of some hundred (a step a row would cost more than the row), read as they are asked for.
   * @param from origin of the row to begin with, as an earlier reading gave it; the rows are then the same as in that
   *   reading. Without it, the first.
   * @throws WaybillError `export-unreadable`; `export-changed` where the content ends before `from`
   */
  rows(from?: Origin): AsyncIterable<readonly Row[]>
  /**
   * Compares size, time of change and inode with those found when it was opened.
   * @throws WaybillError `export-changed`, or `export-unreadable` where it is gone
   */
  assertUnchanged(): Promise<void>
}

/**
 * @throws WaybillError `export-unreadable` (not found, damaged, a header that cannot be read or names a column twice),
 *   `export-empty` (no bytes; for CSV, no header)
 */
export async function openExport(path: string, read: ReadDefinition): Promise<OpenExport> {
  const before = await statExport(path)
  const encoding = await detectEncoding(path).catch((cause) => {
    throw unreadable(path, cause)
  })
  const start = await contentStart(path, encoding)
  const rowsFrom = (from: Origin, format: RowFormat) =>
    readRows(new ByteWindow(readContent(path, encoding, from.byteOffset), from.byteOffset), from, format)
  const assertUnchanged = () => compareStat(path, before)

  if (read.format === 'ndjson') {
    const first: Origin = { row: 1, line: 1, byteOffset: start }
    return { rows: (from = first) => rowsFrom(from, ndjsonFormat), assertUnchanged }
  }
  const top: Origin = { row: 0, line: 1, byteOffset: start }
  const header = await readHeader(path, rowsFrom(top, csvFormat(read, undefined)))
  const format = csvFormat(read, header.columns.length)
  return {
    columns: header.columns,
    // The header is row 0; reading begins with it and leaves it out.
    rows: (from) =>
      from === undefined ? withoutFirst(rowsFrom(header.origin, format)) : rowsFrom(from, format),
    assertUnchanged,
  }
}

/** Offset of the first byte that is text: behind a byte order mark. */
async function contentStart(path: string, encoding: Encoding): Promise<number> {
  const window = new ByteWindow(readContent(path, encoding, 0), 0)
  while (!window.ended && window.bytes.length < BOM.length) await window.refill(0)
  await window.close()
  const start = window.bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
  if (window.bytes.length > start) return start
  throw new WaybillError('export-empty', 'The export is empty.', { place: { file: path } })
}

interface Header {
  readonly columns: readonly string[]
  readonly origin: Origin
}

async function readHeader(path: string, blocks: AsyncIterable<readonly Row[]>): Promise<Header> {
  let first: Row | undefined
  for await (const block of blocks) {
    first = block[0]
    break
  }
  if (first === undefined)
    throw new WaybillError('export-empty', 'The export has no header.', { place: { file: path } })
  const place = { file: path, line: first.line }
  if (first.kind !== 'cells') {
    const reason = first.kind === 'unreadable' ? first.message : 'it is not CSV'
    throw new WaybillError('export-unreadable', `The header cannot be read: ${reason}.`, { place })
  }
  const columns = first.cells.map((cell) => cell.trim())
  const twice = new Set(columns.filter((name, at) => name !== '' && columns.indexOf(name) !== at))
  if (twice.size === 0) return { columns, origin: first }
  const names = [...twice].map((name) => `"${name}"`).join(', ')
  throw new WaybillError('export-unreadable', `The header names a column more than once: ${names}.`, {
    place,
    remedy: 'Ask the vendor for a file in which each column has a name of its own.',
  })
}

async function* withoutFirst(blocks: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  let skip = 1
  for await (const block of blocks) {
    if (block.length > skip) yield block.slice(skip)
    skip = 0
  }
}

async function statExport(path: string): Promise<BigIntStats> {
  try {
    return await stat(path, { bigint: true })
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

async function compareStat(path: string, before: BigIntStats): Promise<void> {
  const now = await statExport(path)
  if (now.size === before.size && now.mtimeNs === before.mtimeNs && now.ino === before.ino) return
  throw new WaybillError('export-changed', 'The export changed after it was opened.', {
    place: { file: path },
  })
}
