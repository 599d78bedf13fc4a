import { readFile, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { fullRow } from '../../packages/mapping-tools/src/run-cases.ts'
import { DEFAULT_LIMITS } from '../../src/extract/content.ts'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Row } from '../../src/model/row.ts'
import { load } from '../transform/mapping-under-test.ts'
import { allRows, brief, CSV, collect, exportFile } from './export-file.ts'
import {
  MAIN,
  sheetRows,
  texts,
  type WrittenWorkbook,
  workbookBytes,
  workbookFile,
  worksheet,
  xlsx,
} from './workbook-file.ts'

const HEADER = texts(1, 'id', 'value')

/** Texts of one cell below a header, under column B. */
async function cellText(cell: string, written: WrittenWorkbook = {}): Promise<unknown> {
  const rows = `${HEADER}<row r="2"><c r="A2"><v>1</v></c>${cell}</row>`
  const [row] = await sheetRows({ sheets: { Data: rows }, ...written })
  return row?.kind === 'cells' ? row.cells[1] : row
}

const refusal = async (written: WrittenWorkbook, read: object = {}): Promise<WaybillError> => {
  const error = await sheetRows(written, read).catch((thrown: unknown) => thrown)
  if (error instanceof WaybillError) return error
  throw new Error(`it was read: ${JSON.stringify(error)}`)
}

describe('cells are what is stored', () => {
  test.each([
    ['a whole number', '<c r="B2"><v>42</v></c>', '42'],
    ['the shortest decimal of 17 digits', '<c r="B2"><v>5.0999999999999996</v></c>', '5.1'],
    ['an exponent', '<c r="B2"><v>1.2E+2</v></c>', '120'],
    ['a small number', '<c r="B2"><v>1.5E-7</v></c>', '0.00000015'],
    ['a large fraction', '<c r="B2" t="n"><v> -12.50 </v></c>', '-12.5'],
    ['a true', '<c r="B2" t="b"><v>1</v></c>', 'TRUE'],
    ['a cached false', '<c r="B2" t="b"><f>A2=2</f><v>0</v></c>', 'FALSE'],
    ['text with zeros', '<c r="B2" t="inlineStr"><is><t>00123</t></is></c>', '00123'],
    ['text of a formula', '<c r="B2" t="str"><f>A2&amp;""</f><v>007</v></c>', '007'],
    ['an empty text of a formula', '<c r="B2" t="str"><f>""</f><v></v></c>', ''],
    ['a cell with a style alone', '<c r="B2" s="0"/>', ''],
    ['an error', '<c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c>', '#DIV/0!'],
    ['#N/A', '<c r="B2" t="e"><v>#N/A</v></c>', '#N/A'],
    ['an error that is none', '<c r="B2" t="e"><v>#SMITH!</v></c>', '#INVALID! #SMITH!'],
    ['a formula that nobody computed', '<c r="B2"><f>SUM(A2:A2)</f></c>', '#NOT-COMPUTED!'],
    ['as openpyxl writes one', '<c r="B2"><f>A2*2</f><v/></c>', '#NOT-COMPUTED!'],
    ['15 digits', '<c r="B2"><v>123456789012345</v></c>', '123456789012345'],
    ['16 digits', '<c r="B2"><v>1234567890123456</v></c>', '#DIGITS! 1234567890123456'],
    [
      '16 digits with an exponent',
      '<c r="B2"><v>1.2345678901234499E+17</v></c>',
      '#DIGITS! 1.2345678901234499E+17',
    ],
    [
      '16 digits, of which some are decimals',
      '<c r="B2"><v>123456789.12345678</v></c>',
      '123456789.12345678',
    ],
    ['a number that is none', '<c r="B2"><v>NaN</v></c>', '#INVALID! NaN'],
    ['a number without bounds', '<c r="B2"><v>1e999</v></c>', '#INVALID! 1e999'],
    ['a type that nobody knows', '<c r="B2" t="x"><v>5</v></c>', '#INVALID! 5'],
    ['a boolean that is none', '<c r="B2" t="b"><v>2</v></c>', '#INVALID! 2'],
    ['a shared string that is not there', '<c r="B2" t="s"><v>3</v></c>', '#INVALID! 3'],
    ['characters that XML lacks', '<c r="B2" t="inlineStr"><is><t>a_x000D_b_x005F_x</t></is></c>', 'a\rb_x'],
    ['character references', '<c r="B2" t="str"><v>&lt;&#x41;&#66;&amp;</v></c>', '<AB&'],
    ['CDATA', '<c r="B2" t="str"><v><![CDATA[<5]]></v></c>', '<5'],
    ['a shared formula', '<c r="B2"><f t="shared" si="0"/><v>7</v></c>', '7'],
    ['an array formula', '<c r="B2"><f t="array" ref="B2:B9">A2:A9*2</f><v>2</v></c>', '2'],
    ['a formula of another workbook', '<c r="B2"><f>[1]Sheet1!A1</f><v>9</v></c>', '9'],
  ])('%s', async (_, cell, expected) => {
    expect(await cellText(cell)).toBe(expected)
  })

  test('rich text is whole, without what is said of pronunciation', async () => {
    const strings =
      '<si><r><rPr><b/></rPr><t xml:space="preserve">Blood </t></r><r><t>pressure</t></r><rPh sb="0" eb="1"><t>kana</t></rPh><phoneticPr fontId="1"/></si><si><t>x</t><rPh sb="0" eb="1"><t>y</t></rPh></si>'
    const inline =
      '<c r="B2" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r><rPh sb="0" eb="1"><t>c</t></rPh></is></c>'
    expect(await cellText('<c r="B2" t="s"><v>0</v></c>', { strings })).toBe('Blood pressure')
    expect(await cellText('<c r="B2" t="s"><v>1</v></c>', { strings })).toBe('x')
    expect(await cellText(inline)).toBe('ab')
  })

  test('counts of shared strings that lie change nothing', async () => {
    const parts = {
      'xl/sharedStrings.xml': `<sst xmlns="${MAIN}" count="1" uniqueCount="1"><si><t>a</t></si><si><t/></si><si><t>c</t></si></sst>`,
    }
    expect(await cellText('<c r="B2" t="s"><v>2</v></c>', { strings: '', parts })).toBe('c')
    expect(await cellText('<c r="B2" t="s"><v>1</v></c>', { strings: '', parts })).toBe('')
  })
})

