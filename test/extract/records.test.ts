import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import type { Row } from '../../src/model/row.ts'
import { brief, exportFile, rowsOf } from './export-file.ts'

const READ = {
  format: 'records',
  delimiter: '|',
  row: 'PID',
  types: {
    PID: ['patient', 'born'],
    OBR: ['order', 'at'],
    OBX: { in: 'OBR', columns: ['code', 'value'] },
  },
  skip: ['HDR'],
  count: { type: 'TRL', cell: 1 },
} as const
const records = readDefinition.parse(READ)
const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join('')

describe('records of several types', () => {
  test('become rows, each record in the one that it belongs to', async () => {
    const rows = await rowsOf(
      lines(
        ...['HDR|2026', 'PID|p1|1970', 'OBR|o1|2026-03-02', 'OBX|4548-4|5.1', 'OBX|8867-4|"6|1"', 'OBR|o2'],
        ...['', 'OBX|2345-7|90', 'PID|p2|1980', 'PID|p3||', 'TRL|3'],
      ),
      records,
    )
    expect(rows.map(brief)).toEqual([
      {
        patient: 'p1',
        born: '1970',
        OBR: [
          {
            ...{ order: 'o1', at: '2026-03-02' },
            OBX: [
              { code: '4548-4', value: '5.1' },
              { code: '8867-4', value: '6|1' },
            ],
          },
          { order: 'o2', at: '', OBX: [{ code: '2345-7', value: '90' }] },
        ],
      },
      { patient: 'p2', born: '1980' },
      { patient: 'p3', born: '' },
    ])
    expect(rows.map(({ row, line }) => [row, line])).toEqual([
      [1, 2],
      [2, 9],
      [3, 10],
    ])
  })

  test('of fixed widths are told by their first characters', async () => {
    const read = readDefinition.parse({
      ...{ format: 'records', typeWidth: 2, row: 'P' },
      types: {
        P: { columns: ['patient', 'name'], widths: [4, 6] },
        R: { columns: ['code', 'value'], widths: [3, 5] },
      },
    })
    const rows = await rowsOf(lines('P 0001Ann', 'R A1C  5.1', 'R LDL  130', 'P 0002Benno '), read)
    expect(rows.map(brief)).toEqual([
      {
        ...{ patient: '0001', name: 'Ann' },
        R: [
          { code: 'A1C', value: '  5.1' },
          { code: 'LDL', value: '  130' },
        ],
      },
      { patient: '0002', name: 'Benno ' },
    ])
  })

  test.each([
    ['a type that nobody has named', ['PID|p1', 'ZZZ|1'], 1, 'row-record-misplaced', 'does not name'],
    ['a record before its own', ['PID|p1', 'OBX|a|1'], 1, 'row-record-misplaced', 'OBX precedes any OBR'],
    [
      'a line before any row',
      ['OBR|o1', 'PID|p1'],
      1,
      'row-record-misplaced',
      'precedes any record of the type PID',
    ],
    ['a cell too many', ['PID|p1|1970|more'], 1, 'row-too-long', 'PID has 3 cells'],
    ['a broken quote', ['PID|p1', 'OBR|"o"1'], 1, 'row-quote-broken', 'quote'],
  ])('%s costs one row, and is told', async (_what, given, row, fault, message) => {
    const rows = await rowsOf(lines(...given, 'PID|last|1990'), records)
    expect(rows.at(row - 1)).toMatchObject({ kind: 'unreadable', fault })
    expect(rows.at(row - 1)).toMatchObject({ message: expect.stringContaining(message) })
    expect(brief(rows.at(-1) ?? expect.fail())).toEqual({ patient: 'last', born: '1990' })
  })

  test.each([
    ['NTE', ['OBX|c|1', 'OBR|o2', 'NTE|n'], 'a record of the type NTE precedes any OBX'],
    ['ZNT', ['OBX|c|1', 'NTE|n', 'OBR|o2', 'ZNT|z'], 'a record of the type ZNT precedes any NTE'],
  ])('never belong to one that is over: %s', async (_type, given, message) => {
    const types = {
      ...READ.types,
      NTE: { in: 'OBX', columns: ['note'] },
      ZNT: { in: 'NTE', columns: ['more'] },
    }
    const read = readDefinition.parse({ ...READ, types })
    const [row] = await rowsOf(lines('PID|p', 'OBR|o1', ...given), read)
    expect(row).toMatchObject({ kind: 'unreadable', fault: 'row-record-misplaced', message })
  })

  test('are counted against what the file says of its rows', async () => {
    const total = async (...all: string[]) =>
      (await openExport(await exportFile(lines(...all)), records)).controlTotal()
    expect(await total('PID|a', 'OBR|o', 'PID|b', 'TRL|2')).toEqual({ stated: 2, found: 2 })
    expect(await total('PID|a', 'TRL|2')).toEqual({ stated: 2, found: 1 })
    await expect(total('PID|a')).rejects.toMatchObject({ code: 'export-unreadable' })
    await expect(rowsOf(lines('HDR|1', 'TRL|0'), records)).rejects.toMatchObject({ code: 'export-empty' })
  })

  test('are the same, read from each of their rows on', async () => {
    const line = fc.oneof(
      fc.constantFrom('PID|p|1970', 'OBR|o|x', 'OBX|c|1', 'OBX|c|"a|b"', 'HDR|1', '', 'ZZZ|1', 'OBX|c|1|2'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 25 }), async (given) => {
        const file = await exportFile(lines('PID|first', ...given))
        const opened = await openExport(file, records)
        const from = async (origin?: Row) => (await Array.fromAsync(opened.rows(origin))).flat()
        const rows = await from()
        for (const [at, row] of rows.entries()) expect(await from(row)).toEqual(rows.slice(at))
        expect(rows.map(({ row }) => row)).toEqual(rows.map((_, at) => at + 1))
      }),
      { numRuns: 25 },
    )
  })
})

test.each([
  [{ row: 'XXX' }, 'is none of the types'],
  [{ types: { PID: ['a'], OBX: { in: 'OBR', columns: ['b'] } } }, 'leads to no row'],
  [
    { types: { PID: ['a'], A: { in: 'B', columns: ['b'] }, B: { in: 'A', columns: ['c'] } } },
    'leads to no row',
  ],
  [{ types: { PID: ['a', 'OBR'], OBR: ['b'] } }, 'has a column with the name of the type OBR'],
  [{ types: { PID: ['a', 'a'] } }, 'names a column more than once'],
  [{ types: { PID: ['a'] }, skip: ['PID'] }, 'is listed in `skip`, too'],
  [{ typeWidth: 3 }, 'either all types have widths, or none'],
])('a definition with %j is refused', (more, message) => {
  const parsed = readDefinition.safeParse({ ...READ, ...more })
  expect(parsed.error?.issues.map((issue) => issue.message).join()).toContain(message)
})
