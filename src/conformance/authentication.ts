import { type Account, type ConformanceCase, inSection, NothingToJudge } from './case.ts'
import type { Client } from './client.ts'
import { createTaken, PATH, PDF, search, searchFor, searchForNobody } from './medical-records-calls.ts'
import { createCompleted, createTaker, currentPage, submissionFor } from './paged-test.ts'
import { conditionsOf, createCareTeams, queryOf, readBiometrics, register } from './profile.ts'
import { biometric, careTeam, condition, registration } from './sample-records.ts'
import {
  assertForm,
  assertKept,
  assertRefused,
  assertStatus,
  at,
  jsonOf,
  listAt,
  oneOf,
  textAt,
} from './values.ts'

const authentication = inSection('Authentication')

const NPI = '1234567893'

/** Without the key, the call is refused as a caller who is not known. */
async function assertKeyNeeded(client: Client, method: string, path: string, json?: unknown): Promise<void> {
  const answer = await client.send(method, path, {
    without: ['X-API-Key'],
    ...(json === undefined ? {} : { json }),
  })
  assertRefused(answer, 'X-API-Key is missing')
}

/** Reads that ask for no person. */
const READS = ['/content/distribution/article', `${PATH}/requestTypes`] as const

/** Reads of a user's data that are "called with the API key only". */
const KEY_ONLY = ['/bioage/result', '/bioage/completed/questions'] as const

async function assertProfileNeedsToken(client: Client, account: Account): Promise<void> {
  for (const path of ['/health-profile/biometrics', '/health-profile/conditions']) {
    const query = queryOf(account)
    assertStatus(await client.send('GET', path, { query }), 200)
    assertRefused(
      await client.send('GET', path, { query, without: ['Authorization'] }),
      'Authorization is missing',
    )
  }
}

