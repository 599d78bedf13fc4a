/**
 * Opens an export of `format: xlsx`: a sheet of a workbook (ISO/IEC 29500, ECMA-376) as rows of cells under a header. What a cell gives is in
 * xlsx-cells.ts. The sheet is read twice, as a stream each time: looked through first (xlsx-survey.ts), then row by row.
 */
import { WaybillError } from '../model/errors.ts'
import type { CsvRow, Origin, Row } from '../model/row.ts'
import { type Compression, openVersion, unreadable } from './content.ts'
import { readHeader, statedCount } from './csv-layout.ts'
import type { FrameFault, OpenFormat } from './framing.ts'
import type { ReadDefinition, XlsxDefinition } from './read-definition.ts'
import {
  foreignKind,
  HEAD_BYTES,
  holdsUtf16,
  isPacked,
  openPackage,
  type WorkbookPackage,
} from './xlsx-package.ts'
import { readStrings, readStyles, readWorkbook, type SheetEntry } from './xlsx-parts.ts'
import { readSheet, type SheetContext, type SheetFacts, type SheetRow } from './xlsx-sheet.ts'
import { createSurveyor, dataFilter, type Survey, type Top } from './xlsx-survey.ts'

/** What rows are read by, once the workbook was looked through. */
interface OpenSheet {
  readonly sheet: SheetEntry
  readonly context: SheetContext
  readonly top: Top
  readonly survey: Survey
  /** Bytes of the sheet's part. */
  readonly bytes: number
}

/** @throws WaybillError `export-unreadable`, `export-empty`, `export-too-large` */
export async function openXlsx(
  path: string,
  compression: Compression,
  read: XlsxDefinition,
): Promise<OpenFormat & { share(offset: number): number }> {
  await refuseForeign(path, compression)
  const found = await withPackage(path, compression, (opened) => lookThrough(path, opened, read))
  const { sheet, top, survey, bytes } = found
  const stated =
    survey.trailer === undefined || read.trailer?.count === undefined
      ? undefined
      : statedCount(path, read.trailer.count.cell, survey.trailer)
  return {
    ...{ columns: top.columns, seekable: false, sheet: sheet.name, notes: survey.notes },
    rows: (from) => rowsOf(path, compression, read, found, from),
    controlTotal: async () => (stated === undefined ? undefined : { stated, found: survey.rows }),
    share: (offset) => (bytes === 0 ? 0 : Math.min(1, offset / bytes)),
  }
}

/** Refuses, for the other formats, a file that is a workbook: none of its lines would say why. @throws WaybillError `export-unreadable` */
export async function refuseWorkbook(
  path: string,
  compression: Compression,
  { format }: ReadDefinition,
): Promise<void> {
  const head = await headOf(path, compression)
  if (!isPacked(head)) return
  const kind = (await kindOf(path, compression, head)) ?? 'a workbook (.xlsx), or another zip archive'
  throw new WaybillError('export-unreadable', `The export is ${kind}, and the mapping reads ${format}.`, {
    place: { file: path },
    remedy:
      'Use the mapping that is meant for these files. Of a workbook (.xlsx) `waybill mapping init` drafts one, with `read: { format: xlsx }`.',
  })
}

const kindOf = (path: string, compression: Compression, head: Buffer): Promise<string | undefined> =>
  foreignKind(head, (text) => holdsUtf16(path, compression, text))

async function refuseForeign(path: string, compression: Compression): Promise<void> {
  const head = await headOf(path, compression)
  if (head.length === 0)
    throw new WaybillError('export-empty', 'The export is empty.', { place: { file: path } })
  const kind = await kindOf(path, compression, head)
  if (kind !== undefined) throw notRead(path, kind)
}

const notRead = (path: string, kind: string): WaybillError =>
  new WaybillError('export-unreadable', `The export is ${kind}; workbooks are read as .xlsx and .xlsm.`, {
    place: { file: path },
    remedy:
      'Ask the vendor for .xlsx without a password, or for CSV. Where files must be encrypted, PGP does it (docs/jobs.md).',
  })

