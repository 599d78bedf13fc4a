import { type Account, type ConformanceCase, inSection, NothingToJudge } from './case.ts'
import type { Answer, Client } from './client.ts'
import { createCompleted, createTaker, readResult, takeTest } from './paged-test.ts'
import { queryOf, register } from './profile.ts'
import {
  assertForm,
  assertKept,
  assertRefused,
  assertStatus,
  at,
  INTEGER,
  ISO_INSTANT,
  jsonOf,
  LIST,
  listAt,
  oneOf,
  TEXT,
  textAt,
} from './values.ts'

const result = inSection('Age result')
const recommendation = inSection('Recommendation')
const completed = inSection('Completed questions record (list item)')
const endpoints = inSection('Endpoints: Age assessment')
const envelope = inSection('Envelope')
const versioning = inSection('Versioning')

const RECOMMENDATIONS = '/bioage/assessments/{assessmentId}/recommendations'

/** The account's age result, where it has one. */
async function resultOf(client: Client, account: Account): Promise<unknown> {
  const answer = await readResult(client, { account })
  if ([204, 404].includes(answer.status)) throw new NothingToJudge('the account has no age result')
  assertStatus(answer, 200)
  return jsonOf(answer)
}

/** As `resultOf`, of a test that is finished: the ages of one that is not are left open. */
async function completeResultOf(client: Client, account: Account): Promise<unknown> {
  const found = await resultOf(client, account)
  if (at(found, 'status') !== 'COMPLETE') throw new NothingToJudge('the age result is not COMPLETE')
  return found
}

const inYears = (field: 'bioAge' | 'calendarAge' | 'bioAgeDelta'): ConformanceCase =>
  result.account(field, async (client, account) => {
    const found = await completeResultOf(client, account)
    assertForm(at(found, `${field}.year`), INTEGER, `${field}.year`)
    assertForm(at(found, `${field}.month`), INTEGER, `${field}.month`)
  })

/** The account's completed tests, a bare array. */
async function completedOf(client: Client, account: Account): Promise<readonly unknown[]> {
  const answer = await client.send('GET', '/bioage/completed/questions', { query: queryOf(account) })
  if ([204, 404].includes(answer.status)) throw new NothingToJudge('the account has no completed test')
  assertStatus(answer, 200)
  const records = jsonOf(answer)
  assertForm(records, LIST, 'the answer, without an envelope,')
  return listAt({ records }, 'records')
}

async function oneCompletedOf(client: Client, account: Account): Promise<unknown> {
  const [first] = await completedOf(client, account)
  if (first === undefined) throw new NothingToJudge('the account has no completed test')
  return first
}

async function recommendationsOf(client: Client, account: Account): Promise<Answer> {
  const assessmentId = textAt(await oneCompletedOf(client, account), 'assessmentId')
  return client.send('GET', RECOMMENDATIONS, { path: { assessmentId }, query: queryOf(account) })
}

/** Every recommendation for the account. */
async function eachRecommendation(client: Client, account: Account): Promise<readonly unknown[]> {
  const answer = await recommendationsOf(client, account)
  assertStatus(answer, 200)
  const records = jsonOf(answer)
  assertForm(records, LIST, 'the answer, without an envelope,')
  const found = listAt({ records }, 'records')
  if (found.length === 0) throw new NothingToJudge('the account has no recommendations')
  return found
}

const textOf = (row: 'teaser' | 'body'): ConformanceCase =>
  recommendation.account(row, async (client, account) => {
    for (const item of await eachRecommendation(client, account)) assertForm(at(item, row), TEXT, row)
  })

