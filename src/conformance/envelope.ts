import { type ConformanceCase, inSection } from './case.ts'
import type { Answer, Client } from './client.ts'
import { createBiometrics, createConditions, queryOf, readConditions, register } from './profile.ts'
import { biometric, condition, registration } from './sample-records.ts'
import { assertForm, assertKept, assertStatus, at, jsonOf, LIST, OBJECT, TEXT } from './values.ts'

const envelope = inSection('Envelope')

const contentList = (client: Client) => client.send('GET', '/content/distribution/article')

/** `code` mirrors the status, in the type that the section gives the call. */
function assertCode(answer: Answer, type: 'integer' | 'string'): void {
  const expected = type === 'integer' ? answer.status : String(answer.status)
  assertKept(at(jsonOf(answer), 'code'), expected, `${answer.call}: code, the status as ${type},`)
}

/** Section "Envelope". */
export const ENVELOPE_CASES: readonly ConformanceCase[] = [
  envelope.nothing('code', async (client) => {
    assertCode(await contentList(client), 'integer')
    assertCode(await client.send('GET', '/medical-records/requester/requestTypes'), 'integer')
  }),
  envelope.account('code', async (client, account) => {
    const query = queryOf(account)
    assertCode(await client.send('GET', '/health-profile/biometrics', { query }), 'string')
    const conditions = await client.send('GET', '/health-profile/conditions', { query })
    assertKept(at(jsonOf(conditions), 'data.code'), String(conditions.status), 'code of the nested envelope')
  }),
  envelope.writes(
    'It is a string in health-profile reads and writes other than biometric create',
    async (client) => {
      const { account } = await register(client)
      const created = await createBiometrics(client, [biometric(account, client.unique('record'))])
      assertKept(at(created, 'code'), 201, 'code of a biometric create')
      const json = [condition(account, client.unique('record'))]
      assertCode(await client.send('POST', '/health-profile/conditions', { json }), 'string')
    },
  ),
  envelope.nothing('message', async (client) => {
    assertForm(at(jsonOf(await contentList(client)), 'message'), TEXT, 'message')
  }),
  envelope.nothing('data', async (client) => {
    assertForm(at(jsonOf(await contentList(client)), 'data'), LIST, 'data')
  }),
  envelope.account('errors', async (client, account) => {
    const answer = await client.send('GET', '/health-profile/biometrics', { query: queryOf(account) })
    assertStatus(answer, 200)
    assertKept(at(jsonOf(answer), 'errors'), [], 'errors, empty on success,')
  }),
  envelope.writes('errors', async (client) => {
    const { account } = await register(client)
    const conditions = await createConditions(client, [condition(account, client.unique('record'))])
    assertKept(at(conditions, 'errors'), [], 'errors of a condition create')
    const biometrics = await createBiometrics(client, [biometric(account, client.unique('record'))])
    assertKept(at(biometrics, 'errors') ?? [], [], 'errors of a biometric create, where there are any,')
  }),
  envelope.account(
    'The get-conditions response nests a whole envelope (code, message, data, errors) inside an outer data object.',
    async (client, account) => {
      const body = await readConditions(client, account)
      assertForm(at(body, 'data'), OBJECT, 'data')
      assertForm(at(body, 'data.code'), TEXT, 'data.code')
      assertForm(at(body, 'data.message'), TEXT, 'data.message')
      assertForm(at(body, 'data.data'), LIST, 'data.data')
      assertForm(at(body, 'data.errors'), LIST, 'data.errors')
    },
  ),
  envelope.writes('Account registration', async (client) => {
    const json = registration(client.unique('user'))
    const body = jsonOf(await client.send('POST', '/account/register', { json }))
    assertForm(at(body, 'accountId'), TEXT, 'accountId, without an envelope,')
    assertKept(at(body, 'data'), undefined, 'data, as there is no envelope,')
  }),
]
