/**
 * What must be at the gateway in the end, written out by hand after the interface document (sections "Biometrics", "Conditions",
 * "Care teams"): the drill does not ask the code under test what it would send.
 */
import type { ProfileKind } from '../src/model/record.ts'

export interface ExpectedRecord {
  readonly kind: ProfileKind
  /** The mapping's rule. */
  readonly rule: string
  readonly person: string
  /** What the gateway keeps apart when it returns the latest: code and source type; of a care team its NPI. */
  readonly series: string
  readonly observedMs: number
  /** The body as `textOf` gives it. Two records are the same if this is the same. */
  readonly text: string
  /** Whether the row says that this is the primary care physician. */
  readonly primary: boolean
}

export interface Physician {
  readonly npi: string
  readonly name: string
  readonly phone: string
  readonly primary: boolean
}

export interface Visit {
  readonly person: string
  /** Key of the row for the vendor. */
  readonly resourceKey: string
  readonly observedMs: number
  readonly source: { readonly name: string; readonly type: string; readonly sendingSystem: string }
}

const LOINC = { codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC' }

/** LOINC code, name and unit of what the drill measures. */
const MEASUREMENTS = {
  'systolic-bp': ['8480-6', 'Systolic blood pressure', 'mm[Hg]'],
  'diastolic-bp': ['8462-4', 'Diastolic blood pressure', 'mm[Hg]'],
  'heart-rate': ['8867-4', 'Heart rate', '/min'],
  hba1c: ['4548-4', 'Hemoglobin A1c/Hemoglobin.total in blood', '%'],
  'body-weight': ['29463-7', 'Body weight', 'kg'],
  glucose: ['2345-7', 'Glucose in serum or plasma', 'mg/dL'],
  'hdl-cholesterol': ['2085-9', 'Cholesterol in HDL', 'mg/dL'],
  triglycerides: ['2571-8', 'Triglycerides', 'mg/dL'],
} as const
export type Measurement = keyof typeof MEASUREMENTS

export const loincOf = (measurement: Measurement): string => MEASUREMENTS[measurement][0]

/** @param rule where it is not named like the measurement */
export function biometric(
  visit: Visit,
  measurement: Measurement,
  value: string,
  rule: string = measurement,
): ExpectedRecord {
  const [code, name, unit] = MEASUREMENTS[measurement]
  const body = {
    account: { reference: visit.person, type: 'partnerAccountId' },
    name,
    observationDate: new Date(visit.observedMs).toISOString(),
    ...LOINC,
    code,
    codes: [{ code, ...LOINC, name }],
    type: 'Observation',
    value: Number(value),
    unit,
    source: sourceOf(visit),
  }
  return { ...placeOf(visit, 'biometric', code), rule, text: textOf(body) }
}

/** ICD-10-CM, SNOMED CT and name of the conditions of the drill. */
const CONDITIONS = {
  hypertension: ['I10', '38341003', 'Hypertension'],
  asthma: ['J45.909', '195967001', 'Asthma'],
} as const

export function condition(visit: Visit, rule: keyof typeof CONDITIONS): ExpectedRecord {
  const [icd10, snomed, name] = CONDITIONS[rule]
  const body = {
    account: { reference: visit.person, type: 'partnerAccountId' },
    name,
    status: 'active',
    observationDate: visit.observedMs,
    codes: [
      { code: icd10, codeSystem: '2.16.840.1.113883.6.90', codeSystemName: 'ICD-10-CM', name },
      { code: snomed, codeSystem: '2.16.840.1.113883.6.96', codeSystemName: 'SNOMED CT', name },
    ],
    source: sourceOf(visit),
  }
  return { ...placeOf(visit, 'condition', icd10), rule, text: textOf(body) }
}

export function careTeam(visit: Visit, { npi, name, phone, primary }: Physician): ExpectedRecord {
  const body = {
    account: { reference: visit.person, type: 'partnerAccountId' },
    name,
    type: 'PCP',
    npi,
    phoneNumber: phone,
    observationDate: String(visit.observedMs),
    source: sourceOf(visit),
  }
  return { ...placeOf(visit, 'careTeam', npi), rule: 'pcp', text: textOf(body), primary }
}

/** Of the text of a care-team record what makes it another entry of its account: neither date nor source does. */
export function entryOf(text: string): string {
  const { account: _, observationDate: _date, source: _source, ...entry } = JSON.parse(text) as Body
  return textOf(entry)
}

const placeOf = ({ person, observedMs, source }: Visit, kind: ProfileKind, code: string) => ({
  ...{ kind, person, observedMs, primary: false },
  series: kind === 'careTeam' ? code : `${code} ${source.type}`,
})

function sourceOf({ source: { name, type, sendingSystem }, resourceKey }: Visit): Body {
  return { name, type, meta: { resourceKey, sendingSystem } }
}

interface Body {
  readonly [key: string]: unknown
}

/** A body without the ids that stand in it, its keys in order. */
export const textOf = (body: Body): string => JSON.stringify(sorted(body))

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  )
}
