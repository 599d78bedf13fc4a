import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ageText, fittedTable, folded, plainTable, tonedRows } from '../../src/system/text-table.ts'

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
    expect(plainTable(HEAD, ROWS, numbers)).toEqual(lines)
  })

  it('has a line for a row, whatever the row holds', () => {
    expect(plainTable(['A'], [['x\ny'], ['\u001b[2J']])).toEqual([
      ' A         ',
      ' x\\ny      ',
      ' \\u001b[2J ',
    ])
  })
})

describe('a table for a terminal', () => {
  const long = 'one two three four five six seven eight nine ten'
  const rows = [
    ['clinic', '1', '12', long],
    ['a', '1,234', '5', ''],
  ]
  const fitted = (columns: number | undefined): string[] =>
    fittedTable(HEAD, rows, { from: 1, to: 2 }, columns)

  it('is as wide as its words where nobody says the width', () => {
    expect(fitted(undefined).map(({ length }) => length)).toEqual([74, 74, 74])
  })

  it('folds the last column to what is left, and to no fewer than 24', () => {
    // With the blanks: 8 + 1 + 7 + 1 + 6 + 1 + 50.
    expect(fitted(74)).toEqual(fitted(undefined))
    expect(fitted(73)).toHaveLength(4)
    expect(fitted(48).map((line) => line.slice(24).trim())).toEqual([
      ...['Note', 'one two three four', 'five six seven eight', 'nine ten', ''],
    ])
  })

  it('puts columns that have no room below their row, with their names', () => {
    expect(fitted(47)).toEqual([
      ' Name      Rows   Sent ',
      ' clinic       1     12 ',
      '    Note one two three four five six seven',
      '    eight nine ten',
      ' a        1,234      5 ',
    ])
    // The first two columns and the blank between: 8 + 1 + 7.
    expect(fitted(16)).toEqual([
      ' Name      Rows ',
      ' clinic       1 ',
      ...['    Sent 12; Note one two', '    three four five six', '    seven eight nine ten'],
      ' a        1,234 ',
      '    Sent 5',
    ])
    expect(fitted(15)[0]).toBe(' Name   ')
    expect(fitted(1)[0]).toBe(' Name   ')
  })

  it('breaks no word, and loses none, in whatever width', () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,30}$/)
    const cells = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '))
    const table = fc.array(fc.tuple(word, word, cells), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(table, fc.integer({ min: 1, max: 120 }), (given, columns) => {
        const lines = fittedTable(['First', 'Second', 'Third'], given, 'none', columns)
        const shown = lines.join(' ').split(/[ ;]+/)
        for (const one of given.flat().flatMap((cell) => cell.split(' '))) expect(shown).toContain(one)
      }),
    )
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

it('gives a row and the lines below it the tone of its first word', () => {
  const tones = new Map([
    ['late', 'bad'],
    ['done', 'good'],
  ] as const)
  expect(tonedRows([' State  Job', ' late   a', '    because', ' done   b', ' none   c'], tones)).toEqual([
    ' State  Job',
    { text: ' late   a', tone: 'bad' },
    { text: '    because', tone: 'bad' },
    { text: ' done   b', tone: 'good' },
    { text: ' none   c', tone: 'good' },
  ])
})
