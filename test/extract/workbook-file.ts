/** Workbooks whose parts a test writes by hand, packed as zip. */
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import { readDefinition } from '../../src/extract/read-definition.ts'
import type { Row } from '../../src/model/row.ts'
import { allRows, exportFile } from './export-file.ts'

export const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'

/** What of a workbook a test says; the rest is as any program writes it. */
export interface WrittenWorkbook {
  /** By the sheet's name: what stands within `sheetData`, or a whole part, which begins with `<`?xml or a root. */
  readonly sheets?: Readonly<Record<string, string>>
  /** Items of the table of shared strings. */
  readonly strings?: string
  /** Number formats of cell styles: style 1 is the first. */
  readonly formats?: readonly (number | string)[]
  /** Attributes of `workbookPr`. */
  readonly properties?: string
  /** Parts instead of those that would be written, or besides; undefined leaves one out. */
  readonly parts?: Readonly<Record<string, string | Buffer | undefined>>
  readonly zip?: { readonly compress?: boolean; readonly forceZip64Format?: boolean }
}

export const worksheet = (rows: string, behind = '', before = ''): string =>
  `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><worksheet xmlns="${MAIN}">${before}<sheetData>${rows}</sheetData>${behind}</worksheet>`

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

export function partsOf(written: WrittenWorkbook): Record<string, string | Buffer> {
  const { sheets = {}, strings, formats = [], properties = '', parts = {} } = written
  const names = Object.keys(sheets)
  const custom = formats.flatMap((format, at) =>
    typeof format === 'string' ? [[164 + at, format] as const] : [],
  )
  const relate = (targets: readonly (readonly [string, string])[]): string =>
    `<Relationships xmlns="${PACKAGE}/relationships">${targets
      .map(
        ([type, target], at) =>
          `<Relationship Id="rId${at + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
      )
      .join('')}</Relationships>`
  const usual: Record<string, string | Buffer> = {
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`,
    '_rels/.rels': relate([['officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr ${properties}/><sheets>${names
      .map((name, at) => `<sheet name="${escaped(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relate([
      ...names.map((_, at) => ['worksheet', `worksheets/sheet${at + 1}.xml`] as const),
      ['styles', 'styles.xml'],
      ...(strings === undefined ? [] : [['sharedStrings', 'sharedStrings.xml'] as const]),
    ]),
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts>${custom
      .map(([id, code]) => `<numFmt numFmtId="${id}" formatCode="${escaped(code)}"/>`)
      .join('')}</numFmts><cellXfs><xf numFmtId="0"/>${formats
      .map((format, at) => `<xf numFmtId="${typeof format === 'number' ? format : 164 + at}"/>`)
      .join('')}</cellXfs></styleSheet>`,
    ...Object.fromEntries(
      Object.values(sheets).map((text, at) => [
        `xl/worksheets/sheet${at + 1}.xml`,
        /^<\?xml|^<(?:\w+:)?worksheet/.test(text) ? text : worksheet(text),
      ]),
    ),
    ...(strings === undefined ? {} : { 'xl/sharedStrings.xml': `<sst xmlns="${MAIN}">${strings}</sst>` }),
  }
  const all = { ...usual, ...parts }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, content]) => (content === undefined ? [] : [[name, content]])),
  )
}

export async function workbookBytes(written: WrittenWorkbook): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, content] of Object.entries(partsOf(written)))
    zip.addBuffer(Buffer.from(content), name, { compress: true, ...written.zip })
  zip.end()
  return buffer(zip.outputStream)
}

export const workbookFile = async (written: WrittenWorkbook, name = 'export.xlsx'): Promise<string> =>
  exportFile(await workbookBytes(written), name)

export const xlsx = (read: object = {}) => readDefinition.parse({ format: 'xlsx', ...read })

/** Rows of the only sheet. */
export const sheetRows = async (written: WrittenWorkbook, read: object = {}): Promise<Row[]> =>
  allRows(await workbookFile(written), xlsx(read))

/** A row of texts, inline. */
export const texts = (line: number, ...cells: readonly string[]): string =>
  `<row r="${line}">${cells
    .map((cell) => `<c t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`)
    .join('')}</row>`
