/** Findings of `check` at their edges (docs/judging.md): one row or one value less, and there is none. */
import { expect, it } from 'vitest'
import { createFitWatch } from '../../src/watch/judge-fit.ts'
import { load, NOW } from '../transform/mapping-under-test.ts'

const COLUMNS = ['id', 'person', 'at', 'weight', 'height', 'sick', 'skip'] as const
type Row = Partial<Record<(typeof COLUMNS)[number], string>>

const mappingOf = (
  rules: string,
  dates = 'format: yyyy-MM-dd HH:mm, zone: America/New_York',
  more = '',
): string => `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: person }, observedAt: { from: at, ${dates} }, source: { name: N, type: t }, skipWhen: { skip: Y }${more} }
${rules}
`
const WEIGHT = 'biometrics: { body-weight: weight }'
const SICK = 'conditions: { asthma: { when: { sick: Y }, status: active } }'

/** `finding rule: message` of each. */
function found(
  rows: readonly Row[],
  mapping = mappingOf(WEIGHT),
  columns: readonly string[] = COLUMNS,
): string[] {
  const loaded = load(mapping)
  const map = loaded.compiled.bind(columns, 'export', NOW)
  const watch = createFitWatch(loaded, columns)
  for (const [at, given] of rows.entries()) {
    const row: Row = { id: `${at}`, person: `p${at}`, at: `2026-02-1${at % 9} 1${at % 9}:00`, ...given }
    const cells = columns.map((name) => row[name as keyof Row] ?? '')
    watch.add(map({ row: at + 1, line: at + 2, byteOffset: 0, kind: 'cells', cells }))
  }
  return watch.report().suspicions.map(({ finding, rule, message }) => `${finding} ${rule}: ${message}`)
}
const rows = (count: number, make: (at: number) => Row): Row[] =>
  Array.from({ length: count }, (_, at) => make(at))
/** As many values about 80 kg as are wanted, all different. */
const usual = (count: number): Row[] => rows(count, (at) => ({ weight: `${70 + (at % 20)}` }))
const wrong = (count: number): Row[] => rows(count, () => ({ weight: 'x' }))

