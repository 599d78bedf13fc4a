/** FHIR Bundles of one patient each, as record systems that do not exist write them, from a seed, with the records that they hold. */
import { drawFrom } from '../../../../test/load/simulated-flow.ts'

export interface BundleFile {
  readonly name: string
  readonly content: string
  /** `person key value date`. */
  readonly truth: readonly string[]
  readonly people: readonly string[]
}

const NPIS = ['1234567893', '1245319599', '1003000126']
const TESTS = [
  ['4548-4', 'hba1c', '%', 4.8, 8.5, 1],
  ['2093-3', 'total-cholesterol', 'mg/dL', 140, 260, 0],
  ['29463-7', 'body-weight', 'kg', 55, 110, 1],
  ['8867-4', 'heart-rate', '/min', 55, 95, 0],
] as const

const two = (number: number): string => String(number).padStart(2, '0')
const coded = (system: string, code: string) => ({ coding: [{ system, code }] })
const loinc = (code: string) => coded('http://loinc.org', code)
const resource = (type: string, id: string, rest: object) => ({
  fullUrl: `urn:uuid:${id}`,
  resource: { resourceType: type, id, ...rest },
})

/** One person's Bundle, entries in another order each time; beside what is to be taken, what must not be. */
function inventBundle(at: number, chance: () => number, truth: string[]) {
  const person = `pat-${at}`
  const subject = { reference: `urn:uuid:${person}` }
  const day = `2026-02-${two(1 + at)}`
  const instant = `${day}T14:10:00.000Z`
  const taken = { status: 'final', subject, effectiveDateTime: `${day}T09:10:00-05:00` }
  const entries: object[] = [
    resource('Patient', person, {
      identifier: [{ system: 'urn:hospital:mrn', value: `MRN-${at}` }],
      name: [{ given: ['Ann', 'B.'], family: `Reed${at}` }],
      birthDate: `19${50 + at}-0${1 + (at % 9)}-12`,
      gender: at % 2 === 0 ? 'female' : 'male',
      address: [{ postalCode: `0488${at % 10}-1234` }],
    }),
    resource('Practitioner', `doc-${at}`, {
      identifier: [
        { system: 'urn:hospital:staff', value: '17' },
        { system: 'http://hl7.org/fhir/sid/us-npi', value: NPIS[at % NPIS.length] },
      ],
      name: [{ prefix: ['Dr.'], given: ['Cora'], family: 'Lane' }],
    }),
  ]
  const observed = (id: string, rest: object) =>
    entries.push(resource('Observation', `${id}-${at}`, { ...taken, ...rest }))
  for (const [code, key, unit, low, high, decimals] of TESTS) {
    const value = Number((low + chance() * (high - low)).toFixed(decimals))
    observed(`o-${code}`, { code: loinc(code), valueQuantity: { value, code: unit } })
    truth.push(`${person} ${key} ${value} ${unit} ${instant}`)
  }
  const pressures = [110 + Math.floor(chance() * 40), 60 + Math.floor(chance() * 30)] as const
  observed('bp', {
    code: loinc('85354-9'),
    component: ['8480-6', '8462-4'].map((code, of) => ({
      code: loinc(code),
      valueQuantity: { value: pressures[of], code: 'mm[Hg]' },
    })),
  })
  truth.push(`${person} systolic-bp ${pressures[0]} mm[Hg] ${instant}`)
  truth.push(`${person} diastolic-bp ${pressures[1]} mm[Hg] ${instant}`)
  observed('unknown', { code: loinc('8339-4'), valueQuantity: { value: 3.4, code: 'kg' } })
  observed('preliminary', {
    status: 'preliminary',
    code: loinc('2345-7'),
    valueQuantity: { value: 90, code: 'mg/dL' },
  })
  observed('baby', {
    focus: [{ reference: 'urn:uuid:baby' }],
    code: loinc('29463-7'),
    valueQuantity: { value: 3.4, code: 'kg' },
  })
  const diagnosed = (id: string, system: string, code: string, rest: object = {}) =>
    entries.push(
      resource('Condition', `${id}-${at}`, {
        subject,
        code: coded(system, code),
        clinicalStatus: { coding: [{ code: at % 3 === 0 ? 'recurrence' : 'active' }] },
        onsetDateTime: '2020-03-01',
        ...rest,
      }),
    )
  diagnosed('dm', 'http://snomed.info/sct', '44054006')
  diagnosed('htn', 'http://hl7.org/fhir/sid/icd-10-cm', 'I10', {
    clinicalStatus: { coding: [{ code: 'resolved' }] },
  })
  truth.push(`${person} type-2-diabetes active 2020-03-01T00:00:00.000Z`)
  truth.push(`${person} hypertension resolved 2020-03-01T00:00:00.000Z`)
  diagnosed('refuted', 'http://snomed.info/sct', '195967001', {
    verificationStatus: { coding: [{ code: 'refuted' }] },
  })
  diagnosed('other', 'http://snomed.info/sct', '73595000')
  const member = { reference: `urn:uuid:doc-${at}` }
  const team = (id: string, status: string, participant: object[]) =>
    entries.push(
      resource('CareTeam', `${id}-${at}`, { status, subject, period: { start: '2025-01-05' }, participant }),
    )
  team('team', 'active', [
    { member, role: [coded('http://snomed.info/sct', '453231000124104')] },
    { member: { reference: `urn:uuid:${person}` } },
  ])
  team('old', 'inactive', [{ member }])
  truth.push(`${person} care-team ${NPIS[at % NPIS.length]} 2025-01-05T00:00:00.000Z`)
  const turned = [...entries.slice(at), ...entries.slice(0, at)]
  return { resourceType: 'Bundle', type: 'collection', entry: turned }
}

export function inventBundles(seed: number): BundleFile[] {
  const chance = drawFrom(seed)
  const file = (name: string, count: number, written: (bundles: readonly object[]) => string): BundleFile => {
    const truth: string[] = []
    const bundles = Array.from({ length: count }, (_, at) => inventBundle(at, chance, truth))
    const people = bundles.map(
      (_, at) =>
        `19${50 + at}-0${1 + (at % 9)}-12 Ann ${at % 2 === 0 ? 'FEMALE' : 'MALE'} Reed${at} pat-${at} 0488${at % 10}`,
    )
    return { name, content: written(bundles), truth, people }
  }
  return [
    file('one.json', 1, ([bundle]) => JSON.stringify(bundle)),
    file('lines.ndjson', 9, (bundles) => bundles.map((one) => `${JSON.stringify(one)}\n`).join('')),
    file('list.json', 5, (bundles) => JSON.stringify(bundles, null, 2)),
  ]
}
