/** Refusals of `read` beyond the types of its members: what members say of each other. */
import { expect, test } from 'vitest'
import { readDefinition } from '../../src/extract/read-definition.ts'

/** Places and beginnings of the refusals. */
function refusals(read: unknown): readonly string[] {
  const parsed = readDefinition.safeParse(read)
  return parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`)
}

const RECORDS = {
  format: 'records',
  delimiter: '|',
  row: 'PID',
  types: { PID: ['patient'], OBR: ['order'], OBX: { in: 'OBR', columns: ['code', 'value'] } },
}
const of = (types: object, more: object = {}) => ({
  ...RECORDS,
  ...more,
  types: { ...RECORDS.types, ...types },
})
const fixed = (types: object, typeWidth = 3) => {
  const { delimiter: _, ...read } = RECORDS
  return { ...read, typeWidth, types }
}

test.each<[string, unknown, readonly string[]]>([
  ['records of three types', RECORDS, []],
  ['a row of no type', { ...RECORDS, row: 'PIX' }, ['row is none']],
  ['a delimiter that is the quote', { ...RECORDS, delimiter: '"' }, ['delimiter must differ']],
  ['a type that is skipped, too', { ...RECORDS, skip: ['OBR'] }, ['types.OBR is listed in `skip`']],
  ['a skipped type of its own', { ...RECORDS, skip: ['HDR'] }, []],
  ['a column twice', of({ OBR: ['order', 'order'] }), ['types.OBR.columns ']],
  ['a column named as a type in it', of({ OBR: ['order', 'OBX'] }), ['types.OBR.columns has a column']],
  ['a column of the row named as a type in it', of({ PID: ['OBR'] }), ['types.PID.columns has a column']],
  ['a column named as a type elsewhere', of({ PID: ['OBX'] }), []],
  [
    'a row that is in another type',
    of({ PID: { in: 'OBR', columns: ['a'] } }),
    ['types.PID.in begins a row'],
  ],
  [
    'a type in one that is none',
    of({ OBX: { in: 'XXX', columns: ['code'] } }),
    ['types.OBX.in leads to no row'],
  ],
  [
    'two types in each other',
    of({ OBR: { in: 'OBX', columns: ['order'] } }),
    ['types.OBR.in leads to no row', 'types.OBX.in leads to no row'],
  ],
  ['columns of fixed widths', fixed({ PID: { columns: ['patient', 'born'], widths: [4, 8] } }), []],
  [
    'fewer widths than columns',
    fixed({ PID: { columns: ['patient', 'born'], widths: [4] } }),
    ['types.PID.widths are 1 for 2'],
  ],
  [
    'a type longer than types are',
    fixed({ PID: { columns: ['patient'], widths: [4] } }, 2),
    ['types.PID is longer than the 2'],
  ],
  [
    'widths for one type alone',
    fixed({ PID: { columns: ['patient'], widths: [4] }, OBR: { columns: ['order'] } }),
    ['types.OBR.widths go with'],
  ],
  ['a header on the first line', { format: 'csv', header: { line: 1 } }, []],
  ['a header above the first line', { format: 'csv', header: { line: 0 } }, ['header.line ']],
  [
    'a header by its line and by its names',
    { format: 'csv', header: { line: 2, find: ['id'] } },
    ['header has line'],
  ],
  ['no line below the header left out', { format: 'csv', header: { skip: 0 } }, []],
  ['less than none', { format: 'csv', header: { skip: -1 } }, ['header.skip ']],
])('%s', (_, read, expected) => {
  const found = refusals(read)
  expect(found.map((one, at) => one.slice(0, expected[at]?.length ?? 99))).toEqual(expected)
})
