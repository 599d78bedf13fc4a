import { describe, expect, it } from 'vitest'
import { ageText, fittedTable, folded, tonedRows } from '../../src/system/text-table.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

it.each([
  [-1, '0 min'],
  [0, '0 min'],
  [MINUTE - 1, '0 min'],
  [MINUTE, '1 min'],
  [HOUR - 1, '59 min'],
  [HOUR, '1 h'],
  [2 * HOUR - 1, '1 h'],
  [2 * DAY - 1, '47 h'],
  [2 * DAY, '2 d'],
  [3 * DAY - 1, '2 d'],
])('an age of %d ms is %s', (ms, text) => {
  expect(ageText(ms)).toBe(text)
})

const HEAD = ['Name', 'Rows', 'Sent', 'Note']
const ROWS = [
  ['clinic', '1', '12', 'two words'],
  ['a', '1,234', '5', ''],
]

const trimmed = (line: string): string => line.trimEnd()

describe('a table', () => {
  it.each([
    [
      'rest',
      [
        ...[' Name      Rows   Sent        Note ', ' clinic       1     12   two words '],
        ' a        1,234      5             ',
      ],
    ],
    [
      1,
      [
        ...['   Name   Rows    Sent   Note      ', ' clinic   1       12     two words '],
        '      a   1,234   5                ',
      ],
    ],
    [
      'none',
      [
        ...[' Name     Rows    Sent   Note      ', ' clinic   1       12     two words '],
        ' a        1,234   5                ',
      ],
    ],
    [
      { from: 1, to: 2 },
      [
        ...[' Name      Rows   Sent   Note      ', ' clinic       1     12   two words '],
        ' a        1,234      5             ',
      ],
    ],
  ] as const)('aligns numbers to the right: %j', (numbers, lines) => {
    expect(fittedTable(HEAD, ROWS, numbers, undefined).map(trimmed)).toEqual(lines.map(trimmed))
  })

  it('has a line for a row, whatever the row holds', () => {
    expect(fittedTable(['A'], [['x\ny'], ['\u001b[2J']], 'none', undefined).map(trimmed)).toEqual([
      ' A',
      ' x\\ny',
      ' \\u001b[2J',
    ])
  })
})

describe('folded lines', () => {
  it('stay where they fit, where nobody says a width, and where they are commands', () => {
    const lines = ['one two three', '    waybill run clinic --file a/b/c.csv', '']
    expect(folded(lines, undefined)).toEqual(lines)
    expect(folded(lines, 13)).toEqual(lines)
    expect(folded(['one two three'], 12)).toEqual(['one two', '         three'])
  })

  it('go on below their words: of a label, or as far in as they began', () => {
    expect(folded(['Because  one two three'], 14)).toEqual(['Because  one', '         two', '         three'])
    expect(folded(['one two three'], 8, 2)).toEqual(['one two', '  three'])
    expect(folded(['         one two'], 13)).toEqual(['         one', '         two'])
    expect(folded(['  one two'], 6)).toEqual(['  one', '  two'])
  })

  it('end exactly at the width', () => {
    expect(folded(['aa bb cc'], 5, 0)).toEqual(['aa bb', 'cc'])
    expect(folded(['aa bb cc'], 4, 0)).toEqual(['aa', 'bb', 'cc'])
  })
})

it('gives a row the tone of its first word', () => {
  const tones = new Map([
    ['late', 'bad'],
    ['done', 'good'],
  ] as const)
  expect(tonedRows([' State  Job', ' late   a', ' done   b', ' none   c'], tones)).toEqual([
    ' State  Job',
    { text: ' late   a', tone: 'bad' },
    { text: ' done   b', tone: 'good' },
    ' none   c',
  ])
})
