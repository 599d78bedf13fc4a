/** Made-up users and records in the document's forms, every field filled, and the calls of the health profile. */
import assert from 'node:assert/strict'
import {
  type Account,
  answered,
  at,
  instantOf,
  jsonOf,
  listAt,
  NothingToJudge,
  read,
  textAt,
} from './case.ts'
import type { Client } from './client.ts'

export const BIOMETRICS = '/health-profile/biometrics'
export const CONDITIONS = '/health-profile/conditions'
export const CARE_TEAMS = '/health-profile/care-teams'
export const PRIMARY_CARE = `${CARE_TEAMS}/pcp`

/** 2024-03-01T14:05:00.000Z */
export const OBSERVED = Date.UTC(2024, 2, 1, 14, 5)
export const DAY = 86_400_000

export const registration = (partnerAccountId: string) => ({
  dateOfBirth: '1970-02-28',
  firstName: 'Conformance',
  gender: 'FEMALE',
  lastName: 'Suite',
  partnerAccountId,
  postalCode: '00000',
})

export const source = (type = 'screening') => ({
  name: 'Conformance suite',
  type,
  notes: 'made up',
  meta: {
    dataQuality: 'normalized',
    batchId: 'conformance-batch',
    resourceKey: 'conformance-resource',
    sendingSystem: 'conformance',
    persistentRecordId: 'conformance-record',
  },
})

const LOINC = { codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC' }
const ICD = { codeSystem: '2.16.840.1.113883.6.90', codeSystemName: 'ICD-10-CM' }
const RXNORM = { codeSystem: '2.16.840.1.113883.6.88', codeSystemName: 'RxNorm' }
export const SYSTOLIC = { ...LOINC, code: '8480-6', name: 'Systolic blood pressure' }
export const DIASTOLIC = { ...LOINC, code: '8462-4', name: 'Diastolic blood pressure' }
const DIABETES = { ...ICD, code: 'E11', name: 'Type 2 diabetes mellitus' }
export const HYPERTENSION = { ...ICD, code: 'I10', name: 'Essential hypertension' }

export const biometric = (client: Client, account: Account, code = SYSTOLIC) => ({
  transactionId: client.unique('record'),
  account: { ...account, sponsor: 'conformance-sponsor' },
  name: code.name,
  observationDate: new Date(OBSERVED).toISOString(),
  codeSystem: code.codeSystem,
  codeSystemName: code.codeSystemName,
  code: code.code,
  codes: [code],
  refHigh: 120,
  refLow: 90,
  refRange: '90-120',
  type: 'Observation',
  value: 118.5,
  unit: 'mm[Hg]',
  source: source(),
})

export const condition = (client: Client, account: Account, code = DIABETES) => ({
  transactionId: client.unique('record'),
  account,
  name: code.name,
  status: 'active',
  source: source(),
  observationDate: OBSERVED,
  medication: [{ code: '860975', ...RXNORM, name: 'metformin' }],
  family: { history: 'yes', member: ['mother'] },
  codes: [code],
})

export const careTeam = (account: Account, npi = '1234567893') => ({
  account,
  name: 'Conformance practice',
  profile: 'https://practice.example/1',
  phoneNumber: '555-0100',
  type: 'PCP',
  location: 'Main',
  address: '1 Example Street',
  city: 'Exampleville',
  zip: '00000',
  npi,
  observationDate: String(OBSERVED),
  source: source(),
})

/** A made-up user that is registered. */
export interface User {
  readonly account: Account
  readonly accountId: string
}

/** Registers a made-up user; the status of success is not documented. */
export async function register(client: Client): Promise<User> {
  const reference = client.unique('user')
  const answer = await client.send('POST', '/account/register', { json: registration(reference) })
  const accountId = textAt(jsonOf(answered(answer, 200, 201)), 'accountId')
  return { account: { reference, type: 'partnerAccountId' }, accountId }
}

export const registerTwo = async (client: Client) => [await register(client), await register(client)] as const

/** Deletes a user; the status of success is not documented. */
export const unregister = async (client: Client, account: Account) =>
  answered(await client.send('DELETE', '/account', { query: queryOf(account) }), 200, 202, 204)

/** Query parameters that name a user. */
export const queryOf = ({ reference, type }: Account) => ({
  accountReference: reference,
  accountReferenceType: type,
})

/** Stores records; whether the HTTP status of biometrics is 201 as the envelope's code is left open. */
const creates =
  (path: string) =>
  async (client: Client, json: readonly unknown[], form = '') =>
    jsonOf(answered(await client.send('POST', path + form, { json }), 200, 201))
export const createBiometrics = creates(BIOMETRICS)
export const createConditions = creates(CONDITIONS)
export const createCareTeams = creates(CARE_TEAMS)

/** The envelope of a read; an account that was named by a person may be unknown to the gateway. */
export const readBiometrics = (client: Client, account: Account) =>
  read(client, BIOMETRICS, { query: queryOf(account) })
export const readConditions = (client: Client, account: Account) =>
  read(client, CONDITIONS, { query: queryOf(account) })

/** The biometrics that a read gives. */
export const biometricsOf = async (client: Client, account: Account) =>
  listAt(await readBiometrics(client, account), 'data')

/** The conditions that a read gives, out of the nested envelope. */
export const conditionsOf = async (client: Client, account: Account) =>
  listAt(await readConditions(client, account), 'data.data')

/** The user's care teams. The path is not shown, nor is the answer's form: an envelope or a bare array. */
export async function careTeamsOf(client: Client, account: Account): Promise<readonly unknown[]> {
  const answer = await client.send('GET', client.careTeamsPath, { query: queryOf(account) })
  if ([404, 405, 501].includes(answer.status)) throw new NothingToJudge('the path of the call is not shown')
  const body = jsonOf(answered(answer, 200))
  const records = Array.isArray(body) ? body : at(body, 'data')
  assert.ok(Array.isArray(records), `${answer.call}: expected the user's records in an array`)
  return records
}

/** Those of the records that the account has; `NothingToJudge` where there are none. */
export function some(records: readonly unknown[], what: string): readonly unknown[] {
  if (records.length === 0) throw new NothingToJudge(`the account has no ${what}`)
  return records
}

/** The biometrics or the conditions that an account has, at least one. */
export const someBiometrics = async (client: Client, account: Account) =>
  some(await biometricsOf(client, account), 'biometrics')
export const someConditions = async (client: Client, account: Account) =>
  some(await conditionsOf(client, account), 'conditions')

/** Code, source type and time of each record, in an order of their own. */
export const seriesOf = (records: readonly unknown[]) =>
  records
    .map(
      (one) =>
        `${at(one, 'codes.0.code')} ${at(one, 'source.type')} ${instantOf(at(one, 'observationDate'))}`,
    )
    .sort()
