/**
 * Made-up users and records in the form of the document, with every field filled, and the calls of the health profile. Notes everything
 * that a check creates at a gateway, so that it can be deleted again.
 */
import { AssertionError } from 'node:assert'
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
import type { Answer, Client, Sent } from './client.ts'

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

/** Registered made-up user. */
export interface User {
  readonly account: Account
  readonly accountId: string
}

/** Registers a made-up user; the document does not show the status of success. */
export async function register(client: Client): Promise<User> {
  const reference = client.unique('user')
  const answer = await client.send('POST', '/account/register', { json: registration(reference) })
  const accountId = textAt(jsonOf(answered(answer, 200, 201)), 'accountId')
  return { account: { reference, type: 'partnerAccountId' }, accountId }
}

export const registerTwo = async (client: Client) => [await register(client), await register(client)] as const

/** Deletes a user; the document does not show the status of success. */
export const unregister = async (client: Client, account: Account) =>
  answered(await client.send('DELETE', '/account', { query: queryOf(account) }), 200, 202, 204)

/** Query parameters for a user. */
export const queryOf = ({ reference, type }: Account) => ({
  accountReference: reference,
  accountReferenceType: type,
})

/** Stores records. The envelope's code for biometrics is 201; the document does not show the HTTP status. */
const creates =
  (path: string) =>
  async (client: Client, json: readonly unknown[], form = '') =>
    jsonOf(answered(await client.send('POST', path + form, { json }), 200, 201))
export const createBiometrics = creates(BIOMETRICS)
export const createConditions = creates(CONDITIONS)
export const createCareTeams = creates(CARE_TEAMS)

/** Reads an envelope; the gateway may not know an account named by a person. */
export const readBiometrics = (client: Client, account: Account) =>
  read(client, BIOMETRICS, { query: queryOf(account) })
export const readConditions = (client: Client, account: Account) =>
  read(client, CONDITIONS, { query: queryOf(account) })

/** Biometrics from a read. */
export const biometricsOf = async (client: Client, account: Account) =>
  listAt(await readBiometrics(client, account), 'data')

/** Conditions from a read, out of the nested envelope. */
export const conditionsOf = async (client: Client, account: Account) =>
  listAt(await readConditions(client, account), 'data.data')

/** Reads the user's care teams. The document shows neither the path nor the form of the answer: an envelope or a bare array. */
export async function careTeamsOf(client: Client, account: Account): Promise<readonly unknown[]> {
  const answer = await client.send('GET', client.careTeamsPath, { query: queryOf(account) })
  if ([404, 405, 501].includes(answer.status)) throw new NothingToJudge('the path of the call is not shown')
  const body = jsonOf(answered(answer, 200))
  const records = Array.isArray(body) ? body : at(body, 'data')
  assert.ok(Array.isArray(records), `${answer.call}: expected the user's records in an array`)
  return records
}

/** Returns the records, at least one. Throws `NothingToJudge` if there are none. */
export function some(records: readonly unknown[], what: string): readonly unknown[] {
  if (records.length === 0) throw new NothingToJudge(`the account has no ${what}`)
  return records
}

/** Reads the biometrics or conditions of an account, at least one. */
export const someBiometrics = async (client: Client, account: Account) =>
  some(await biometricsOf(client, account), 'biometrics')
export const someConditions = async (client: Client, account: Account) =>
  some(await conditionsOf(client, account), 'conditions')

/** Code, source type and time of each record, sorted. */
export const seriesOf = (records: readonly unknown[]) =>
  records
    .map(
      (one) =>
        `${at(one, 'codes.0.code')} ${at(one, 'source.type')} ${instantOf(at(one, 'observationDate'))}`,
    )
    .sort()

const REGISTER = 'POST /account/register'
const UPSERT = 'PATCH /medical-records/requester'
const REQUEST = '/medical-records/requester/{referenceNumber}'
const WITHDRAW = `DELETE ${REQUEST}`

const isTaken = ({ status }: Answer): boolean => status >= 200 && status < 300

/** Numbers of created users and requests, and the ones that the gateway did not delete. */
export interface MadeUp {
  readonly users: number
  readonly requests: number
  /**
   * Partner account ids and reference numbers. A request with an uploaded authorization cannot be deleted (section "States and
   * transitions").
   */
  readonly left: readonly string[]
}

export interface NotingClient extends Client {
  /** Deletes everything noted. Users and requests already gone count as deleted. */
  takeAway(): Promise<MadeUp>
}

/** Wraps a client to note registered users and created requests. @returns a client with the behaviour of the given one */
export function notingClient(client: Client): NotingClient {
  const users = new Set<string>()
  const requests = new Set<string>()
  const note = (call: string, json: unknown): void => {
    if (call === REGISTER) noteText(users, at(json, 'partnerAccountId'))
    if (call === UPSERT && Array.isArray(json))
      for (const one of json) noteText(requests, at(one, 'referenceNumber'))
  }
  const isGone = async (call: Promise<Answer>): Promise<boolean> => {
    try {
      const answer = await call
      return isTaken(answer) || answer.status === 404 || answer.status === 410
    } catch (error) {
      if (error instanceof AssertionError) return false
      throw error
    }
  }
  return {
    ...client,
    async send(method, path, sent: Sent = {}) {
      const call = `${method} ${path}`
      try {
        const answer = await client.send(method, path, sent)
        if (isTaken(answer)) note(call, sent.json)
        if (isTaken(answer) && call === WITHDRAW) requests.delete(sent.path?.['referenceNumber'] ?? '')
        return answer
      } catch (error) {
        // An unanswered call may have taken effect.
        note(call, sent.json)
        throw error
      }
    },
    async takeAway() {
      const left: string[] = []
      for (const reference of users) {
        const query = { accountReference: reference, accountReferenceType: 'partnerAccountId' }
        if (!(await isGone(client.send('DELETE', '/account', { query })))) left.push(reference)
      }
      for (const referenceNumber of requests) {
        const path = { referenceNumber }
        if (!(await isGone(client.send('DELETE', REQUEST, { path })))) left.push(referenceNumber)
      }
      return { users: users.size, requests: requests.size, left }
    },
  }
}

function noteText(into: Set<string>, value: unknown): void {
  if (typeof value === 'string' && value !== '') into.add(value)
}
