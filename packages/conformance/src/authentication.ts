import {
  COMPLETED,
  createCompleted,
  createTaker,
  currentPage,
  PAGES,
  RECOMMENDATIONS,
  RESULT,
  submissionFor,
} from './age-assessment.ts'
import {
  type Account,
  answered,
  at,
  type ConformanceCase,
  formed,
  inSection,
  jsonOf,
  kept,
  listAt,
  NothingToJudge,
  oneOf,
  read,
  refused,
  textAt,
} from './case.ts'
import type { Answer, Client, Sent } from './client.ts'
import {
  BIOMETRICS,
  biometric,
  biometricsOf,
  CARE_TEAMS,
  CONDITIONS,
  careTeam,
  condition,
  conditionsOf,
  createBiometrics,
  createCareTeams,
  PRIMARY_CARE,
  queryOf,
  readBiometrics,
  register,
  registerTwo,
  registration,
  unregister,
} from './made-up.ts'
import { createTaken, PATH, PDF, search, searchFor, searchForNobody, UPLOADED } from './medical-records.ts'
import { ARTICLES } from './reads.ts'

const authentication = inSection('Authentication')
const versioning = inSection('Versioning')

const NPI = '1234567893'

/** Reads without a person. */
const READS = [ARTICLES, `${PATH}/requestTypes`] as const

/** Checks that a call is refused without the header. */
const needsHeader =
  (name: 'X-API-Key' | 'Authorization', client: Client) => async (method: string, path: string, sent: Sent) =>
    refused(await client.send(method, path, { ...sent, without: [name] }), `${name} is missing`)

async function nothingStored(client: Client, account: Account): Promise<void> {
  kept(listAt(await readBiometrics(client, account), 'data').length, 0, 'the number of records stored')
  kept((await conditionsOf(client, account)).length, 0, 'the number of conditions stored')
}

/** Prepares writes under a user with a care team entry to mark and to delete, so that only the missing header can cause a refusal. */
async function writesFor(client: Client, account: Account) {
  await createCareTeams(client, [careTeam(account)])
  return [
    ['POST', BIOMETRICS, [biometric(client, account)]],
    ['POST', `${BIOMETRICS}/bulk`, [biometric(client, account)]],
    ['POST', CONDITIONS, [condition(client, account)]],
    ['POST', CARE_TEAMS, [careTeam(account)]],
    ['POST', PRIMARY_CARE, { account, npi: NPI }],
    ['DELETE', PRIMARY_CARE, { account, npi: NPI }],
  ] as const
}

/** Sections "Authentication" and "Versioning". Cases for the deprecated paths stand with the age assessment. */
export const AUTHENTICATION_CASES: readonly ConformanceCase[] = [
  ...authentication.nothing({
    'X-API-Key': async (client) => {
      for (const path of READS) {
        answered(await client.send('GET', path), 200)
        await needsHeader('X-API-Key', client)('GET', path, {})
      }
    },
    accept: async (client) => {
      for (const path of READS) {
        answered(await client.send('GET', path), 200)
        answered(await client.send('GET', path, { without: ['accept'] }), 200)
      }
    },
    'X-API-Version': async (client) => {
      for (const path of READS) answered(await client.send('GET', path), 200)
    },
    'and the requester endpoints are called with the API key only': async (client) => {
      for (const path of READS) answered(await client.send('GET', path), 200)
      answered(await search(client, await searchForNobody(client)), 200)
    },
  }),
  ...authentication.account({
    'X-API-Key': async (client, account) => {
      for (const path of [BIOMETRICS, CONDITIONS, RESULT])
        await needsHeader('X-API-Key', client)('GET', path, { query: queryOf(account) })
    },
    Authorization: async (client, account) => {
      const query = queryOf(account)
      for (const path of [BIOMETRICS, CONDITIONS]) {
        answered(await client.send('GET', path, { query }), 200)
        await needsHeader('Authorization', client)('GET', path, { query })
      }
    },
    'the age result, recommendations and answered-questions': async (client, account) => {
      for (const path of [RESULT, COMPLETED]) {
        const answer = await client.send('GET', path, { query: queryOf(account) })
        if (answer.status === 404) throw new NothingToJudge('the account has no completed test')
        formed(answer.status, oneOf(200, 204), `${answer.call}: the status without a bearer token`)
      }
    },
  }),
  ...authentication.writes({
    'X-API-Key': async (client) => {
      const needsKey = needsHeader('X-API-Key', client)
      const { account } = await register(client)
      const { sent } = await createTaken(client)
      await needsKey('POST', '/account/register', { json: registration(client.unique('user')) })
      for (const [method, path, json] of await writesFor(client, account))
        await needsKey(method, path, { json })
      await needsKey('POST', `${CONDITIONS}/bulk`, { json: [condition(client, account)] })
      await needsKey('PATCH', PATH, { json: [sent] })
      await needsKey('POST', PATH, {
        json: searchFor({ lastName: sent.patient.lastName }, { type: '', subType: '' }),
      })
      await needsKey('DELETE', '/account', { query: queryOf(account) })
      await nothingStored(client, account)
    },
    Authorization: async (client) => {
      const needsToken = needsHeader('Authorization', client)
      const { account } = await register(client)
      for (const [method, path, json] of await writesFor(client, account))
        await needsToken(method, path, { json })
      await needsToken('DELETE', CARE_TEAMS, { query: { ...queryOf(account), npi: NPI } })
      await nothingStored(client, account)
    },
    'Content-Type': async (client) => {
      const { account } = await register(client)
      for (const type of ['application/json', 'application/json;charset=UTF-8']) {
        const sent = { json: [biometric(client, account)], headers: { 'Content-Type': type } }
        answered(await client.send('POST', BIOMETRICS, sent), 200, 201)
      }
    },
    'Account registration and deletion': async (client) =>
      unregister(client, (await register(client)).account),
    'The sample of POST /health-profile/conditions/bulk omits the Authorization header.': async (client) => {
      const json = [condition(client, (await register(client)).account)]
      const answer = await client.send('POST', `${CONDITIONS}/bulk`, { json, without: ['Authorization'] })
      // The document does not show whether this call requires the header.
      formed(answer.status, oneOf(200, 401, 403), `${answer.call}: the status without a bearer token`)
    },
    "The authorizationUploadUrl is called without the integrator's key in the documented usage.": async (
      client,
    ) => {
      const { returned } = await createTaken(client)
      answered(await client.upload(textAt(returned, 'authorizationUploadUrl'), PDF), ...UPLOADED)
      const available = at(returned, 'status.documentAvailable')
      kept(available, false, 'status.documentAvailable before the upload')
    },
  }),
  ...authentication.control({
    Authorization: async (client, control) => {
      const taker = await createTaker(client, control)
      const json = submissionFor(await currentPage(client, taker))
      await needsHeader('Authorization', client)('GET', PAGES, {})
      await needsHeader('Authorization', client)('POST', PAGES, { json })
    },
    'Accept-Language': async (client, control) => {
      const { account } = await createCompleted(client, control)
      const query = queryOf(account)
      const path = { assessmentId: textAt(await read(client, COMPLETED, { query }), '0.assessmentId') }
      for (const language of ['en-US', 'es-MX', 'xx']) {
        const headers = { 'Accept-Language': language }
        answered(await client.send('GET', RECOMMENDATIONS, { path, query, headers }), 200)
      }
    },
  }),

  ...versioning.control({
    'value 1.0 on the paged test endpoints': async (client, control) => {
      const { token } = await createTaker(client, control)
      answered(await client.send('GET', PAGES, { token, headers: { 'X-API-Version': '1.0' } }), 200)
    },
  }),
  ...versioning.nothing({
    '1.0.0 on content and requester endpoints': async (client) => {
      for (const path of READS)
        answered(await client.send('GET', path, { headers: { 'X-API-Version': '1.0.0' } }), 200)
    },
  }),
  ...versioning.account({
    'Health-profile, account and age-result samples send no version header.': async (client, account) => {
      const sent = { query: queryOf(account), without: ['X-API-Version'] } as const
      for (const path of [BIOMETRICS, CONDITIONS]) answered(await client.send('GET', path, sent), 200)
      answered(await client.send('GET', RESULT, sent), 200, 204, 404)
    },
  }),
  ...versioning.writes({ 'account and age-result samples send no version header.': register }),
]

