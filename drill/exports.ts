/**
 * The exports of a round: wide CSV and nested NDJSON with people who come again, rows that stand twice, corrected redeliveries, lists that grow,
 * shrink and are sorted otherwise, and dirt; and, row by row, what must come of them.
 */
import { Random } from '../samples/random.ts'
import {
  biometric,
  careTeam,
  condition,
  type ExpectedRecord,
  loincOf,
  type Measurement,
  type Physician,
} from './expected-records.ts'
import { createBook, type DrillExport } from './export-book.ts'

export interface ExportsPlan {
  readonly exports: number
  /** Rows of each. */
  readonly rows: number
  readonly people: number
  readonly dirt: boolean
  /** Physicians of all visits; 0: each visit has its own. */
  readonly doctors: number
  /** Values between which a corrected pulse goes back and forth; otherwise it is any. */
  readonly pulses?: readonly [string, ...string[]]
  /** Share of the nested exports. */
  readonly nested: number
  /** All bear one name; and the first comes again as the last, byte for byte. */
  readonly naming?: 'one-name' | 'first-again'
  /** No row comes again in a later export. */
  readonly apart?: boolean
}

/** How a visit is drawn. */
export type VisitPlan = Pick<ExportsPlan, 'doctors' | 'pulses'>

/** Streams of chance of the drill, apart from those of the samples. */
export const DRILL_STREAM = {
  plan: 101,
  exports: 102,
  backfillPlan: 103,
  datedExports: 104,
  restarts: 105,
  otherJobs: 106,
  inApp: 107,
  meetings: 108,
  wipes: 109,
} as const

const DAY_MS = 86_400_000
const FIRST_DAY = Date.UTC(2026, 1, 1, 8, 0)

export interface Person {
  readonly id: string
  readonly first: string
  readonly last: string
  readonly dob: string
  readonly sex: 'F' | 'M'
  readonly zip: string
}

/** Stands in every name of a person or physician: where it is found, health data have got out. */
export const MARK = 'Quorn'
const FIRST_NAMES = [`Ada${MARK}`, `Ben${MARK}`, `Clara${MARK}`, `Dale${MARK}`, `Emma${MARK}`] as const
const LAST_NAMES = [`Alder${MARK}`, `Brook${MARK}`, `Clay${MARK}`, `Field${MARK}`, `Heath${MARK}`] as const

export function drillExports(seed: number, round: number, plan: ExportsPlan): DrillExport[] {
  const random = new Random(seed, DRILL_STREAM.exports, round)
  const people = Array.from({ length: plan.people }, (_, at) => personOf(random, at))
  const made: DrillExport[] = []
  let wide: WideRow[] = []
  let documents: LabOrder[] = []
  let [orders, revisions] = [0, 0]
  for (let at = 0; at < plan.exports; at++) {
    if (random.chance(plan.nested)) {
      const before = plan.apart === true ? [] : documents
      const again = before.filter(() => random.chance(0.6)).map((one) => revised(random, one, ++revisions))
      const rows = Math.max(1, plan.rows - again.length)
      const shown = [...again, ...labOrders(random, people, { ...plan, rows }, () => ++orders)]
      made.push(nestedExport(random, `${at + 1}-nested.ndjson`, shown, plan))
      documents = [...new Map([...documents, ...shown].map((one) => [one.order, one])).values()]
      continue
    }
    const again = at > 0 && plan.apart !== true ? redelivered(random, wide, plan, plan.doctors > 0) : []
    const rows = again.concat(newRows(random, people, plan.rows - again.length, at, plan))
    made.push(wideExport(random, `${at + 1}-wide.csv`, rows, plan))
    wide = rows
  }
  if (plan.naming === undefined) return made
  const delivered = plan.naming === 'one-name' ? made : [...made.slice(0, -1), ...made.slice(0, 1)]
  return delivered.map((one) => ({ ...one, name: 'same.csv' }))
}

