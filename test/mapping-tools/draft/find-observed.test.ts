import { expect, test } from 'vitest'
import { draftedMapping, notes } from './drafting.ts'

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
    `DECIDE: which dates say when it was observed? ${named}`.replaceAll('"', ''),
  )
})

test('dates of birth are never those of an observation, by name nor by what they are', () => {
  for (const columns of [{ geb_dat: recent }, { Geburtsdatum: recent }, { 'date de naissance': recent }])
    expect(withDates(columns).text).toContain(PLACEHOLDER)
  const births = withDates({ date: decades })
  expect(births.text).toContain(PLACEHOLDER)
  expect(births.text).not.toContain('(ISO)')
  expect(withDates({ date: decades, tp: recent }).text).toContain('? tp (ISO): no name tells')
})

test('visits of the same people over decades are no births', () => {
  expect(withDates({ date: decades }, (at) => `${at % 4}`).text).toContain('observedAt: { from: date')
})
