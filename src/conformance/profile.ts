/** Calls of the health profile that several sections make. */
import assert from 'node:assert/strict'
import { type Account, NothingToJudge } from './case.ts'
import type { Client } from './client.ts'
import { registration } from './sample-records.ts'
import { assertStatus, at, jsonOf, listAt, textAt } from './values.ts'

/** A made-up user that is registered. */
export interface User {
  readonly account: Account
  readonly accountId: string
}

/** Registers a made-up user; the status of success is not documented. */
export async function register(client: Client): Promise<User> {
  const reference = client.unique('user')
  const answer = await client.send('POST', '/account/register', { json: registration(reference) })
  assertStatus(answer, 200, 201)
  const accountId = textAt(jsonOf(answer), 'accountId')
  return { account: { reference, type: 'partnerAccountId' }, accountId }
}

/** Query parameters that name a user. */
export const queryOf = ({ reference, type }: Account) => ({
  accountReference: reference,
  accountReferenceType: type,
})

/** Sends biometrics; whether the HTTP status is 201 as the envelope's code is left open. */
export async function createBiometrics(
  client: Client,
  records: readonly unknown[],
  path = '',
): Promise<unknown> {
  const answer = await client.send('POST', `/health-profile/biometrics${path}`, { json: records })
  assertStatus(answer, 200, 201)
  return jsonOf(answer)
}

export async function createConditions(
  client: Client,
  records: readonly unknown[],
  path = '',
): Promise<unknown> {
  const answer = await client.send('POST', `/health-profile/conditions${path}`, { json: records })
  assertStatus(answer, 200, 201)
  return jsonOf(answer)
}

export async function createCareTeams(client: Client, records: readonly unknown[]): Promise<unknown> {
  const answer = await client.send('POST', '/health-profile/care-teams', { json: records })
  assertStatus(answer, 200, 201)
  return jsonOf(answer)
}

/** The envelope of a read; an account that was named by a person may be unknown to the gateway. */
async function read(client: Client, path: string, account: Account): Promise<unknown> {
  const answer = await client.send('GET', path, { query: queryOf(account) })
  assertStatus(answer, 200)
  return jsonOf(answer)
}

export const readBiometrics = (client: Client, account: Account) =>
  read(client, '/health-profile/biometrics', account)
export const readConditions = (client: Client, account: Account) =>
  read(client, '/health-profile/conditions', account)

/** The biometrics that a read gives. */
export async function biometricsOf(client: Client, account: Account): Promise<readonly unknown[]> {
  return listAt(await readBiometrics(client, account), 'data')
}

/** The conditions that a read gives, out of the nested envelope. */
export async function conditionsOf(client: Client, account: Account): Promise<readonly unknown[]> {
  return listAt(await readConditions(client, account), 'data.data')
}

/**
 * The user's care teams. The path is not shown. The answer's form is not shown either: an
 * envelope or a bare array.
 */
export async function careTeamsOf(client: Client, account: Account): Promise<readonly unknown[]> {
  const answer = await client.send('GET', client.careTeamsPath, { query: queryOf(account) })
  if ([404, 405, 501].includes(answer.status)) throw new NothingToJudge('the path of the call is not shown')
  assertStatus(answer, 200)
  const body = jsonOf(answer)
  const records = Array.isArray(body) ? body : at(body, 'data')
  assert.ok(Array.isArray(records), `${answer.call}: expected the user's records in an array`)
  return records
}

/** Those of the records that the account has; `NothingToJudge` where there are none. */
export function some(records: readonly unknown[], what: string): readonly unknown[] {
  if (records.length === 0) throw new NothingToJudge(`the account has no ${what}`)
  return records
}
