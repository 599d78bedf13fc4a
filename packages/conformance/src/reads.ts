/** Cases that only read: from an unknown account, and from a named account. Cases that store before reading stand beside the records. */
import { COMPLETED, isComplete, PAGES, RECOMMENDATIONS, RESULT, readResult } from './age-assessment.ts'
import { RETURNED } from './care-teams.ts'
import {
  type Account,
  allFormed,
  answered,
  at,
  byField,
  byName,
  type ConformanceCase,
  type Form,
  formed,
  inSection,
  isOfForm,
  jsonOf,
  kept,
  listAt,
  NothingToJudge,
  oneOf,
  type Run,
  read,
  refused,
  textAt,
} from './case.ts'
import type { Answer, Client, Sent } from './client.ts'
import {
  BIOMETRICS,
  biometricsOf,
  CONDITIONS,
  careTeamsOf,
  conditionsOf,
  queryOf,
  some,
  someBiometrics,
} from './made-up.ts'
import { search, searchForNobody } from './medical-records.ts'
import { ADDED } from './medical-records-fields.ts'

const TYPES = ['partnerAccountId', 'accountId'] as const
const LANGUAGES = ['en-US', 'es-MX', 'xx'] as const

const stranger = (client: Client, type: Account['type'] = 'partnerAccountId'): Account => ({
  reference: client.unique('stranger'),
  type,
})

/** Checks that an answer reports an unknown account: a refusal, 204, or an empty answer. @param of list in an answer of 200 */
function holdsNothing(answer: Answer, of: (body: unknown) => readonly unknown[]): void {
  if (answer.status === 204) return
  if (answer.status === 200)
    kept(of(jsonOf(answer)).length, 0, `${answer.call}: the number of a stranger's records`)
  else refused(answer, 'there is no such account')
}

/** Reads of an unknown account hold nothing, by either type of reference. */
const ofStranger =
  (path: string | ((client: Client) => string), of: (body: unknown) => readonly unknown[]): Run =>
  async (client) => {
    for (const type of TYPES) {
      const query = queryOf(stranger(client, type))
      const at = typeof path === 'string' ? path : path(client)
      holdsNothing(
        await client.send('GET', at, { query, path: { assessmentId: client.unique('assessment') } }),
        of,
      )
    }
  }

/** Care teams come in an envelope or as a bare list. */
const listIn = (body: unknown): readonly unknown[] => (Array.isArray(body) ? body : listAt(body, 'data'))
const bare = (body: unknown): readonly unknown[] => listAt({ body }, 'body')

/** Checks that all variants of a call get the same status, below 500. */
async function answersAlike(client: Client, path: string, sents: readonly Sent[]): Promise<void> {
  const statuses: number[] = []
  for (const sent of sents) statuses.push((await client.send('GET', path, sent)).status)
  kept(new Set(statuses).size, 1, `GET ${path}: the number of different statuses`)
  kept((statuses[0] ?? 500) < 500, true, `GET ${path}: a status below 500`)
}

const OF_A_PERSON = [BIOMETRICS, CONDITIONS, RESULT, COMPLETED] as const

