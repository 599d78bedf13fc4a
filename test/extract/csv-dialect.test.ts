import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, exportFile, rowsOf } from './export-file.ts'

const csv = (read: object) => readDefinition.parse({ format: 'csv', ...read })
const briefs = async (content: string, read: object) => (await rowsOf(content, csv(read))).map(brief)

test.each([
  // A quote is missing on two lines: the cell completes one row and begins another.
  ['1,"R,95,70,x,y\n2,S",96,71,x,y\n', ['row-quote-broken']],
  ['"1,R,95,70,x,y\n2",S,96,71,x,y\n', ['row-quote-broken']],
  ['1,R,95,70,x,"y\r\n2,S,96,71,x,z"\n', ['row-quote-broken']],
  ['1,"R,95,70,x,y\n2,S,96,71,x,y\n3,T",97,72,x,y\n', ['row-quote-broken']],
  ['1,"R\nS",95,70,x,y\n', [['1', 'R\nS', '95', '70', 'x', 'y']]],
  ['1,R,95,70,x,"a, b\nc, d"\n', [['1', 'R', '95', '70', 'x', 'a, b\nc, d']]],
])('quotes around %j', async (rows, expected) => {
  expect(await briefs(`id,name,g,h,i,j\n${rows}9,Z,90,60,x,y\n`, {})).toEqual([
    ...expected,
    ['9', 'Z', '90', '60', 'x', 'y'],
  ])
})

describe('fixed widths', () => {
  const FIXED = { header: 'none', columns: ['id', 'day', 'value'], widths: [4, 8, 3] }

  test('cut a line by characters, whatever delimiters and quotes stand in it', async () => {
    const content = 'p-1 20260302 61\np-2,20260303 "2\nM\u00fc  20260304  7\n'
    const rows = await rowsOf(content, csv(FIXED))
    expect(rows.map(brief)).toEqual([
      ['p-1 ', '20260302', ' 61'],
      ['p-2,', '20260303', ' "2'],
      ['M\u00fc  ', '20260304', '  7'],
    ])
    expect(rows.map(({ line, byteOffset }) => [line, byteOffset])).toEqual([
      [1, 0],
      [2, 16],
      [3, 32],
    ])
  })

  test('may end before the last cell does; a cell that is not there, or one too many, is told', async () => {
    const content = 'p-1 202603026\np-2 20260303\np-3 20260304 61   \np-4 20260305 61 x\n'
    expect(await briefs(content, FIXED)).toEqual([
      ['p-1 ', '20260302', '6'],
      'row-too-short',
      ['p-3 ', '20260304', ' 61'],
      'row-too-long',
    ])
    expect((await briefs(content, { ...FIXED, ragged: 'pad' }))[1]).toEqual(['p-2 ', '20260303', ''])
  })

  test('of bytes reject a line whose letters have several: its columns would be shifted', async () => {
    // ü is two bytes: as characters, the value would be 18.
    const content = 'Mu  20260304118\nM\u00fc 20260304118\nM\u00fc  20260304118\nM\u00fc  2026030418\n'
    expect(await briefs(content, FIXED)).toEqual([
      ['Mu  ', '20260304', '118'],
      'row-too-short',
      ['M\u00fc  ', '20260304', '118'],
      'row-too-short',
    ])
    const latin1 = Buffer.from('M\u00fc  2026030418\n', 'latin1')
    expect((await rowsOf(latin1, csv({ ...FIXED, encoding: 'iso-8859-1' }))).map(brief)).toEqual([
      ['M\u00fc  ', '20260304', '18'],
    ])
  })

  test('have a trailer whose words stand apart', async () => {
    const read = csv({ ...FIXED, trailer: { match: '^TRL', count: { cell: 2 } } })
    const path = await exportFile('p-1 20260302 61\nTRL 0000000001\n')
    expect(await (await openExport(path, read)).controlTotal()).toEqual({ stated: 1, found: 1 })
  })

  test.each([
    [{ widths: [1, 2] }, 'columns'],
    [{ widths: [1, 2], header: 'none', columns: ['a'] }, 'widths'],
    [{ widths: [0], header: 'none', columns: ['a'] }, 'widths'],
  ])('%j are refused', (read, key) => {
    const result = readDefinition.safeParse({ format: 'csv', ...read })
    expect(result.error?.issues[0]?.path[0]).toBe(key)
  })
})