describe('number formats', () => {
  const formatted = (value: string, format: number | string, properties = '', type = ''): Promise<unknown> =>
    cellText(`<c r="B2" s="1"${type}><v>${value}</v></c>`, { formats: [format], properties })

  test.each([
    // Ids with leading zeros.
    ['123', '00000', '00123'],
    ['1234567', '00000', '1234567'],
    ['-12', '0000', '-0012'],
    ['12.5', '00000', '12.5'],
    ['12345678', '000\\-00\\-0000', '012345678'],
    ['12345678', '000-00-0000', '012345678'],
    ['123', '"MRN"00000', '00123'],
    // A comparator that the format alone shows; no condition of a format is one.
    ['62', '"<"0', '<62'],
    ['0.5', '\\>0.0', '>0.5'],
    ['62', '"≥ "0', '≥62'],
    ['62', '0" <"', '62'],
    ['62', '[<100]0;0', '62'],
    ['62', '0;"<"0', '62'],
    ['7', '00;[Red]-00', '07'],
    ['123456789012345', '0000000000000000', '0123456789012345'],
    // No such formats.
    ['5', '0', '5'],
    ['5', 1, '5'],
    ['5.1', '0.00', '5.1'],
    ['5', '00.0', '5'],
    ['5', '#,##0', '5'],
    ['5', '0,000', '5'],
    ['0.055', '0%', '0.055'],
    ['0.055', 10, '0.055'],
    ['5', '00%', '5'],
    ['1200', '00E+00', '1200'],
    ['5', '0 "days"', '5'],
    ['5', '0 \\d', '5'],
    ['5', '0_d', '5'],
    ['5', '* d0', '5'],
    ['5', '0 mg', '5'],
    ['5', '[$-409]0', '5'],
    ['5', '[Red]General', '5'],
    ['5', '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', '5'],
    ['5', '@', '5'],
    // Dates. 46057 is 4 February 2026: 45658 is 1 January 2025, and 399 days go by.
    ['46057', 14, '2026-02-04'],
    ['46057', 'yyyy\\-mm\\-dd;@', '2026-02-04'],
    ['46057', '[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy', '2026-02-04'],
    ['46057', 'dd/mm/yyyy', '2026-02-04'],
    ['46057', 'MMM', '2026-02-04'],
    ['46057', 31, '2026-02-04'],
    ['46057.5', 14, '2026-02-04T12:00:00'],
    ['46057', 22, '2026-02-04T00:00:00'],
    ['46057.354166666664', 'm/d/yyyy h:mm AM/PM', '2026-02-04T08:30:00'],
    ['46057.354178240741', 'yyyy-mm-dd hh:mm:ss.000', '2026-02-04T08:30:01'],
    ['1', 14, '1900-01-01'],
    ['59', 14, '1900-02-28'],
    ['60', 14, '#INVALID! 60'],
    ['61', 14, '1900-03-01'],
    ['2958465', 14, '9999-12-31'],
    ['2958466', 14, '#INVALID! 2958466'],
    ['-1', 14, '#INVALID! -1'],
    ['0', 14, '#INVALID! 0'],
    // Times alone.
    ['0.354166666666667', 20, '08:30:00'],
    ['0.354166666666667', 'h:mm AM/PM', '08:30:00'],
    ['0.354166666666667', 'mm:ss', '08:30:00'],
    ['0', 21, '00:00:00'],
    ['46057.354166666664', 20, '2026-02-04T08:30:00'],
    ['1.5', '[h]:mm', '36:00:00'],
    ['0.25', 46, '06:00:00'],
  ] as const)('%s as %s', async (value, format, expected) => {
    expect(await formatted(value, format)).toBe(expected)
  })

  test.each([
    ['0', 'yyyy-mm-dd', '1904-01-01'],
    ['0.5', 20, '12:00:00'],
    ['0.5', 22, '1904-01-01T12:00:00'],
    ['60', 14, '1904-03-01'],
    ['44595', 14, '2026-02-04'],
  ] as const)('1904: %s as %s', async (value, format, expected) => {
    for (const properties of ['date1904="1"', 'date1904="true"'])
      expect(await formatted(value, format, properties)).toBe(expected)
  })

  test('the base of ISO 8601 has no leap-year fault', async () => {
    expect(await formatted('60', 14, 'dateCompatibility="0"')).toBe('1900-02-28')
    expect(await formatted('46057', 14, 'dateCompatibility="false"')).toBe('2026-02-04')
  })

  test.each([
    ['2026-02-04', 14, '2026-02-04'],
    ['2026-02-04T00:00:00', 14, '2026-02-04'],
    ['2026-02-04T00:00:00.000', 22, '2026-02-04T00:00:00'],
    ['2026-02-04T08:30:00', 0, '2026-02-04T08:30:00'],
    ['2026-02-04T08:30:00Z', 14, '2026-02-04T08:30:00Z'],
    ['08:30:00', 20, '08:30:00'],
    ['T08:30', 20, '08:30'],
    ['2026-02-30', 14, '#INVALID! 2026-02-30'],
    ['4 Feb 2026', 14, '#INVALID! 4 Feb 2026'],
    ['46057', 14, '#INVALID! 46057'],
  ] as const)('a date as text: %s as %s', async (value, format, expected) => {
    expect(await formatted(value, format, '', ' t="d"')).toBe(expected)
  })
})

