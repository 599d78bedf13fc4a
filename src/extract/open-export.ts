/**
 * Opens an export, and gives its rows from the start or from a checkpoint, as often as asked.
 *
 * `format: records` has lines of several types, named by the first cell. One type begins a row; the lines behind belong to the row:
 * `{ patient, born, OBR: [{ order, OBX: [{ code, value }] }] }`.
 */
import { stat } from 'node:fs/promises'
import type { JsonValue } from '../model/row.ts'
import {
  assertFile,
  assertVersion,
  type Compression,
  type ContentLimits,
  DEFAULT_LIMITS,
  detectCompression,
  exportError,
  readContent,
  textStart,
  unreadable,
  versionOf,
} from './content.ts'
import { cellSplitter, cutByWidths, frameRecord } from './csv.ts'
import {
  countRows,
  type Frame,
  type FrameFault,
  firstOrigin,
  jsonRow,
  type OpenFormat,
  ROW_BYTES,
  type RowFormat,
  type RowFrame,
  readRows,
  rowsOf,
  tooLarge,
  unreadableRow,
} from './framing.ts'
import { openCsv, openText } from './open-csv.ts'
import { openHl7v2 } from './open-hl7v2.ts'
import { ndjsonFormat, openJson } from './open-json.ts'
import { openXlsx } from './open-xlsx.ts'
import type { Dialect, ReadDefinition } from './read-definition.ts'
import { refuseKind } from './xlsx-package.ts'

type RecordsDefinition = Extract<ReadDefinition, { format: 'records' }>

export interface OpenExport extends OpenFormat {
  /** Share of the file, from 0 to 1, before an offset; of a compressed file an estimate. */
  share(byteOffset: number): number
  /** Compares the version of the file. @throws `export-changed`, or `export-unreadable` for a missing file */
  assertUnchanged(): Promise<void>
}

/**
 * @param version required, from the time of its SHA-256; undefined: any
 * @throws `export-changed`, `export-unreadable` (not found, damaged, another header, encoding, delimiter or trailer than in
 *   the mapping), `export-empty` (no bytes; for CSV, no header), `export-too-large`
 */
export async function openExport(
  path: string,
  read: ReadDefinition,
  limits: ContentLimits = DEFAULT_LIMITS,
  version?: string,
): Promise<OpenExport> {
  const { bytes } = await lookAt(path)
  const compression = await detectCompression(path, limits, version).catch((cause) => {
    throw unreadable(path, cause)
  })
  await refuseKind(path, compression, read.format)
  return {
    controlTotal: async () => undefined,
    share: (byteOffset) => shareBefore(byteOffset, bytes, compression),
    ...(await openFormat(path, compression, read)),
    assertUnchanged: async () => assertVersion(path, (await lookAt(path)).version, compression.version),
  }
}

async function openFormat(
  path: string,
  compression: Compression,
  read: ReadDefinition,
): Promise<Partial<OpenExport> & Pick<OpenFormat, 'seekable' | 'rows'>> {
  if (read.format === 'csv') return openCsv(path, compression, read)
  if (read.format === 'xlsx') return openXlsx(path, compression, read)
  if (read.format === 'json') return openJson(path, compression, read)
  if (read.format === 'hl7v2') return openHl7v2(path, compression, read)
  if (read.format === 'records') return openRecords(path, compression, read)
  const content = (from: number) => readContent(path, compression, from)
  const first = firstOrigin(await textStart(path, content(0)))
  return {
    rows: (from = first) => readRows(content, from, ndjsonFormat),
    seekable: compression.kind === 'plain',
  }
}

/** @throws `export-unreadable` */
export async function lookAt(path: string): Promise<{ readonly version: string; readonly bytes: number }> {
  const found = await stat(path, { bigint: true }).catch((cause) => {
    throw unreadable(path, cause)
  })
  assertFile(path, found)
  return { version: versionOf(found), bytes: Number(found.size) }
}

