import { expect, test } from 'vitest'
import { compilePattern, inOrder, matchExportName } from '../../src/extract/sources/source.ts'

const match = (pattern: string, name: string) => matchExportName(compilePattern(pattern), name)

test.each([
  ['acme_{date:yyyyMMdd}.csv*', 'acme_20260131.csv', '2026-01-31'],
  ['acme_{date:yyyyMMdd}.csv*', 'acme_20240229.csv.gz', '2024-02-29'],
  ['*_{date:yyyy-MM-dd}*.csv', 'a_b_2026-01-31_final.csv', '2026-01-31'],
  ['{date:ddLLLyy}.csv', '07MAR26.csv', '2026-03-07'],
  ["{date:yyyy'W'MM}.csv", '2026W11.csv', '2026-11-01'],
  ['{date:yyyyMMdd_HHmm}.csv', '20261231_2359.csv', '2026-12-31'],
])('%s matches %s', (pattern, name, date) => {
  expect(match(pattern, name)).toEqual({ date })
})

test.each([
  ['acme_{date:yyyyMMdd}.csv', 'acme_20260230.csv'],
  ['acme_{date:yyyyMMdd}.csv', 'acme_20261301.csv'],
  ['acme_{date:yyyyMMdd}.csv', 'acme_2026011.csv'],
  ['acme_{date:yyyyMMdd}.csv', 'acme_20260101.csv.part'],
  ['acme_{date:yyyyMMdd}.csv', 'ACME_20260101.csv'],
  ['a.csv', 'abcsv'],
  ['a+(b)[c].csv', 'aab[c].csv'],
])('%s does not match %s', (pattern, name) => {
  expect(match(pattern, name)).toBeUndefined()
})

test('a pattern without a date gives none', () => {
  expect(match('a+(b)[c]-$^|.csv', 'a+(b)[c]-$^|.csv')).toEqual({})
  expect(match('*', 'anything')).toEqual({})
})

test.each([
  '',
  'in/a.csv',
  'a_{date}.csv',
  'a_{date:}.csv',
  'a_{day:dd}.csv',
  'a_{date:yyyyMMdd.csv',
  'a}.csv',
])('%j is refused', (pattern) => {
  expect(() => compilePattern(pattern)).toThrow(expect.objectContaining({ code: 'job-invalid' }))
})

test.each(['{date:MMdd}', '{date:YYYYMMDD}', '{date:yyyy}', '{date:yyyyMMdd}{date:yyyyMMdd}', '{date:xx}'])(
  'a date that %s does not give is refused',
  (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(expect.objectContaining({ code: 'job-invalid' }))
  },
)

test('names stand oldest date first, then in code-unit order; others are left out', () => {
  const names = [
    'a_02012026.csv',
    'a_31122025.csv.gz',
    'a_31122025.csv',
    'a_01012026.csv',
    'a_99992026.csv',
    'b.csv',
  ]
  const items = names.map((name) => ({ name }))
  expect(inOrder(compilePattern('a_{date:ddMMyyyy}.csv*'), items).map(({ name }) => name)).toEqual([
    'a_31122025.csv',
    'a_31122025.csv.gz',
    'a_01012026.csv',
    'a_02012026.csv',
  ])
})