describe('what ECMA-376 allows and Excel rarely writes', () => {
  const TABLE = [
    ['1', 'x'],
    ['2', ''],
    ['3', 'z'],
  ]
  const cells = async (written: WrittenWorkbook, read: object = {}) =>
    (await sheetRows(written, read)).map(brief)

  test('cells and rows without their address', async () => {
    const rows = `<row><c t="inlineStr"><is><t>id</t></is></c><c t="inlineStr"><is><t>value</t></is></c></row>
      <row><c><v>1</v></c><c t="str"><v>x</v></c></row><row><c><v>2</v></c></row><row r="9"><c r="B9" t="str"><v>z</v></c><c r="A9"><v>3</v></c></row>`
    expect(await cells({ sheets: { Data: rows } })).toEqual(TABLE)
    const lines = (await sheetRows({ sheets: { Data: rows } })).map(({ row, line }) => [row, line])
    expect(lines).toEqual([
      [1, 2],
      [2, 3],
      [3, 9],
    ])
    const behind = `${HEADER}<row r="2"><c r="B2"><v>5</v></c><c><v>6</v></c></row>`
    expect(await cells({ sheets: { Data: behind } })).toEqual(['row-too-long'])
  })

  test.each([
    ['prefixed tags', `<x:worksheet xmlns:x="${MAIN}"><x:sheetData>ROWS</x:sheetData></x:worksheet>`, 'x:'],
    [
      'a namespace that is declared within',
      `<worksheet xmlns="${MAIN}"><y:sheetData xmlns:y="${MAIN}">ROWS</y:sheetData></worksheet>`,
      'y:',
    ],
    [
      'the strict namespace',
      '<worksheet xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"><sheetData>ROWS</sheetData></worksheet>',
      '',
    ],
  ])('%s', async (_, part, prefix) => {
    const rows = (HEADER + texts(2, '1', 'x') + texts(3, '2') + texts(4, '3', 'z')).replaceAll(
      /<(\/?)(\w+)/g,
      `<$1${prefix}$2`,
    )
    expect(await cells({ sheets: { Data: part.replace('ROWS', rows) } })).toEqual(TABLE)
  })

  test('a workbook that is strict throughout, with part names of other case, absolute and escaped targets', async () => {
    const STRICT = 'http://purl.oclc.org/ooxml'
    const rels = (target: string, type: string) =>
      `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="${STRICT}/officeDocument/relationships/${type}" Target="${target}"/></Relationships>`
    const parts = {
      'xl/workbook.xml': undefined,
      'xl/_rels/workbook.xml.rels': undefined,
      'xl/styles.xml': undefined,
      'xl/worksheets/sheet1.xml': undefined,
      '_rels/.rels': rels('/Book%20One/Main.xml', 'officeDocument'),
      'Book One/main.XML': `<w:workbook xmlns:w="${STRICT}/spreadsheetml/main" xmlns:q="${STRICT}/officeDocument/relationships"><w:sheets><w:sheet name="Data" sheetId="1" q:id="a"/></w:sheets></w:workbook>`,
      'Book One/_rels/main.xml.rels': rels('../other/the%20sheet.xml', 'worksheet'),
      'other/The Sheet.xml': worksheet(HEADER + texts(2, '1', 'x')).replace(
        MAIN,
        `${STRICT}/spreadsheetml/main`,
      ),
    }
    expect(await cells({ sheets: { Data: '' }, parts })).toEqual([['1', 'x']])
  })

  test('alternate content is read by its fallback', async () => {
    const MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    const other = texts(2, '9', 'other')
    const rows = `${HEADER}<mc:AlternateContent ${MC}><mc:Choice Requires="x14">${other}</mc:Choice><mc:Fallback>${texts(2, '1', 'x')}</mc:Fallback></mc:AlternateContent>`
    expect(await cells({ sheets: { Data: rows } })).toEqual([['1', 'x']])
  })

  test('elements of extensions are no cells and no values', async () => {
    const ext = '<extLst><ext uri="u"><z:v xmlns:z="urn:z">9</z:v><v>8</v></ext></extLst>'
    const rows = `${HEADER}<row r="2"><c r="A2"><v>1</v>${ext}</c><z:c xmlns:z="urn:z" r="B2"><v>7</v></z:c></row>`
    expect(await cells({ sheets: { Data: rows } })).toEqual([['1', '']])
  })

  test('UTF-16, comments, processing instructions, a byte order mark', async () => {
    const text = worksheet(`<!-- <row/> -->${HEADER}<?x y?>${texts(2, '1', 'x<!-- -->')}`)
    for (const part of [
      Buffer.from(`\ufeff${text.replace('UTF-8', 'UTF-16')}`, 'utf16le'),
      Buffer.from(`\ufeff${text}`),
    ])
      expect(await cells({ sheets: { Data: '' }, parts: { 'xl/worksheets/sheet1.xml': part } })).toEqual([
        ['1', 'x<!-- -->'],
      ])
  })

  test('zip64, members that are stored, names with backslashes', async () => {
    const sheets = { Data: HEADER + texts(2, '1', 'x') }
    expect(await cells({ sheets, zip: { forceZip64Format: true } })).toEqual([['1', 'x']])
    expect(await cells({ sheets, zip: { compress: false } })).toEqual([['1', 'x']])
    const bytes = await workbookBytes({ sheets })
    const slash = Buffer.from(
      bytes.toString('latin1').replaceAll('xl/worksheets/', 'xl\\worksheets\\'),
      'latin1',
    )
    expect((await allRows(await exportFile(slash), xlsx())).map(brief)).toEqual([['1', 'x']])
  })

  test('macros are ignored', async () => {
    const parts = { 'xl/vbaProject.bin': Buffer.from([0xd0, 0xcf, 0x11, 0xe0]) }
    expect(await cells({ sheets: { Data: HEADER + texts(2, '1', 'x') }, parts })).toEqual([['1', 'x']])
  })
})