it.each<[string, readonly Row[], readonly Row[], string]>([
  [
    'all values wrong',
    wrong(10),
    wrong(9),
    'always-rejected body-weight: always rejected, as value-not-a-number',
  ],
  [
    'three of ten wrong',
    [...wrong(12), ...usual(28)],
    [...wrong(12), ...usual(29)],
    'often-rejected body-weight: 30 % rejected, most as value-not-a-number: does the column mean the same in all rows?',
  ],
  [
    'no value in a hundred rows',
    rows(100, () => ({})),
    rows(99, () => ({})),
    'never-set body-weight: never set in 100 rows: check the column and the condition',
  ],
  [
    'one value in all rows',
    rows(30, () => ({ weight: '80' })),
    rows(29, () => ({ weight: '80' })),
    'one-value body-weight: all 30 values are the same: is it a measurement?',
  ],
  [
    'ten times too large',
    rows(20, (at) => ({ weight: `${300 + at}` })),
    rows(19, (at) => ({ weight: `${300 + at}` })),
    'median-unusual body-weight: the median is 3',
  ],
  [
    'two units mixed',
    [...rows(12, (at) => ({ weight: `${160 + at}` })), ...usual(18)],
    [...rows(12, (at) => ({ weight: `${160 + at}` })), ...usual(19)],
    'values-mixed body-weight: 40 % of the values are outside the usual range (45 to 125 kg): are they in different units?',
  ],
  [
    'a third of the rows rejected',
    [...rows(9, () => ({ at: 'x' })), ...usual(21)],
    [...rows(8, () => ({ at: 'x' })), ...usual(21)],
    'rows-rejected null: 30 % of the rows are rejected, most as date-invalid',
  ],
  [
    'nine of ten rows left out',
    [...rows(27, () => ({ skip: 'Y' })), ...usual(3)],
    [...rows(26, () => ({ skip: 'Y' })), ...usual(3)],
    'rows-left-out null: 90 % of the rows are left out: check skipWhen and the list of states',
  ],
  [
    'a fifth of the rows under one key',
    [...usual(15), ...rows(5, (at) => ({ id: 'same', weight: `${80 + at}` }))],
    [...usual(16), ...rows(4, (at) => ({ id: 'same', weight: `${80 + at}` }))],
    'key-shared null: 20 % of the rows have the key of an earlier row but other content',
  ],
  [
    'one person',
    usual(20).map((row) => ({ ...row, person: 'p' })),
    usual(19).map((row) => ({ ...row, person: 'p' })),
    'one-person null: all 20 rows are of one person: is it the right column?',
  ],
  [
    'dates in the future',
    [...usual(9), ...rows(10, () => ({ weight: '80', at: '2027-05-01 10:00' }))],
    [...usual(9), ...rows(9, () => ({ weight: '80', at: '2027-05-01 10:00' }))],
    'dates-in-future null: 53 % of the records are in the future: are day and month swapped, or is it another date?',
  ],
  [
    'dates on twelve days',
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: `2026-0${1 + (at % 3)}-${String(1 + (at % 12)).padStart(2, '0')} 10:00`,
    })),
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: `2026-0${1 + (at % 3)}-${String(1 + (at % 13)).padStart(2, '0')} 10:00`,
    })),
    'first-twelve-days null: all dates lie on the first twelve days of 3 months: are day and month swapped?',
  ],
  [
    // 3 April to 3 June for 4 to 6 March, beside days that cannot be swapped.
    'days and months swapped in a part',
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: at < 20 ? `2026-03-${13 + (at % 9)} 10:00` : `2026-0${4 + (at % 3)}-03 10:00`,
    })),
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: at < 21 ? `2026-03-${13 + (at % 9)} 10:00` : `2026-0${4 + (at % 3)}-03 10:00`,
    })),
    'first-twelve-days null: 10 dates lie in months of their own, and with day and month swapped among the others: did a spreadsheet swap them?',
  ],
  [
    'always midnight',
    rows(30, (at) => ({ weight: `${70 + at}`, at: `2026-01-${13 + (at % 9)} 00:00` })),
    rows(30, (at) => ({ weight: `${70 + at}`, at: `2026-01-${13 + (at % 9)} 00:0${at === 29 ? 1 : 0}` })),
    'always-midnight null: every time is midnight: is the time of day in another column?',
  ],
  [
    'half of the times at night',
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: `2026-01-${13 + (at % 9)} ${at < 15 ? '05:59' : '10:00'}`,
    })),
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: `2026-01-${13 + (at % 9)} ${at < 14 ? '05:59' : '06:00'}`,
    })),
    'at-night null: 50 % of the times are between 21:00 and 6:00: is the time zone right?',
  ],
])('%s', (_, odd, well, said) => {
  expect(found(odd)).toContainEqual(expect.stringContaining(said))
  const [finding = ''] = said.split(' ')
  expect(found(well).filter((one) => one.startsWith(`${finding} `))).toEqual([])
})

it('a time at 21:00 is one at night', () => {
  const times = (evening: string) =>
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: `2026-01-${13 + (at % 9)} ${at < 15 ? evening : '10:00'}`,
    }))
  expect(found(times('21:00'))).toContainEqual(expect.stringContaining('at-night null: 50 %'))
  expect(found(times('20:59'))).toEqual([])
})

/** Long rules: with unknown codes left out, with results that are not final left out, and with neither. */
const byCode = '{ code: { from: sick, system: LOINC, unknown: skip }, value: weight, unit: { constant: kg } }'
const byStatus =
  '{ code: { from: sick, system: LOINC }, value: weight, unit: { constant: kg }, status: { from: skip, keep: [F] } }'