async function headOf(path: string, { version }: Compression): Promise<Buffer> {
  const { handle } = await openVersion(path, version)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

async function withPackage<Result>(
  path: string,
  compression: Compression,
  use: (opened: WorkbookPackage) => Promise<Result>,
): Promise<Result> {
  try {
    const opened = await openPackage(path, compression)
    try {
      return await use(opened)
    } finally {
      await opened.close()
    }
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : unreadable(path, cause)
  }
}

async function lookThrough(path: string, opened: WorkbookPackage, read: XlsxDefinition): Promise<OpenSheet> {
  const { sheets, epoch, parts } = await readWorkbook(opened)
  const forms = await readStyles(opened, parts.styles)
  const shared = await readStrings(path, opened, parts.strings)
  const context = { forms, shared, epoch }
  const sheet = await sheetOf(path, opened, context, sheets, read)
  const top = await topOf(path, opened, context, sheet, read)
  const surveyor = createSurveyor(path, read, top)
  const isData = dataFilter(read, top)
  const facts = noFacts()
  for await (const block of readSheet(opened.read(sheet.part), context, facts))
    for (const row of block) if (isData(row)) surveyor.look(row)
  const tables = [...(await opened.relationships(sheet.part)).values()]
    .filter(({ type }) => type === 'table')
    .map(({ target }) => target.split('/').at(-1) ?? '')
  const survey = surveyor.end(facts, tables)
  return { sheet, context, top, survey, bytes: opened.sizeOf(sheet.part) }
}

const noFacts = (): SheetFacts => ({ dimension: undefined, merges: [], isFiltered: false })

/** @throws WaybillError `export-unreadable` (not there, or one of several), `export-empty` */
async function sheetOf(
  path: string,
  opened: WorkbookPackage,
  context: SheetContext,
  sheets: readonly SheetEntry[],
  { sheet: wanted }: XlsxDefinition,
): Promise<SheetEntry> {
  const told = (some: readonly SheetEntry[]): string =>
    some.map(({ name, isHidden }) => `"${name}"${isHidden ? ' (hidden)' : ''}`).join(', ')
  if (wanted !== undefined) {
    const found = sheets.find(({ name }) => name === wanted)
    if (found !== undefined) return found
    throw new WaybillError('export-unreadable', `The workbook has no sheet "${wanted}".`, {
      place: { file: path },
      remedy: `It has: ${told(sheets)}. Correct \`read.sheet\` in the mapping, or ask the vendor.`,
    })
  }
  const filled: SheetEntry[] = []
  for (const one of sheets) if (await holdsRows(opened, context, one)) filled.push(one)
  const [only, another] = filled
  if (only === undefined)
    throw new WaybillError('export-empty', 'No sheet of the workbook holds anything.', {
      place: { file: path },
    })
  if (another === undefined) return only
  throw new WaybillError('export-unreadable', `Several sheets hold something: ${told(filled)}.`, {
    place: { file: path },
    remedy: `Say in the mapping which is meant: \`read: { format: xlsx, sheet: ${JSON.stringify(only.name)} }\`.`,
  })
}

async function holdsRows(
  opened: WorkbookPackage,
  context: SheetContext,
  { part }: SheetEntry,
): Promise<boolean> {
  for await (const rows of readSheet(opened.read(part), context, noFacts())) if (rows.length > 0) return true
  return false
}

async function topOf(
  path: string,
  opened: WorkbookPackage,
  context: SheetContext,
  { part }: SheetEntry,
  { header, columns, duplicates }: XlsxDefinition,
): Promise<Top> {
  if (header === 'none') return { columns: columns ?? [], line: 0 }
  const from = header.line ?? 1
  async function* blocks(): AsyncGenerator<readonly Row[]> {
    for await (const rows of readSheet(opened.read(part), context, noFacts()))
      yield rows.filter(({ line }) => line >= from).map((row): Row => asCells(row, 0, row.cells))
  }
  const found = await readHeader(path, header, columns === undefined ? duplicates : 'number', blocks())
  return { columns: columns ?? found.columns, line: found.origin.line }
}

const asCells = ({ line, offset }: SheetRow, row: number, cells: readonly string[]): CsvRow => ({
  ...{ kind: 'cells', row, line, byteOffset: offset },
  cells,
})

async function* rowsOf(
  path: string,
  compression: Compression,
  read: XlsxDefinition,
  { sheet, context, top, survey }: OpenSheet,
  from: Origin | undefined,
): AsyncGenerator<readonly Row[]> {
  const first = from?.row ?? 1
  const isData = dataFilter(read, top)
  let ordinal = 0
  try {
    const opened = await openPackage(path, compression)
    try {
      for await (const block of readSheet(opened.read(sheet.part), context, noFacts())) {
        const rows: Row[] = []
        for (const row of block) {
          if (!isData(row) || row.offset >= survey.end) continue
          ordinal++
          if (ordinal >= first) rows.push(rowOf(row, ordinal, top.columns.length, survey))
        }
        if (rows.length > 0) yield rows
      }
    } finally {
      await opened.close()
    }
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : unreadable(path, cause)
  }
  if (ordinal < first && from !== undefined)
    throw new WaybillError(
      'export-changed',
      `Reading should go on at row ${first}, but the sheet ends before it.`,
      {
        place: { file: path },
      },
    )
}

function rowOf(row: SheetRow, ordinal: number, width: number, { repeated }: Survey): Row {
  const { line, cells } = row
  if (row.problem !== undefined) return unreadableRow(row, ordinal, placeUnclear(row.problem))
  if (repeated.has(line))
    return unreadableRow(row, ordinal, placeUnclear('several rows of the sheet have its number'))
  if (cells.length === width) return asCells(row, ordinal, cells)
  if (cells.length < width)
    return asCells(row, ordinal, [...cells, ...Array.from({ length: width - cells.length }, () => '')])
  const message = `something stands in column ${cells.length}, where the header has ${width}`
  return { ...unreadableRow(row, ordinal, { fault: 'row-too-long', message }), cells }
}

const placeUnclear = (message: string): FrameFault => ({ fault: 'row-place-unclear', message })

function unreadableRow({ line, offset, cells }: SheetRow, row: number, { fault, message }: FrameFault) {
  const text = cells
    .map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join()
    .slice(0, EXCERPT_CHARACTERS)
  return { kind: 'unreadable', row, line, byteOffset: offset, fault, message, text } as const
}

/** Of an unreadable row, this much is kept for the rejects file. */
const EXCERPT_CHARACTERS = 64 * 1024
