import {
  type Account,
  allFormed,
  answered,
  at,
  byName,
  type ConformanceCase,
  formed,
  INTEGER,
  ISO_INSTANT,
  inSection,
  jsonOf,
  kept,
  LIST,
  listAt,
  NothingToJudge,
  oneOf,
  refused,
  TEXT,
  textAt,
} from './case.ts'
import type { Answer, Client } from './client.ts'
import { createCompleted, createTaker, isComplete, RESULT, readResult, takeTest } from './paged-test.ts'
import { queryOf, register, some } from './profile.ts'

export const COMPLETED = '/bioage/completed/questions'
export const RECOMMENDATIONS = '/bioage/assessments/{assessmentId}/recommendations'

const result = inSection('Age result')
const recommendation = inSection('Recommendation')
const completed = inSection('Completed questions record (list item)')
const endpoints = inSection('Endpoints: Age assessment')
const envelope = inSection('Envelope')
const versioning = inSection('Versioning')

/** The account's age result, where it has one. */
async function resultOf(client: Client, account: Account): Promise<unknown> {
  const answer = await readResult(client, { account })
  if ([204, 404].includes(answer.status)) throw new NothingToJudge('the account has no age result')
  return jsonOf(answered(answer, 200))
}

/** As `resultOf`, of a test that is finished: the ages of one that is not are left open. */
async function completeResultOf(client: Client, account: Account): Promise<unknown> {
  const found = await resultOf(client, account)
  if (at(found, 'status') !== 'COMPLETE') throw new NothingToJudge('the age result is not COMPLETE')
  return found
}

function bareListOf(answer: Answer): readonly unknown[] {
  const records = jsonOf(answered(answer, 200))
  formed(records, LIST, 'the answer, without an envelope,')
  return listAt({ records }, 'records')
}

/** The account's completed tests. */
async function completedOf(client: Client, account: Account): Promise<readonly unknown[]> {
  const answer = await client.send('GET', COMPLETED, { query: queryOf(account) })
  if ([204, 404].includes(answer.status)) throw new NothingToJudge('the account has no completed test')
  return bareListOf(answer)
}

const oneCompletedOf = async (client: Client, account: Account): Promise<unknown> =>
  some(await completedOf(client, account), 'completed test')[0]

async function recommendationsOf(client: Client, account: Account): Promise<Answer> {
  const assessmentId = textAt(await oneCompletedOf(client, account), 'assessmentId')
  return client.send('GET', RECOMMENDATIONS, { path: { assessmentId }, query: queryOf(account) })
}

/** Every recommendation for the account. */
const eachRecommendation = async (client: Client, account: Account): Promise<readonly unknown[]> =>
  some(bareListOf(await recommendationsOf(client, account)), 'recommendations')

const questionsOf = async (client: Client, account: Account) =>
  listAt(await oneCompletedOf(client, account), 'questions')

const recommendationField =
  (field: string, form = TEXT) =>
  async (client: Client, account: Account) => {
    for (const item of await eachRecommendation(client, account)) formed(at(item, field), form, field)
  }

