import type { CreateAnswer, Echo } from '../../src/gateway/answer.ts'
import type { EndpointName } from '../../src/gateway/contract/endpoints.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import type { AnswerClass } from '../../src/gateway/gateway-error.ts'
import type { CallName } from './documented-calls.ts'
import { BIOMETRIC, RECORDS_REQUEST, REGISTRATION } from './sample-records.ts'
import { account, type RecordKind, type SharedReference } from './shared-reference.ts'

/** What the client says of a call that it did not throw for. */
export interface Told {
  readonly class: AnswerClass
  /** Keys of the records that were echoed; of one that was never sent, whatever stands in its place. */
  readonly echoes: readonly string[]
  readonly errors: number
}

/** One call that is about to be made. */
export interface Attempt {
  /** Keys of what is sent: the records of a batch, or the one effect of another call. */
  readonly sent: readonly string[]
  /** @param origin where an address that the gateway gave is looked for */
  readonly call: (gateway: Gateway, origin: string) => Promise<Told>
  /** How often each of the keys has taken effect; those that have not are left out. */
  readonly stored: () => Promise<Readonly<Record<string, number>>>
}

/** A method of the client that changes what the gateway holds. */
export interface StruckWrite {
  readonly name: CallName
  readonly endpoint: EndpointName
  /** What the interface answers a success with: an echo of each record, another body, or none that is documented. */
  readonly answer: 'echo' | 'body' | 'none'
  /** A status outside 2xx that the method answers in place of throwing. */
  readonly alsoAnswers?: number
  /** @param subject new at each call; accounts, ids and reference numbers are made of it */
  readonly prepare: (reference: SharedReference, subject: string) => Promise<Attempt>
}

const RECORDS = 4

const keysOf = (subject: string): string[] => Array.from({ length: RECORDS }, (_, at) => `${subject}-${at}`)
const source = (persistentRecordId: string) => ({
  name: 'Test Screening',
  type: 'screening',
  meta: { persistentRecordId },
})

/** The key stands in a field that an echo of the kind bears. */
const newBiometric = (key: string, owner: string) => ({
  ...BIOMETRIC,
  transactionId: key,
  account: account(owner),
  source: source(key),
})
const newCondition = (key: string, owner: string) => ({
  transactionId: key,
  account: account(owner),
  name: 'Type 2 diabetes',
  observationDate: Date.UTC(2024, 2, 1),
  source: source(key),
  codes: [{ code: key }],
})
const newCareTeam = (key: string, owner: string) => ({
  account: account(owner),
  name: 'Test Practice',
  npi: key,
  observationDate: String(Date.UTC(2024, 2, 1)),
  source: source(key),
})

const byTransaction = (echo: Echo): string => String(echo.transactionId)
const byNpi = (echo: Echo): string => String(echo['npi'])
const byCode = (echo: Echo): string => {
  const [code] = echo['codes'] as { code: string }[]
  return String(code?.code)
}

interface RecordsOf<Sent> {
  readonly kind: RecordKind
  readonly record: (key: string, owner: string) => Sent
  readonly keyOf: (echo: Echo) => string
}

/** Sends records of one user, or of two. */
function batch<Sent>(
  name: CallName,
  endpoint: EndpointName,
  users: 1 | 2,
  of: RecordsOf<Sent>,
  send: (gateway: Gateway, records: readonly Sent[]) => Promise<CreateAnswer>,
): StruckWrite {
  return {
    name,
    endpoint,
    answer: 'echo',
    prepare: async (reference, subject) => {
      const owners = [subject, `${subject}-b`].slice(0, users)
      for (const owner of owners) await reference.register(owner)
      const sent = keysOf(subject)
      const ownerOf = new Map(sent.map((key, at) => [key, owners[at % owners.length] ?? subject]))
      const records = [...ownerOf].map(([key, owner]) => of.record(key, owner))
      return {
        sent,
        call: async (gateway) => {
          const answer = await send(gateway, records)
          return {
            class: answer.class,
            echoes: answer.echoes.map(of.keyOf),
            errors: answer.errors.length,
          }
        },
        stored: () => reference.held(of.kind, (key) => ownerOf.get(key)),
      }
    },
  }
}

/** A request for medical records that is new and lawful. */
const requestOf = (referenceNumber: string, lastName: string) => ({
  ...RECORDS_REQUEST,
  referenceNumber,
  patient: { ...RECORDS_REQUEST.patient, lastName },
  request: { ...RECORDS_REQUEST.request, requestType: 'Continuity of Care', requestSubType: 'Personal' },
})

const BIOMETRICS = { kind: 'biometric', record: newBiometric, keyOf: byTransaction } as const
const CONDITIONS = { kind: 'condition', record: newCondition, keyOf: byCode } as const
const CARE_TEAMS = { kind: 'careTeam', record: newCareTeam, keyOf: byNpi } as const