const OF_NOBODY: readonly ConformanceCase[] = [
  ...inSection('Account reference (request bodies, field account)').nothing({
    'User-identifying query parameters are accountReference (string) and accountReferenceType (accountId or partnerAccountId).':
      async (client) => {
        for (const path of OF_A_PERSON)
          await answersAlike(
            client,
            path,
            TYPES.map((type) => ({ query: queryOf(stranger(client, type)) })),
          )
      },
  }),
  ...inSection('Endpoints: Biometrics').nothing({
    'GET /health-profile/biometrics': ofStranger(BIOMETRICS, (body) => listAt(body, 'data')),
  }),
  ...inSection('Endpoints: Conditions').nothing({
    'GET /health-profile/conditions': ofStranger(CONDITIONS, (body) => listAt(body, 'data.data')),
  }),
  ...inSection('Endpoints: Care teams').nothing({
    'GET not shown': ofStranger((client) => client.careTeamsPath, listIn),
  }),
  ...inSection('Endpoints: Age assessment').nothing({
    'GET /bioage/completed/questions': ofStranger(COMPLETED, bare),
    'GET /bioage/assessments/{assessmentId}/recommendations': ofStranger(RECOMMENDATIONS, bare),
    'GET /bioage/result/{accountId}': async (client) => {
      const path = { accountId: client.unique('stranger') }
      const answer = await client.send('GET', `${RESULT}/{accountId}`, { path })
      if (answer.status === 204) return
      if (answer.status === 200) kept(isComplete(answer), false, "a stranger's result")
      else refused(answer, 'there is no such account')
    },
    'GET /bioage/assessments/{assessmentId}/recommendations/{accountId}': async (client) => {
      const path = { assessmentId: client.unique('assessment'), accountId: client.unique('stranger') }
      holdsNothing(await client.send('GET', `${RECOMMENDATIONS}/{accountId}`, { path }), bare)
    },
  }),
  ...inSection('Endpoints: Content').nothing({
    'GET /content/distribution/article/{contentId}': async (client) => {
      const path = { contentId: client.unique('article') }
      holdsNothing(await client.send('GET', `${ARTICLES}/{contentId}`, { path }), (body) =>
        listAt(body, 'data'),
      )
    },
  }),
  ...inSection('Endpoints: Medical-records requester').nothing({
    'filter[].patient.type, reference, zip, firstName, lastName, dob': async (client) => {
      const body = await searchForNobody(client)
      // A made-up ZIP code or birthday may belong to a real person.
      for (const field of ['reference', 'firstName', 'lastName']) {
        const filter = body.filter.map(({ request }) => ({
          patient: { [field]: client.unique('nobody') },
          request,
        }))
        const found = jsonOf(answered(await search(client, { ...body, filter }), 200))
        kept(listAt(found, 'data.0.results').length, 0, `the number of requests of nobody, by ${field},`)
      }
    },
  }),
  ...inSection('Authentication').nothing({
    'X-API-Key': async (client) => {
      for (const path of [...OF_A_PERSON, client.careTeamsPath]) {
        const sent = { query: queryOf(stranger(client)), without: ['X-API-Key'] } as const
        refused(await client.send('GET', path, sent), 'X-API-Key is missing')
      }
    },
    Authorization: async (client) => {
      for (const path of [BIOMETRICS, CONDITIONS, client.careTeamsPath, PAGES]) {
        const sent = { query: queryOf(stranger(client)), without: ['Authorization'] } as const
        refused(await client.send('GET', path, sent), 'Authorization is missing')
      }
    },
    'the age result, recommendations and answered-questions': async (client) => {
      for (const path of [RESULT, COMPLETED, RECOMMENDATIONS]) {
        const sent = {
          query: queryOf(stranger(client)),
          path: { assessmentId: client.unique('assessment') },
        }
        await answersAlike(client, path, [sent, { ...sent, without: ['Authorization'] }])
      }
    },
    'Accept-Language': async (client) => {
      const sent = { query: queryOf(stranger(client)), path: { assessmentId: client.unique('assessment') } }
      const languages = LANGUAGES.map((language) => ({ ...sent, headers: { 'Accept-Language': language } }))
      await answersAlike(client, RECOMMENDATIONS, [sent, ...languages])
    },
  }),
]

/** Checks the form of a field in each record of the account that has the field. */
const where =
  (
    recordsOf: (client: Client, account: Account) => Promise<readonly unknown[]>,
    field: string,
    form: Form,
  ): Run<[Account]> =>
  async (client, account) => {
    const values = (await recordsOf(client, account)).map((record) => at(record, field))
    const there = values.filter((value) => value !== undefined && (value !== null || isOfForm(value, form)))
    for (const value of some(there, field)) formed(value, form, field)
  }