/** Sections "Age result", "Recommendation", "Completed questions record", and what "Endpoints" has of them. */
export const AGE_ASSESSMENT_CASES: readonly ConformanceCase[] = [
  ...result.account({
    status: async (client, account) => formed(at(await resultOf(client, account), 'status'), TEXT, 'status'),
    ...byName(['bioAge', 'calendarAge', 'bioAgeDelta'], (age) => async (client: Client, account: Account) => {
      const found = await completeResultOf(client, account)
      allFormed(found, { [`${age}.year`]: INTEGER, [`${age}.month`]: INTEGER })
    }),
    completed: async (client, account) =>
      formed(at(await completeResultOf(client, account), 'completed'), ISO_INSTANT, 'completed'),
  }),
  ...recommendation.account({
    teaser: recommendationField('teaser'),
    benefitCost: recommendationField('benefitCost', oneOf('cost', 'benefit', 'neither')),
    body: recommendationField('body'),
  }),

  ...['id', 'assessmentId', 'assessmentType'].flatMap((field) =>
    completed.account({
      [`${field} (string)`]: async (client, account) =>
        formed(at(await oneCompletedOf(client, account), field), TEXT, field),
    }),
  ),
  ...completed.account({
    'account (type, reference)': async (client, account) => {
      const record = await oneCompletedOf(client, account)
      allFormed(record, { 'account.type': TEXT, 'account.reference': TEXT })
    },
    'created (ISO 8601 timestamp)': async (client, account) =>
      formed(at(await oneCompletedOf(client, account), 'created'), ISO_INSTANT, 'created'),
    'Each question has id, text and answers[].': async (client, account) => {
      for (const question of await questionsOf(client, account)) {
        allFormed(question, { text: TEXT, answers: LIST }, 'questions[].')
        kept(at(question, 'id') === undefined, false, 'the lack of questions[].id')
      }
    },
    'Each answer has id, description, label, value, all strings.': async (client, account) => {
      for (const question of await questionsOf(client, account))
        for (const answer of listAt(question, 'answers'))
          allFormed(answer, { id: TEXT, description: TEXT, label: TEXT, value: TEXT }, 'answers[].')
    },
  }),

  ...endpoints.account({
    'GET /bioage/result': async (client, account) =>
      formed(at(await resultOf(client, account), 'status'), TEXT, 'status'),
    'GET /bioage/assessments/{assessmentId}/recommendations': async (client, account) =>
      formed(await eachRecommendation(client, account), LIST, 'the answer'),
    'GET /bioage/completed/questions': completedOf,
  }),
  ...endpoints.control({
    'GET /bioage/result/{accountId}': async (client, control) => {
      const taker = await createCompleted(client, control)
      const answer = await client.send('GET', `${RESULT}/{accountId}`, {
        path: { accountId: taker.accountId },
      })
      const other = jsonOf(await readResult(client, taker))
      kept(jsonOf(answered(answer, 200)), other, 'the result, of both forms of the call,')
    },
    'GET /bioage/assessments/{assessmentId}/recommendations/{accountId}': async (client, control) => {
      const { account, accountId } = await createCompleted(client, control)
      const assessmentId = textAt(await oneCompletedOf(client, account), 'assessmentId')
      const path = { assessmentId, accountId }
      const answer = await client.send('GET', `${RECOMMENDATIONS}/{accountId}`, { path })
      const other = jsonOf(await recommendationsOf(client, account))
      kept(jsonOf(answered(answer, 200)), other, 'the list, of both forms of the call,')
    },
    'who has completed the test': async (client, control) => {
      const taker = await createTaker(client, control)
      kept(isComplete(await readResult(client, taker)), false, 'a result without a test')
      await takeTest(client, taker)
      kept((await completedOf(client, taker.account)).length, 1, 'the number of completed tests')
    },
  }),
  ...endpoints.nothing({
    'An age result exists only for a user who has completed the test': async (client) => {
      const account = { reference: client.unique('stranger'), type: 'partnerAccountId' } as const
      const answer = await readResult(client, { account })
      if (answer.status === 204) return
      if (answer.status === 200) kept(isComplete(answer), false, "a stranger's result")
      else refused(answer, 'there is no such user')
    },
  }),
  ...envelope.account({
    'the age result, the recommendations list and the answered-questions list are returned without an envelope.':
      async (client, account) => {
        kept(at(await resultOf(client, account), 'data'), undefined, 'data of the result')
        await eachRecommendation(client, account)
        await completedOf(client, account)
      },
  }),
  ...versioning.writes({
    'They support account ids only': async (client) => {
      const { account } = await register(client)
      const answer = await client.send('GET', `${RESULT}/{accountId}`, {
        path: { accountId: account.reference },
      })
      refused(answer, 'the path takes no partner identifier')
    },
  }),
  ...versioning.control({
    'the query-parameter forms, which accept partner identifiers, are preferred.': async (client, control) =>
      answered(await readResult(client, await createCompleted(client, control)), 200),
  }),
]
