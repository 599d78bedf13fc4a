import { expect, test } from 'vitest'
import { draftedMapping, notes, vocabulary } from './drafting.ts'

test.each([
  [['2026-02-04', '2026-12-31'], ['ISO'], false],
  [['2026-02-04T09:10:00Z'], ['ISO'], false],
  [['2026-02-04 09:10'], ['yyyy-MM-dd HH:mm'], false],
  [['02/14/2026', '01/02/2026'], ['MM/dd/yyyy'], false],
  [['14/02/2026', '01/02/2026'], ['dd/MM/yyyy'], false],
  [['01/02/2026', '03/04/2026'], ['MM/dd/yyyy'], true],
  [['2/14/2026', '11/2/2026'], ['M/d/yyyy'], false],
  [['14.02.2026 8:05'], ['dd.MM.yyyy H:mm'], false],
  [['02/14/2026 01:10 PM'], ['MM/dd/yyyy hh:mm a'], false],
  [['20260214', '20260101'], ['HL7'], false],
  [['20260214091059'], ['HL7'], false],
  [['14-Feb-2026'], ['dd-MMM-yyyy'], false],
  [
    ['02/14/2026 09:10', '02/15/2026 09:10', '2026-02-14 09:10'],
    ['MM/dd/yyyy HH:mm', 'yyyy-MM-dd HH:mm'],
    false,
  ],
] as const)('%j', (cells, forms, ambiguous) => {
  expect(vocabulary.findDates(new Set(cells), false)).toMatchObject({ forms, ambiguous })
})

test.each([
  ['118', '76'],
  ['12345678', '87654321'],
  ['5-11', '6-0'],
  ['555-555-0100'],
  ['46057'],
  ['1790000000000'],
  [],
])('%j are no dates', (...cells) => {
  expect(vocabulary.findDates(new Set(cells), false)).toBeUndefined()
})

test('numbers alone are dates where the name says so', () => {
  expect(vocabulary.findDates(new Set(['46057.5']), true)?.forms).toEqual(['EXCEL'])
  expect(vocabulary.findDates(new Set(['1790000000000']), true)?.forms).toEqual(['EPOCH_MS'])
})

test('where the name of a column ends in a word for dates, numbers alone are dates', () => {
  const { text } = draftedMapping('id,Messdatum,sbp\n1,46057,118\n2,46058,120')
  expect(text).toContain('observedAt: { from: Messdatum, format: EXCEL, zone: UTC }')
})

test('a column may mix three forms, and no more', () => {
  const three = ['2026-02-14', '14.02.2026', '02/14/2026']
  expect(vocabulary.findDates(new Set(three), false)?.forms).toHaveLength(3)
  expect(vocabulary.findDates(new Set([...three, '14-Feb-2026']), false)).toBeUndefined()
})

const often = (count: number, ...cells: readonly string[]) =>
  Array.from({ length: count }, () => cells).flat()

test.each([
  [[...often(19, '14.02.2026'), 'morgens'], ['dd.MM.yyyy'], 1],
  [[...often(60, '2026-02-14', '2026-02-15'), '2026-02-30'], ['ISO'], 1],
  [[...often(19, '46057'), 'n/a'], ['EXCEL'], 1],
  [[...often(18, '14.02.2026'), 'morgens', 'abends'], undefined, 0],
] as const)('a column of dates may hold a few cells that are none: %#', (cells, forms, unread) => {
  const found = vocabulary.findDates(cells, true)
  expect(found?.forms).toEqual(forms)
  expect(found?.unread ?? 0).toBe(unread)
})

test('one cell that is no date does not hide that day and month could change places', () => {
  const found = vocabulary.findDates([...often(60, '01/02/2026', '03/04/2026'), 'x', '31/31/2026'], false)
  expect(found).toMatchObject({ ambiguous: true, unread: 2 })
})

/** A draft of columns of dates beside a person and a measurement; each column from its own dates. */
const withDates = (
  columns: Readonly<Record<string, (at: number) => string>>,
  person = (at: number) => `${at}`,
) =>
  draftedMapping(
    [
      ['patient id', ...Object.keys(columns), 'sbp'].join(','),
      ...Array.from({ length: 20 }, (_, at) =>
        [person(at), ...Object.values(columns).map((date) => date(at)), 118 + at].join(','),
      ),
    ].join('\n'),
  )
const recent = (at: number): string => `2026-02-${10 + (at % 18)}`
const decades = (at: number): string => `${1938 + at * 3}-03-04`

const PLACEHOLDER = 'observedAt: { constant: "1900-01-01T00:00:00.000Z" }'

test('one column that is called so', () => {
  expect(withDates({ visit_date: recent, other: recent }).text).toContain('observedAt: { from: visit_date')
  expect(withDates({ Datum: recent, Termin: recent }).text).toContain('observedAt: { from: Datum')
})

test.each([
  ['names tie', { 'date a': recent, 'date b': recent }, '"date a" (ISO) or "date b" (ISO)'],
  ['the only name says nothing', { tp1: recent }, 'tp1 (ISO)'],
] as const)('where %s, nobody guesses: all that it could be are named', (_, columns, named) => {
  const drafted = withDates(columns)
  expect(drafted.text).toContain(PLACEHOLDER)
  expect(drafted.text).toContain('key: [patient id]')
  expect(notes(drafted).join('\n').replaceAll('"', '')).toContain(
    `DECIDE: which column is the observation date? ${named}`.replaceAll('"', ''),
  )
})

test('dates of birth are never those of an observation, by name nor by what they are', () => {
  for (const columns of [{ geb_dat: recent }, { Geburtsdatum: recent }, { 'date de naissance': recent }])
    expect(withDates(columns).text).toContain(PLACEHOLDER)
  const births = withDates({ date: decades })
  expect(births.text).toContain(PLACEHOLDER)
  expect(births.text).not.toContain('(ISO)')
  expect(withDates({ date: decades, tp: recent }).text).toContain('? tp (ISO): the names do not decide')
})

test('visits of the same people over decades are no births', () => {
  expect(withDates({ date: decades }, (at) => `${at % 4}`).text).toContain('observedAt: { from: date')
})
