/** Finders of a draft, each alone: forms of dates, units by name and by size, texts of fasting. */
import { expect, it } from 'vitest'
import { holdsStates } from '../../src/draft/coded-rules.ts'
import { type findFasting, glucoseRules } from '../../src/draft/fasting.ts'
import { createDateFinder } from '../../src/draft/find-dates.ts'
import { matchUnit } from '../../src/draft/match-units.ts'
import { draftedMapping, draftedRecords, notes, rules, vocabulary } from './drafting.ts'

const find = createDateFinder([
  'HL7',
  'ISO',
  'yyyy-MM-dd HH:mm',
  'dd.MM.yyyy',
  'MM/dd/yyyy',
  'dd/MM/yyyy',
  'dd-MMM-yy',
])
const times = (count: number, cell: string): string[] => Array.from({ length: count }, () => cell)
const forms = (form: string, more: object = {}) => ({
  ...{ forms: [form], ambiguous: false, timed: false, offset: false, unread: 0 },
  ...more,
})

it.each([
  ['a day', ['2026-03-02'], false, forms('ISO')],
  ['a day and a time', ['2026-03-02 07:15'], false, forms('yyyy-MM-dd HH:mm', { timed: true })],
  ['an instant', ['2026-03-02T07:15:00Z'], false, forms('ISO', { timed: true, offset: true })],
  [
    'one of two with an offset',
    ['2026-03-02T07:15:00Z', '2026-03-02T07:15:00'],
    false,
    forms('ISO', { timed: true }),
  ],
  ['eight digits', ['20260302'], false, forms('HL7')],
  ['fourteen digits', ['20260302071500'], false, forms('HL7', { timed: true })],
  [
    'fourteen digits and an offset',
    ['20260302071500-0500'],
    false,
    forms('HL7', { timed: true, offset: true }),
  ],
  ['the day first', ['25.04.2026'], false, forms('dd.MM.yyyy')],
  ['the month named', ['02-Mar-26'], false, forms('dd-MMM-yy')],
  [
    'day and month that may be swapped',
    ['03/02/2026', '04/05/2026'],
    false,
    forms('MM/dd/yyyy', { ambiguous: true }),
  ],
  ['the month first, as one day is 25', ['03/02/2026', '04/25/2026'], false, forms('MM/dd/yyyy')],
  ['the day first, as one is 25', ['03/02/2026', '25/04/2026'], false, forms('dd/MM/yyyy')],
  ['milliseconds, by the name', ['1772436600000'], true, forms('EPOCH_MS', { timed: true, offset: true })],
  ['milliseconds without a name', ['1772436600000'], false, undefined],
  ['days of a sheet, by the name', ['46083'], true, forms('EXCEL', { ambiguous: true })],
  [
    'days of a sheet with a time',
    ['46083', '46083.5'],
    true,
    forms('EXCEL', { ambiguous: true, timed: true }),
  ],
  ['years from 1880 to 2100', ['1880-01-01', '2100-12-31'], false, forms('ISO')],
  ['a year before', ['1879-12-31'], false, undefined],
  ['a year after', ['2101-01-01'], false, undefined],
  ['one of twenty that is none', [...times(19, '2026-03-02'), 'x'], false, forms('ISO', { unread: 1 })],
  ['one of nineteen that is none', [...times(18, '2026-03-02'), 'x'], false, undefined],
  [
    'another form in one of fifty',
    [...times(49, '2026-03-02'), '25.04.2026'],
    false,
    forms('ISO', { unread: 1 }),
  ],
  [
    'another form in one of forty-nine',
    [...times(48, '2026-03-02'), '25.04.2026'],
    false,
    forms('ISO', { forms: ['ISO', 'dd.MM.yyyy'] }),
  ],
  ['no date', ['x'], false, undefined],
  ['nothing', [], true, undefined],
] as const)('%s', (_, cells, named, found) => {
  expect(find(cells, named)).toEqual(found)
})

const unitOf = (key: string, numbers: readonly number[], named?: string, filled = numbers.map(String)) => {
  const entry = vocabulary.catalog.biometrics.get(key) ?? expect.fail()
  return matchUnit(key, entry, { filled, numbers }, named, vocabulary)
}
const found = (unit: string | undefined, how: unknown = undefined) => ({ kind: 'found', unit, how })
const asks = (words: string) => expect.objectContaining({ ask: expect.stringContaining(words) })