/** The writes that send an array of records, with four of them. */
const BATCHES: readonly StruckWrite[] = [
  batch('biometrics.create', 'createBiometrics', 1, BIOMETRICS, ({ biometrics }, records) =>
    biometrics.create(records),
  ),
  batch('biometrics.createBulk', 'createBiometricsBulk', 2, BIOMETRICS, ({ biometrics }, records) =>
    biometrics.sendBulk(JSON.stringify(records), RECORDS),
  ),
  batch('conditions.create', 'createConditions', 1, CONDITIONS, ({ conditions }, records) =>
    conditions.create(records),
  ),
  batch('conditions.createBulk', 'createConditionsBulk', 2, CONDITIONS, ({ conditions }, records) =>
    conditions.sendBulk(JSON.stringify(records), RECORDS),
  ),
  batch('careTeams.create', 'createCareTeams', 1, CARE_TEAMS, ({ careTeams }, records) =>
    careTeams.create(records),
  ),
  batch('careTeams.createBulk', 'createCareTeams', 1, CARE_TEAMS, ({ careTeams }, records) =>
    careTeams.sendBulk(JSON.stringify(records), RECORDS),
  ),
  {
    name: 'medicalRecords.upsert',
    endpoint: 'upsertMedicalRecords',
    answer: 'echo',
    prepare: async (reference, subject) => {
      const sent = keysOf(subject)
      return {
        sent,
        call: async ({ medicalRecords }) => {
          const answer = await medicalRecords.upsert(sent.map((key) => requestOf(key, subject)))
          return {
            class: answer.class,
            echoes: answer.requests.map(({ referenceNumber }) => referenceNumber),
            errors: answer.errors.length,
          }
        },
        stored: async () => {
          const found = await reference.requestsOf(subject)
          return Object.fromEntries(
            [...Map.groupBy(found, ({ referenceNumber }) => referenceNumber)].map(([key, all]) => [
              key,
              all.length,
            ]),
          )
        },
      }
    },
  },
]

const entriesOf = ({ observer }: SharedReference, subject: string) =>
  observer.careTeams.list(account(subject))

const IT = 'it'
const done: Told = { class: 'accepted', echoes: [IT], errors: 0 }
/** Nothing was done, as the method's result says. */
const notDone: Told = { class: 'refused', echoes: [], errors: 0 }

const single = (
  call: (gateway: Gateway, origin: string) => Promise<unknown>,
  hasEffect: () => Promise<boolean>,
  read: (result: unknown) => Told = () => done,
): Attempt => ({
  sent: [IT],
  call: async (gateway, origin) => read(await call(gateway, origin)),
  stored: async () => ((await hasEffect()) ? { [IT]: 1 } : {}),
})

/** The answers of the first page of the shipped test. */
const FIRST_PAGE = {
  moduleId: 'body-and-day',
  questionGroupId: 'size',
  answers: { height: [{ 'height-feet': 'feet-5' }, { 'height-inches': 'inches-7' }] },
}

/** Every write of the client. */
export const WRITES: readonly StruckWrite[] = [
  {
    name: 'accounts.register',
    endpoint: 'registerAccount',
    answer: 'body',
    alsoAnswers: 409,
    prepare: async (reference, subject) => {
      reference.willBeRegistered(subject)
      return single(
        ({ accounts }) => accounts.register({ ...REGISTRATION, partnerAccountId: subject }),
        () => reference.knows(subject),
        (result) => ((result as { known: boolean }).known ? notDone : done),
      )
    },
  },
  {
    name: 'accounts.delete',
    endpoint: 'deleteAccount',
    answer: 'none',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      return single(
        ({ accounts }) => accounts.delete(account(subject)),
        async () => !(await reference.knows(subject)),
      )
    },
  },
  ...BATCHES,
  {
    name: 'careTeams.delete',
    endpoint: 'deleteCareTeams',
    answer: 'none',
    alsoAnswers: 404,
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.observer.careTeams.create([newCareTeam(subject, subject)])
      return single(
        ({ careTeams }) => careTeams.delete(account(subject), { npi: [subject] }),
        async () => (await entriesOf(reference, subject)).length === 0,
        (result) => (result === true ? done : notDone),
      )
    },
  },
  {
    name: 'careTeams.setPrimary',
    endpoint: 'setPrimaryCare',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.observer.careTeams.create([newCareTeam(subject, subject)])
      return single(
        ({ careTeams }) => careTeams.setPrimary({ account: account(subject), npi: subject }),
        async () => (await entriesOf(reference, subject))[0]?.pcp === true,
      )
    },
  },
  {
    name: 'careTeams.unsetPrimary',
    endpoint: 'unsetPrimaryCare',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.observer.careTeams.create([newCareTeam(subject, subject)])
      await reference.observer.careTeams.setPrimary({ account: account(subject), npi: subject })
      return single(
        ({ careTeams }) => careTeams.unsetPrimary({ account: account(subject), npi: subject }),
        async () => (await entriesOf(reference, subject))[0]?.pcp === false,
      )
    },
  },
  {
    name: 'assessment.submit',
    endpoint: 'submitAnswers',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.register(subject)
      await reference.bindToken(subject)
      return single(
        ({ assessment }) => assessment.submit(FIRST_PAGE),
        async () => (await reference.pageOf(subject)) === '1.2',
      )
    },
  },
  {
    name: 'medicalRecords.delete',
    endpoint: 'deleteMedicalRecords',
    answer: 'body',
    prepare: async (reference, subject) => {
      await reference.observer.medicalRecords.upsert([requestOf(subject, subject)])
      return single(
        ({ medicalRecords }) => medicalRecords.delete(subject),
        async () => (await reference.requestsOf(subject)).length === 0,
      )
    },
  },
  {
    name: 'medicalRecords.uploadAuthorization',
    endpoint: 'uploadAuthorization',
    answer: 'none',
    prepare: async (reference, subject) => {
      const { requests } = await reference.observer.medicalRecords.upsert([requestOf(subject, subject)])
      const { pathname } = new URL(String(requests[0]?.authorizationUploadUrl))
      const pdf = Buffer.from('%PDF-1.7\n%%EOF\n')
      return single(
        ({ medicalRecords }, origin) => medicalRecords.uploadAuthorization(origin + pathname, pdf),
        async () => Object((await reference.requestsOf(subject))[0]?.status).documentAvailable === true,
      )
    },
  },
]
