import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/extract/content.ts'
import { csvDefinition } from '../../src/extract/read-definition.ts'
import type { Row } from '../../src/model/row.ts'
import type { ChunkRow } from '../../src/run/chunks.ts'
import {
  openRejects,
  REJECT_COLUMNS,
  rejectsHeader,
  rejectsOrigin,
  rejectsText,
} from '../../src/run/rejects.ts'
import { biometric, careTeam, mappedRow } from '../load/made-up-entries.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const COLUMNS = ['one', 'two, "quoted"', '-three']
const ORIGIN = { name: '=a, b.csv', exportId: '0123456789abcdef' }
const CSV = csvDefinition.parse({ format: 'csv', delimiter: ';', quote: "'", header: 'none', columns: ['x'] })
const issue = { stage: 'transform', code: 'date-invalid', message: 'no date' } as const

const rejected = (source: Row): ChunkRow => {
  const { row, line, byteOffset } = source
  return { source, outcome: { row, line, byteOffset, outcome: 'rejected', issue } }
}

async function readAll(file: string): Promise<Row[]> {
  const { opened } = await openRejects(file, CSV, DEFAULT_LIMITS)
  expect(opened.columns).toEqual(COLUMNS)
  const rows: Row[] = []
  for await (const block of opened.rows()) rows.push(...block)
  return rows
}

test('rows come back with their cells and places, whatever the dialect of the export was', async () => {
  const file = join(await temporaryFolder(), 'rejects.csv')
  const cell = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      '',
      ' a ',
      '"',
      'a,b',
      'a\nb',
      'a\r\nb',
      'a\rb',
      ';',
      '=1+1',
      '-5',
      "'-5",
      '\t5',
      '\r5',
      '\ufeff',
    ),
  )
  const row = fc.tuple(fc.nat({ max: 10 ** 9 }), fc.tuple(cell, cell, cell))
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 8 }), async (rows) => {
      const sources = rows.map(
        ([at, cells]): Row => ({ kind: 'cells', row: at + 1, line: at + 2, byteOffset: at, cells }),
      )
      const text = rejectsText(ORIGIN, COLUMNS, sources.map(rejected), { outcomes: [], followUpFailures: [] })
      await writeFile(file, rejectsHeader(COLUMNS) + text)
      expect(await rejectsOrigin(file)).toEqual(ORIGIN)
      const back = await readAll(file)
      expect(back.map((one) => [one.row, one.line, one.kind === 'cells' ? one.cells : one])).toEqual(
        rows.map(([at, cells]) => [at + 1, at + 2, cells]),
      )
    }),
    { numRuns: 50 },
  )
})

test('a line stands for its own rule; where the correction makes it another’s, for all of its row', async () => {
  const file = join(await temporaryFolder(), 'rejects.csv')
  const header = rejectsHeader(COLUMNS)
  const line = (rule: string): string => `a,b,c,x.csv,${ORIGIN.exportId},7,8,${rule},transform,code,reason,\n`
  await writeFile(file, `${header}${line('pcp')}${line('')}${line('lab-2')}`)
  const { opened, onlyTheirRules } = await openRejects(file, CSV, DEFAULT_LIMITS)
  const outcome = mappedRow([biometric(), careTeam()], { row: 7 })
  const mapper = onlyTheirRules(() => outcome)
  const rules: string[][] = []
  for await (const block of opened.rows()) {
    for (const row of block) {
      const mapped = mapper(row)
      rules.push(mapped.outcome === 'mapped' ? mapped.records.map(({ rule }) => rule) : [])
    }
  }
  expect(rules).toEqual([['pcp'], ['systolic-bp', 'pcp'], ['systolic-bp', 'pcp']])
})

test('a row in _raw alone is not read as cells; filled in, it is', async () => {
  const file = join(await temporaryFolder(), 'rejects.csv')
  const end = `x.csv,${ORIGIN.exportId},7,8,,extract,row-too-short,reason`
  await writeFile(file, `${rejectsHeader(COLUMNS)},,,${end},a;b\na,b,c,${end},a;b\n`)
  const [raw, filled] = await readAll(file)
  expect(raw).toMatchObject({ kind: 'unreadable', row: 7, line: 8, fault: 'row-too-short', text: 'a;b' })
  expect(filled).toMatchObject({ kind: 'cells', row: 7, cells: ['a', 'b', 'c'] })
})

test('what is no rejects file is none; one whose origin was lost is refused with its line', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'a.csv')
  await writeFile(file, 'id,_export,_row\n1,2,3\n')
  expect(await rejectsOrigin(file)).toBeUndefined()
  expect(await rejectsOrigin(join(folder, 'none.csv'))).toBeUndefined()
  const line = (id: string): string => `a,b,c,x.csv,${id},7,8,,transform,code,reason,\n`
  await writeFile(file, rejectsHeader(COLUMNS) + line(ORIGIN.exportId) + line('lost'))
  await expect(rejectsOrigin(file)).rejects.toMatchObject({
    code: 'export-unreadable',
    place: { file, line: 3 },
  })
  await writeFile(file, rejectsHeader(COLUMNS) + line(ORIGIN.exportId) + line('f'.repeat(16)))
  await expect(rejectsOrigin(file)).rejects.toThrow('several exports')
})

test.each([
  ['Excel where the comma is the decimal sign', '\ufeff', ';'],
  ['Excel in other countries', '\ufeff', ','],
  ['a program that writes tabs', '', '\t'],
])('saved by %s it is read as before', async (_program, mark, delimiter) => {
  const file = join(await temporaryFolder(), 'rejects.csv')
  const cells = [
    'ä',
    'b, c; d',
    'e',
    ORIGIN.name,
    ORIGIN.exportId,
    '7',
    '8',
    '',
    'transform',
    'code',
    'a; b',
    '',
  ]
  await writeFile(file, mark + stringify([[...COLUMNS, ...REJECT_COLUMNS], cells], { delimiter }))
  expect(await rejectsOrigin(file)).toEqual(ORIGIN)
  expect(await readAll(file)).toMatchObject([{ row: 7, line: 8, cells: ['ä', 'b, c; d', 'e'] }])
})

test.each<[string, (text: string) => string, BufferEncoding, RegExp, RegExp]>([
  ['another encoding', (text) => text, 'latin1', /line is not UTF-8/, /CSV UTF-8/],
  [
    'another encoding, in the header as well',
    (text) => text.replace(/^[^,]+/, 'Größe').replaceAll(',', ';'),
    'latin1',
    /line is not UTF-8/,
    /CSV UTF-8/,
  ],
  [
    'columns in another order',
    (text) => text.replaceAll(',_raw', ''),
    'utf8',
    /last columns/,
    /Restore these columns/,
  ],
  [
    'an id that became a number',
    (text) => text.replace(ORIGIN.exportId, '1.23E+14'),
    'utf8',
    /_exportId/,
    /text/,
  ],
])(
  'with %s it is refused, with the line and what to do',
  async (_what, change, encoding, message, remedy) => {
    const file = join(await temporaryFolder(), 'rejects.csv')
    const line = `ä,b,c,x.csv,${ORIGIN.exportId},7,8,,transform,code,reason,\n`
    await writeFile(file, Buffer.from(change(rejectsHeader(COLUMNS) + line), encoding))
    await expect(rejectsOrigin(file)).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(remedy),
      place: { file },
    })
  },
)
