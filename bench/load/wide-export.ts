/**
 * The wide export of the bench, and what the gateway must hold once it is delivered: both from one seed, so that no loader is asked what is
 * right. One row a person and visit, 13 measurements of which few are blank, and two conditions; 13.6 records a row.
 */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { Random } from '../../samples/random.ts'
import { addRecord, type Held, nothingHeld } from './held.ts'

/** Column, LOINC code and the value in the catalog's unit of what a cell says. */
export const MEASUREMENTS: readonly Measurement[] = [
  { column: 'sbp', rule: 'systolic-bp', code: '8480-6', from: 105, to: 165 },
  { column: 'dbp', rule: 'diastolic-bp', code: '8462-4', from: 55, to: 100 },
  { column: 'pulse', rule: 'heart-rate', code: '8867-4', from: 50, to: 105 },
  { column: 'tc', rule: 'total-cholesterol', code: '2093-3', from: 120, to: 280 },
  { column: 'hdl', rule: 'hdl-cholesterol', code: '2085-9', from: 30, to: 90 },
  { column: 'ldl', rule: 'ldl-cholesterol', code: '13457-7', from: 60, to: 190 },
  { column: 'trig', rule: 'triglycerides', code: '2571-8', from: 50, to: 300 },
  { column: 'glucose', rule: 'glucose', code: '2345-7', from: 70, to: 180 },
  { column: 'a1c', rule: 'hba1c', code: '4548-4', from: 45, to: 99, tenths: true },
  { column: 'height_in', rule: 'body-height', code: '8302-2', from: 58, to: 77, unit: 'in', factor: 2.54 },
  {
    column: 'weight_lb',
    rule: 'body-weight',
    code: '29463-7',
    from: 100,
    to: 290,
    unit: 'lb',
    factor: 0.45359237,
  },
  { column: 'bmi', rule: 'bmi', code: '39156-5', from: 180, to: 420, tenths: true },
  {
    column: 'waist_in',
    rule: 'waist-circumference',
    code: '8280-0',
    from: 26,
    to: 52,
    unit: 'in',
    factor: 2.54,
  },
]
export interface Measurement {
  readonly column: string
  readonly rule: string
  /** LOINC. */
  readonly code: string
  readonly from: number
  readonly to: number
  /** Drawn in tenths, and so written. */
  readonly tenths?: boolean
  /** What the column is in, and by what it is multiplied to the catalog's unit; to one decimal. */
  readonly unit?: string
  readonly factor?: number
}

export const CONDITIONS = [
  { column: 'dx_diabetes', rule: 'type-2-diabetes', code: 'E11.9' },
  { column: 'dx_hypertension', rule: 'hypertension', code: 'I10' },
] as const

const COLUMNS = [
  ...['participant_id', 'first_name', 'last_name', 'dob', 'gender', 'zip', 'screened_at', 'site'],
  ...MEASUREMENTS.map(({ column }) => column),
  ...CONDITIONS.map(({ column }) => column),
  ...['pcp_npi', 'pcp_name'],
]

const SITES = ['Plant 1', 'Plant 2', 'Head office', 'Warehouse, north'] as const
const BLOCK = 2_000
/** Rows between two of a person, at least: no two records of a person and code share a minute. */
const APART = 10

export interface WideExport {
  readonly rows: number
  readonly records: number
  /** What the gateway holds of biometrics and conditions, each record once. */
  readonly held: Held
}

interface WideOptions {
  readonly seed?: number
  readonly withPhysician?: boolean
  readonly firstRow?: number
  readonly people?: number
}

/** Draws the person of each row. */
function scattered(random: Random, people: number): () => number {
  const last: number[] = []
  return () => {
    let drawn = random.integer(0, people - 1)
    while (last.includes(drawn)) drawn = random.integer(0, people - 1)
    last.push(drawn)
    if (last.length > APART) last.shift()
    return drawn
  }
}

/**
 * @param options.withPhysician each row names a doctor, of whom there are fifty
 * @param options.firstRow the number of the first person, so that one export can go on where another ended
 * @param options.people how many people, whose rows lie scattered over the file; undefined: each row is another person's
 */
export async function writeWideExport(
  file: string,
  rows: number,
  { seed = 20_261_124, withPhysician = false, firstRow = 0, people }: WideOptions = {},
): Promise<WideExport> {
  const random = new Random(seed, 0, firstRow)
  const next = people === undefined ? undefined : scattered(new Random(seed, 1, firstRow), people)
  const held = nothingHeld()
  const out = createWriteStream(file, { mode: 0o600 })
  out.write(`${COLUMNS.join(',')}\n`)
  let lines = ''
  for (let at = 0; at < rows; at++) {
    const row = firstRow + at
    // Ten seconds apart, in winter, so that every instant is five hours behind UTC and no two rows of a person share one.
    const seen = Date.UTC(2026, 0, 5, 13) + (row % 100_000) * 10_000
    const minute = seen - (seen % 60_000)
    const number = firstRow + (next?.() ?? at)
    const person = `B${String(number).padStart(8, '0')}`
    const cells = MEASUREMENTS.map((one) => {
      if (random.chance(0.03)) return ''
      const drawn = random.integer(one.from, one.to)
      const written = one.tenths ? drawn / 10 : drawn
      const value = one.factor === undefined ? written : Math.round(written * one.factor * 10) / 10
      addRecord(held, person, one.code, new Date(minute).toISOString(), value)
      return one.tenths ? written.toFixed(1) : String(written)
    })
    const conditions = CONDITIONS.map(({ code }) => {
      if (!random.chance(0.5)) return 'N'
      addRecord(held, person, code, String(minute), Number.NaN)
      return 'Y'
    })
    const doctor = random.integer(0, 49)
    lines += `${[
      ...[
        person,
        `First${number % 997}`,
        `Last${number % 9973}`,
        '1970-02-03',
        number % 2 ? 'F' : 'M',
        '12345',
      ],
      ...[localOf(minute), quoted(SITES[row % SITES.length] ?? '')],
      ...cells,
      ...conditions,
      ...(withPhysician ? [npiOf(doctor), `Dr. Doctor ${doctor}`] : ['', '']),
    ].join(',')}\n`
    if (at % BLOCK === BLOCK - 1) {
      if (!out.write(lines)) await once(out, 'drain')
      lines = ''
    }
  }
  out.end(lines)
  await once(out, 'close')
  return { rows, records: held.records, held }
}

const quoted = (text: string): string => (text.includes(',') ? `"${text}"` : text)

/** As `MM/dd/yyyy HH:mm` in New York, in winter. */
function localOf(ms: number): string {
  const iso = new Date(ms - 5 * 3_600_000).toISOString()
  return `${iso.slice(5, 7)}/${iso.slice(8, 10)}/${iso.slice(0, 4)} ${iso.slice(11, 16)}`
}

/** With its check digit: Luhn's over the nine digits behind the prefix 80840 of the card issuer (45 CFR 162.406). */
function npiOf(number: number): string {
  const nine = String(100_000_000 + number)
  const sum = [...`80840${nine}`].toReversed().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 2 : 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return `${nine}${(10 - (sum % 10)) % 10}`
}
