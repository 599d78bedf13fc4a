import { describe, expect, it } from 'vitest'
import { ageText, fittedTable } from '../../src/system/text-table.ts'

const HEAD = ['count', 'reason', 'message']
const WORDS =
  'no answer came, and the profile cannot tell whether the record was stored anywhere at all, ever'
const ROWS = [['12', 'in-doubt', WORDS]]
const linesOf = (columns: number | undefined): string[] => fittedTable(HEAD, ROWS, 1, columns)

describe('a table with words', () => {
  it('is as wide as they are where there is no terminal', () => {
    const [, line = '', ...rest] = linesOf(undefined)
    expect(line.trim()).toBe(`12   in-doubt   ${WORDS}`)
    expect(rest).toEqual([])
  })

  it('is no wider than the terminal, and loses no word', () => {
    const lines = linesOf(60)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60)
    expect(lines.slice(1).join(' ').replaceAll(/\s+/g, ' ').trim()).toBe(`12 in-doubt ${WORDS}`)
  })

  it('does not break words apart in a terminal that is narrower than the other columns', () => {
    const lines = linesOf(10)
    expect(lines[1]).toMatch(/^ +12 +$/)
    expect(lines.slice(2).join(' ').replaceAll(/\s+/g, ' ').trim()).toBe(`reason in-doubt; message ${WORDS}`)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(4 + 24)
  })
})

describe('a table of many columns in a narrow terminal', () => {
  const ID = '20261121T233100Z-8ca20f'
  const MANY = ['run', 'state', 'rows', 'reason', 'see also']
  const TWO = [
    [ID, 'finished', '6,312', 'registration-incomplete 87', `takes up ${ID}`],
    [ID, 'stopped', '12', 'in-doubt 1', ''],
  ]
  const shown = (columns: number): string[] => fittedTable(MANY, TWO, { from: 2, to: 2 }, columns)

  it('keeps the columns that fit, and puts the others below each row with their names', () => {
    expect(shown(60).map((line) => line.trimEnd())).toEqual([
      ' run                       state       rows',
      ` ${ID}   finished   6,312`,
      '    reason registration-incomplete 87; see also takes up',
      `    ${ID}`,
      ` ${ID}   stopped       12`,
      '    reason in-doubt 1',
    ])
  })

  it('never cuts an id, however wide the terminal is', () => {
    const ids = (lines: readonly string[]): number => lines.join('\n').split(ID).length - 1
    for (let columns = 20; columns <= 140; columns += 1) {
      expect(ids(shown(columns)), `${columns} columns`).toBe(3)
      if (columns >= 40)
        expect(Math.max(...shown(columns).map(({ length }) => length))).toBeLessThanOrEqual(columns)
    }
  })
})

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe('the age of a run', () => {
  it.each([
    [-5 * MINUTE, '0 min'],
    [MINUTE - 1, '0 min'],
    [MINUTE, '1 min'],
    [HOUR - 1, '59 min'],
    [HOUR, '1 h'],
    [48 * HOUR - 1, '47 h'],
    [48 * HOUR, '2 d'],
    [72 * HOUR - 1, '2 d'],
    [72 * HOUR, '3 d'],
  ])('of %i ms is %s', (ms, text) => expect(ageText(ms)).toBe(text))
})

it('the last column stands beside the others from where 24 characters are left for it, and below them before', () => {
  const lines = (columns: number) =>
    fittedTable(['name', 'what it says'], [['one', 'some words that go on and on for long']], 'rest', columns)
  // ` name ` and a blank.
  expect(lines(7 + 24)[0]).toMatch(/^ name +what it says/)
  expect(lines(7 + 23)[0]).toBe(' name ')
})
