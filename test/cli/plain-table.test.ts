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

  it('is cut at the end of a word where the terminal is narrower, a line for each row', () => {
    expect(linesOf(60)).toEqual([
      ' count   reason     message',
      '    12   in-doubt   no answer came, and the profile …',
    ])
  })

  it('is dropped where fewer than 24 characters are left for it', () => {
    expect(linesOf(19 + 23)).toEqual([
      ' count   reason',
      '    12   in-doubt',
      ' (1 more column in a wider terminal)',
    ])
    expect(linesOf(19 + 24)[0]).toBe(' count   reason     message')
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

  it('drops the columns on the right, and says how many', () => {
    expect(shown(60)).toEqual([
      ' run                       state       rows',
      ` ${ID}   finished   6,312`,
      ` ${ID}   stopped       12`,
      ' (2 more columns in a wider terminal)',
    ])
  })

  it('never cuts an id, and is never wider than the terminal', () => {
    for (let columns = 26; columns <= 140; columns += 1) {
      const lines = shown(columns)
      expect(
        lines.filter((line) => line.includes(ID)),
        `${columns} columns`,
      ).toHaveLength(2)
      expect(
        lines
          .slice(1)
          .join(' ')
          .match(/\d{8}T\d{6}Z\S*/g),
      ).toEqual(expect.not.arrayContaining([expect.not.stringMatching(/^\d{8}T\d{6}Z-[0-9a-f]{6}$/)]))
      if (columns >= 38) expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns)
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
