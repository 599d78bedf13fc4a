import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry, MappedRow } from '../../src/model/entry.ts'
import type { Row } from '../../src/model/row.ts'
import type { ChunkRow } from '../../src/run/chunks.ts'
import { REJECT_COLUMNS, rejectsHeader, rejectsText } from '../../src/run/rejects.ts'
import { inert, revived } from '../../src/system/csv-text.ts'
import { biometric, careTeam, entryOf } from '../load/made-up-entries.ts'

const COLUMNS = ['one', 'two, quoted "so"', 'three']
const issue = { stage: 'transform', code: 'date-invalid', field: 'two', message: 'no date' } as const
const rejectedRow = (source: Row): ChunkRow => ({
  source,
  outcome: { row: source.row, line: source.line, byteOffset: source.byteOffset, outcome: 'rejected', issue },
})
const X = { name: 'x', exportId: '0123456789abcdef' }
const nothing = { outcomes: [], followUpFailures: [] }
const read = (columns: readonly string[] | undefined, text: string) =>
  parse(rejectsHeader(columns ?? ['_json']) + text, { columns: true }) as Record<string, string>[]

describe('rejects', () => {
  it('read back to the cells as they came, and have none that a spreadsheet program takes for a formula', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '',
        ' a ',
        '"',
        'a,b',
        'a\nb',
        'a\r\nb',
        'a\rb',
        '=1+1',
        '-5',
        '+49',
        '@x',
        '\t=1',
        "'-5",
        "''=1",
        "'",
        '\ufeff',
      ),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 }), (rows) => {
        const chunkRows = rows.map((cells, at) =>
          rejectedRow({ kind: 'cells', row: at + 1, line: at + 2, byteOffset: at, cells }),
        )
        const back = read(
          COLUMNS,
          rejectsText({ name: 'a, b.csv', exportId: 'e' }, COLUMNS, chunkRows, nothing),
        )
        expect(back.map((line) => COLUMNS.map((name) => revived(line[name] ?? '')))).toEqual(rows)
        for (const line of back)
          for (const one of Object.values(line)) expect(one).not.toMatch(/^[=+\-@\t\r]/)
        expect(back.map((line) => [line['_export'], line['_row'], line['_line'], line['_code']])).toEqual(
          rows.map((_, at) => ['a, b.csv', `0${at + 1}`, `${at + 2}`, 'date-invalid']),
        )
      }),
    )
  })

  it('hold a row that does not fit the columns as it came', () => {
    const text = '"broken, "row\r'
    const [line] = read(
      COLUMNS,
      rejectsText(
        X,
        COLUMNS,
        [
          rejectedRow({
            kind: 'unreadable',
            row: 1,
            line: 2,
            byteOffset: 0,
            fault: 'row-quote-broken',
            message: 'm',
            text,
          }),
        ],
        nothing,
      ),
    )
    expect(line).toMatchObject({ one: '', three: '', _raw: text })
  })

  it('hold a JSON row as it came', () => {
    const text = '{"a":"x,\\"y\\""}'
    const [line] = read(
      undefined,
      rejectsText(
        X,
        ['_json'],
        [rejectedRow({ kind: 'json', row: 1, line: 1, byteOffset: 0, value: null, text })],
        nothing,
      ),
    )
    expect(line).toMatchObject({ _json: text, _raw: '' })
  })

  it('have a line for each record and mark that did not get through, and none for the rest', () => {
    const entry = entryOf(biometric, { row: 1 })
    const asRead = (one: Entry, rejected: MappedRow['rejected'] = []): Entry => {
      const { row, line } = one.row
      const source = { kind: 'cells' as const, row, line, byteOffset: 0, cells: ['a', 'b', 'c'] }
      return Object.create(one, { row: { value: { ...one.row, source, rejected } } })
    }
    const [refused, fine, marked] = [
      asRead(entry, [{ kind: 'condition', rule: 'dx', issue }]),
      asRead(entryOf(biometric, { row: 2 })),
      asRead(entryOf(careTeam, { row: 3 })),
    ]
    const rows = [refused, fine, marked].map(({ row }): ChunkRow => ({ source: row.source, outcome: row }))
    const reason = {
      stage: 'submit',
      code: 'refused',
      message: 'the words',
      scrubbed: 'x',
      field: 'f',
    } as const
    const text = rejectsText(X, COLUMNS, rows, {
      outcomes: [
        { entry: refused, outcome: 'rejected', batchId: null, reason },
        { entry: fine, outcome: 'accepted', batchId: 'b', status: 201 },
        { entry: marked, outcome: 'accepted', batchId: 'b', status: 201 },
      ],
      followUpFailures: [{ entry: marked, reason: { ...reason, stage: 'primary-care' } }],
    })
    expect(read(COLUMNS, text).map((line) => REJECT_COLUMNS.slice(2, 8).map((name) => line[name]))).toEqual([
      ['01', '2', 'dx', 'transform', 'date-invalid', 'two: no date'],
      ['01', '2', 'systolic-bp', 'submit', 'refused', 'f: the words'],
      ['03', '4', 'pcp', 'primary-care', 'refused', 'the words'],
    ])
    expect(rejectsText(X, COLUMNS, rows.slice(1, 2), nothing)).toBe('')
  })
})

/** Beginnings that matter, in every order. */
const cell = fc
  .tuple(
    fc.array(fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '\n', ';', '＝', ' ', '5')),
    fc.string(),
  )
  .map(([start, rest]) => start.join('') + rest)

it('a cell comes back as it was, and begins like no formula meanwhile, wherever a program ends the cell before it', () => {
  fc.assert(
    fc.property(cell, (one) => {
      expect(revived(inert(one))).toBe(one)
      expect(inert(one)).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]|[;\t\r\n][=+\-@＝＋－＠]/)
    }),
  )
})

it.each([
  ['-5', "'-5"],
  ["'-5", "''-5"],
  ["O'Neill", "O'Neill"],
  ["'tis", "'tis"],
  ['a;=1', "a;'=1"],
  ["a;'=1", "a;''=1"],
  ['a\t@b\n+c', "a\t'@b\n'+c"],
  ['a; b', 'a; b'],
  ['a,=1', 'a,=1'],
  ['5.1', '5.1'],
  ['', ''],
])('%j is written as %j', (came, written) => {
  expect(inert(came)).toBe(written)
})

it('a number that was corrected needs no apostrophe', () => {
  expect([revived('-6'), revived('6'), revived("'-6")]).toEqual(['-6', '6', '-6'])
})
