/** Entries in the form in which transform and identity make them, for made-up people. */
import {
  AnswersEntry,
  CareTeamEntry,
  createEntries,
  createRowFacts,
  Entry,
  type MappedRow,
  RequestEntry,
} from '../../src/model/entry.ts'
import { createIdentity, type Identity } from '../../src/model/ids.ts'
import {
  createFrame,
  type MedicalRequest,
  type RecordFrame,
  type RegistrationDraft,
  type RowFacts,
  type TestAnswer,
} from '../../src/model/record.ts'

export const EXPORT_ID = '0123456789abcdef'
export const IDENTITY = createIdentity('a key of tests')
/** 2024-03-01T14:05:00Z. */
export const OBSERVED_AT = Date.UTC(2024, 2, 1, 14, 5)
export const DAY_MS = 86_400_000
export const SOURCE_TYPE = 'screening'

export interface Made {
  readonly row?: number
  readonly rule?: string
  readonly person?: string
  /** The row's key; by default `<person>|<row>`. */
  readonly key?: string
  readonly code?: string
  readonly name?: string
  readonly value?: string
  /** Of a biometric record: JSON text between its codes and its type; by default it has no place for any. */
  readonly range?: string
  readonly npi?: string
  readonly observedAt?: number
  readonly primary?: boolean | 'unsaid'
  /** Of a biometric record of a list. */
  readonly listedAs?: string
  /** How many of its instant the list has before it. */
  readonly before?: number
  readonly register?: () => RegistrationDraft | undefined
  /** First instant of the day of birth, in UTC; by default the row does not tell it. */
  readonly born?: number
  /** First and last name, joined by `|`; by default the row does not tell them. */
  readonly fullName?: string
  /** Of the row, beside what its records hold. */
  readonly cells?: readonly string[]
}

const SOURCE = `"source":{"name":"Test Screening","type":"${SOURCE_TYPE}","meta":{"resourceKey":`
const AFTER_KEY = ',"sendingSystem":"test","batchId":"'

const accountOf = (person: string) => ({ reference: person, type: 'partnerAccountId' as const })

const filled = ({ row = 1, person = 'person-1', ...made }: Made) => ({
  row,
  person,
  key: made.key ?? `${person}|${row}`,
  observedAt: made.observedAt ?? OBSERVED_AT,
  ...made,
})

/** One for all records of an instant, as the records of a row share theirs. */
const instants = new Map<number, { readonly at: number; readonly iso: string }>()
function observed({ observedAt: at }: { readonly observedAt: number }) {
  const known = instants.get(at) ?? { at, iso: new Date(at).toISOString() }
  instants.set(at, known)
  return known
}

/** One for all records that have it, as a mapping makes them. */
const frames = new Map<string, RecordFrame>()
function frameOf(parts: Parameters<typeof createFrame>[0]): RecordFrame {
  const text = JSON.stringify(parts)
  const frame = frames.get(text) ?? createFrame(parts)
  frames.set(text, frame)
  return frame
}

/** One for all records of a row, likewise. */
const facts = new Map<string, RowFacts>()
function factsOf({ person, key }: { readonly person: string; readonly key: string }): RowFacts {
  const text = JSON.stringify([person, key])
  const known = facts.get(text) ?? createRowFacts(accountOf(person), key)
  facts.set(text, known)
  return known
}

/** Interface, "Biometric record, as sent". */
export function biometric(made: Made = {}): Entry {
  const all = filled(made)
  const { rule = 'systolic-bp', code = '8480-6', name = 'Systolic blood pressure', value = '118.5' } = all
  const frame = frameOf({
    ...{ kind: 'biometric', sourceType: SOURCE_TYPE, codes: [code], name, unit: 'mm[Hg]' },
    listedAs: made.listedAs,
    pieces: [
      `,"name":${JSON.stringify(name)},"observationDate":"`,
      ...(made.range === undefined
        ? [`","codes":[{"code":"${code}"}],"type":"Observation","value":`]
        : [`","codes":[{"code":"${code}"}],`, '"type":"Observation","value":']),
      `,"unit":"mm[Hg]",${SOURCE}`,
      AFTER_KEY,
    ],
    holes: made.range === undefined ? ['iso', 'value'] : ['iso', 0, 'value'],
  })
  const said = made.range === undefined ? [] : [made.range]
  const record = new Entry(frame, rule, factsOf(all), observed(all), value, said)
  record.before = made.before ?? 0
  return record
}

