import { type ConformanceCase, inSection } from './case.ts'
import { biometricsOf, createBiometrics, queryOf, register } from './profile.ts'
import { biometric, registration } from './sample-records.ts'
import { assertForm, assertKept, assertRefused, assertStatus, at, jsonOf, TEXT, textAt } from './values.ts'

const fields = inSection('Registration')
const endpoints = inSection('Endpoints: Accounts')
const states = inSection('States: Account')
const service = inSection('What the service does')

/** Sections "Registration", "Endpoints: Accounts", "States: Account". */
export const ACCOUNT_CASES: readonly ConformanceCase[] = [
  fields.writes(
    'Request fields: dateOfBirth (string, YYYY-MM-DD), firstName (string), gender (string, FEMALE is used), lastName (string), partnerAccountId (string), postalCode (string).',
    async (client) => {
      await register(client)
    },
  ),
  fields.writes('Response fields: accountId (string), partnerAccountId (string).', async (client) => {
    const reference = client.unique('user')
    const answer = await client.send('POST', '/account/register', { json: registration(reference) })
    assertStatus(answer, 200, 201)
    const body = jsonOf(answer)
    assertForm(at(body, 'accountId'), TEXT, 'accountId')
    assertKept(at(body, 'partnerAccountId'), reference, 'partnerAccountId')
  }),
  endpoints.writes('POST /account/register', async (client) => {
    const { account, accountId } = await register(client)
    const byId = { reference: accountId, type: 'accountId' } as const
    await createBiometrics(client, [biometric(byId, client.unique('record'))])
    const held = await biometricsOf(client, account)
    assertKept(held.length, 1, 'records stored by account id, read by partner account id: their number')
  }),
  endpoints.writes('DELETE /account', async (client) => {
    const { account, accountId } = await register(client)
    const query = { accountReference: accountId, accountReferenceType: 'accountId' }
    const answer = await client.send('DELETE', '/account', { query })
    assertStatus(answer, 200, 202, 204)
    assertRefused(
      await client.send('POST', '/health-profile/biometrics', {
        json: [biometric(account, client.unique('record'))],
      }),
      'the account is deleted',
    )
  }),
  states.writes('none', async (client) => {
    const { account } = await register(client)
    await createBiometrics(client, [biometric(account, client.unique('record'))])
  }),
  states.writes('registered', async (client) => {
    const { account } = await register(client)
    assertStatus(await client.send('DELETE', '/account', { query: queryOf(account) }), 200, 202, 204)
    assertRefused(
      await client.send('POST', '/health-profile/biometrics', {
        json: [biometric(account, client.unique('record'))],
      }),
      'the account is deleted',
    )
  }),
  service.writes(
    'Accounts: registers a user account keyed by a partner-supplied identifier',
    async (client) => {
      const [one, other] = [await register(client), await register(client)]
      const distinct = textAt(one, 'accountId') !== textAt(other, 'accountId')
      assertKept(distinct, true, 'the account ids of two partner identifiers being two')
    },
  ),
  service.writes('Registration must be completed before any user-centric call.', async (client) => {
    const stranger = { reference: client.unique('stranger'), type: 'partnerAccountId' } as const
    assertRefused(
      await client.send('POST', '/health-profile/biometrics', {
        json: [biometric(stranger, client.unique('record'))],
      }),
      'the account is not registered',
    )
  }),
  service.writes('Accounts can be deleted.', async (client) => {
    const { account } = await register(client)
    assertStatus(await client.send('DELETE', '/account', { query: queryOf(account) }), 200, 202, 204)
  }),
]
