import { gzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import type { Row } from '../../src/model/row.ts'
import { processorMs } from '../processor-time.ts'
import { allRows, brief, CSV, collect, exportFile, rowsOf } from './export-file.ts'

const MIB = 1024 * 1024

describe('origin', () => {
  test.each([
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['CR', '\r'],
  ])('counts rows, physical lines and bytes where lines end in %s', async (_, end) => {
    const head = '\ufeffa,b'
    const lines = [head, 'é,1', '', `"x${end}y",2`, '3,4']
    const rows = await rowsOf(lines.join(end) + end)
    const at = (line: number) => Buffer.byteLength(lines.slice(0, line).join(end)) + end.length
    expect(rows).toEqual([
      { kind: 'cells', row: 1, line: 2, byteOffset: at(1), cells: ['é', '1'] },
      { kind: 'cells', row: 2, line: 4, byteOffset: at(3), cells: [`x${end}y`, '2'] },
      { kind: 'cells', row: 3, line: 6, byteOffset: at(4), cells: ['3', '4'] },
    ])
  })

  test('is exact across the borders of what is read at once', async () => {
    const lines = Array.from({ length: 60_000 }, (_, at) => (at % 3 === 0 ? `"é\r\n${at}",x` : `${at},y`))
    const content = Buffer.from(`a,b\r\n${lines.join('\r\n')}\r\n`)
    const rows = await rowsOf(content)
    expect(rows.length).toBe(lines.length)
    for (const [at, row] of rows.entries()) {
      const expected = Buffer.from(lines[at] ?? '')
      if (!content.subarray(row.byteOffset, row.byteOffset + expected.length).equals(expected))
        expect.fail(`row ${row.row}`)
      // Two physical lines for each row before it whose ordinal is 1 mod 3, one for the others, one for the header.
      if (row.line !== 2 + at + Math.ceil(at / 3)) expect.fail(`line of row ${row.row}`)
    }
  })
})

describe('faults', () => {
  test('a row of another width keeps its cells', async () => {
    expect(await rowsOf('a,b,c\n1,2\n1,2,3,4\n1,2,3\n')).toMatchObject([
      { fault: 'row-too-short', cells: ['1', '2'], text: '1,2', message: '2 cells where the header has 3' },
      { fault: 'row-too-long', cells: ['1', '2', '3', '4'], message: '4 cells where the header has 3' },
      { cells: ['1', '2', '3'] },
    ])
  })

  test('a last line without its end is said to be one', async () => {
    const [row] = await rowsOf('a,b\n1')
    expect(row).toMatchObject({
      fault: 'row-too-short',
      message: expect.stringMatching(/last line.*cut off/),
    })
  })

  test.each([
    ['inside a cell', '5\' 10",x', 'a quote inside a cell, at column 6'],
    ['after a blank', ' "5",x', 'a quote inside a cell, at column 2'],
    ['closed too early', 'é"5"6,x'.slice(1), 'text follows a closing quote, at column 4'],
    ['followed by NUL', '"5"\0,x', 'text follows a closing quote, at column 4'],
  ])('a quote %s breaks that line alone', async (_, line, message) => {
    expect(await rowsOf(`a,b\n1,2\n${line}\n3,4\n`)).toMatchObject([
      { cells: ['1', '2'] },
      { row: 2, line: 3, fault: 'row-quote-broken', text: line, message },
      { row: 3, line: 4, cells: ['3', '4'] },
    ])
  })

  test('a quote that is not closed costs one line, to the end of the file', async () => {
    const rows = await rowsOf('a,b\n1,"2\n3,4\n5,6\n')
    expect(rows.map(brief)).toEqual(['row-quote-not-closed', ['3', '4'], ['5', '6']])
    expect(rows[0]).toMatchObject({ text: '1,"2', line: 2 })
  })

  test('a quote that a later line would close, followed by text, costs the line that opened it', async () => {
    expect((await rowsOf('a,b\n1,"2\n3,"4"\n5,6\n')).map(brief)).toEqual([
      'row-quote-not-closed',
      ['3', '4'],
      ['5', '6'],
    ])
  })

  test('a record of 1 MiB is read, a longer one was not closed', async () => {
    const record = (bytes: number) => `1,"\n${'x'.repeat(bytes - 5)}"`
    expect(await rowsOf(`a,b\n${record(MIB)}\n3,4\n`)).toMatchObject([
      { kind: 'cells' },
      { cells: ['3', '4'] },
    ])
    expect((await rowsOf(`a,b\n${record(MIB + 1)}\n3,4\n`)).map(brief)).toEqual([
      'row-quote-not-closed',
      'row-quote-broken',
      ['3', '4'],
    ])
  })

  test.each(['\n', '\r\n', '\r'])('a line over 1 MiB is passed over (%j)', async (end) => {
    const rows = await rowsOf(['a,b', 'x'.repeat(3 * MIB), '3,4', ''].join(end))
    expect(rows.map(brief)).toEqual(['row-too-large', ['3', '4']])
    expect(rows[0]).toMatchObject({ text: 'x'.repeat(64 * 1024) })
    expect(rows[1]).toMatchObject({ line: 3, byteOffset: 3 + 3 * MIB + 2 * end.length })
  })

  test('takes linear time where every line opens a quote', async () => {
    const time = async (lines: number, line: string) => {
      const path = await exportFile(`a,b\n${`${line}\n`.repeat(lines)}`)
      return processorMs(async () => expect(await allRows(path)).toHaveLength(lines))
    }
    await time(2_000, '1,"2 x')
    // Quadratic work would be 60,000 times the 600 KB before it: minutes, not seconds.
    expect(await time(60_000, '1,"2 x')).toBeLessThan(4_000)
    expect(await time(60_000, '"1""x""2')).toBeLessThan(4_000)
  })

  test('bytes that are not UTF-8 are never replaced in silence', async () => {
    const rows = await rowsOf(Buffer.from('a,b\nCaf\u00e9,1\nx,2\n"\u00e9",3\n', 'latin1'))
    expect(rows.map(brief)).toEqual(['row-encoding-invalid', ['x', '2'], 'row-encoding-invalid'])
    expect(rows[0]).toMatchObject({
      text: 'Caf\u00e9,1',
      message: expect.stringMatching(/`encoding: windows-1252`.*\(column 4\)$/),
    })
    expect(rows[2]).toMatchObject({ message: expect.stringMatching(/\(column 2\)$/) })
  })

  test('a NUL is refused, and its column told', async () => {
    expect(await rowsOf('a,b\n1,2\0\n"\0",\n3,4\n')).toMatchObject([
      { fault: 'row-encoding-invalid', message: expect.stringMatching(/NUL.*column 4/), text: '1,2\0' },
      { fault: 'row-encoding-invalid', message: expect.stringMatching(/NUL.*column 2/) },
      { cells: ['3', '4'] },
    ])
  })

  test('no message holds a cell', async () => {
    const rows = await rowsOf('a,b\nSECRET\nSECRET"x,1\n"SECRET"SECRET,1\nSECRET,SECRET,1\n1,"SECRET\n')
    expect(rows).toHaveLength(5)
    for (const row of rows) expect(row.kind === 'unreadable' && row.message).toMatch(/^(?!.*SECRET).+$/)
  })
})

describe('header', () => {
  test('is trimmed and may have empty names', async () => {
    const opened = await openExport(await exportFile('\r\n a ,"b ", ,\r\n'), CSV)
    expect(opened.columns).toEqual(['a', 'b', '', ''])
    expect(await collect(opened.rows())).toEqual([])
  })

  test.each([
    [
      'a name twice, which may be a person’s where the header is lost',
      '\nann,b, ann,c,b\n1,2,3,4,5\n',
      'export-unreadable',
      /^(?!.*ann).*column 3 has the name of column 1, column 5 has the name of column 2/,
      2,
    ],
    ['a broken quote', 'a,b"c\n1,2\n', 'export-unreadable', /column 4/, 1],
    [
      'not UTF-8',
      Buffer.from('a,\u00e9\n', 'latin1'),
      'export-unreadable',
      /UTF-8.*windows-1252.*column 3/,
      1,
    ],
    ['nothing', '', 'export-empty', /empty/, undefined],
    ['a byte order mark', '\ufeff', 'export-empty', /empty/, undefined],
    ['blank lines', '\n\n', 'export-empty', /no header/, undefined],
  ])('with %s is refused', async (_, content, code, message, line) => {
    const path = await exportFile(content)
    await expect(openExport(path, CSV)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      place: line === undefined ? { file: path } : { file: path, line },
    })
  })
})