describe('told, never guessed', () => {
  const opened = async (written: WrittenWorkbook, read: object = {}) =>
    openExport(await workbookFile(written), xlsx(read))
  const ROWS = HEADER + texts(2, '1', 'x') + texts(3, '2', 'y')

  test('several sheets with data', async () => {
    const sheets = { Empty: '', First: ROWS, Second: texts(1, 'id', 'value') + texts(2, '7', 'q') }
    const error = await refusal({ sheets })
    expect(error.code).toBe('export-unreadable')
    expect(error.message).toContain('"First", "Second"')
    expect(error.remedy).toContain('read: { format: xlsx, sheet: "First" }')
    expect((await sheetRows({ sheets }, { sheet: 'Second' })).map(brief)).toEqual([['7', 'q']])
    const gone = await refusal({ sheets }, { sheet: 'Third' })
    expect(`${gone.message} ${gone.remedy}`).toMatch(/no sheet "Third".*"First"/)
    const only = await opened({
      sheets: { Empty: '', Styled: '<row r="1"><c r="A1" s="0"/></row>', Data: ROWS },
    })
    expect(only.sheet).toBe('Data')
  })

  test('a hidden sheet is a sheet', async () => {
    const parts = {
      'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="A" r:id="rId1"/><sheet name="B" state="veryHidden" r:id="rId2"/></sheets></workbook>`,
    }
    expect((await refusal({ sheets: { A: ROWS, B: ROWS }, parts })).message).toContain('"B" (hidden)')
  })

  test('hidden rows and filters: they are read, and counted', async () => {
    const rows = `${ROWS.replace('<row r="3"', '<row hidden="1" r="3"')}`
    const part = worksheet(rows, '<autoFilter ref="A1:B3"><filterColumn colId="0"/></autoFilter>')
    const found = await opened({ sheets: { Data: part } })
    expect((await collect(found.rows())).map(brief)).toEqual([
      ['1', 'x'],
      ['2', 'y'],
    ])
    expect(found.notes?.join()).toMatch(/^1 rows are hidden.*a filter is set/)
  })

  test('a declared range that is not that of the rows', async () => {
    const short = worksheet(ROWS, '', '<dimension ref="A1"/>')
    const found = await opened({ sheets: { Data: short } })
    expect((await collect(found.rows())).map(brief)).toEqual([
      ['1', 'x'],
      ['2', 'y'],
    ])
    expect(found.notes).toHaveLength(1)
    expect(found.notes?.[0]).toContain('declares the range A1')
    const right = worksheet(ROWS, '', '<dimension ref="A1:B3"/>')
    expect((await opened({ sheets: { Data: right } })).notes).toEqual([])
  })

  test('merged cells in the header, above columns with values', async () => {
    const rows = `<row r="1"><c r="A1" t="str"><v>id</v></c><c r="B1" t="str"><v>pressure</v></c></row><row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>120</v></c></row>`
    const merges = '<mergeCells count="1"><mergeCell ref="B1:C1"/></mergeCells>'
    const harmless = await opened({ sheets: { Data: worksheet(rows, merges) } })
    expect(harmless.notes?.join()).toContain('cells of the header are merged: B1:C1')
    const wide = rows
      .replace('<v>pressure</v></c>', '<v>pressure</v></c><c r="D1" t="str"><v>note</v></c>')
      .replace('<v>120</v></c>', '<v>120</v></c><c r="C2"><v>80</v></c>')
    const error = await refusal({ sheets: { Data: worksheet(wide, merges) } })
    expect(error.message).toContain('B1:C1')
    expect(error.message).toContain('no name: C')
    const columns = ['id', 'systolic', 'diastolic', 'note']
    expect((await sheetRows({ sheets: { Data: worksheet(wide, merges) } }, { columns })).map(brief)).toEqual([
      ['1', '120', '80', ''],
    ])
    // Titles above the header may be merged.
    const title = worksheet(texts(1, 'Report') + texts(2, 'id', 'value') + texts(3, '1', 'x'), merges)
    expect((await sheetRows({ sheets: { Data: title } }, { header: { line: 2 } })).map(brief)).toEqual([
      ['1', 'x'],
    ])
  })

  test('columns without a name that have values', async () => {
    const rows = texts(1, 'id', '', 'value', '', 'more') + texts(2, '1', 'stray', 'x', '', 'y')
    const notes = (await opened({ sheets: { Data: rows } })).notes?.join() ?? ''
    expect(notes).toContain('which are not read: B')
    expect(notes).toContain('follow an empty one')
  })

  const DATA =
    texts(1, 'id', 'day', 'weight') + texts(2, '1', '2026-01-02', '80') + texts(3, '2', '2026-01-03', '81')
  test.each([
    ['a second header', texts(6, 'name', 'place', 'height') + texts(7, '9', '2026-01-05', '180'), 6],
    ['a title', texts(6, 'Heights') + texts(7, '9', '2026-01-05', '180'), 6],
    ['the header again', texts(5, 'id', 'day', 'weight') + texts(6, '9', '2026-01-05', '70'), 5],
    ['a line of totals', texts(4, 'Total', '', '161'), 4],
    ['rows below totals', texts(4, 'Total', '', '161') + texts(5, '3', '2026-01-04', '70'), 4],
    ['a sum', '<row r="4"><c r="C4"><f>SUM(C2:C3)</f><v>161</v></c></row>', 4],
    [
      'a subtotal of a table',
      '<row r="4"><c r="C4"><f>SUBTOTAL(109,Table1[weight])</f><v>161</v></c></row>',
      4,
    ],
  ])('%s', async (_, below, line) => {
    const error = await refusal({ sheets: { Data: DATA + below } })
    expect(error.code).toBe('export-unreadable')
    expect(error.place?.line).toBe(line)
    const cut = await opened({ sheets: { Data: DATA + below } }, { below: 'nothing' })
    expect(await collect(cut.rows())).toHaveLength(2)
    expect(cut.notes?.join()).toContain('not read because of read.below')
    const all = await opened({ sheets: { Data: DATA + below } }, { below: 'rows' })
    expect((await collect(all.rows())).length).toBe(2 + below.split('<row').length - 1)
  })

  test('running sums, in each row, are no totals', async () => {
    const rows = [2, 3, 4, 5, 6, 7].map(
      (line) =>
        `<row r="${line}"><c r="A${line}"><v>1</v></c><c r="B${line}"><f>SUM(A$2:A${line})</f><v>${line}</v></c></row>`,
    )
    for (const read of [{}, { below: 'nothing' }])
      expect(await sheetRows({ sheets: { Data: HEADER + rows.join('') } }, read)).toHaveLength(6)
  })

  test('blank rows between rows are told; a person may be called Sum', async () => {
    const rows = DATA + texts(6, '3', '2026-01-04', '70') + texts(7, 'Sum', '2026-01-04', '70')
    const found = await opened({ sheets: { Data: rows } })
    expect(await collect(found.rows())).toHaveLength(4)
    expect(found.notes).toEqual(['rows continue below blank ones 1 times, first in row 6'])
  })

  test('several tables', async () => {
    const parts = {
      'xl/worksheets/_rels/sheet1.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${[1, 2].map((at) => `<Relationship Id="r${at}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/table" Target="../tables/table${at}.xml"/>`).join('')}<Relationship Id="r3" Type="http://x/hyperlink" Target="https://example.com/" TargetMode="External"/></Relationships>`,
    }
    expect((await opened({ sheets: { Data: ROWS }, parts })).notes).toEqual(['the sheet has 2 tables'])
  })
})

