/**
 * Exports of an invented vendor from a seed, the mappings that read them right, and mistakes planted in these: one each, as
 * people make them. What the values truly are stands in `rowsOf`.
 */
import { drawFrom } from '../../../../test/load/simulated-flow.ts'

const ROWS = 400

/** Member id to columns: a member in four has two visits. */
type Cells = Record<string, string>

const TESTS = [
  ['GLU', 'mg/dL', 95, 12, 0],
  ['CHOL', 'mg/dL', 192, 30, 0],
  ['HGB', 'g/dL', 14.1, 1.1, 1],
  ['NA', 'mmol/L', 140, 2, 0],
  ['CREA', 'mg/dL', 0.9, 0.15, 2],
  ['TSH', 'mIU/L', 2, 0.6, 2],
] as const

/** The vendor's own table, in the order in which a spreadsheet has it. */
const LAB_TABLE = {
  GLU: 'glucose',
  CHOL: 'total-cholesterol',
  HGB: 'hemoglobin',
  NA: 'sodium',
  CREA: 'creatinine',
  TSH: 'tsh',
} as const

const two = (number: number): string => String(number).padStart(2, '0')

export function rowsOf(seed: number): { readonly wide: Cells[]; readonly long: Cells[] } {
  const chance = drawFrom(seed)
  const normal = (mean: number, deviation: number): number =>
    mean + deviation * Math.sqrt(-2 * Math.log(chance() || 0.5)) * Math.cos(2 * Math.PI * chance())
  const flag = (share: number, draw = chance): string => (draw() < share ? 'Y' : 'N')
  const smokers = drawFrom(seed + 1_000)
  const people = Array.from({ length: ROWS }, (_, at) => ({
    id: `M${10_000 + at * 7}`,
    first: `Given${at}`,
    last: `Family${at}`,
    born: `${two(1 + Math.floor(chance() * 12))}/${two(1 + Math.floor(chance() * 28))}/${1945 + Math.floor(chance() * 55)}`,
    sex: at % 2 === 0 ? 'F' : 'M',
  }))
  const wide = Array.from({ length: ROWS }, (_, at): Cells => {
    const person = people[at % Math.floor(ROWS * 0.8)] ?? people[0]
    const male = person?.sex === 'M'
    const height = normal(male ? 176 : 163, 6.5)
    const weight = normal(27, 4) * (height / 100) ** 2
    const systolic = normal(121, 12)
    const chol = normal(192, 30)
    const day = 1 + Math.floor(chance() * 28)
    const glucose = normal(98, 12)
    const a1c = normal(5.6, 0.4)
    return {
      visit_id: `V${at}`,
      member_id: person?.id ?? '',
      site: `S${at % 5}`,
      first: person?.first ?? '',
      last: person?.last ?? '',
      dob: person?.born ?? '',
      sex: person?.sex ?? '',
      zip: `${two(at % 90)}123`,
      no_show: flag(0.04),
      consent: flag(0.97),
      visit_date: `${two(1 + (at % 2))}/${two(day)}/2026`,
      visit_time: `${two(8 + (at % 9))}:${two(at % 60)}`,
      first_days: `${two(1 + (at % 2))}/${two(1 + (at % 11))}/2026`,
      tokyo_utc: `${two(1 + (at % 2))}/${two(day)}/2026 ${two(at % 8)}:${two(at % 60)}`,
      report_date: `${two(1 + (at % 2))}/${two(Math.min(28, day + 2))}/2026`,
      sbp: systolic.toFixed(0),
      dbp: (systolic * 0.45 + normal(23, 4)).toFixed(0),
      pulse: normal(71, 8).toFixed(0),
      height_cm: height.toFixed(1),
      height_in: (height / 2.54).toFixed(1),
      weight_kg: weight.toFixed(1),
      weight_lb: (weight / 0.4536).toFixed(0),
      weight_either: (at % 2 === 0 ? weight : weight / 0.4536).toFixed(0),
      weight_told: (at % 3 === 0 ? weight / 0.4536 : weight).toFixed(0),
      weight_told_unit: at % 3 === 0 ? 'lb' : 'kg',
      weight_comma: weight.toFixed(1).replace('.', ','),
      weight_goal: (weight * 0.92).toFixed(1),
      weight_last_year: (weight + normal(0, 3)).toFixed(1),
      temp_f: normal(98.2, 0.5).toFixed(1),
      chol: chol.toFixed(0),
      chol_mmol: (chol / 38.665).toFixed(1),
      hdl: normal(male ? 48 : 57, 9).toFixed(0),
      ldl: normal(114, 24).toFixed(0),
      glucose: glucose.toFixed(0),
      a1c: a1c.toFixed(1),
      a1c_tenths: (a1c * 10).toFixed(0),
      // NGSP to IFCC: 10.93 x % - 23.50 mmol/mol.
      a1c_ifcc: (10.93 * a1c - 23.5).toFixed(0),
      dx_diabetes: flag(0.09),
      dx_asthma: flag(0.08),
      dx_htn: flag(0.28),
      lot: '77',
      pulse_standing: '',
      tobacco: flag(0.42, smokers),
    }
  })
  const long = people.slice(0, 100).flatMap((person, at) =>
    TESTS.map(
      ([code, unit, mean, deviation, decimals], test): Cells => ({
        order: `O${at}`,
        line: String(test + 1),
        member_id: person.id,
        code,
        value: normal(mean, deviation).toFixed(decimals),
        unit,
        flag: chance() < 0.1 ? 'H' : 'N',
        status: chance() < 0.06 ? 'P' : 'F',
        drawn: `2026-02-${two(1 + (at % 27))} ${two(7 + (at % 4))}:${two(at % 60)}`,
      }),
    ),
  )
  return { wide, long }
}