describe('marks', () => {
  test('no quotes: a quote is text like any other', async () => {
    expect(await briefs('a|b\n"1|5\' 10"\n', { delimiter: '|', quote: 'none' })).toEqual([['"1', '5\' 10"']])
  })

  test('an escape within quotes stands before marks and line ends, and is text before anything else', async () => {
    const content = 'a,b\n"x\\"y","C:\\temp\\\\"\n"\\\r\n","q""q"\n\\N,x\\\n'
    expect(await briefs(content, { escape: '\\' })).toEqual([
      ['x"y', 'C:\\temp\\'],
      ['\r\n', 'q"q'],
      ['\\N', 'x\\'],
    ])
  })

  test('an escape without quotes', async () => {
    const content = 'a\tb\nx\\\ty\t\\N\nx\\\\\ty\\\nz\n1\t"2"\n'
    const rows = await rowsOf(content, csv({ delimiter: '\t', quote: 'none', escape: '\\' }))
    expect(rows.map(brief)).toEqual([
      ['x\ty', '\\N'],
      ['x\\', 'y\nz'],
      ['1', '"2"'],
    ])
    expect(rows.map((row) => row.line)).toEqual([2, 3, 5])
  })

  test('lenient quotes: inside a cell they are text, around one they are quotes', async () => {
    expect(await briefs('a,b\n5\' 10",12"\n"x,""\ny",z\n"x"y,z\n', { quotes: 'lenient' })).toEqual([
      ['5\' 10"', '12"'],
      ['x,"\ny', 'z'],
      'row-quote-broken',
    ])
  })

  test('comment lines are no rows, wherever they stand, but not within quotes', async () => {
    const rows = await rowsOf('//\n//a,b\na,b\n// "\n1,"x\n//y"\n/,2\n//', csv({ comment: '//' }))
    expect(rows).toMatchObject([
      { row: 1, line: 5, byteOffset: 18, cells: ['1', 'x\n//y'] },
      { row: 2, line: 7, byteOffset: 28, cells: ['/', '2'] },
    ])
  })

  test('a comment is known across the border of what is read at once', async () => {
    const fill = `${'x'.repeat(128 * 1024 - 4)}\n`
    const rows = await rowsOf(`a\n${fill}//1\n2\n`, csv({ comment: '//' }))
    expect(rows).toMatchObject([{ row: 1 }, { row: 2, line: 4, cells: ['2'] }])
  })

  test('a comment may be longer than a record may', async () => {
    const content = `#${'x'.repeat(3 * 1024 * 1024)}\na\n#${'x'.repeat(3 * 1024 * 1024)}\n1\n`
    expect(await briefs(content, { comment: '#' })).toEqual([['1']])
  })

  test.each([
    [{ quotes: 'lenient' }, 'x","y'],
    [{ quotes: 'lenient' }, '"x'],
    [{ quote: 'none', escape: '\\' }, 'x\\'],
    [{ escape: '\\' }, '"\\"x'],
    [{ escape: '\\' }, '\\,"'],
    [{ comment: '#' }, '#"'],
  ])('%o takes linear time where every line is %s', async (read, line) => {
    const cost = async (lines: number): Promise<number> => {
      const path = await exportFile(`a,b\n${`${line}\n`.repeat(lines)}`)
      const before = process.threadCpuUsage()
      await allRows(path, csv(read))
      const { user, system } = process.threadCpuUsage(before)
      return user + system
    }
    // Five times the lines cost five times as much; to look at all that follows for each line would cost 25 times as much.
    const few = await cost(20_000)
    expect((await cost(100_000)) / few).toBeLessThan(12)
  })
})

describe('ragged rows', () => {
  const content = 'a,b,c\n1\n1,2,3\n1,2,3,, \n1,2,3,4\n1,2,3,,5\n1,2,3,4,\n'
  const LONG = ['row-too-long', 'row-too-long', 'row-too-long']
  test.each([
    ['reject', ['row-too-short', ['1', '2', '3'], 'row-too-long', ...LONG]],
    ['pad', [['1', '', ''], ['1', '2', '3'], 'row-too-long', ...LONG]],
    ['trim', ['row-too-short', ['1', '2', '3'], ['1', '2', '3'], ...LONG]],
  ])('%s', async (ragged, rows) => {
    expect(await briefs(content, { ragged })).toEqual(rows)
  })
})