describe('rows that nobody can place', () => {
  test('of one number that comes twice, all are rejected', async () => {
    const rows = HEADER + texts(2, '1', 'x') + texts(3, '2', 'y') + texts(2, '3', 'z') + texts(4, '4', 'q')
    const found = await sheetRows({ sheets: { Data: rows } })
    expect(found.map(brief)).toEqual(['row-place-unclear', ['2', 'y'], 'row-place-unclear', ['4', 'q']])
    expect(found.map(({ row, line }) => [row, line])).toEqual([
      [1, 2],
      [2, 3],
      [3, 2],
      [4, 4],
    ])
  })

  test('out of order, they are read, and told', async () => {
    const rows = HEADER + texts(4, '1', 'x') + texts(3, '2', 'y') + texts(2, '3', 'z')
    const found = await openExport(await workbookFile({ sheets: { Data: rows } }), xlsx())
    expect((await collect(found.rows())).map(({ line }) => line)).toEqual([4, 3, 2])
    expect(found.notes?.join()).toContain('2 rows are not in the order')
  })

  test('a cell that stands twice, or says that it is of another row', async () => {
    const twice = '<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>'
    const other = '<row r="3"><c r="A4"><v>1</v></c></row>'
    const found = await sheetRows({ sheets: { Data: HEADER + twice + other + texts(5, '1') } })
    expect(found.map(brief)).toEqual(['row-place-unclear', 'row-place-unclear', ['1', '']])
    expect(JSON.stringify(found.map((row) => (row.kind === 'unreadable' ? row.message : '')))).toMatch(
      /A2.*row 4/,
    )
  })

  test('wider than the header', async () => {
    const [row] = await sheetRows({ sheets: { Data: HEADER + texts(2, '1', 'a,"b', '', 'd') } })
    expect(row).toMatchObject({ kind: 'unreadable', fault: 'row-too-long', text: '1,"a,""b",,d', line: 2 })
  })

  test.each([
    ['a row beyond the last', '<row r="1048577"><c><v>1</v></c></row>'],
    ['a column beyond the last', '<row r="2"><c r="XFE2"><v>1</v></c></row>'],
    ['an address that is none', '<row r="2"><c r="2A"><v>1</v></c></row>'],
    ['a row without a number', '<row r="x"><c><v>1</v></c></row>'],
  ])('%s is no workbook', async (_, rows) => {
    expect((await refusal({ sheets: { Data: HEADER + rows } })).code).toBe('export-unreadable')
  })
})

describe('headers', () => {
  const rows = texts(1, 'Acme') + texts(3, 'id', 'value') + texts(4, 'unit', 'kg') + texts(5, '1', '80')
  test.each([
    [{ header: { line: 3, skip: 1 } }, ['id', 'value'], [['1', '80']]],
    [{ header: { line: 2, skip: 1 } }, ['id', 'value'], [['1', '80']]],
    [{ header: { find: ['value'], skip: 1 } }, ['id', 'value'], [['1', '80']]],
    [{ header: { line: 3, skip: 1 }, columns: ['a', 'b'] }, ['a', 'b'], [['1', '80']]],
    [
      { header: 'none', columns: ['a', 'b'], below: 'rows' },
      ['a', 'b'],
      [
        ['Acme', ''],
        ['id', 'value'],
        ['unit', 'kg'],
        ['1', '80'],
      ],
    ],
  ])('%j', async (read, columns, expected) => {
    const opened = await openExport(await workbookFile({ sheets: { Data: rows } }), xlsx(read))
    expect(opened.columns).toEqual(columns)
    expect(opened.below).toEqual([...(read.header === 'none' ? [] : [['unit', 'kg']]), ['', '']])
    expect((await collect(opened.rows())).map(brief)).toEqual(expected)
  })

  test('names that stand twice, and none at all', async () => {
    const twice = texts(1, 'id', 'id') + texts(2, '1', '2')
    expect((await refusal({ sheets: { Data: twice } })).message).toContain('not unique')
    const numbered = await openExport(
      await workbookFile({ sheets: { Data: twice } }),
      xlsx({ duplicates: 'number' }),
    )
    expect(numbered.columns).toEqual(['id', 'id_2'])
    expect((await refusal({ sheets: { Data: '' } })).code).toBe('export-empty')
    expect((await refusal({ sheets: { Data: HEADER } }, { header: { line: 7 } })).code).toBe('export-empty')
    expect(() => xlsx({ header: 'none' })).toThrow('must name the columns')
  })
})