const byNone = '{ code: { from: sick, system: LOINC }, value: weight, unit: { constant: kg } }'
const long = (...rules: readonly string[]): string =>
  mappingOf(`biometrics: [${rules.join(', ')}]`).replace(', skipWhen: { skip: Y }', '')
const coded = (count: number, sick: string, skip = ''): Row[] =>
  rows(count, (at) => ({ weight: `${70 + (at % 20)}`, sick, skip }))
/** LOINC of the body weight, and one that the catalog lacks. */
const [KNOWN, UNKNOWN] = ['29463-7', '10000-8']

it.each<[string, readonly Row[], string, string]>([
  [
    'dates in the future, which have a finding of their own',
    rows(10, () => ({ weight: '80', at: '2027-05-01 10:00' })),
    mappingOf(WEIGHT),
    'always-rejected',
  ],
  [
    'one score in all rows',
    rows(30, () => ({ weight: '3' })),
    mappingOf('biometrics: { pain-severity: weight }'),
    'one-value',
  ],
  [
    'unusual values near the usual ones: no two units',
    [...rows(12, (at) => ({ weight: `${126 + at}` })), ...rows(18, (at) => ({ weight: `${100 + at}` }))],
    mappingOf(WEIGHT),
    'values-mixed',
  ],
  [
    'dates of four days of three months',
    rows(30, (at) => ({
      weight: `${70 + at}`,
      at: `2026-0${1 + (at % 3)}-0${at % 3 === 0 ? 1 + (at % 2) : 3} 10:00`,
    })),
    mappingOf(WEIGHT),
    'first-twelve-days',
  ],
  [
    'the beginnings of months after a screening in March',
    rows(40, (at) => ({
      weight: `${70 + at}`,
      at: at < 20 ? `2026-03-${13 + (at % 9)} 10:00` : `2026-0${4 + (at % 2)}-03 10:00`,
    })),
    mappingOf(WEIGHT),
    'first-twelve-days',
  ],
  [
    'months with days of all numbers',
    rows(90, (at) => ({
      weight: `${70 + (at % 30)}`,
      at: `2026-0${1 + (at % 4)}-${String(1 + (at % 28)).padStart(2, '0')} 10:00`,
    })),
    mappingOf(WEIGHT),
    'first-twelve-days',
  ],
  [
    'codes that the catalog lacks',
    [...coded(27, UNKNOWN), ...coded(3, KNOWN)],
    long(byCode),
    'rows-left-out',
  ],
  ['fewer than twenty codes that the catalog lacks', coded(19, UNKNOWN), long(byNone), 'codes-unknown'],
])('%s are no finding', (_, given, mapping, finding) => {
  expect(found(given, mapping).filter((one) => one.startsWith(`${finding} `))).toEqual([])
})

it('rows left out by their status are told, and so are twenty unknown codes', () => {
  const left = [...coded(27, UNKNOWN, 'P'), ...coded(3, KNOWN, 'F')]
  expect(found(left, long(byCode, byStatus))).toContainEqual(
    expect.stringContaining('rows-left-out null: 90 %'),
  )
  expect(found(coded(20, UNKNOWN), long(byNone))).toContainEqual(
    expect.stringContaining('codes-unknown unmapped: 100 %'),
  )
})

it('a median that is usual for its own rule is not swapped with another', () => {
  const given = rows(20, (at) => ({ weight: `${128 + (at % 5)}`, height: `${108 + (at % 5)}` }))
  const [told = '', ...others] = found(
    given,
    mappingOf('biometrics: { body-weight: weight, systolic-bp: height }'),
  )
  expect([told, ...others]).toEqual([expect.stringMatching(/^median-unusual body-weight: the median is 130/)])
  expect(told).not.toContain('swapped')
})

