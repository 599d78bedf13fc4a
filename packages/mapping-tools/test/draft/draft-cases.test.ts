import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { load } from '../../../../test/transform/mapping-under-test.ts'
import { draftCases } from '../../src/draft/draft-cases.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { draftText } from '../../src/draft/write-draft.ts'
import { vocabulary } from './drafting.ts'

/** Columns and rows as the cases of their draft. */
function casesOf(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = names.map((name) => ({ path: name, name }))
  const table = { read: { format: 'csv' }, notes: [], columns, rows }
  const sample = draftSample('tried', 'tried.csv', { kind: 'table', table }, vocabulary)
  return draftCases(sample, load(draftText(sample.draft, 's.json')), 's.json')
}

test('documents hold nothing of a person, nor what the mapping does not read', () => {
  const documents = ['Quux', 'Xyzzy'].map((name, at) => ({
    id: `${name}-1`,
    dob: `195${at}-06-07`,
    name,
    deceased: true,
    visit: { date: `2025-01-0${at + 1}`, sbp: `${118 + at}`, remark: `${name} was late` },
  }))
  const sample = draftSample('tried', 'tried.json', { kind: 'json', format: 'ndjson', documents }, vocabulary)
  const cases = draftCases(sample, load(draftText(sample.draft, 's.json')), 's.json')
  expect(cases.split('\n').filter((line) => line.includes('{'))).toEqual([
    '      {"id":"P-1","visit":{"date":"2026-02-03","sbp":"118"}}',
    '      {"id":"P-2","visit":{"date":"2026-02-04","sbp":"119"}}',
  ])
})

/** The rows of cases. */
const rowsOf = (cases: string): Record<string, string>[] =>
  z
    .object({ cases: z.array(z.object({ row: z.record(z.string(), z.string()) })) })
    .parse(parse(cases, { schema: 'failsafe' }))
    .cases.map(({ row }) => row)

const day = (from: number, years: number) =>
  fc.integer({ min: 0, max: years * 365 }).map((at) => {
    const [year = '', month = '', day = ''] = new Date(Date.UTC(from, 0, 1 + at))
      .toISOString()
      .slice(0, 10)
      .split('-')
    return `${day}.${month}.${year}`
  })
/** No made-up text holds one of these by chance. */
const word = fc.stringMatching(/^[QXZqxz]{5,9}$/)
const digits = (least: number, most: number) => fc.integer({ min: least, max: most }).map(String)

const PERSONAL = {
  PatNr: digits(7_000_000, 7_999_999),
  Nachname: word,
  Vorname: word,
  Geburtsdatum: day(1930, 40),
  PLZ: digits(70_000, 79_999),
  Untersuchungsdatum: day(2024, 1),
}
const UNRECOGNISED = {
  Bemerkung: word,
  'E-Mail': word.map((name) => `${name}@${name}.example`),
  Telefon: digits(1_000_000_000, 4_000_000_000).map((number) => `0${number}`),
  Hausarzt: word.map((name) => `Dr. ${name}`),
  Zugang: day(2021, 2),
  Fallnummer: digits(8_000_000, 8_999_999),
}
const MEASURED = {
  'HDL (mg/dL)': digits(35, 80),
  Puls: fc.oneof({ weight: 12, arbitrary: digits(50, 99) }, { weight: 1, arbitrary: word }),
  'Diabetes (ja/nein)': fc.constantFrom('ja', 'nein'),
  Geschlecht: fc.constantFrom('w', 'm', 'd'),
}

test('no cell of a person or of an unknown column stands in the cases, whatever the sample', () => {
  const row = fc.record({ ...PERSONAL, ...UNRECOGNISED, ...MEASURED })
  const names = [...Object.keys(PERSONAL), ...Object.keys(UNRECOGNISED), ...Object.keys(MEASURED)]
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 30 }),
      fc.shuffledSubarray(names, { minLength: 4 }),
      (rows, some) => {
        // Something must be recognised for there to be a mapping.
        const kept = [...some.filter((name) => name !== 'HDL (mg/dL)'), 'HDL (mg/dL)']
        const cells = rows.map((one) =>
          kept.map((name) => Object.entries(one).find(([key]) => key === name)?.[1] ?? ''),
        )
        const cases = casesOf(kept, cells)
        const secret = cells.flat().filter((cell) => cell.length >= 5 && cell !== 'nein')
        expect(secret.filter((cell) => cases.includes(cell))).toEqual([])
      },
    ),
    { numRuns: 15 },
  )
})

test('findings keep code, value and unit together, and nobody to whom they belong', () => {
  const cases = rowsOf(
    casesOf(
      ['patient', 'taken', 'code', 'result', 'units', 'comment'],
      [
        ['Quux-1', '2021-05-06', '4548-4', '5.1', '%', 'phoned'],
        ['Quux-2', '2021-05-07', '8480-6', 'he refused', 'mmHg', ''],
        ['Quux-3', '2021-05-08', '8480-6', '118', 'mmHg', ''],
      ],
    ),
  )
  expect(cases).toEqual([
    { patient: 'P-1', taken: '2026-02-03', code: '4548-4', result: '5.1', units: '%' },
    { patient: 'P-2', taken: '2026-02-04', code: '8480-6', units: 'mmHg' },
    { patient: 'P-3', taken: '2026-02-05', code: '8480-6', result: '118', units: 'mmHg' },
  ])
})

test('no visit of the sample stands there: columns go up beside each other, whoever the values were of', () => {
  const rows = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((at) => [`${at}`, `${50 + at}`, `${118 - at}`])
  // Middle cells of each third of nine cells in order: the second, the fifth, the eighth.
  expect(rowsOf(casesOf(['id', 'hdl', 'sbp'], rows))).toEqual([
    { id: 'P-1', hdl: '51', sbp: '111' },
    { id: 'P-2', hdl: '54', sbp: '114' },
    { id: 'P-3', hdl: '57', sbp: '117' },
  ])
})