describe('damage and attacks', () => {
  const sheets = { Data: HEADER + texts(2, '1', 'x') }
  test('a bad checksum of a member', async () => {
    const bytes = await workbookBytes({ sheets, zip: { compress: false } })
    const text = bytes.toString('latin1').replace('>x</t>', '>y</t>')
    const error = await allRows(await exportFile(Buffer.from(text, 'latin1')), xlsx()).catch(
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: 'export-unreadable' })
    expect(error.message).toContain('CRC-32')
  })

  test('a file that was cut', async () => {
    const bytes = await workbookBytes({ sheets })
    const error = await allRows(await exportFile(bytes.subarray(0, bytes.length - 30)), xlsx()).catch(
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: 'export-unreadable' })
  })

  test('a sheet that stops within a tag, or within a cell', async () => {
    for (const part of [worksheet(HEADER).slice(0, -20), worksheet(HEADER).replace('</sheetData>', '')])
      expect((await refusal({ sheets: { Data: part } })).message).toContain('not well-formed')
  })

  test('a zip bomb', async () => {
    const bomb = worksheet(`${HEADER}<row r="2"><c t="str"><v>${' '.repeat(4_000_000)}</v></c></row>`)
    const path = await workbookFile({ sheets: { Data: bomb } })
    const tight = { ...DEFAULT_LIMITS, bytes: 1_000_000 }
    await expect(openExport(path, xlsx(), tight)).rejects.toMatchObject({ code: 'export-too-large' })
    await expect(openExport(path, xlsx())).resolves.toBeDefined()
  })

  test('a text without end is not held', async () => {
    const strings = `<si><t>${'a'.repeat(18 * 1024 * 1024)}</t></si>`
    expect((await refusal({ sheets, strings })).message).toContain('longer than 16 MiB')
  })

  test('entities are not expanded, and no document type is read', async () => {
    const doctype = worksheet(HEADER + texts(2, '1', 'x')).replace(
      '?>',
      '?><!DOCTYPE w [<!ENTITY e "boom"><!ENTITY f SYSTEM "file:///etc/passwd">]>',
    )
    expect((await refusal({ sheets: { Data: doctype } })).message).toContain('document type')
    const undeclared = '<row r="2"><c t="str"><v>&e;</v></c></row>'
    const error = await refusal({ sheets: { Data: HEADER + undeclared } })
    expect(error.message).toContain('not well-formed')
  })

  test('errors hold nothing of a cell', async () => {
    const broken = `${HEADER}<row r="2"><c t="str"><v>Secret Person</v></c><Secret-Person></row>`
    expect(JSON.stringify(await refusal({ sheets: { Data: broken } }))).not.toContain('Secret')
    const prefix = `${HEADER}<row r="2"><Secret:c/></row>`
    expect((await refusal({ sheets: { Data: prefix } })).message).not.toContain('Secret')
  })

  test('a part that stands twice, a part that lacks, a sheet outside of the package', async () => {
    const bytes = (await workbookBytes({ sheets, parts: { 'xl/worksheets/sheet2.xml': 'x' } })).toString(
      'latin1',
    )
    const twice = Buffer.from(bytes.replaceAll('sheet2.xml', 'sheet1.xml'), 'latin1')
    await expect(allRows(await exportFile(twice), xlsx())).rejects.toThrow('twice')
    expect((await refusal({ sheets, parts: { 'xl/worksheets/sheet1.xml': undefined } })).message).toContain(
      'lacks the part',
    )
    const rels = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://x/worksheet" Target="https://example.com/sheet.xml" TargetMode="External"/></Relationships>`
    expect((await refusal({ sheets, parts: { 'xl/_rels/workbook.xml.rels': rels } })).message).toContain(
      'names a missing sheet',
    )
    expect((await refusal({ sheets, parts: { '_rels/.rels': undefined } })).message).toContain('no workbook')
  })
})

describe('other files', () => {
  const compound = (stream: string): Buffer =>
    Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.alloc(900),
      Buffer.from(stream, 'utf16le'),
      Buffer.alloc(600),
    ])
  test.each([
    ['.xls', compound('Workbook'), 'Excel 97'],
    ['with a password', compound('EncryptedPackage'), 'with a password'],
    ['CSV', Buffer.from('a,b\n1,2\n'), 'text'],
    ['HTML', Buffer.from('<html><table><tr><td>1'), 'HTML'],
  ])('%s is named', async (_, content, words) => {
    const error = await allRows(await exportFile(content), xlsx()).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'export-unreadable' })
    expect(error.message).toContain(words)
  })

  test('.xlsb is named', async () => {
    const parts = {
      '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.bin"/></Relationships>`,
      'xl/workbook.bin': Buffer.alloc(4),
    }
    expect((await refusal({ sheets: {}, parts })).message).toContain('.xlsb')
  })

  test('a workbook is named where another format is read', async () => {
    const path = await workbookFile({ sheets: { Data: HEADER } }, 'export.csv')
    for (const read of [
      CSV,
      readDefinition.parse({ format: 'hl7v2' }),
      readDefinition.parse({ format: 'ndjson' }),
    ])
      await expect(openExport(path, read)).rejects.toThrow('workbook (.xlsx)')
    await expect(allRows(await exportFile(compound('Book')))).rejects.toThrow('Excel 97')
    await expect(allRows(await exportFile(''), xlsx())).rejects.toMatchObject({ code: 'export-empty' })
  })
})