/** @throws `export-empty`, `export-unreadable` */
async function openRecords(
  path: string,
  compression: Compression,
  read: RecordsDefinition,
): Promise<OpenFormat> {
  const source = await openText(path, compression, { encoding: read.encoding })
  const first = firstOrigin(source.start)
  const form = createForm(read)
  const format = rowFormat(form, source.invalidEncoding)
  const rows = (from = first) => readRows(source.text, from, format)
  const found = rows()
  const { done } = await found.next()
  await found.return(undefined)
  if (done === true) throw exportError(path, 'The export has no line with a row.', { code: 'export-empty' })
  const { count } = read
  return {
    seekable: source.seekable,
    rows,
    async controlTotal(counted) {
      if (count === undefined) return undefined
      let stated: number | undefined
      for await (const block of readRows(source.text, first, statedFormat(form, count)))
        for (const row of block) if (row.kind === 'json') stated = Number(row.text)
      if (stated === undefined || !Number.isInteger(stated))
        throw exportError(
          path,
          `No record of the type ${count.type} has the number of rows in its cell ${count.cell}.`,
          { remedy: 'Correct `read.count` in the mapping, or ask the vendor.' },
        )
      return { stated, found: counted ?? (await countRows(source.text, first, format)) }
    },
  }
}

/** A single row of the rejects file. */
export function readRecords(
  text: string,
  read: RecordsDefinition,
): { readonly value: JsonValue } | { readonly problem: string } {
  const format = rowFormat(createForm(read), 'the row is not valid UTF-8')
  const bytes = Buffer.from(text)
  const frame = format.frame(bytes, 0, true)
  if (frame === undefined || frame.blank === true) return { problem: 'it has no record of a row' }
  if (frame.next !== bytes.length) return { problem: 'it has more than one row' }
  const [row] = format.rows(bytes, [{ ...frame, row: 1, line: 1, byteOffset: 0, start: 0, cutOff: true }])
  if (row?.kind === 'json') return { value: row.value }
  return { problem: row?.kind === 'unreadable' ? row.message : 'it has no record of a row' }
}

interface RecordForm {
  readonly dialect: Dialect
  /** Type of a line. */
  readonly typeAt: (bytes: Buffer, frame: Pick<Frame, 'end'> & { readonly start: number }) => string
  /** Cells behind the type, for each record. */
  readonly cellsOf: (records: readonly RecordText[]) => (readonly string[])[]
  readonly read: RecordsDefinition
  /** Parent of each type; undefined for the type of the row. */
  readonly above: ReadonlyMap<string, string | undefined>
  readonly skipped: ReadonlySet<string>
}

interface RecordText {
  readonly type: string
  readonly text: string
}

const NONE = -1

function createForm(read: RecordsDefinition): RecordForm {
  const { delimiter, quote, typeWidth, types, row, skip, count } = read
  const isFixed = typeWidth !== undefined
  const dialect: Dialect = {
    delimiter: delimiter.charCodeAt(0),
    escapedBy: NONE,
    lenient: false,
    comment: undefined,
    quote: quote === 'none' || isFixed ? NONE : quote.charCodeAt(0),
    widths: undefined,
  }
  const split = cellSplitter(dialect)
  const typeOf = (cell: string): string => cell.replaceAll(quote, '').trim()
  return {
    dialect,
    typeAt(bytes, { start, end }) {
      const limit = Math.min(end, start + (typeWidth ?? 64))
      const text = bytes.toString('latin1', start, limit)
      return typeOf(isFixed ? text : (text.split(delimiter, 1)[0] ?? ''))
    },
    cellsOf: (records) =>
      isFixed
        ? records.map(({ type, text }) => cutByWidths(text.slice(typeWidth), types[type]?.widths ?? []))
        : records.map(({ text }) => split(text).slice(1)),
    read,
    above: new Map(
      Object.entries(types).map(([type, { in: parent = row }]) => [type, type === row ? undefined : parent]),
    ),
    skipped: new Set([...skip, ...(count === undefined ? [] : [count.type])]),
  }
}

const misplaced = (message: string): FrameFault => ({ fault: 'row-record-misplaced', message })

/** A line of the content; undefined when `bytes` must reach further to tell. */
function lineAt(
  { dialect, typeAt }: RecordForm,
  bytes: Buffer,
  start: number,
  ended: boolean,
): (Frame & { readonly type: string }) | undefined {
  const frame = frameRecord(bytes, start, ended, dialect)
  return frame && { ...frame, type: typeAt(bytes, { start, end: frame.end }) }
}