/** Registers a user, deletes the account again, and checks that a write is not accepted. */
async function deleted(client: Client, form: 'accountId' | 'partnerAccountId'): Promise<void> {
  const { account, accountId } = await register(client)
  await unregister(client, form === 'accountId' ? { reference: accountId, type: 'accountId' } : account)
  const json = [biometric(client, account)]
  notTaken(await client.send('POST', BIOMETRICS, { json }), 'the account is deleted')
}

/** Checks that a call stores nothing. The document does not say whether it is refused or lists the record among its errors. */
function notTaken(answer: Answer, why: string): void {
  if (answer.status < 200 || answer.status >= 300) refused(answer, why)
  else {
    const body = jsonOf(answer)
    kept(listAt(body, 'data'), [], `data, as ${why}`)
    formed(at(body, 'errors.0'), 'error', `errors.0, as ${why}`)
  }
}

/** Sections "Registration", "Endpoints: Accounts", "States: Account". */
export const ACCOUNT_CASES: readonly ConformanceCase[] = [
  ...inSection('Registration').writes({
    'Request fields: dateOfBirth (string, YYYY-MM-DD), firstName (string), gender (string, FEMALE is used), lastName (string), partnerAccountId (string), postalCode (string).':
      register,
    'Response fields: accountId (string), partnerAccountId (string).': async (client) => {
      const reference = client.unique('user')
      const answer = await client.send('POST', '/account/register', { json: registration(reference) })
      const body = jsonOf(answered(answer, 200, 201))
      formed(at(body, 'accountId'), 'text', 'accountId')
      kept(at(body, 'partnerAccountId'), reference, 'partnerAccountId')
    },
  }),
  ...inSection('Endpoints: Accounts').writes({
    'POST /account/register': async (client) => {
      const { account, accountId } = await register(client)
      await createBiometrics(client, [biometric(client, { reference: accountId, type: 'accountId' })])
      const held = await biometricsOf(client, account)
      kept(held.length, 1, 'records stored by account id, read by partner account id: their number')
    },
    'DELETE /account': (client) => deleted(client, 'accountId'),
  }),
  ...inSection('States: Account').writes({
    none: async (client) => createBiometrics(client, [biometric(client, (await register(client)).account)]),
    registered: (client) => deleted(client, 'partnerAccountId'),
  }),
  ...inSection('What the service does').writes({
    'Accounts: registers a user account keyed by a partner-supplied identifier': async (client) => {
      const [one, other] = await registerTwo(client)
      const distinct = one.accountId !== other.accountId
      kept(distinct, true, 'the account ids of two partner identifiers being two')
    },
    'Registration must be completed before any user-centric call.': async (client) => {
      const stranger = { reference: client.unique('stranger'), type: 'partnerAccountId' } as const
      const json = [biometric(client, stranger)]
      notTaken(await client.send('POST', BIOMETRICS, { json }), 'the account is not registered')
    },
    'Accounts can be deleted.': async (client) => unregister(client, (await register(client)).account),
  }),
]
