import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, exportFile } from './export-file.ts'

async function opened(content: string, read: object) {
  const definition = readDefinition.parse({ format: 'csv', ...read })
  const path = await exportFile(content)
  const { columns, below } = await openExport(path, definition)
  return { columns, below, rows: await allRows(path, definition) }
}

describe('where the header stands', () => {
  const PREAMBLE = 'Report "of"\n\n\n'

  test('on a physical line, whatever stands above it', async () => {
    const { columns, rows } = await opened(`${PREAMBLE}a,b\n1,2\n`, { header: { line: 4 } })
    expect(columns).toEqual(['a', 'b'])
    expect(rows).toEqual([{ kind: 'cells', row: 1, line: 5, byteOffset: 18, cells: ['1', '2'] }])
  })

  test('on a line behind the border of what is read at once', async () => {
    const lines = 70_000
    const { columns, rows } = await opened(`${'x\r\n'.repeat(lines)}a\r\n1\r\n`, {
      header: { line: lines + 1 },
    })
    expect(columns).toEqual(['a'])
    expect(rows).toMatchObject([{ line: lines + 2, byteOffset: 3 * lines + 3 }])
  })

  test('is the first record with certain cells', async () => {
    const { columns, rows } = await opened(`${PREAMBLE}a\n a ,"b",c\na,b,c\n`, {
      header: { find: ['b', 'a'] },
    })
    expect(columns).toEqual(['a', 'b', 'c'])
    expect(rows).toMatchObject([{ row: 1, line: 6, cells: ['a', 'b', 'c'] }])
  })

  test('is looked for among 50 records', async () => {
    const read = { header: { find: ['a'] } }
    expect((await opened(`${'x\n'.repeat(49)}a\n1\n`, read)).rows).toMatchObject([{ line: 51 }])
    await expect(opened(`${'x\n'.repeat(50)}a\n1\n`, read)).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringMatching(/first 50 records.*"a"/),
    })
  })

  test('rows of units below it are no rows', async () => {
    const { rows, below } = await opened('a,b\nmg/dL,"mm\nHg"\n\n1,2\n3,4\n', { header: { skip: 1 } })
    expect(below).toEqual([['mg/dL', 'mm\nHg']])
    expect(rows).toMatchObject([
      { row: 1, line: 5 },
      { row: 2, line: 6 },
    ])
    expect((await opened('a\nmg\n', { header: { skip: 300 } })).rows).toEqual([])
    const many = await opened(`a\n${'x\n'.repeat(600)}1\n`, { header: { skip: 600 } })
    expect(many.rows).toMatchObject([{ row: 1, line: 602 }])
  })

  test.each([
    ['{"a":1,"b":2}\n{"a":3,"b":4}\n', {}, 'ndjson'],
    ['\n {"a":1}\n', { delimiter: 'auto' }, 'ndjson'],
    ['[\n  {\n "a": 1 }]', { quote: 'none' }, 'json'],
    ['[{"a":1}]', { header: 'none', columns: ['a'] }, 'json'],
  ])('%j under a mapping of CSV is told as JSON', async (text, read, format) => {
    await expect(opened(text, read)).rejects.toMatchObject({
      code: 'export-unreadable',
      message: 'The export is JSON, and the mapping reads CSV.',
      remedy: expect.stringContaining(`format: ${format} }`),
    })
  })

  test('names with brackets are names', async () => {
    expect((await opened('[id],{x}\n1,2\n', {})).columns).toEqual(['[id]', '{x}'])
  })

  test('a line that the export does not have', async () => {
    await expect(opened('a\n1\n', { header: { line: 9 } })).rejects.toMatchObject({ code: 'export-empty' })
  })
})

test('no header: the mapping names the columns', async () => {
  const { columns, rows } = await opened('\ufeff1,2\n3\n', { header: 'none', columns: [' a ', ''] })
  expect(columns).toEqual(['a', ''])
  expect(rows).toMatchObject([
    { row: 1, line: 1, byteOffset: 3, cells: ['1', '2'] },
    { row: 2, fault: 'row-too-short', message: '1 cell where `read.columns` has 2' },
  ])
})

test('names that stand twice are numbered where the mapping says so', async () => {
  const { columns } = await opened('a,a_2, a ,,a,\n', { duplicates: 'number' })
  expect(columns).toEqual(['a', 'a_2', 'a_3', '', 'a_4', ''])
  await expect(opened('a,a\n', {})).rejects.toMatchObject({
    remedy: expect.stringContaining('duplicates: number'),
  })
})

test('rows are the same from any row on, wherever the header stands', async () => {
  const content = 'x\nsep\na,b\nu,v\n1,2\n"3\n",4\n5\n6,7\n'
  const path = await exportFile(content)
  for (const header of [
    { line: 3, skip: 1 },
    { find: ['b'], skip: 1 },
  ]) {
    const read = readDefinition.parse({ format: 'csv', header })
    const rows = await allRows(path, read)
    expect(rows.map(brief)).toEqual([['1', '2'], ['3\n', '4'], 'row-too-short', ['6', '7']])
    for (const [at, row] of rows.entries()) expect(await allRows(path, read, row)).toEqual(rows.slice(at))
  }
})

describe('a record that header.skip leaves out', () => {
  // An export without its line of units: the first person's row stands there.
  test.each([
    '02/04/2026',
    '2026-02-04',
    '04.02.26',
    '20260204',
    '202602040910',
    '4 Feb 2026',
    '2026-02-04T09:10',
  ])('is a row if it has a date: %s', async (date) => {
    await expect(
      opened(`id,day,sbp\n1,${date},120\n2,${date},118\n`, { header: { skip: 1 } }),
    ).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringContaining('has a date, like a row'),
      place: { line: 2 },
    })
  })

  test.each([',,mmHg', 'Person,MM/dd/yyyy,10^3/uL', '1,2,3', ',,8480-6', ',,70-99', 'id,,3.5-5.1', ',,0.6'])(
    'is none without: %s',
    async (line) => {
      const { rows } = await opened(`id,day,sbp\n${line}\n1,2026-02-04,120\n`, { header: { skip: 1 } })
      expect(rows.map(brief)).toEqual([['1', '2026-02-04', '120']])
    },
  )
})