it('a wrong unit with another zero is found in the numbers of the export', () => {
  const warm = rows(20, (at) => ({ weight: `36.${at % 9}` }))
  expect(
    found(warm, mappingOf('biometrics: { body-temperature: { from: weight, unit: "[degF]" } }')),
  ).toContainEqual(expect.stringMatching(/looks like Cel: in Cel it would be 36\.\d Cel$/))
})

it('midnight says nothing of a form without a time; a night says nothing in UTC', () => {
  const days = rows(30, (at) => ({ weight: `${70 + at}`, at: `2026-01-${13 + (at % 9)}` }))
  expect(found(days, mappingOf(WEIGHT, 'format: yyyy-MM-dd, zone: America/New_York'))).toEqual([])
  const both = 'format: [yyyy-MM-dd, "yyyy-MM-dd HH:mm"], zone: America/New_York'
  expect(found(days, mappingOf(WEIGHT, both))).toEqual([])
  // A column of times beside it tells that the time is there.
  expect(found(days, mappingOf(WEIGHT, both), [...COLUMNS, 'draw_time'])).toEqual([
    expect.stringContaining('always-midnight null'),
  ])
  const nights = rows(30, (at) => ({ weight: `${70 + at}`, at: `2026-01-${13 + (at % 9)} 02:00` }))
  for (const zone of ['UTC', 'Etc/GMT+5'])
    expect(found(nights, mappingOf(WEIGHT, `format: yyyy-MM-dd HH:mm, zone: ${zone}`))).toEqual([])
})

it('a condition that nobody has, or most have, is told', () => {
  const sick = (count: number, of: number) => rows(of, (at) => ({ sick: at < count ? 'Y' : 'N' }))
  const of = (given: readonly Row[]) => found(given, mappingOf(SICK))
  expect(of(sick(0, 300))).toContainEqual(expect.stringContaining('never-set asthma'))
  expect(of(sick(0, 299)).filter((one) => one.includes('never-set'))).toEqual([])
  expect(of(sick(19, 30))).toContainEqual(
    'condition-of-most asthma: 63 % of the rows have it: check the column and the condition',
  )
  expect(of(sick(18, 30)).filter((one) => one.includes('condition-of-most'))).toEqual([])
})

it('two medians that fit each other are told as swapped', () => {
  const swapped = rows(20, (at) => ({ weight: `${160 + at}`, height: `${70 + at}` }))
  expect(found(swapped, mappingOf('biometrics: { body-weight: weight, body-height: height }'))).toEqual([
    expect.stringContaining(
      'the median of body-height would fit here, and this median there: are they swapped?',
    ),
    expect.stringContaining(
      'the median of body-weight would fit here, and this median there: are they swapped?',
    ),
  ])
})

it('a finding that the mapping expects has its reason, of its rule or of any', () => {
  const odd = rows(30, () => ({ weight: '80' }))
  const reasonsBy = (expected: string): (string | undefined)[] => {
    const loaded = load(`${mappingOf(WEIGHT)}expected:\n${expected}\n`)
    const map = loaded.compiled.bind(COLUMNS, 'export', NOW)
    const watch = createFitWatch(loaded, COLUMNS)
    for (const [at, { weight = '' }] of odd.entries())
      watch.add(
        map({
          row: at,
          line: at,
          byteOffset: 0,
          kind: 'cells',
          cells: [`${at}`, `p${at}`, '2026-02-03 10:00', weight, '', '', ''],
        }),
      )
    return watch
      .report()
      .suspicions.filter(({ finding }) => finding === 'one-value')
      .map(({ expected: reason }) => reason)
  }
  expect(reasonsBy('  - { finding: one-value, reason: a trial }')).toEqual(['a trial'])
  expect(reasonsBy('  - { finding: one-value, rule: body-weight, reason: a trial }')).toEqual(['a trial'])
  expect(
    reasonsBy(
      '  - { finding: one-value, rule: bmi, reason: a trial }\n  - { finding: never-set, reason: y }',
    ),
  ).toEqual([undefined])
})