/** Section "Authentication". */
export const AUTHENTICATION_CASES: readonly ConformanceCase[] = [
  authentication.nothing('X-API-Key', async (client) => {
    for (const path of READS) {
      assertStatus(await client.send('GET', path), 200)
      await assertKeyNeeded(client, 'GET', path)
    }
  }),
  authentication.account('X-API-Key', async (client, account) => {
    const query = queryOf(account)
    for (const path of ['/health-profile/biometrics', '/health-profile/conditions', '/bioage/result']) {
      const answer = await client.send('GET', path, { query, without: ['X-API-Key'] })
      assertRefused(answer, 'X-API-Key is missing')
    }
  }),
  authentication.writes('X-API-Key', async (client) => {
    const { account } = await register(client)
    const { sent } = await createTaken(client)
    await assertKeyNeeded(client, 'POST', '/account/register', registration(client.unique('user')))
    for (const path of ['/health-profile/biometrics', '/health-profile/biometrics/bulk'])
      await assertKeyNeeded(client, 'POST', path, [biometric(account, client.unique('record'))])
    for (const path of ['/health-profile/conditions', '/health-profile/conditions/bulk'])
      await assertKeyNeeded(client, 'POST', path, [condition(account, client.unique('record'))])
    await createCareTeams(client, [careTeam(account)])
    await assertKeyNeeded(client, 'POST', '/health-profile/care-teams', [careTeam(account)])
    for (const method of ['POST', 'DELETE'])
      await assertKeyNeeded(client, method, '/health-profile/care-teams/pcp', { account, npi: NPI })
    await assertKeyNeeded(client, 'PATCH', PATH, [sent])
    await assertKeyNeeded(
      client,
      'POST',
      PATH,
      searchFor({ lastName: sent.patient.lastName }, { type: '', subType: '' }),
    )
    const query = queryOf(account)
    const removal = await client.send('DELETE', '/account', { query, without: ['X-API-Key'] })
    assertRefused(removal, 'X-API-Key is missing')
    assertKept(
      listAt(await readBiometrics(client, account), 'data').length,
      0,
      'the number of records stored',
    )
    assertKept((await conditionsOf(client, account)).length, 0, 'the number of conditions stored')
  }),
  authentication.account('Authorization', assertProfileNeedsToken),
  authentication.writes('Authorization', async (client) => {
    const { account } = await register(client)
    // With an entry to mark and to delete, a refusal is for the lack of the header alone.
    await createCareTeams(client, [careTeam(account)])
    const biometrics = [biometric(account, client.unique('record'))]
    const calls = [
      ['POST', '/health-profile/biometrics', biometrics],
      ['POST', '/health-profile/biometrics/bulk', biometrics],
      ['POST', '/health-profile/conditions', [condition(account, client.unique('record'))]],
      ['POST', '/health-profile/care-teams', [careTeam(account)]],
      ['POST', '/health-profile/care-teams/pcp', { account, npi: NPI }],
      ['DELETE', '/health-profile/care-teams/pcp', { account, npi: NPI }],
    ] as const
    for (const [method, path, json] of calls)
      assertRefused(
        await client.send(method, path, { json, without: ['Authorization'] }),
        'Authorization is missing',
      )
    const removal = { query: { ...queryOf(account), npi: NPI }, without: ['Authorization'] } as const
    assertRefused(
      await client.send('DELETE', '/health-profile/care-teams', removal),
      'Authorization is missing',
    )
    assertKept((await conditionsOf(client, account)).length, 0, 'the number of conditions stored')
    assertKept(
      listAt(await readBiometrics(client, account), 'data').length,
      0,
      'the number of records stored',
    )
  }),
  authentication.control('Authorization', async (client, control) => {
    const taker = await createTaker(client, control)
    const json = submissionFor(await currentPage(client, taker))
    const without = ['Authorization'] as const
    const path = '/assessments/bioage'
    assertRefused(await client.send('GET', path, { without }), 'Authorization is missing')
    assertRefused(await client.send('POST', path, { without, json }), 'Authorization is missing')
  }),
  authentication.writes('Content-Type', async (client) => {
    const { account } = await register(client)
    for (const type of ['application/json', 'application/json;charset=UTF-8']) {
      const json = [biometric(account, client.unique('record'))]
      const headers = { 'Content-Type': type }
      assertStatus(await client.send('POST', '/health-profile/biometrics', { json, headers }), 200, 201)
    }
  }),
  authentication.nothing('accept', async (client) => {
    for (const path of READS) {
      assertStatus(await client.send('GET', path), 200)
      assertStatus(await client.send('GET', path, { without: ['accept'] }), 200)
    }
  }),
  authentication.control('Accept-Language', async (client, control) => {
    const { account } = await createCompleted(client, control)
    const query = queryOf(account)
    const completed = await client.send('GET', '/bioage/completed/questions', { query })
    const path = { assessmentId: textAt(jsonOf(completed), '0.assessmentId') }
    for (const language of ['en-US', 'es-MX', 'xx']) {
      const headers = { 'Accept-Language': language }
      const call = '/bioage/assessments/{assessmentId}/recommendations'
      assertStatus(await client.send('GET', call, { path, query, headers }), 200)
    }
  }),
  authentication.nothing('X-API-Version', async (client) => {
    for (const path of READS) assertStatus(await client.send('GET', path), 200)
  }),
  authentication.nothing('and the requester endpoints are called with the API key only', async (client) => {
    for (const path of READS) assertStatus(await client.send('GET', path), 200)
    assertStatus(await search(client, await searchForNobody(client)), 200)
  }),
  authentication.account(
    'the age result, recommendations and answered-questions',
    async (client, account) => {
      for (const path of KEY_ONLY) {
        const answer = await client.send('GET', path, { query: queryOf(account) })
        if (answer.status === 404) throw new NothingToJudge('the account has no completed test')
        assertForm(answer.status, oneOf(200, 204), `${answer.call}: the status without a bearer token`)
      }
    },
  ),
  authentication.writes('Account registration and deletion', async (client) => {
    const { account } = await register(client)
    const answer = await client.send('DELETE', '/account', { query: queryOf(account) })
    assertStatus(answer, 200, 202, 204)
  }),
  authentication.writes(
    'The sample of POST /health-profile/conditions/bulk omits the Authorization header.',
    async (client) => {
      const { account } = await register(client)
      const json = [condition(account, client.unique('record'))]
      const path = '/health-profile/conditions/bulk'
      const answer = await client.send('POST', path, { json, without: ['Authorization'] })
      // Whether the header is required there is not shown.
      assertForm(answer.status, oneOf(200, 401, 403), `${answer.call}: the status without a bearer token`)
    },
  ),
  authentication.writes(
    "The authorizationUploadUrl is called without the integrator's key in the documented usage.",
    async (client) => {
      const { returned } = await createTaken(client)
      const answer = await client.upload(textAt(returned, 'authorizationUploadUrl'), PDF)
      assertStatus(answer, 200, 201, 202, 204)
      assertKept(
        at(returned, 'status.documentAvailable'),
        false,
        'status.documentAvailable before the upload',
      )
    },
  ),
]