/** Sections "Age result", "Recommendation", "Completed questions record", and what "Endpoints" has of them. */
export const AGE_ASSESSMENT_CASES: readonly ConformanceCase[] = [
  result.account('status', async (client, account) => {
    assertForm(at(await resultOf(client, account), 'status'), TEXT, 'status')
  }),
  inYears('bioAge'),
  inYears('calendarAge'),
  inYears('bioAgeDelta'),
  result.account('completed', async (client, account) => {
    assertForm(at(await completeResultOf(client, account), 'completed'), ISO_INSTANT, 'completed')
  }),
  textOf('teaser'),
  recommendation.account('benefitCost', async (client, account) => {
    for (const item of await eachRecommendation(client, account))
      assertForm(at(item, 'benefitCost'), oneOf('cost', 'benefit', 'neither'), 'benefitCost')
  }),
  textOf('body'),

  ...['id', 'assessmentId', 'assessmentType'].map((field) =>
    completed.account(`${field} (string)`, async (client, account) => {
      assertForm(at(await oneCompletedOf(client, account), field), TEXT, field)
    }),
  ),
  completed.account('account (type, reference)', async (client, account) => {
    const record = await oneCompletedOf(client, account)
    assertForm(at(record, 'account.type'), TEXT, 'account.type')
    assertForm(at(record, 'account.reference'), TEXT, 'account.reference')
  }),
  completed.account('created (ISO 8601 timestamp)', async (client, account) => {
    assertForm(at(await oneCompletedOf(client, account), 'created'), ISO_INSTANT, 'created')
  }),
  completed.account('Each question has id, text and answers[].', async (client, account) => {
    for (const question of listAt(await oneCompletedOf(client, account), 'questions')) {
      assertForm(at(question, 'text'), TEXT, 'questions[].text')
      assertForm(at(question, 'answers'), LIST, 'questions[].answers')
      assertKept(at(question, 'id') === undefined, false, 'the lack of questions[].id')
    }
  }),
  completed.account(
    'Each answer has id, description, label, value, all strings.',
    async (client, account) => {
      for (const question of listAt(await oneCompletedOf(client, account), 'questions'))
        for (const answer of listAt(question, 'answers'))
          for (const field of ['id', 'description', 'label', 'value'])
            assertForm(at(answer, field), TEXT, `answers[].${field}`)
    },
  ),

  endpoints.account('GET /bioage/result', async (client, account) => {
    assertForm(at(await resultOf(client, account), 'status'), TEXT, 'status')
  }),
  endpoints.control('GET /bioage/result/{accountId}', async (client, control) => {
    const taker = await createCompleted(client, control)
    const answer = await client.send('GET', '/bioage/result/{accountId}', {
      path: { accountId: taker.accountId },
    })
    assertStatus(answer, 200)
    assertKept(
      jsonOf(answer),
      jsonOf(await readResult(client, taker)),
      'the result, of both forms of the call,',
    )
  }),
  endpoints.account('GET /bioage/assessments/{assessmentId}/recommendations', async (client, account) => {
    assertForm(await eachRecommendation(client, account), LIST, 'the answer')
  }),
  endpoints.control(
    'GET /bioage/assessments/{assessmentId}/recommendations/{accountId}',
    async (client, control) => {
      const { account, accountId } = await createCompleted(client, control)
      const assessmentId = textAt(await oneCompletedOf(client, account), 'assessmentId')
      const path = { assessmentId, accountId }
      const answer = await client.send('GET', `${RECOMMENDATIONS}/{accountId}`, { path })
      assertStatus(answer, 200)
      assertKept(
        jsonOf(answer),
        jsonOf(await recommendationsOf(client, account)),
        'the list, of both forms of the call,',
      )
    },
  ),
  endpoints.account('GET /bioage/completed/questions', async (client, account) => {
    await completedOf(client, account)
  }),
  endpoints.nothing('An age result exists only for a user who has completed the test', async (client) => {
    const account = { reference: client.unique('stranger'), type: 'partnerAccountId' } as const
    const answer = await readResult(client, { account })
    if (answer.status === 204) return
    if (answer.status === 200)
      assertKept(at(jsonOf(answer), 'status') === 'COMPLETE', false, "a stranger's result")
    else assertRefused(answer, 'there is no such user')
  }),
  endpoints.control('who has completed the test', async (client, control) => {
    const taker = await createTaker(client, control)
    const { account } = taker
    const before = await readResult(client, taker)
    if (before.status === 200)
      assertKept(at(jsonOf(before), 'status') === 'COMPLETE', false, 'a result without a test')
    await takeTest(client, taker)
    assertKept((await completedOf(client, account)).length, 1, 'the number of completed tests')
  }),
  envelope.account(
    'the age result, the recommendations list and the answered-questions list are returned without an envelope.',
    async (client, account) => {
      assertKept(at(await resultOf(client, account), 'data'), undefined, 'data of the result')
      await eachRecommendation(client, account)
      await completedOf(client, account)
    },
  ),
  versioning.writes('They support account ids only', async (client) => {
    const { account } = await register(client)
    const path = { accountId: account.reference }
    assertRefused(
      await client.send('GET', '/bioage/result/{accountId}', { path }),
      'the path takes no partner identifier',
    )
  }),
  versioning.control(
    'the query-parameter forms, which accept partner identifiers, are preferred.',
    async (client, control) => {
      assertStatus(await readResult(client, await createCompleted(client, control)), 200)
    },
  ),
]