test('another delimiter and quote', async () => {
  const read = readDefinition.parse({ format: 'csv', delimiter: '\t', quote: "'" })
  expect((await rowsOf("a\tb\n'1\t\n'''\t\"2\n\t\n", read)).map(brief)).toEqual([
    ["1\t\n'", '"2'],
    ['', ''],
  ])
  for (const wrong of [{ delimiter: '' }, { delimiter: '||' }, { quote: '«' }, { quote: ',' }, { skip: 1 }])
    expect(readDefinition.safeParse({ format: 'csv', ...wrong }).success).toBe(false)
})

const cell = fc.string({
  unit: fc.constantFrom('a', 'é', '😀', ',', '"', '\n', '\r', ' ', "'"),
  maxLength: 5,
})
const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
const lineEnd = fc.constantFrom('\n', '\r\n', '\r')

describe('properties', () => {
  test('reads what was written, as csv-parse does', async () => {
    const width = 3
    const table = fc.array(fc.array(fc.tuple(cell, fc.boolean()), { minLength: width, maxLength: width }), {
      minLength: 1,
      maxLength: 20,
    })
    await fc.assert(
      fc.asyncProperty(table, lineEnd, async (rows, end) => {
        const lines = rows.map((cells) =>
          cells.map(([text, quoted]) => (quoted || /["\n\r,]/.test(text) ? quote(text) : text)).join(','),
        )
        const content = ['x,y,z', ...lines, ''].join(end)
        const read = (await rowsOf(content)).map(brief)
        expect(read).toEqual(rows.map((cells) => cells.map(([text]) => text)))
        expect(read).toEqual(parse(content, { record_delimiter: end, from: 2 }))
      }),
      { numRuns: 70 },
    )
  })

  test('from any row on, the rows are the same, whatever the bytes and however packed', async () => {
    const piece = fc.oneof(
      cell,
      cell.map(quote),
      lineEnd,
      fc.constantFrom(',', '1,"2\n', '"a"b,c\n', '1,2\n', '\n3,"4\n5"\n'),
    )
    const bytes = fc
      .array(
        fc.oneof(
          piece.map((text) => Buffer.from(text)),
          fc.constant(Buffer.from([0xe9])),
        ),
        { maxLength: 40 },
      )
      .map((parts) => Buffer.concat([Buffer.from('a,b\n'), ...parts]))
    await fc.assert(
      fc.asyncProperty(bytes, fc.boolean(), fc.nat(), async (content, zipped, pick) => {
        const path = await exportFile(zipped ? gzipSync(content) : content)
        const opened = await openExport(path, CSV)
        const rows = await collect(opened.rows())
        expect(rows.map((row) => row.row)).toEqual(rows.map((_, at) => at + 1))
        const at = rows.length === 0 ? 0 : pick % rows.length
        const rest = await collect(opened.rows(rows[at]))
        expect(rest).toEqual(rows.slice(at))
        // Each row but blank lines lies where it says, and between the rows nothing is left out but line ends.
        expect(leftOut(content, rows)).toMatch(/^[\r\n]*$/)
      }),
      { numRuns: 120 },
    )
  })
})

/** The content between the end of a row's own text and the next row; only for rows whose text can be told from it. */
function leftOut(content: Buffer, rows: readonly Row[]): string {
  return rows
    .map((row, at) => {
      const span = content.subarray(row.byteOffset, rows[at + 1]?.byteOffset).toString('latin1')
      if (row.kind !== 'unreadable') return ''
      const text = Buffer.from(row.text, row.fault === 'row-encoding-invalid' ? 'latin1' : 'utf8')
      return span.startsWith(text.toString('latin1')) ? span.slice(text.length) : ''
    })
    .join('')
}