export const csvOf = (rows: readonly Cells[]): string =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) => cells.map((cell) => (cell.includes(',') ? `"${cell}"` : cell)).join(','))
    .join('\n')

export const RIGHT_WIDE = `mapping: tried
read: { format: csv }
row:
  key: [member_id, visit_date]
  account:
    reference: member_id
    register:
      firstName: first
      lastName: last
      dateOfBirth: { from: dob, format: MM/dd/yyyy }
      gender: { from: sex, table: { F: FEMALE, M: MALE } }
      postalCode: zip
  observedAt: { concat: [visit_date, visit_time], separator: " ", format: MM/dd/yyyy HH:mm, zone: America/New_York }
  source: { name: Tried, type: screening }
  skipWhen: { no_show: Y }
biometrics:
  systolic-bp: sbp
  diastolic-bp: dbp
  heart-rate: pulse
  body-height: height_cm
  body-weight: weight_kg
  body-temperature: { from: temp_f, unit: "[degF]" }
  total-cholesterol: chol
  hdl-cholesterol: hdl
  ldl-cholesterol: ldl
  glucose: glucose
  hba1c: a1c
conditions:
  type-2-diabetes: { when: { dx_diabetes: Y }, status: active }
  asthma: { when: { dx_asthma: Y }, status: active }
  hypertension: { when: { dx_htn: Y }, status: active }
  tobacco-use: { when: { tobacco: Y }, status: active }
`

const table = (codes: readonly string[], keys: readonly string[]): string =>
  ['code,key', ...codes.map((code, at) => `${code},${keys[at]}`)].join('\n')

const CODES = Object.keys(LAB_TABLE)
const KEYS = Object.values(LAB_TABLE)
export const TABLES = {
  tried: table(CODES, KEYS),
  shifted: table(CODES, [...KEYS.slice(1), ...KEYS.slice(0, 1)]),
}

export const RIGHT_LONG = `mapping: tried
read: { format: csv }
row:
  key: [order, line]
  account: { reference: member_id }
  observedAt: { from: drawn, format: yyyy-MM-dd HH:mm, zone: America/New_York }
  source: { name: Tried, type: laboratory }
biometrics:
  - code: { from: code, table: tried }
    value: value
    unit: unit
    status: { from: status, keep: [F] }
`

/** A mistake: what is written in place of what is right; by which finding, or measure of drift, it is told, if it is. */
export interface Mistake {
  readonly name: string
  readonly of: 'wide' | 'long'
  readonly right: string
  readonly wrong: string
  readonly finding?: string
  /** Earlier deliveries tell it, and no export alone. */
  readonly byEarlier?: boolean
  /** Text of its message. */
  readonly says?: string
}

