import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/extract/content.ts'
import { openExport } from '../../src/extract/open-export.ts'
import { csvDefinition, readDefinition } from '../../src/extract/read-definition.ts'
import type { Row } from '../../src/model/row.ts'
import type { ChunkRow } from '../../src/run/chunks.ts'
import {
  columnsInFront,
  openRejects,
  REJECT_COLUMNS,
  rejectsHeader,
  rejectsOrigin,
  rejectsPath,
  rejectsText,
  valuesOfRejects,
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
  const line = (rule: string): string =>
    `a,b,c,x.csv,${ORIGIN.exportId},07,8,${rule},transform,code,reason,\n`
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
  const end = `x.csv,${ORIGIN.exportId},07,8,,extract,row-too-short,reason`
  await writeFile(file, `${rejectsHeader(COLUMNS)},,,${end},a;b\na,b,c,${end},a;b\n`)
  const [raw, filled] = await readAll(file)
  expect(raw).toMatchObject({ kind: 'unreadable', row: 7, line: 8, fault: 'row-too-short', text: 'a;b' })
  expect(filled).toMatchObject({ kind: 'cells', row: 7, cells: ['a', 'b', 'c'] })
})

test('what is no rejects file is none; one whose origin was lost is refused with its line', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'a.csv')
  for (const text of ['id,_export,_row\n1,2,3\n', 'id,_code,_reason,_raw\n1,2,3,4\n']) {
    await writeFile(file, text)
    expect(await rejectsOrigin(file)).toBeUndefined()
  }
  expect(await rejectsOrigin(join(folder, 'none.csv'))).toBeUndefined()
  const line = (id: string): string => `a,b,c,x.csv,${id},07,8,,transform,code,reason,\n`
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
    '07',
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

test.each<[string, (text: string) => string, BufferEncoding, number, RegExp, RegExp]>([
  ['another encoding', (text) => text, 'latin1', 2, /line is not UTF-8/, /CSV UTF-8/],
  [
    'another encoding, in the header as well',
    (text) => text.replace(/^[^,]+/, 'Größe').replaceAll(',', ';'),
    'latin1',
    1,
    /line is not UTF-8/,
    /CSV UTF-8/,
  ],
  [
    'columns in another order',
    (text) => text.replaceAll(',_raw', ''),
    'utf8',
    1,
    /last columns/,
    /Restore these columns/,
  ],
  ['a quote that nothing closes', (text) => text.replace('ä', '"ä'), 'utf8', 2, /quote/, /Correct the line/],
  [
    'an id that became a number',
    (text) => text.replace(ORIGIN.exportId, '1.23E+14'),
    'utf8',
    2,
    /_exportId/,
    /text/,
  ],
  [
    'numbers for texts with zeros, also in ids and postal codes',
    (text) => text.replace(',07,', ',7,'),
    'utf8',
    2,
    /_row has lost its zero/,
    /import every column as text/,
  ],
])(
  'with %s it is refused, with the line and what to do',
  async (_what, change, encoding, line, message, remedy) => {
    const file = join(await temporaryFolder(), 'rejects.csv')
    const text = `ä,b,c,x.csv,${ORIGIN.exportId},07,8,,transform,code,reason,\n`
    await writeFile(file, Buffer.from(change(rejectsHeader(COLUMNS) + text), encoding))
    await expect(rejectsOrigin(file)).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(remedy),
      place: { file, line },
    })
  },
)

const HL7 = (id: string): string =>
  `MSH|^~\\&|LAB|HOME|WAYBILL|HOME|20260302||ORU^R01|${id}|P|2.5.1\rPID|1||${id}\r`