it.each([
  ['body-weight', [70, 80], 'kg', found(undefined)],
  ['body-weight', [150, 200], 'lb', found('lb')],
  ['body-weight', [9_999], 'kg', { kind: 'implausible', unit: 'kg' }],
  // Both would be plausible: the usual of people decides.
  ['body-weight', [70, 80], undefined, found(undefined, asks('kg or lb would be plausible'))],
  ['body-weight', [180, 200], undefined, found('lb', asks('kg or lb would be plausible'))],
  ['body-height', [170, 180], undefined, found(undefined)],
  ['glucose', [90, 100], undefined, found(undefined, asks('mg/dL by the size of the values'))],
  ['glucose', [5, 6], undefined, found('mmol/L', asks('mmol/L by the size of the values'))],
  ['total-cholesterol', [5], undefined, found('mmol/L', asks('mmol/L by the size of the values'))],
  // Laboratories in France report grams a litre: a hundredth of the number in mg/dL.
  ['glucose', [0.9, 1], undefined, found('g/L', asks('g/L by the size of the values'))],
  ['total-cholesterol', [1.9, 2.1], undefined, found('g/L', asks('g/L by the size of the values'))],
  ['hdl-cholesterol', [0.45, 0.6], undefined, found('g/L', asks('g/L by the size of the values'))],
  ['triglycerides', [1.1, 1.3], undefined, { kind: 'unclear', units: ['mmol/L', 'g/L'] }],
  ['heart-rate', [70], undefined, found(undefined)],
  ['heart-rate', [9_999], undefined, { kind: 'implausible', unit: '/min' }],
] as const)('%s of %j, named %s', (key, numbers, named, match) => {
  expect(unitOf(key, numbers, named)).toEqual(match)
})

it('heights in feet and inches are known by their form', () => {
  expect(unitOf('body-height', [], undefined, [`5'10"`, `6'1"`])).toEqual({ kind: 'feet-and-inches' })
  expect(unitOf('body-height', [170], undefined, [`5'10"`, '170'])).not.toEqual({ kind: 'feet-and-inches' })
})

const glucose = (...cells: readonly string[]) =>
  draftedMapping(
    `id,glucose mg/dl,fasting\n${cells.map((cell, at) => `${at + 1},9${at},${cell}`).join('\n')}\n`,
  )
const glucoseOf = (...cells: readonly string[]): string[] =>
  rules(glucose(...cells)).filter((rule) => rule.includes('glucose'))