const wide = (name: string, right: string, wrong: string, finding?: string, says?: string): Mistake => ({
  ...{ name, of: 'wide', right, wrong },
  ...(finding === undefined ? {} : { finding }),
  ...(says === undefined ? {} : { says }),
})
const later = (...told: Parameters<typeof wide>): Mistake => ({ ...wide(...told), byEarlier: true })
const long = (...told: Parameters<typeof wide>): Mistake => ({ ...wide(...told), of: 'long' })

const DATE =
  '{ concat: [visit_date, visit_time], separator: " ", format: MM/dd/yyyy HH:mm, zone: America/New_York }'
const WEIGHT = 'body-weight: weight_kg'

export const MISTAKES: readonly Mistake[] = [
  wide('pounds read as kilograms', WEIGHT, 'body-weight: weight_lb', 'median-unusual', 'looks like lb'),
  wide(
    'kilograms read as pounds',
    WEIGHT,
    'body-weight: { from: weight_kg, unit: lb }',
    'median-unusual',
    'looks like kg',
  ),
  wide(
    'pounds in half of the rows, with no column of units',
    WEIGHT,
    'body-weight: weight_either',
    'values-mixed',
  ),
  wide(
    'pounds in a third of the rows, and the column of units not read',
    WEIGHT,
    'body-weight: weight_told',
    'unit-unread',
    'weight_told_unit',
  ),
  wide('inches read as centimetres', 'height_cm', 'height_in', 'median-unusual', 'looks like in:'),
  wide(
    'centimetres read as inches',
    'body-height: height_cm',
    'body-height: { from: height_cm, unit: in }',
    'always-rejected',
    'looks like cm',
  ),
  wide(
    'mmol/L read as mg/dL',
    'total-cholesterol: chol',
    'total-cholesterol: chol_mmol',
    'always-rejected',
    'looks like mmol/L',
  ),
  wide(
    'mg/dL read as mmol/L',
    'glucose: glucose',
    'glucose: { from: glucose, unit: mmol/L }',
    'median-unusual',
    'looks like mg/dL',
  ),
  wide(
    'Fahrenheit read as Celsius',
    '{ from: temp_f, unit: "[degF]" }',
    'temp_f',
    'always-rejected',
    'looks like F',
  ),
  wide(
    'HbA1c in mmol/mol read as %',
    'hba1c: a1c',
    'hba1c: a1c_ifcc',
    'median-unusual',
    'looks like hba1c-ifcc',
  ),
  wide(
    'a decimal mark lost: ten times too large',
    'hba1c: a1c',
    'hba1c: a1c_tenths',
    'always-rejected',
    '10 times too large',
  ),
  wide(
    'a decimal comma not said',
    WEIGHT,
    'body-weight: weight_comma',
    'always-rejected',
    'value-not-a-number',
  ),
  wide(
    'a decimal comma read as the mark of thousands',
    WEIGHT,
    'body-weight: { from: weight_comma, number: { decimal: ".", group: "," } }',
    'always-rejected',
  ),
  wide(
    'systolic and diastolic swapped',
    'systolic-bp: sbp\n  diastolic-bp: dbp',
    'systolic-bp: dbp\n  diastolic-bp: sbp',
    'always-rejected',
    'are they swapped',
  ),
  wide(
    'height and weight swapped',
    'body-height: height_cm\n  body-weight: weight_kg',
    'body-height: weight_kg\n  body-weight: height_cm',
    'median-unusual',
    'are they swapped',
  ),
  wide(
    'HDL and LDL swapped',
    'hdl-cholesterol: hdl\n  ldl-cholesterol: ldl',
    'hdl-cholesterol: ldl\n  ldl-cholesterol: hdl',
    'median-unusual',
    'are they swapped',
  ),
  wide('the goal in place of the measurement', WEIGHT, 'body-weight: weight_goal', 'column-doubtful', 'goal'),
  wide('the value of the year before', WEIGHT, 'body-weight: weight_last_year', 'column-doubtful', 'year'),
  wide('an empty column', 'heart-rate: pulse', 'heart-rate: pulse_standing', 'never-set'),
  wide('a column that is the same in all rows', 'heart-rate: pulse', 'heart-rate: lot', 'one-value'),
  wide(
    'day and month swapped',
    'format: MM/dd/yyyy HH:mm, zone',
    'format: dd/MM/yyyy HH:mm, zone',
    'rows-rejected',
    'date-invalid',
  ),
  wide(
    'day and month swapped, in the first days of months',
    DATE,
    '{ from: first_days, format: dd/MM/yyyy, zone: America/New_York }',
    'first-twelve-days',
  ),
  wide(
    'both forms allowed, day first',
    DATE,
    '{ from: visit_date, format: [dd/MM/yyyy, MM/dd/yyyy], zone: America/New_York }',
    'rows-rejected',
  ),
  wide(
    'the date of birth as the date of observation',
    DATE,
    '{ from: dob, format: MM/dd/yyyy, zone: America/New_York }',
    'born-when-observed',
  ),
  wide(
    'the visit as the date of birth',
    'dateOfBirth: { from: dob,',
    'dateOfBirth: { from: visit_date,',
    'born-when-observed',
  ),
  wide(
    'the time of day left in its column',
    DATE,
    '{ from: visit_date, format: MM/dd/yyyy, zone: America/New_York }',
    'always-midnight',
  ),
  wide(
    'times of UTC read in the zone of a far place',
    DATE,
    '{ from: tokyo_utc, format: MM/dd/yyyy HH:mm, zone: Asia/Tokyo }',
    'at-night',
  ),
  wide('a key that does not name the visit', 'key: [member_id, visit_date]', 'key: [site]', 'key-shared'),
  wide('the site as the person', 'reference: member_id', 'reference: site', 'person-mixed'),
  wide('the visit as the person', 'reference: member_id', 'reference: visit_id', 'person-split'),
  wide('the table of sexes inverted', '{ F: FEMALE, M: MALE }', '{ F: MALE, M: FEMALE }', 'sexes-inverted'),
  wide(
    'another column as the sex',
    'gender: { from: sex,',
    'gender: { from: site,',
    'registration-incomplete',
  ),
  wide(
    'another flag as the diagnosis',
    'hypertension: { when: { dx_htn: Y }',
    'hypertension: { when: { consent: Y }',
    'condition-of-most',
  ),
  wide(
    'those without the diagnosis',
    'asthma: { when: { dx_asthma: Y }',
    'asthma: { when: { dx_asthma: N }',
    'condition-of-most',
  ),
  wide(
    'two diagnoses swapped',
    'asthma: { when: { dx_asthma: Y }',
    'asthma: { when: { dx_diabetes: Y }',
    'column-doubtful',
    'diabetes',
  ),
  wide(
    'rows left out that should be kept',
    'skipWhen: { no_show: Y }',
    'skipWhen: { no_show: N }',
    'rows-left-out',
  ),
  long(
    'another column as the status',
    'status: { from: status, keep: [F] }',
    'status: { from: flag, keep: [F] }',
    'rows-left-out',
  ),
  long('final results left out', 'keep: [F]', 'keep: [P]', 'status-left-out'),
  long(
    'a table of codes that is shifted by a line',
    'table: tried',
    'table: shifted',
    'always-rejected',
    'unit-mismatch',
  ),
  long('another column as the unit', 'unit: unit', 'unit: flag', 'always-rejected', 'unit-mismatch'),
  long('another column as the code', 'code: { from: code,', 'code: { from: order,', 'codes-unknown'),
  wide(
    'given and family name swapped',
    'firstName: first\n      lastName: last',
    'firstName: last\n      lastName: first',
    'column-doubtful',
    'register.firstName reads the column "last", which names lastName',
  ),
  later(
    'the zone of a neighbour',
    'zone: America/New_York',
    'zone: America/Chicago',
    'values',
    'times of day 1 hour later',
  ),
  later(
    'times of a place read as UTC',
    'zone: America/New_York',
    'zone: UTC',
    'values',
    'times of day 5 hours earlier',
  ),
  later(
    'a flag near one half the other way round',
    'tobacco-use: { when: { tobacco: Y }',
    'tobacco-use: { when: { tobacco: N }',
    'mix',
    'is its flag the other way round?',
  ),
  wide('the date of the report in place of the visit', DATE, DATE.replace('visit_date', 'report_date')),
]
