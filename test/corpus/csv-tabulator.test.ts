import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { unpack } from '../../src/extract/arrival/unpack.ts'
import { DEFAULT_LIMITS } from '../../src/extract/content.ts'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { createSpool } from '../../src/extract/sources/receive-file.ts'
import { allRows, brief } from '../extract/export-file.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { corpusPath, WITHOUT_CORPUS } from './corpus-file.ts'

const file = (name: string): string => corpusPath('csv/tabulator', name)

interface Verdict {
  readonly read?: object
  readonly columns: readonly string[] | number
  /** Cells, or the fault of the row; or how many rows there are, all readable. */
  readonly rows: readonly unknown[] | number
}

const TABLE = [
  ['1', 'english'],
  ['2', '中国人'],
]
const TABLE_REVERSED = [
  ['1', '中国人'],
  ['2', 'english'],
]
const ID_NAME = ['id', 'name']

const VERDICTS: Readonly<Record<string, Verdict>> = {
  'matrix.csv': {
    columns: ['f1', 'f2', 'f3', 'f4'],
    rows: [1, 2, 3, 4].map((row) => [1, 2, 3, 4].map((column) => `${row}${column}`)),
  },
  'table-reverse.csv': {
    columns: ID_NAME,
    rows: TABLE_REVERSED,
  },
  'table.csv': { columns: ID_NAME, rows: TABLE },
  'table.csv.gz': { columns: ID_NAME, rows: TABLE },
  'table.tsv': { read: { delimiter: '\t' }, columns: ID_NAME, rows: [...TABLE, ['3', '\\N']] },
  'table_unicode_headers.csv': { columns: ['id', '国人'], rows: TABLE },
  'special/accent.csv': { read: { delimiter: ';' }, columns: 17, rows: 2 },
  'special/bom.csv': { columns: ID_NAME, rows: TABLE },
  'special/doublequote.csv': { columns: 17, rows: 5 },
  // A quote behind a blank opens nothing.
  'special/escaping.csv': { columns: ['ID', 'Test'], rows: Array(3).fill('row-quote-broken') },
  'special/issue305.csv': { columns: 31, rows: 338 },
  'special/latin1.csv': {
    read: { encoding: 'windows-1252' },
    columns: ID_NAME,
    rows: [
      ['1', 'english'],
      ['2', '©'],
    ],
  },
  'special/long.csv': {
    columns: ID_NAME,
    rows: ['a', 'b', 'c', 'd', 'e', 'f'].map((name, at) => [`${at + 1}`, name]),
  },
  'special/skip-blank-at-the-end.csv': {
    read: { comment: '#' },
    columns: ['test1', 'test2'],
    rows: [['1', '2']],
  },
  'special/skip-rows-before-headers.csv': {
    read: { header: { find: ['id'] } },
    columns: ID_NAME,
    rows: TABLE,
  },
  'special/skip-rows.csv': { read: { comment: '#' }, columns: ID_NAME, rows: TABLE },
}

describe('tabulator', NEEDS_CORPUS, () => {
  const names = WITHOUT_CORPUS
    ? []
    : ['', 'special/']
        .flatMap((folder) => readdirSync(file(folder)).map((name) => `${folder}${name}`))
        .filter((name) => /\.(csv|tsv|gz|zip)$/.test(name))

  /** Each file of an archive reads as it does where it stands alone. */
  test.each([
    ['table.csv.zip', undefined, { 'table.csv': TABLE }],
    ['2-files.zip', '*', { 'table-reverse.csv': TABLE_REVERSED, 'table.csv': TABLE }],
    ['special/table.csv.zip', undefined, { 'table.csv': TABLE }],
    ['special/doublequote.csv.zip', undefined, undefined],
  ] as const)('%s', async (name, members, expected) => {
    const spool = createSpool(join(await temporaryFolder(), 'spool'))
    const rules = { members, encrypted: false, limits: DEFAULT_LIMITS, pgp: {} }
    const exports = await unpack(name, file(name), rules, spool.unpack)
    const read = await Promise.all(
      exports.map(async (one) => [one.member, (await allRows(one.file)).map(brief)] as const),
    )
    if (expected !== undefined) expect(Object.fromEntries(read)).toEqual(expected)
    else
      expect(read.map(([, rows]) => rows)).toEqual([
        (await allRows(file('special/doublequote.csv'))).map(brief),
      ])
  })

  test('has a verdict for each archive', () => {
    expect(names.filter((name) => name.endsWith('.zip')).sort()).toEqual([
      '2-files.zip',
      'special/doublequote.csv.zip',
      'special/table.csv.zip',
      'table.csv.zip',
    ])
  })

  const readable = names.filter((name) => !name.endsWith('.zip'))

  test('has a verdict for each file', () => {
    expect(Object.keys(VERDICTS).sort()).toEqual(readable.sort())
  })

  test.each(readable)('%s', async (name) => {
    const { read = {}, columns, rows } = VERDICTS[name] ?? { columns: 0, rows: 0 }
    const isBroken = Array.isArray(rows) && !rows.some(Array.isArray)
    for (const found of isBroken ? [{}] : [{}, { delimiter: 'auto' }]) {
      const definition = readDefinition.parse({ format: 'csv', ...read, ...found })
      const opened = await openExport(file(name), definition)
      expect(typeof columns === 'number' ? opened.columns?.length : opened.columns).toEqual(columns)
      const all = await allRows(file(name), definition)
      if (typeof rows === 'number') {
        expect(all).toHaveLength(rows)
        expect(new Set(all.map((row) => row.kind))).toEqual(new Set(['cells']))
      } else expect(all.map(brief)).toEqual(rows)
    }
  })

  test('the tables are those of the JSON answers', async () => {
    expect(JSON.parse(readFileSync(file('table-lists.json'), 'utf8'))).toEqual([
      ID_NAME,
      ...TABLE.map(([id, name]) => [Number(id), name]),
    ])
  })

  test('Latin-1 without being told is refused with line, column and what to do', async () => {
    const [, second] = await allRows(file('special/latin1.csv'))
    expect(second).toMatchObject({
      fault: 'row-encoding-invalid',
      line: 3,
      message: expect.stringMatching(/`encoding: windows-1252`.*\(column 3\)$/),
    })
  })

  test('cells that begin behind a blank are text where quotes are lenient', async () => {
    const read = readDefinition.parse({ format: 'csv', quotes: 'lenient' })
    expect((await allRows(file('special/escaping.csv'), read)).map(brief)).toEqual([
      ['1', ' "Test line 1"'],
      ['2', ' "Test "" line 2"'],
      ['3', ' "Test \\" line 3"'],
    ])
  })
})