export function personOf(random: Random, at: number): Person {
  return {
    id: `DR${String(at + 1).padStart(5, '0')}`,
    first: random.pick(FIRST_NAMES),
    last: random.pick(LAST_NAMES),
    dob: `19${random.integer(40, 99)}-0${random.integer(1, 9)}-1${random.integer(0, 9)}`,
    sex: random.pick(['F', 'M']),
    zip: String(random.integer(10_000, 99_999)),
  }
}

export interface WideRow {
  readonly person: Person
  readonly observedMs: number
  readonly noShow: boolean
  readonly sbp: string
  readonly dbp: string
  readonly pulse: string
  readonly a1c: string
  readonly pounds: string
  readonly hypertension: boolean
  readonly asthma: boolean
  readonly physician: Physician | undefined
}

export function newRows(
  random: Random,
  people: readonly Person[],
  count: number,
  delivery: number,
  plan: VisitPlan,
): WideRow[] {
  return Array.from({ length: count }, (_, at) => wideRow(random, people, delivery * 1000 + at, plan))
}

/** @param visit tells visits apart: two of one person are never at the same minute */
function wideRow(random: Random, people: readonly Person[], visit: number, plan: VisitPlan): WideRow {
  const person = people[random.integer(0, people.length - 1)] ?? personOf(random, 0)
  // Deliveries overlap in time, so that older visits come after newer ones.
  const observedMs = FIRST_DAY + random.integer(0, 20) * DAY_MS + visit * 60_000
  return {
    person,
    observedMs,
    noShow: random.chance(0.05),
    sbp: String(random.integer(110, 170)),
    dbp: String(random.integer(55, 100)),
    pulse: pulseOf(random, plan),
    a1c: random.chance(0.2) ? 'ND' : `${random.integer(4, 9)}.${random.integer(0, 9)}0`,
    pounds: random.chance(0.3) ? '' : `${random.integer(95, 280)}.5`,
    hypertension: random.chance(0.4),
    asthma: random.chance(0.2),
    physician: random.chance(0.5) ? physicianOf(random, visit, plan) : undefined,
  }
}

const pulseOf = (random: Random, { pulses }: VisitPlan): string =>
  pulses === undefined ? String(random.integer(50, 110)) : random.pick(pulses)

function physicianOf(random: Random, visit: number, { doctors }: VisitPlan): Physician {
  const who = doctors === 0 ? 1000 + visit : random.integer(0, doctors - 1)
  const name = `Dr. ${LAST_NAMES[who % LAST_NAMES.length]} ${who}`
  return { npi: npiOf(10_000 + who), name, ...sayOf(random) }
}

/** What a visit says of its physician. */
const sayOf = (random: Random): Pick<Physician, 'phone' | 'primary'> => ({
  phone: random.pick(PHONES),
  primary: random.chance(0.7),
})

const PHONES = ['555-0101', '555-0102'] as const

/** Some rows of the delivery before, as they were or corrected. */
export function redelivered(
  random: Random,
  before: readonly WideRow[],
  plan: VisitPlan,
  physicians: boolean,
): WideRow[] {
  return before
    .slice(0, random.integer(0, Math.ceil(before.length / 2)))
    .map((row) => corrected(random, row, plan.pulses === undefined ? 0.3 : 0.8, plan, physicians))
}

/** @param physicians whether the physician is corrected, too */
export function corrected(
  random: Random,
  row: WideRow,
  probability: number,
  plan: VisitPlan,
  physicians = false,
): WideRow {
  if (!random.chance(probability)) return row
  const physician = row.physician && physicians ? { ...row.physician, ...sayOf(random) } : row.physician
  return { ...row, pulse: pulseOf(random, plan), physician }
}

const COLUMNS =
  'person,visited,first,last,dob,sex,zip,no_show,sbp,dbp,pulse,a1c,weight_lb,dx_htn,dx_asthma,pcp_npi,pcp_name,pcp_phone,pcp_role'