describe('delimiter: auto', () => {
  test.each([
    ['comma', 'a,b\n1,2\n', ['a', 'b']],
    ['semicolon with decimal commas', 'a;b\n1,5;2,5\n1,5;2,5\n', ['a', 'b']],
    ['tab with commas in a quoted header', '"a,x"\tb\n1\t2\n', ['a,x', 'b']],
    ['bar', 'a|b|c\n1|2|3\n', ['a', 'b', 'c']],
    ['a header alone', 'a;b', ['a', 'b']],
    ['one column', 'a\n1\n2\n', ['a']],
    ['nine of ten rows', `a;b\n${'1;2\n'.repeat(9)}1;2;3\n`, ['a', 'b']],
    ['the one that fits all rows', `a,x;b\n${'1,1;2\n'.repeat(9)}1;2\n`, ['a,x', 'b']],
    ['sep=', 'sep=^\r\na^b\r\n1^2\r\n', ['a', 'b']],
  ])('finds %s', async (_, content, columns) => {
    const opened = await openExport(await exportFile(content), csv({ delimiter: 'auto' }))
    expect(opened.columns).toEqual(columns)
  })

  test('knows the header by its cells, and leaves preamble and trailer out', async () => {
    const content = 'Report, of, all\n\nid;name\n1;x\nTotal, all, rows, 1\n'
    const read = { delimiter: 'auto', header: { find: ['id'] }, trailer: { match: '^Total' } }
    expect(await briefs(content, read)).toEqual([['1', 'x']])
  })

  test('goes by no line that is passed over', async () => {
    const content = 'a;b\nof people\nin units of SI\n1;2\n'
    expect(await briefs(content, { delimiter: 'auto', header: { skip: 2 } })).toEqual([['1', '2']])
  })

  test('counts the columns that the mapping names', async () => {
    const read = { delimiter: 'auto', header: 'none', columns: ['a', 'b'] }
    expect(await briefs('1,5;2,0\n2,5;3,0\n', read)).toEqual([
      ['1,5', '2,0'],
      ['2,5', '3,0'],
    ])
  })

  test('a long file is judged by its start', async () => {
    expect(await briefs(`a|b\n${'1|x,y\n'.repeat(100_000)}`, { delimiter: 'auto' })).toHaveLength(100_000)
  })

  test.each([
    ['two that fit', 'a;b,c;d\n1;2,3;4\n', /could be "," or ";"/],
    ['none that fits', 'a\n1,2\n1;2\n', /none of "," ";" tab "\|"/],
  ])('%s are an error that names them', async (_, content, message) => {
    const path = await exportFile(content)
    await expect(openExport(path, csv({ delimiter: 'auto' }))).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringMatching(message),
      place: { file: path },
      remedy: expect.stringContaining('delimiter: ";"'),
    })
  })

  test('sep= is a header where the delimiter is given', async () => {
    const opened = await openExport(await exportFile('sep=;\n1\n'), csv({}))
    expect(opened.columns).toEqual(['sep=;'])
  })
})

test.each([
  [{ delimiter: 'both' }],
  [{ delimiter: '\n' }],
  [{ delimiter: '"' }],
  [{ quote: 'no' }],
  [{ escape: ',' }],
  [{ quotes: 'lenient', quote: 'none' }],
  [{ comment: '"' }],
  [{ comment: '# ' }],
  [{ encoding: 'utf-7' }],
  [{ header: 'none' }],
  [{ columns: ['a'] }],
  [{ header: 'none', columns: ['a', ' a '] }],
  [{ header: { line: 0 } }],
  [{ header: { line: 2, find: ['a'] } }],
  [{ header: { find: [] } }],
  [{ trailer: {} }],
  [{ trailer: { lines: 1, match: 'x' } }],
  [{ trailer: { match: '(' } }],
  [{ trailer: { lines: 1, count: { cell: 0 } } }],
  [{ ragged: 'cut' }],
  [{ unknown: 1 }],
])('%o is refused', (read) => {
  expect(readDefinition.safeParse({ format: 'csv', ...read }).success).toBe(false)
})