const someCareTeams = async (client: Client, account: Account) =>
  some(await careTeamsOf(client, account), 'care teams')
const sourcesOf = async (client: Client, account: Account) =>
  [...(await biometricsOf(client, account)), ...(await conditionsOf(client, account))].map((one) =>
    at(one, 'source'),
  )
const codesOf = async (client: Client, account: Account) =>
  (await someBiometrics(client, account)).flatMap((record) => listAt(record, 'codes'))

/** Medical-records requests with the account as patient. */
async function requestsOf(client: Client, { reference, type }: Account): Promise<readonly unknown[]> {
  const body = await searchForNobody(client)
  const filter = body.filter.map(({ request }) => ({ patient: { type, reference }, request }))
  const found = jsonOf(answered(await search(client, { ...body, filter }), 200))
  return some(listAt(found, 'data.0.results'), 'requests for medical records')
}

/** Reads the account id from a biometric: a plain id, or the end of an address. */
async function accountIdOf(client: Client, account: Account): Promise<string> {
  if (account.type === 'accountId') return account.reference
  const [first] = await someBiometrics(client, account)
  const named = textAt(first, 'accountReference.reference')
  return named.split(/[/:]/).at(-1) ?? named
}

async function assessmentOf(client: Client, account: Account): Promise<string> {
  const answer = await client.send('GET', COMPLETED, { query: queryOf(account) })
  const tests = answer.status === 200 ? bare(jsonOf(answer)) : []
  return textAt(some(tests, 'completed test')[0], 'assessmentId')
}

/** Checks that the deprecated form of a call gets the same answer. */
async function sameByPath(
  client: Client,
  account: Account,
  path: string,
  parameters: Readonly<Record<string, string>>,
): Promise<void> {
  const other = await client.send('GET', path, { path: parameters, query: queryOf(account) })
  if (other.status !== 200) throw new NothingToJudge('the account has no age result')
  const accountId = await accountIdOf(client, account)
  const answer = await client.send('GET', `${path}/{accountId}`, { path: { ...parameters, accountId } })
  kept(jsonOf(answered(answer, 200)), jsonOf(other), 'the answer, of both forms of the call,')
}

const OF_AN_ACCOUNT: readonly ConformanceCase[] = [
  ...inSection('Care team record, as returned').account(
    byField(RETURNED, (field, form) => where(someCareTeams, field, form)),
  ),
  ...inSection('Endpoints: Care teams').account({ 'GET not shown': careTeamsOf }),
  ...inSection('States: Care team PCP flag').account({
    'pcp is set to false on all other care team entries of the same user.': async (client, account) => {
      const marked = (await someCareTeams(client, account)).filter((one) => at(one, 'pcp') === true)
      kept(marked.length <= 1, true, 'one entry at most being marked')
    },
  }),
  ...inSection('Source object (source)').account({
    ...byName(['name', 'type', 'notes'], (field) => where(sourcesOf, field, 'text')),
    meta: where(sourcesOf, 'meta', 'object'),
    ...byName(
      ['batchId', 'resourceKey', 'sendingSystem', 'persistentRecordId', 'dataQuality'],
      (field): Run<[Account]> => where(sourcesOf, `meta.${field}`, 'text'),
    ),
  }),
  ...inSection('Code object (codes[], medication[])').account(
    byName(['code', 'codeSystem', 'codeSystemName', 'name'], (field) => where(codesOf, field, 'text')),
  ),
  ...inSection('Account reference (request bodies, field account)').account({
    'Type is accountId or entity.': where(
      biometricsOf,
      'accountReference.type',
      oneOf('accountId', 'entity'),
    ),
  }),
  ...inSection('Endpoints: Age assessment').account({
    'GET /bioage/result/{accountId}': (client, account) => sameByPath(client, account, RESULT, {}),
    'GET /bioage/assessments/{assessmentId}/recommendations/{accountId}': async (client, account) =>
      sameByPath(client, account, RECOMMENDATIONS, { assessmentId: await assessmentOf(client, account) }),
    'who has completed the test': async (client, account) => {
      if (!isComplete(await readResult(client, { account })))
        throw new NothingToJudge('the account has no age result')
      await assessmentOf(client, account)
    },
  }),
  ...inSection('Versioning').account({
    'They support account ids only': async (client, account) => {
      if (account.type === 'accountId') throw new NothingToJudge('no partner identifier is named')
      const path = { accountId: account.reference }
      refused(
        await client.send('GET', `${RESULT}/{accountId}`, { path }),
        'the path takes no partner identifier',
      )
    },
    'the query-parameter forms, which accept partner identifiers, are preferred.': async (client, account) =>
      answered(await readResult(client, { account }), 200, 204, 404),
  }),
  ...inSection('Authentication').account({
    'Accept-Language': async (client, account) => {
      const path = { assessmentId: await assessmentOf(client, account) }
      for (const language of LANGUAGES) {
        const sent = { path, query: queryOf(account), headers: { 'Accept-Language': language } }
        const answer = await client.send('GET', RECOMMENDATIONS, sent)
        formed(jsonOf(answered(answer, 200)), 'list', 'the answer, without an envelope,')
      }
    },
  }),
  ...inSection('Medical-records request (ROI)').account(
    byField(ADDED, (field, form) => where(requestsOf, field, form)),
  ),
]