export function wideExport(
  random: Random,
  name: string,
  given: readonly WideRow[],
  plan: VisitPlan & Pick<ExportsPlan, 'dirt'>,
): DrillExport {
  const book = createBook(name)
  const lines = [COLUMNS]
  const rows = given.flatMap((row) => {
    if (random.chance(0.05)) return [row, row]
    return random.chance(0.05) ? [row, corrected(random, row, 1, plan)] : [row]
  })
  for (const row of rows) {
    const fault = plan.dirt && random.chance(0.06) ? random.pick(DIRT) : undefined
    lines.push(lineOf(row, fault))
    if (fault === 'short') book.rejected()
    else if (row.noShow) book.skipped()
    else if (fault === 'date') book.rejected()
    else book.mapped(recordsOf(row, fault), fault === 'pulse' || fault === 'pressure' ? 1 : 0)
  }
  return book.close(`${lines.join('\n')}\n`)
}

const DIRT = ['short', 'date', 'pulse', 'pressure'] as const
type Dirt = (typeof DIRT)[number]

function lineOf(row: WideRow, fault: Dirt | undefined): string {
  const { person, physician } = row
  const cells = [
    person.id,
    fault === 'date' ? 'yesterday' : visitedAt(row),
    person.first,
    person.last,
    person.dob,
    person.sex,
    person.zip,
    row.noShow ? 'Y' : 'N',
    fault === 'pressure' ? '9999' : row.sbp,
    row.dbp,
    fault === 'pulse' ? 'fast' : row.pulse,
    row.a1c,
    row.pounds,
    row.hypertension ? 'Y' : 'N',
    row.asthma ? 'Y' : 'N',
    physician?.npi ?? '',
    physician?.name ?? '',
    physician?.phone ?? '',
    physician === undefined ? '' : physician.primary ? 'primary' : 'other',
  ]
  return (fault === 'short' ? cells.slice(0, 9) : cells).join(',')
}

/** `MM/dd/yyyy HH:mm` in UTC. */
function visitedAt({ observedMs }: WideRow): string {
  const [date = '', time = ''] = new Date(observedMs).toISOString().split('T')
  const [year, month, day] = date.split('-')
  return `${month}/${day}/${year} ${time.slice(0, 5)}`
}

function recordsOf(row: WideRow, fault: Dirt | undefined): ExpectedRecord[] {
  const { person, physician } = row
  const visit = {
    person: person.id,
    resourceKey: `${person.id}|${visitedAt(row)}`,
    observedMs: row.observedMs,
    source: { name: 'Drill Screening', type: 'screening', sendingSystem: 'drill' },
  }
  return [
    ...(fault === 'pressure' ? [] : [biometric(visit, 'systolic-bp', row.sbp)]),
    biometric(visit, 'diastolic-bp', row.dbp),
    ...(fault === 'pulse' ? [] : [biometric(visit, 'heart-rate', row.pulse)]),
    ...(row.a1c === 'ND' ? [] : [biometric(visit, 'hba1c', row.a1c)]),
    ...(row.pounds === '' ? [] : [biometric(visit, 'body-weight', kilograms(row.pounds))]),
    ...(row.hypertension ? [condition(visit, 'hypertension')] : []),
    ...(row.asthma ? [condition(visit, 'asthma')] : []),
    ...(physician === undefined ? [] : [careTeam(visit, physician)]),
  ]
}

/** A pound is 0.45359237 kg by definition; rounded half up to a tenth, in whole numbers throughout. */
function kilograms(pounds: string): string {
  const tenths = (BigInt(pounds.replace('.', '')) * 45_359_237n + 50_000_000n) / 100_000_000n
  return `${tenths / 10n}.${tenths % 10n}`
}