/** Interface, "Condition record, as sent". */
export function condition(made: Made = {}): Entry {
  const all = filled(made)
  const { rule = 'type-2-diabetes', code = 'E11.9', name = 'Type 2 diabetes' } = all
  const frame = frameOf({
    ...{ kind: 'condition', sourceType: SOURCE_TYPE, codes: [code], name },
    pieces: [
      `,"name":${JSON.stringify(name)},"status":"active","observationDate":`,
      `,"codes":[{"code":"${code}"}],${SOURCE}`,
      AFTER_KEY,
    ],
    holes: ['epochMs'],
  })
  return new Entry(frame, rule, factsOf(all), observed(all), undefined, [])
}

/** Interface, "Care team record, as sent". */
export function careTeam(made: Made = {}): Entry {
  const all = filled(made)
  const { rule = 'pcp', name = 'Test Practice', npi = '1234567893', primary = true } = all
  const frame = frameOf({
    ...{ kind: 'careTeam', sourceType: SOURCE_TYPE, codes: [], name: '' },
    pieces: [',"name":', ',"type":"PCP","npi":"', '","observationDate":"', `",${SOURCE}`, AFTER_KEY],
    holes: [0, 1, 'epochMs'],
  })
  const provider = { npi, name, ...(primary === 'unsaid' ? {} : { primary }) }
  const said = [JSON.stringify(name), npi]
  return new CareTeamEntry(frame, rule, factsOf(all), observed(all), said, provider)
}

/** Interface, "Medical-records request (ROI)". */
export function medicalRequest(request: MedicalRequest, made: Made = {}): Entry {
  const all = filled(made)
  const frame = frameOf({
    ...{ kind: 'medicalRecords', sourceType: SOURCE_TYPE, codes: [], name: '' },
    pieces: [',"request":', ',"withdrawn":', `,${SOURCE}`, AFTER_KEY],
    holes: [0, 1],
  })
  return new RequestEntry(frame, all.rule ?? 'aps', factsOf(all), observed({ observedAt: 0 }), request)
}

/** Interface, "Answer submission". */
export function answeredTest(answers: readonly TestAnswer[], made: Made = {}): Entry {
  const frame = frameOf({
    ...{ kind: 'assessment', sourceType: SOURCE_TYPE, codes: [], name: '' },
    pieces: [',"answers":', `,${SOURCE}`, AFTER_KEY],
    holes: [0],
  })
  return new AnswersEntry(frame, 'assessment', factsOf(filled(made)), observed({ observedAt: 0 }), answers)
}

export function registrationOf(person: string): RegistrationDraft {
  return {
    ok: true,
    registration: {
      dateOfBirth: '1970-02-28',
      firstName: 'Testina',
      gender: 'FEMALE',
      lastName: 'Beispielfrau',
      partnerAccountId: person,
      postalCode: '00000',
    },
  }
}

export function mappedRow(records: readonly Entry[], made: Made = {}): MappedRow {
  const { row, person, key, register, born, fullName: name = '', cells = [] } = filled(made)
  const origin = { row, line: row + 1, byteOffset: row * 100 }
  return {
    outcome: 'mapped',
    ...origin,
    source: { kind: 'cells', ...origin, cells },
    key,
    account: accountOf(person),
    born: born ?? Number.NEGATIVE_INFINITY,
    name: () => name,
    register: register ?? (() => registrationOf(person)),
    records,
    warnings: [],
    rejected: [],
    leftOut: [],
  }
}

export function entriesOf(
  records: readonly Entry[],
  made: Made = {},
  identity: Identity = IDENTITY,
): Entry[] {
  return createEntries(identity, EXPORT_ID, mappedRow(records, made))
}

/** One entry of a row of its own. */
export function entryOf(make: (made: Made) => Entry, made: Made = {}): Entry {
  const [entry] = entriesOf([make(made)], made)
  if (entry === undefined) throw new Error('a row of one record gave no entry')
  return entry
}

/** So many rows of as many people, one record each. */
export const people = (count: number, make: (made: Made) => Entry = biometric): Entry[] =>
  Array.from({ length: count }, (_, at) => entryOf(make, { row: at + 1, person: `person-${at + 1}` }))