it('glucose has a rule for each meaning of the column of fasting', () => {
  const [fasting, other, ...more] = glucoseOf('Y', 'N', 'Y')
  expect(more).toEqual([])
  expect(fasting).toMatch(/^glucose-fasting: .*when: \{ fasting: \[?"?Y/)
  expect(other).toMatch(/^glucose: .*when: \{ fasting: .*N/)
})

it.each([
  // Two texts that nobody knows, one of them longer than shown.
  [
    'texts of no meaning',
    ['Q', 'unknown to us'],
    /which texts of fasting mean fasting \(Q and 1 longer text\)\?/,
  ],
  ['an F alone, which may be fasting or false', ['F', 'F'], /which texts of fasting mean fasting \(F\)\?/],
  ['codes, of which 1 need not mean yes', ['1', '2'], /which texts of fasting mean fasting \("1", "2"\)\?/],
  ['hours', ['12', '2'], />=.*8|which texts of fasting mean fasting/],
])('asks about %s', (_, cells, asked) => {
  expect(
    notes(glucose(...cells))
      .concat(glucoseOf(...cells))
      .join('\n') + JSON.stringify(glucose(...cells).draft),
  ).toMatch(asked)
})

it('asks for texts beside those that it knows, short ones by name and longer ones by number', () => {
  const column = { path: 'f', numbers: [] } as unknown as NonNullable<
    ReturnType<typeof findFasting>
  >['column']
  const asked = (...others: string[]): unknown =>
    glucoseRules('from: g', { column, yes: ['Y'], no: ['N'], others })[1]?.[2]
  expect(asked()).toBeUndefined()
  expect(JSON.stringify(asked('Q'))).toContain('Q of f: fasting, or not?')
  expect(JSON.stringify(asked('Q', 'abcd'))).toContain('Q and 1 longer text of f')
  expect(JSON.stringify(asked('abc', 'R', 'abcd', 'abcde'))).toContain('abc, R and 2 longer texts of f')
})

// A cell of whole numbers counts the records of each list, or has a value that nobody knows.
it.each([
  ['one list', ['1', '2', '3'], true],
  ['two lists', ['1', '2', '1', '2', '3'], true],
  ['lists of one', ['1', '1'], true],
  ['a single number', ['1'], false],
  ['a number that is left out', ['1', '2', '4'], false],
  ['a list that begins with 2', ['2', '3'], false],
  ['the same number twice', ['1', '2', '2'], false],
  ['parts of a number', ['1', '1.5'], false],
] as const)('places of records: %s', (_, cells, isCounted) => {
  const asked = notes(draftedRecords(...cells.map((cell) => ['RES', cell])))
  expect(asked.some((text) => text.includes('has numbers without known codes'))).toBe(!isCounted)
})

const RESULTS: readonly (readonly string[])[] = [
  ['RES', 'HBA1C', '5.5', '%', '4.0-6.0', 'F'],
  ['RES', 'LDL', '99', 'mg/dL', '<130', 'F'],
  ['RES', 'HDL', '45', 'mg/dL', '>40', 'F'],
]
/** The parts of results that a draft finds, with another text in all cells of a place, from 1; or in that of the last record. */
function partsWith(place: number, cell: string, last = false): string[] {
  const results = RESULTS.map((cells, at) => (last && at < 2 ? cells : cells.with(place - 1, cell)))
  const text = rules(draftedRecords(...results)).join('\n')
  return [...text.matchAll(/(value|unit|refRange|status): (?:\{ from: )?res\.cell_(\d)/g)].map(
    ([, part, at]) => `${part} ${at}`,
  )
}
const [VALUE, UNIT, RANGE, STATUS] = ['value 3', 'unit 4', 'refRange 5', 'status 6']

it.each([
  ['as they are', 1, 'RES', [VALUE, UNIT, RANGE, STATUS]],
  ['letters that are units and flags', 4, 'H', [VALUE, RANGE, STATUS]],
  ['units in letters, too', 4, 'g', [VALUE, RANGE, STATUS]],
  ['words for units', 4, 'much', [VALUE, RANGE, STATUS]],
  ['words for ranges', 5, 'usual', [VALUE, UNIT, STATUS]],
  ['a range below', 5, '<= 5,5', [VALUE, UNIT, RANGE, STATUS]],
  ['a text that holds a range', 5, 'about 4-6', [VALUE, UNIT, STATUS]],
  ['states in words', 6, 'final', [VALUE, UNIT, RANGE, STATUS]],
  ['letters that are no states of results', 6, 'Y', [VALUE, UNIT, RANGE]],
] as const)('cells of results: %s', (_, place, text, parts) => {
  expect(partsWith(place, text)).toEqual(parts)
})

it.each([
  ['a unit that nobody knows', 4, 'much', [VALUE, RANGE, STATUS]],
  ['a range in words', 5, 'usual', [VALUE, UNIT, STATUS]],
  ['no state', 6, 'Y', [VALUE, UNIT, RANGE]],
] as const)('cells of results, one of three with %s', (_, place, text, parts) => {
  expect(partsWith(place, text, true)).toEqual(parts)
})

// HL7 table 0085: F final, C corrected, P preliminary, X not obtained. P and F alone are abbreviations of anything.
it.each([
  [['F'], false],
  [['F', 'C'], true],
  [['F', 'P'], true],
  [['P', 'X'], false],
  [['F', 'Y'], false],
  [['Final'], true],
  [['final', 'PRELIMINARY'], true],
  [['final', 'F'], false],
  [[], false],
] as const)('states of results: %j', (texts, isState) => {
  expect(holdsStates({ distinct: new Set<string>(texts) }, vocabulary.words)).toBe(isState)
})
