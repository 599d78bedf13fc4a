/**
 * The lab's export: HL7 v2 ORU^R01 messages as JSON, one a line, in the shape of Mirth / NextGen Connect. As that tool does,
 * what looks like a number becomes one (`5.10` turns into 5.1), and a lone OBX is an object where several are a list.
 */
import { ACME_FAULTS, faultFinder, NORTHLAB_FAULTS, type NorthlabFault, Tally } from './dirt.ts'
import { type Health, healthAt, rounded } from './health.ts'
import { obx, oru } from './northlab-message.ts'
import { personAt } from './people.ts'
import { Random, STREAM } from './random.ts'

/** A test that the lab offers: its own code, and the rule of the catalog that mappings/tables/lab-codes.csv leads to. */
interface LabTest {
  readonly code: string
  readonly label: string
  readonly key: string
  readonly unit: string
  result(health: Health, random: Random): number
}

const TESTS = [
  {
    code: 'NL-CHOL',
    label: 'Cholesterol, total',
    key: 'total-cholesterol',
    unit: 'mg/dL',
    result: (health) => health.totalCholesterol,
  },
  {
    code: 'NL-HDL',
    label: 'HDL cholesterol',
    key: 'hdl-cholesterol',
    unit: 'mg/dL',
    result: (health) => health.hdl,
  },
  {
    code: 'NL-TRIG',
    label: 'Triglycerides',
    key: 'triglycerides',
    unit: 'mg/dL',
    result: (health) => health.triglycerides,
  },
  {
    code: 'NL-LDLD',
    label: 'LDL cholesterol, direct',
    key: 'ldl-cholesterol-direct',
    unit: 'mg/dL',
    result: directLdl,
  },
  { code: 'NL-A1C', label: 'Hemoglobin A1c', key: 'hba1c', unit: '%', result: (health) => health.hba1c },
  {
    code: 'NL-CREA',
    label: 'Creatinine',
    key: 'creatinine',
    unit: 'mg/dL',
    result: (health) => health.creatinine,
  },
  {
    code: 'NL-EGFR',
    label: 'eGFR',
    key: 'egfr-ckd-epi-2021',
    unit: 'mL/min/1.73m2',
    result: (health) => health.egfr,
  },
  {
    code: 'NL-HSCRP',
    label: 'CRP, high sensitivity',
    key: 'c-reactive-protein-hs',
    unit: 'mg/L',
    result: (health, random) => rounded(Math.exp(random.normal((health.bmi - 27) * 0.05, 0.6)), 2),
  },
] as const satisfies readonly LabTest[]

export type NorthlabRule = (typeof TESTS)[number]['key']

/** The test that a fault of cost `record` spoils; it is always ordered then. */
const SPOILED: Partial<Record<NorthlabFault, NorthlabRule>> = {
  'hba1c-in-mass-unit': 'hba1c',
  'result-with-comparator': 'c-reactive-protein-hs',
  'unit-unknown': 'creatinine',
}

export interface NorthlabCounts {
  /** Messages: the lines of the file. */
  messages: number
  /** People who are not in the wide export. */
  newPeople: number
  /** Oddities that cost nothing: a lone OBX, results that are not final (left out by the mapping), `mg/dl`, numbers as text. */
  readonly oddities: Record<'single-result' | 'not-final' | 'unit-in-lower-case' | 'number-as-text', number>
  readonly faults: Record<NorthlabFault, number>
  /** Records that can be sent, by rule. */
  readonly records: Record<NorthlabRule, number>
}

export interface NorthlabOru {
  readonly counts: NorthlabCounts
  /** The lines of the file; `counts` is complete when the last one is taken. */
  lines(): Iterable<string>
}

/** @param participants of the wide export: four of five messages are about one of them */
export function northlabOru(
  seed: number,
  participants: number,
  messages: number,
  clean: boolean,
): NorthlabOru {
  const faultOf = faultFinder(NORTHLAB_FAULTS, clean)
  const acmeFaultOf = faultFinder(ACME_FAULTS, clean)
  const oddities = new Tally(['single-result', 'not-final', 'unit-in-lower-case', 'number-as-text'])
  const faults = new Tally(Object.keys(NORTHLAB_FAULTS) as NorthlabFault[])
  const records = new Tally<NorthlabRule>(TESTS.map((test) => test.key))
  const counts: NorthlabCounts = {
    messages: 0,
    newPeople: 0,
    oddities: oddities.counts,
    faults: faults.counts,
    records: records.counts,
  }

  const participantOf = (message: number): number => {
    if (message % 5 === 0) return participants + message
    const stride = Math.max(1, Math.floor(participants / messages))
    let ordinal = 1 + ((message * stride) % participants)
    // Whoever has a fault in the wide export is left alone here, so that the two files can be reckoned apart.
    while (acmeFaultOf(ordinal) !== undefined) ordinal++
    return ordinal
  }

  const messageAt = (message: number): string => {
    const fault = faultOf(message)
    const random = new Random(seed, STREAM.laboratory, message)
    const ordinal = participantOf(message)
    const person = personAt(seed, ordinal)
    const health = healthAt(seed, ordinal, person)
    const readable = fault !== 'json-broken'
    if (ordinal > participants) counts.newPeople++
    if (fault !== undefined) faults.add(fault)

    const asText = random.chance(0.2)
    const single = fault === undefined && random.chance(0.06)
    const skip = random.integer(0, 4)
    const ordered = TESTS.filter(
      (test, at) =>
        (single ? at === skip : at >= skip) || (fault !== undefined && test.key === SPOILED[fault]),
    )
    const results = ordered.map((test, at) => {
      const spoiling = fault !== undefined && SPOILED[fault] === test.key ? fault : undefined
      const status = spoiling === undefined && random.chance(0.03) ? random.pick(['P', 'X']) : 'F'
      const lowerCase = spoiling === undefined && test.unit === 'mg/dL' && random.chance(0.15)
      const value = test.result(health, random)
      if (readable) {
        if (status !== 'F') oddities.add('not-final')
        else if (spoiling === undefined) records.add(test.key)
        if (lowerCase) oddities.add('unit-in-lower-case')
      }
      const written = spoil(
        { value: asText ? String(value) : value, unit: lowerCase ? 'mg/dl' : test.unit },
        spoiling,
      )
      return obx(at + 1, test.code, test.label, written.value, written.unit, status)
    })
    if (fault === 'code-unknown') {
      results.push(obx(results.length + 1, 'NL-9999', 'Send-out', 1, 'mg/dL', 'F'))
    }
    if (readable && asText) oddities.add('number-as-text', ordered.length)
    if (single) oddities.add('single-result')
    const text = JSON.stringify(oru(message, person, random, results))
    return readable ? text : text.slice(0, Math.floor(text.length * 0.6))
  }

  function* lines(): Iterable<string> {
    for (let message = 1; message <= messages; message++) {
      counts.messages++
      yield `${messageAt(message)}\n`
    }
  }
  return { counts, lines }
}

interface Written {
  readonly value: number | string
  readonly unit: string
}

function spoil(written: Written, fault: NorthlabFault | undefined): Written {
  switch (fault) {
    case 'hba1c-in-mass-unit':
      return { ...written, unit: 'mg/dL' }
    case 'unit-unknown':
      return { ...written, unit: 'furlong' }
    case 'result-with-comparator':
      return { ...written, value: '<5' }
    default:
      return written
  }
}

function directLdl(health: Health, random: Random): number {
  return Math.round((health.ldl ?? health.totalCholesterol - health.hdl - 60) + random.normal(0, 4))
}