/** A row ends before the next line that begins a row or belongs to none. */
function rowFormat(form: RecordForm, invalidEncoding: string): RowFormat {
  const { read, above, skipped } = form
  const beginsRow = (type: string): boolean => type === read.row || skipped.has(type)
  return {
    frame(bytes, start, ended) {
      const first = lineAt(form, bytes, start, ended)
      if (first === undefined || first.blank === true || first.next === undefined) return first
      if (first.fault !== undefined) return first
      if (skipped.has(first.type)) return { ...first, blank: true }
      if (first.type !== read.row)
        return { ...first, fault: misplaced(`it precedes any record of the type ${read.row}`) }
      let { end, next, lines } = first
      let fault: FrameFault | undefined
      while (next < bytes.length || !ended) {
        const line = lineAt(form, bytes, next, ended)
        if (line === undefined) return undefined
        if (line.blank !== true && line.fault === undefined && beginsRow(line.type)) break
        if (line.next === undefined) break
        if (line.end - start > ROW_BYTES) return { ...first, fault: tooLarge('the row is larger') }
        fault ??= line.fault ?? (line.blank === true || above.has(line.type) ? undefined : UNKNOWN)
        if (line.blank !== true) end = line.end
        next = line.next
        lines += line.lines
      }
      return fault === undefined ? { end, next, lines } : { end, next, lines, fault }
    },
    rows: (bytes, frames) =>
      rowsOf(
        bytes,
        frames,
        (frame) => {
          const value = assemble(form, recordsIn(form, bytes, frame))
          if ('fault' in value) return unreadableRow(bytes, frame, value)
          return jsonRow(frame, value.row, JSON.stringify(value.row))
        },
        () => ({ fault: 'row-encoding-invalid', message: invalidEncoding }),
      ),
  }
}

const UNKNOWN = misplaced('one of its lines is of a type that `read.types` does not name')

function recordsIn(form: RecordForm, bytes: Buffer, { start, end }: RowFrame): RecordText[] {
  const records: RecordText[] = []
  for (let at = start; at < end; ) {
    const line = lineAt(form, bytes.subarray(0, end), at, true)
    if (line === undefined) break
    if (line.blank !== true) records.push({ type: line.type, text: bytes.toString('utf8', at, line.end) })
    at = line.next ?? end
  }
  return records
}

type Node = { [member: string]: JsonValue }

/** Puts each record into the last record of its parent type. */
function assemble(
  { cellsOf, read, above }: RecordForm,
  records: readonly RecordText[],
): { readonly row: Node } | FrameFault {
  const last = new Map<string, Node>()
  let root: Node = {}
  for (const [at, cells] of cellsOf(records).entries()) {
    const type = records[at]?.type ?? ''
    const { columns = [] } = read.types[type] ?? {}
    if (cells.slice(columns.length).some((cell) => cell.trim() !== ''))
      return {
        fault: 'row-too-long',
        message: `a record of the type ${type} has ${cells.length} cells, but \`read.types\` names ${columns.length}`,
      }
    const node: Node = Object.fromEntries(columns.map((column, cell) => [column, cells[cell] ?? '']))
    const parent = above.get(type)
    if (parent === undefined) root = node
    else {
      const owner = last.get(parent)
      if (owner === undefined) return misplaced(`a record of the type ${type} precedes any ${parent}`)
      const siblings = owner[type]
      if (Array.isArray(siblings)) siblings.push(node)
      else owner[type] = [node]
    }
    // Later records below this type belong to this record.
    for (const other of above.keys()) if (isBelow(other, type, above)) last.delete(other)
    last.set(type, node)
  }
  return { row: root }
}

function isBelow(one: string, type: string, above: RecordForm['above']): boolean {
  const up = above.get(one)
  return up !== undefined && (up === type || isBelow(up, type, above))
}

/** Cells that state the number of rows. */
function statedFormat(form: RecordForm, count: NonNullable<RecordsDefinition['count']>): RowFormat {
  return {
    frame(bytes, start, ended) {
      const line = lineAt(form, bytes, start, ended)
      return line && { ...line, blank: line.type !== count.type }
    },
    rows: (bytes, frames) =>
      frames.map((frame) => {
        const text = bytes.toString('utf8', frame.start, frame.end)
        const [cells = []] = form.cellsOf([{ type: count.type, text }])
        return jsonRow(frame, null, (cells[count.cell - 1] ?? '').trim())
      }),
  }
}

/**
 * Share of a file, from 0 to 1, before an offset of its content. For decompressed or transcoded content, an estimate from the latest
 * reading.
 */
function shareBefore(byteOffset: number, fileBytes: number, { reading }: Compression): number {
  const made = reading.decoded ?? reading.content
  return fileBytes === 0 || made === 0 ? 0 : Math.min(1, (byteOffset * reading.file) / made / fileBytes)
}