describe('reading again', () => {
  it('gives the same rows from any of them, at the same places', async () => {
    const rows = Array.from({ length: 700 }, (_, at) => texts(at + 2, String(at), 'v'.repeat(at % 300)))
    const opened = await openExport(await workbookFile({ sheets: { Data: HEADER + rows.join('') } }), xlsx())
    const all = await collect(opened.rows())
    expect(all).toHaveLength(700)
    const offsets = all.map(({ byteOffset }) => byteOffset)
    expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b))
    for (const at of [0, 1, 250, 699]) expect(await collect(opened.rows(all[at]))).toEqual(all.slice(at))
    expect(opened.share(offsets.at(-1) ?? 0)).toBeGreaterThan(0.9)
    await expect(collect(opened.rows({ row: 701, line: 1, byteOffset: 0 }))).rejects.toMatchObject({
      code: 'export-changed',
    })
  })

  it('notices that the file was replaced', async () => {
    const path = await workbookFile({ sheets: { Data: HEADER + texts(2, '1', 'x') } })
    const opened = await openExport(path, xlsx())
    await writeFile(path, Buffer.concat([await readFile(path), Buffer.alloc(1)]))
    await expect(collect(opened.rows())).rejects.toMatchObject({ code: 'export-changed' })
  })
})

const CELL = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .map((text) => text.replaceAll(/[^\P{Cc}\n]|\r/gu, '').trim())

test('the same table as CSV and as a workbook gives the same cells', async () => {
  const table = fc.array(fc.tuple(CELL, CELL, CELL), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(table, fc.boolean(), async (rows, shared) => {
      const lines = [['id', 'b', 'c'], ...rows.map((cells, at) => [`p${at}`, ...cells])]
      lines[0] = ['id', 'a', 'b', 'c']
      const csv = lines
        .map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join())
        .join('\n')
      const escaped = (text: string) =>
        text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('_x', '_x005F_x')
      const flat = lines.flat()
      const sheet = lines
        .map(
          (cells, row) =>
            `<row r="${row + 1}">${cells
              .map((cell, at) =>
                shared
                  ? `<c t="s"><v>${row * 4 + at}</v></c>`
                  : `<c t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`,
              )
              .join('')}</row>`,
        )
        .join('')
      const strings = flat.map((cell) => `<si><t xml:space="preserve">${escaped(cell)}</t></si>`).join('')
      const read = { header: { line: 1 }, below: 'rows' }
      const cellsIn = (all: readonly Row[]) => all.map((row) => (row.kind === 'cells' ? row.cells : row))
      expect(cellsIn(await sheetRows({ sheets: { Data: sheet }, strings }, read))).toEqual(
        cellsIn(await allRows(await exportFile(`${csv}\n`))),
      )
    }),
    { numRuns: 60 },
  )
})

const MAPPED = `mapping: same
read: { format: FORMAT }
row:
  key: [id, day]
  account: { reference: id }
  observedAt: { from: day, format: ISO, zone: America/New_York }
  source: { name: Same, type: screening }
biometrics:
  hba1c: a1c
  body-weight: { from: weight, unit: lb }
conditions:
  hypertension: { when: { htn: "TRUE" }, status: active }
`
const FIRST_DAY = Date.UTC(1899, 11, 30)

test('the same table as CSV and as a workbook gives the same records', async () => {
  const visit = fc.record({
    id: fc.integer({ min: 1, max: 99_999 }),
    // 2015 to 2026, as a spreadsheet counts days.
    day: fc.integer({ min: 42_005, max: 46_300 }),
    minute: fc.integer({ min: 0, max: 1_439 }),
    a1c: fc.option(fc.integer({ min: 0, max: 150 }), { nil: undefined }),
    weight: fc.integer({ min: 0, max: 6_000 }),
    htn: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(visit, { minLength: 1, maxLength: 6 }), async (visits) => {
      const csv = visits.map(({ id, day, minute, a1c, weight, htn }) =>
        [
          String(id).padStart(5, '0'),
          new Date(FIRST_DAY + day * 86_400_000 + minute * 60_000).toISOString().slice(0, 19),
          a1c === undefined ? '' : String(a1c / 10),
          String(weight / 10),
          htn ? 'TRUE' : 'FALSE',
        ].join(),
      )
      const sheet = visits.map(
        ({ id, day, minute, a1c, weight, htn }) =>
          `<row><c s="1"><v>${id}</v></c><c s="2"><v>${day + minute / 1440}</v></c><c>${
            a1c === undefined ? '' : `<v>${(a1c / 10).toPrecision(17)}</v>`
          }</c><c><v>${weight / 10}</v></c><c t="b"><v>${htn ? 1 : 0}</v></c></row>`,
      )
      const header = texts(1, 'id', 'day', 'a1c', 'weight', 'htn')
      const written = { sheets: { Data: header + sheet.join('') }, formats: ['00000', 'm/d/yy h:mm'] }
      const outcomesOf = async (format: string, path: string) => {
        const { read, compiled } = load(MAPPED.replace('FORMAT', format))
        const opened = await openExport(path, read)
        const map = compiled.bind(opened.columns, 'same', Date.UTC(2027, 0, 1))
        const rows = await collect(opened.rows())
        return rows.map((row) => fullRow(map(row)))
      }
      const asText = await exportFile(`id,day,a1c,weight,htn\n${csv.join('\n')}\n`)
      expect(await outcomesOf('xlsx', await workbookFile(written))).toEqual(await outcomesOf('csv', asText))
    }),
    { numRuns: 40 },
  )
})