test.each<[string, object, string, readonly string[]]>([
  ['JSON lines', { format: 'ndjson' }, '{"a":1.50}\n{"a"\n[]\n', ['_json']],
  ['elements of a list', { format: 'json', records: '$.rows[*]' }, '{"rows":[{"a":1},{"a":2}]}', ['_json']],
  [
    'members of elements',
    { format: 'json', records: '$.entry[*].resource' },
    '{"entry":[{"resource":{"a":1}},{"b":2},{"resource":{"a":{"b":[2]}}}]}',
    ['_json'],
  ],
  [
    'elements with what stands around them',
    { format: 'json', records: '$.rows[*]', context: { clinic: '$.clinic', no: '$.no' } },
    '{"clinic":{"name":"Hope"},"no":7,"rows":[{"a":1},"b",{"a":2}]}',
    ['_json', '_context'],
  ],
  ['messages', { format: 'hl7v2' }, HL7('1') + HL7('2'), ['_json']],
  [
    'records',
    { format: 'records', delimiter: '|', row: 'P', types: { P: ['id', 'name'], R: ['value'] } },
    'P|1|Ann\nR|5\nR|6\nP|2|Bob\n',
    ['_json'],
  ],
])('%s come back as the export gave them', async (_what, definition, text, inFront) => {
  const folder = await temporaryFolder()
  const read = readDefinition.parse(definition)
  const rowsOf = async (opened: { rows(): AsyncIterable<readonly Row[]> }): Promise<Row[]> => {
    const rows: Row[] = []
    for await (const block of opened.rows()) rows.push(...block)
    return rows
  }
  const [file, rejects] = [join(folder, 'export'), join(folder, 'rejects.csv')]
  await writeFile(file, text)
  const opened = await openExport(file, read)
  const rows = await rowsOf(opened)
  expect(columnsInFront(opened.columns, read)).toEqual(inFront)
  const written = rejectsText(ORIGIN, inFront, rows.map(rejected), { outcomes: [], followUpFailures: [] })
  await writeFile(rejects, rejectsHeader(inFront) + written)
  const { opened: again } = await openRejects(rejects, read, DEFAULT_LIMITS)
  const back = await rowsOf(again)
  const asRead = ({ byteOffset: _at, ...row }: Row) =>
    row.kind === 'unreadable' ? { ...row, message: expect.any(String) } : row
  expect(back).toMatchObject(rows.map(asRead))
  expect(back.map((row) => 'context' in row)).toEqual(rows.map((row) => 'context' in row))
  expect(again.columns).toBeUndefined()
})

test('values of a line are its cells that are not empty, and its raw text', async () => {
  const file = join(await temporaryFolder(), 'rejects.csv')
  const end = (rule: string) => `x.csv,${ORIGIN.exportId},07,8,${rule},transform,date-invalid,reason`
  const lines = [`a,,'-5,${end('pcp')},`, `,,,${end('')},a;b`]
  await writeFile(file, `${rejectsHeader(COLUMNS)}${lines.join('\n')}\n`)
  const values = []
  for await (const one of valuesOfRejects(file)) values.push(one)
  const common = { row: 7, code: 'date-invalid' }
  expect(values).toEqual([
    {
      ...common,
      rule: 'pcp',
      values: [
        ['one', 'a'],
        ['-three', '-5'],
      ],
    },
    { ...common, rule: undefined, values: [['_raw', 'a;b']] },
  ])
})

test('a file without the columns is no rejects file any longer', async () => {
  const file = join(await temporaryFolder(), 'rejects.csv')
  await writeFile(file, 'one,two\n1,2\n')
  const changed = { code: 'export-changed', place: { file } }
  await expect(openRejects(file, CSV, DEFAULT_LIMITS)).rejects.toMatchObject(changed)
  await expect(valuesOfRejects(file).next()).rejects.toMatchObject(changed)
})

test.each([
  ['whole', 'a.csv', '2-a.rejects.csv'],
  ['whole', 'a.ndjson.gz', '2-a.rejects.csv'],
  ['whole', '1-a.rejects.csv', '2-1-a.rejects.rejects.csv'],
  ['rejects', '1-a.rejects.csv', '2-a.rejects.csv'],
  ['rejects', 'corrected.csv', '2-corrected.rejects.csv'],
] as const)('of the export read as %s %s the file is %s', (reading, name, expected) => {
  expect(rejectsPath({ rejectsFolder: 'folder' }, { ordinal: 2, name, reading })).toBe(
    join('folder', expected),
  )
})

test('the id under which the gateway has a record stands in its reason', () => {
  const rejectedRecord = { kind: 'biometric' as const, rule: 'pulse', issue }
  const outcome = (sentAs: string | undefined): ChunkRow => {
    const mapped = mappedRow([], { row: 7, cells: ['a', 'b', 'c'] })
    const one = sentAs === undefined ? rejectedRecord : { ...rejectedRecord, sentAs }
    return { source: mapped.source, outcome: { ...mapped, rejected: [one] } }
  }
  const text = rejectsText(ORIGIN, COLUMNS, [outcome('the-id'), outcome(undefined)], {
    outcomes: [],
    followUpFailures: [],
  })
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(',').at(-2)),
  ).toEqual(['no date (the-id)', 'no date'])
})

test('the corrected line of a rejects file names the export that it came from, not the file', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'rejects.csv')
  await writeFile(
    file,
    `${rejectsHeader(COLUMNS)}a,b,c,first.csv,${ORIGIN.exportId},07,8,,transform,code,reason,\n`,
  )
  const [row] = await readAll(file)
  const again = rejectsText(
    { ...ORIGIN, name: 'rejects.csv' },
    COLUMNS,
    [rejected(row ?? expect.fail('no row'))],
    {
      outcomes: [],
      followUpFailures: [],
    },
  )
  expect(again).toContain('a,b,c,first.csv,')
})