/** Ten digits whose last is the check digit of ISO/IEC 7812 with 80840 before them (45 CFR 162.406). */
export function npiOf(ordinal: number): string {
  const nine = `1${String(ordinal).padStart(8, '0')}`
  const sum = [...nine].toReversed().reduce((total, digit, at) => {
    const doubled = at % 2 === 0 ? Number(digit) * 2 : Number(digit)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 24)
  return `${nine}${(10 - (sum % 10)) % 10}`
}

const LABORATORY = ['glucose', 'hba1c', 'hdl-cholesterol', 'triglycerides'] as const satisfies Measurement[]

/** An order of a laboratory, as a document says it: its results, each with a time of its own. */
export interface LabOrder {
  readonly person: Person
  readonly order: string
  readonly observedMs: number
  readonly results: readonly LabResult[]
}

interface LabResult {
  readonly measurement: (typeof LABORATORY)[number]
  readonly value: string
  readonly observedMs: number
  readonly bad: boolean
}

const HOUR_MS = 3_600_000

/** @param nextOrder tells orders apart: no two results of one person and measurement have one instant */
export function labOrders(
  random: Random,
  people: readonly Person[],
  { rows, dirt }: Pick<ExportsPlan, 'rows' | 'dirt'>,
  nextOrder: () => number,
): LabOrder[] {
  return Array.from({ length: rows }, (): LabOrder => {
    const ordinal = nextOrder()
    const person = people[random.integer(0, people.length - 1)] ?? personOf(random, 0)
    const observedMs = FIRST_DAY + random.integer(0, 20) * DAY_MS + ordinal * 1000
    const measured = LABORATORY.filter(() => random.chance(0.7))
    const results = measured.map((measurement) => resultOf(random, measurement, observedMs, dirt))
    return { person, order: `L${ordinal}`, observedMs, results }
  })
}

const resultOf = (
  random: Random,
  measurement: LabResult['measurement'],
  observedMs: number,
  dirt: boolean,
): LabResult => ({
  ...{ measurement, observedMs, bad: dirt && random.chance(0.03) },
  value:
    measurement === 'hba1c'
      ? `${random.integer(4, 9)}.${random.integer(0, 9)}0`
      : `${random.integer(40, 180)}`,
})

/** The same order later: results that are new, corrected, no longer shown, and sorted otherwise. */
function revised(random: Random, order: LabOrder, ordinal: number): LabOrder {
  const kept = order.results.filter(() => random.chance(0.75))
  const said = kept.map((one) =>
    random.chance(0.25) ? resultOf(random, one.measurement, one.observedMs, false) : one,
  )
  const added = LABORATORY.filter(() => random.chance(0.25)).map((measurement) =>
    resultOf(random, measurement, order.observedMs + ordinal * HOUR_MS, false),
  )
  const results = [...said, ...added]
    .map((result) => ({ result, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ result }) => result)
  return { ...order, results }
}

export function nestedExport(
  random: Random,
  name: string,
  orders: readonly LabOrder[],
  { dirt }: Pick<ExportsPlan, 'dirt'>,
): DrillExport {
  const book = createBook(name)
  const lines: string[] = []
  for (const { person, order, observedMs, results } of orders) {
    const document = JSON.stringify({
      person,
      order,
      taken: new Date(observedMs).toISOString(),
      results: results.map(({ measurement, value, observedMs: taken, bad }) => ({
        code: loincOf(measurement),
        value: bad ? 'hemolyzed' : value,
        unit: measurement === 'hba1c' ? '%' : 'mg/dL',
        ...(taken === observedMs ? {} : { taken: new Date(taken).toISOString() }),
      })),
    })
    const visit = {
      person: person.id,
      resourceKey: `${person.id}|${order}`,
      source: { name: 'Drill Laboratory', type: 'laboratory', sendingSystem: 'drill-lab' },
    }
    const counts = new Map<string, number>()
    const records = results.flatMap((result) => {
      const { measurement, value, bad } = result
      const ordinal = (counts.get(measurement) ?? 0) + 1
      counts.set(measurement, ordinal)
      const rule = `${measurement}-${ordinal}`
      return bad ? [] : [biometric({ ...visit, observedMs: result.observedMs }, measurement, value, rule)]
    })
    for (const line of random.chance(0.05) ? [document, document] : [document]) {
      lines.push(line)
      book.mapped(records, results.length - records.length)
    }
    if (dirt && random.chance(0.03)) {
      lines.push(document.slice(0, -3))
      book.rejected()
    }
  }
  return book.close(`${lines.join('\n')}\n`)
}
