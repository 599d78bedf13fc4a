/** A header that comes again: in its order the rows below it are read, in another one nothing below it is. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { findOtherHeader } from '../../src/extract/second-header.ts'
import { brief, CSV, collect, exportFile, rowsOf } from './export-file.ts'
import { sheetRows, texts } from './workbook-file.ts'

const HEADER = ['participant', 'visited', 'sbp', 'dbp', 'weight']
const REST = 'rest-unreadable'
const row = (at: number): string[] => [`P-${at}`, '2026-02-04', '118', '76', '80']
const csv = (...lines: readonly (readonly string[])[]): string =>
  `${lines.map((one) => one.join()).join('\n')}\n`
const briefs = async (...lines: readonly (readonly string[])[]) => (await rowsOf(csv(...lines))).map(brief)

it('in another order is the last that is read, as one row for all below it', async () => {
  const swapped = ['participant', 'visited', 'dbp', 'sbp', 'weight']
  const rows = await rowsOf(csv(HEADER, row(1), swapped, row(2), row(3)))
  expect(rows.map(brief)).toEqual([row(1), REST])
  expect(rows[1]).toMatchObject({ row: 2, line: 3, text: swapped.join() })
})

it('with other columns, too: one renamed, one more, one less', async () => {
  const others = [
    ['participant', 'visited', 'sbp', 'dbp', 'weight_lb'],
    ['participant', 'site', 'visited', 'sbp', 'dbp', 'weight'],
    ['visited', 'sbp', 'dbp', 'weight'],
    ['site', 'participant', 'visited', 'sbp', 'dbp'],
    ['"participant"', ' visited', '"dbp"', 'sbp ', 'weight'],
  ]
  for (const other of others) expect(await briefs(HEADER, row(1), other, row(2))).toEqual([row(1), REST])
})

it('in its own order is a row, as are rows with a name in a cell', async () => {
  const named = ['P-9', 'visited', '118', '76', 'weight']
  const nameless = ['participant', '', '', '', '80']
  expect(await briefs(HEADER, row(1), HEADER, named, nameless, row(2))).toEqual([
    ...[row(1), HEADER, named, nameless, row(2)],
  ])
  const answers = ['dbp', 'sbp', 'weight', '3', '']
  expect(await briefs(HEADER, answers, row(2))).toEqual([answers, row(2)])
  const twice = readDefinition.parse({ format: 'csv', duplicates: 'number' })
  expect(await rowsOf('id,bp,bp\n1,120,80\nid,bp,bp\n2,121,81\n', twice)).toHaveLength(3)
})

it('is found again wherever reading begins', async () => {
  const lines = Array.from({ length: 700 }, (_, at) => row(at))
  const content = csv(HEADER, ...lines, HEADER.toReversed(), ...lines)
  const opened = await openExport(await exportFile(content), CSV)
  const rows = await collect(opened.rows())
  expect(rows).toHaveLength(701)
  for (const at of [0, 300, 699, 700]) {
    const from = rows[at]
    expect(from && (await collect(opened.rows(from)))).toEqual(rows.slice(at))
  }
})

it('ends a sheet, too', async () => {
  const sheet = [HEADER, row(1), HEADER.toReversed(), row(2)]
    .map((cells, at) => texts(at + 1, ...cells))
    .join('')
  expect((await sheetRows({ sheets: { Data: sheet } })).map(brief)).toEqual([row(1), REST])
})

it('never gives a row of a file under the columns of another one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(HEADER, { minLength: 5 }),
      fc.array(fc.nat(9), { maxLength: 4 }),
      async (order, people) => {
        const under = (names: readonly string[]) => people.map((at) => names.map((name) => `${name}=${at}`))
        const rows = await rowsOf(csv(HEADER, ...under(HEADER), order, ...under(order)))
        for (const one of rows)
          if (one.kind === 'cells' && one.cells.join() !== HEADER.join())
            for (const [at, name] of HEADER.entries()) expect(one.cells[at]).toMatch(`${name}=`)
      },
    ),
    { numRuns: 60 },
  )
})

/** Names of columns are small letters; whatever else is another name, or a value where it begins with a digit. */
it.each<[string, boolean]>([
  ['a b c d', false],
  ['b a c d', true],
  // A name in the second cell is enough, and none in both is not.
  ['X a b c', true],
  ['X Y a b c', false],
  // At least two different names, and fewer others than half.
  ['a X', false],
  ['a a X', false],
  ['a b X', true],
  ['a b X Y', false],
  ['a b c X', true],
  ['a b c X Y', true],
  ['a b c d X Y Z', true],
  ['a b c X Y Z', false],
  ['b a', true],
  ['b b a', true],
  ['b b', false],
  // A value makes a row of it.
  ['b a c 4', false],
  ['b a c -4', false],
  ['b a c X4', true],
  // Empty cells are no names.
  ['b _ _', false],
  ['_ b a _', true],
  ['_ _ b a', false],
])('cells %j are another header: %j', (text, expected) => {
  const cells = text.split(' ').map((cell) => (cell === '_' ? ' ' : cell))
  expect(findOtherHeader(['a', 'b', 'c', 'd', ''])(cells)).toBe(expected)
})