describe('cells that the rest of their column contradicts', () => {
  const FORMATS = ['0.0%', '0.0" mmol/L"', '#,##0.0,', 'General', 14]
  const cells = (written: readonly (number | string)[]): string =>
    written
      .map((one) => {
        const [value = '', style = '0'] = String(one).split(' s')
        return /[/.]\d+[/.]/.test(value)
          ? `<c t="inlineStr"><is><t>${value}</t></is></c>`
          : `<c s="${style}"><v>${value}</v></c>`
      })
      .map((cell, at) => `<row r="${at + 2}"><c><v>${at + 1}</v></c>${cell}</row>`)
      .join('')

  // Style 1 is the first format.
  test.each<[string, (number | string)[], (number | string)[]]>([
    ['a percent sign beside plain numbers', ['45', '0.45 s1', '46'], ['45', '#FORMAT! 0.45', '46']],
    ['a plain number beside percent signs', ['0.5 s1', '45', '0.4 s1'], ['0.5', '#FORMAT! 45', '0.4']],
    ['as many of both', ['45', '0.45 s1'], ['45', '#FORMAT! 0.45']],
    ['a unit beside plain numbers', ['5.1', '92', '5 s2'], ['5.1', '92', '#FORMAT! 5']],
    ['thousands beside plain numbers', ['5.1', '5.2', '5100 s3'], ['5.1', '5.2', '#FORMAT! 5100']],
    ['formats that show the number alone', ['5.1', '92 s4', '7'], ['5.1', '92', '7']],
    ['one format in the whole column', ['0.45 s1', '0.5 s1'], ['0.45', '0.5']],
    // 4 February, typed as 04/02, became 2 April (46114); what could be no such month stayed text.
    [
      'dates read as month and day',
      ['46114 s5', '13/02/2026', '46145 s5'],
      ['#DAY! 2026-04-02', '13/02/2026', '#DAY! 2026-05-03'],
    ],
    ['the same from 02/13', ['46114 s5', '02/13/2026'], ['#DAY! 2026-04-02', '02/13/2026']],
    [
      'a date after the 12th',
      ['46114 s5', '13/02/2026', '46066 s5'],
      ['2026-04-02', '13/02/2026', '2026-02-13'],
    ],
    [
      'a text that could be a date',
      ['46114 s5', '13/02/2026', '04/02/2026'],
      ['2026-04-02', '13/02/2026', '04/02/2026'],
    ],
    ['dates alone', ['46114 s5', '46145 s5'], ['2026-04-02', '2026-05-03']],
  ])('%s', async (_what, written, expected) => {
    const rows = await sheetRows({ sheets: { Data: HEADER + cells(written) }, formats: FORMATS })
    expect(rows.map((row) => row.kind === 'cells' && row.cells[1])).toEqual(expected)
  })

  test('cells that merged cells cover are no empty cells', async () => {
    const rows =
      texts(1, 'id', 'a', 'b') + texts(2, '1', 'x', '') + texts(3, '2', '', '') + texts(4, '3', '', 'y')
    const merges = '<mergeCells><mergeCell ref="B2:B3"/><mergeCell ref="B4:C4"/></mergeCells>'
    expect((await sheetRows({ sheets: { Data: worksheet(rows, merges) } })).map(brief)).toEqual([
      ['1', 'x', ''],
      ['2', '#MERGED!', ''],
      ['3', '', 'y'],
    ])
  })

  test.each([
    ['of a whole column', ['B2:B1048576'], ['1,x,', '2,#MERGED!,', '3,#MERGED!,y']],
    ['in any order', ['C3:C4', 'B3:B4', 'B2:C2'], ['1,x,#MERGED!', '2,,', '3,#MERGED!,y']],
    ['of several rows and columns', ['A2:C3'], ['1,x,#MERGED!', '2,#MERGED!,#MERGED!', '3,,y']],
    ['that overlap', ['B2:B4', 'B3:B3'], ['1,x,', '2,#MERGED!,', '3,#MERGED!,y']],
  ])('merged cells %s', async (_what, ranges, expected) => {
    const rows =
      texts(1, 'id', 'a', 'b') + texts(2, '1', 'x', '') + texts(3, '2', '', '') + texts(4, '3', '', 'y')
    const merges = `<mergeCells>${ranges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`
    const read = await sheetRows({ sheets: { Data: worksheet(rows, merges) } })
    expect(read.map(brief)).toEqual(expected.map((row) => row.split(',')))
  })

  test('many merged cells of many rows and columns are refused, and cost no more than their text', async () => {
    const rows = texts(1, ...Array.from({ length: 50 }, (_, at) => `c${at}`)) + texts(2, '1')
    const merges = `<mergeCells>${'<mergeCell ref="A2:XFD1000000"/>'.repeat(90_000)}</mergeCells>`
    const error = await refusal({ sheets: { Data: worksheet(rows, merges) } })
    expect(error.code).toBe('export-unreadable')
    expect(error.message).toContain('its merged cells are too many')
  })

  test.each([
    ['hba1c', '5.5', 'General', '5.5'],
    ['hba1c', '0.055', '0.0%', 'unit-mismatch'],
    ['hba1c', '5.5', '0.0"%"', '5.5'],
    ['hba1c', '5.5', 10, 'unit-mismatch'],
    ['glucose', '90', '0" mg/dL"', '90'],
    ['glucose', '90', '0" mmol/L"', 'unit-mismatch'],
    ['glucose', '90', '0" fasting"', '90'],
  ])('%s: %s, all shown as %s: %s', async (rule, value, format, expected) => {
    const { read, compiled } = load(`mapping: shown
read: { format: xlsx }
row:
  key: [id]
  account: { reference: id }
  observedAt: { constant: "2026-02-04T00:00:00Z" }
  source: { name: S, type: t }
biometrics: { ${rule}: value }
`)
    const sheets = { Data: HEADER + cells([`${value} s1`]) }
    const opened = await openExport(await workbookFile({ sheets, formats: [format] }), read)
    const map = compiled.bind(opened.columns, 'shown', Date.UTC(2027, 0, 1), opened.below)
    const [row] = await collect(opened.rows())
    const outcome = map(row ?? expect.fail('no row'))
    if (outcome.outcome !== 'mapped') expect.fail('not mapped')
    const [record] = outcome.records
    expect(record?.value ?? outcome.rejected[0]?.issue.code).toBe(expected)
  })
})
