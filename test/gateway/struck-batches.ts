import type { CreateAnswer, Echo } from '../../src/gateway/answer.ts'
import type { EndpointName } from '../../src/gateway/contract/endpoints.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import type { CallName } from './documented-calls.ts'
import { BIOMETRIC, RECORDS_REQUEST } from './sample-records.ts'
import { account, type RecordKind } from './shared-reference.ts'
import type { StruckWrite } from './struck-write.ts'

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
export const newCareTeam = (key: string, owner: string) => ({
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

function batch<Sent>(of: {
  readonly name: CallName
  readonly endpoint: EndpointName
  readonly kind: RecordKind
  readonly users: 1 | 2
  readonly record: (key: string, owner: string) => Sent
  readonly send: (gateway: Gateway, records: readonly Sent[]) => Promise<CreateAnswer>
  readonly keyOf: (echo: Echo) => string
}): StruckWrite {
  const { name, endpoint } = of
  return {
    name,
    endpoint,
    answer: 'echo',
    prepare: async (reference, subject) => {
      const owners = [subject, `${subject}-b`].slice(0, of.users)
      for (const owner of owners) await reference.register(owner)
      const sent = keysOf(subject)
      const ownerOf = new Map(sent.map((key, at) => [key, owners[at % owners.length] ?? subject]))
      const records = [...ownerOf].map(([key, owner]) => of.record(key, owner))
      return {
        sent,
        call: async (gateway) => {
          const answer = await of.send(gateway, records)
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
export const requestOf = (referenceNumber: string, lastName: string) => ({
  ...RECORDS_REQUEST,
  referenceNumber,
  patient: { ...RECORDS_REQUEST.patient, lastName },
  request: { ...RECORDS_REQUEST.request, requestType: 'Continuity of Care', requestSubType: 'Personal' },
})

/** The writes that send an array of records, with four of them. */
export const BATCHES: readonly StruckWrite[] = [
  batch({
    name: 'biometrics.create',
    endpoint: 'createBiometrics',
    kind: 'biometric',
    users: 1,
    record: newBiometric,
    send: ({ biometrics }, records) => biometrics.create(records),
    keyOf: byTransaction,
  }),
  batch({
    name: 'biometrics.createBulk',
    endpoint: 'createBiometricsBulk',
    kind: 'biometric',
    users: 2,
    record: newBiometric,
    send: ({ biometrics }, records) => biometrics.createBulk(JSON.stringify(records), RECORDS),
    keyOf: byTransaction,
  }),
  batch({
    name: 'conditions.create',
    endpoint: 'createConditions',
    kind: 'condition',
    users: 1,
    record: newCondition,
    send: ({ conditions }, records) => conditions.create(records),
    keyOf: byCode,
  }),
  batch({
    name: 'conditions.createBulk',
    endpoint: 'createConditionsBulk',
    kind: 'condition',
    users: 2,
    record: newCondition,
    send: ({ conditions }, records) => conditions.createBulk(JSON.stringify(records), RECORDS),
    keyOf: byCode,
  }),
  batch({
    name: 'careTeams.create',
    endpoint: 'createCareTeams',
    kind: 'careTeam',
    users: 1,
    record: newCareTeam,
    send: ({ careTeams }, records) => careTeams.create(records),
    keyOf: byNpi,
  }),
  batch({
    name: 'careTeams.createBulk',
    endpoint: 'createCareTeams',
    kind: 'careTeam',
    users: 1,
    record: newCareTeam,
    send: ({ careTeams }, records) => careTeams.createBulk(JSON.stringify(records), RECORDS),
    keyOf: byNpi,
  }),
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