export const READ_CASES: readonly ConformanceCase[] = [...OF_NOBODY, ...OF_AN_ACCOUNT]

export const ARTICLES = '/content/distribution/article'

/** First articles of the list. */
async function articles(client: Client): Promise<readonly unknown[]> {
  const found = listAt(await read(client, ARTICLES), 'data')
  if (found.length === 0) throw new NothingToJudge('the gateway has no articles')
  return found
}

/** Envelope of the first article's detail. */
async function detail(client: Client): Promise<unknown> {
  const [first] = await articles(client)
  return read(client, `${ARTICLES}/{contentId}`, { path: { contentId: String(at(first, 'id')) } })
}

/** Sections "Content item" and "Endpoints: Content". */
export const CONTENT_CASES: readonly ConformanceCase[] = [
  ...inSection('Content item').nothing({
    'List item: id, resourceId, type, title, uri, primaryTag (type, id).': async (client) => {
      for (const article of await articles(client))
        allFormed(article, {
          id: 'id',
          resourceId: 'id',
          type: 'text',
          title: 'text',
          uri: 'text',
          primaryTag: 'object',
          'primaryTag.type': 'text',
          'primaryTag.id': 'id',
        })
    },
    'Detail item adds body (string, HTML), attribution (byLine, option, byLineUrl) and image (id, title, url).':
      async (client) =>
        allFormed(at(await detail(client), 'data.0'), {
          body: 'text',
          attribution: 'object',
          'attribution.byLine': 'text',
          'attribution.option': 'text',
          'attribution.byLineUrl': 'text',
          image: 'object',
          'image.id': 'id',
          'image.title': 'text',
          'image.url': 'text',
        }),
    'The content envelope has code (integer), message and data (array).': async (client) =>
      allFormed(jsonOf(await client.send('GET', ARTICLES)), {
        code: 'integer',
        message: 'text',
        data: 'list',
      }),
  }),
  ...inSection('Endpoints: Content').nothing({
    'GET /content/distribution/article': async (client) =>
      formed(at(await read(client, ARTICLES), 'data'), 'list', 'data'),
    'GET /content/distribution/article/{contentId}': async (client) => {
      const [first] = await articles(client)
      const body = await detail(client)
      kept(listAt(body, 'data').length, 1, 'the number of items in data')
      kept(at(body, 'data.0.id'), at(first, 'id'), 'data[].id')
    },
  }),
]
