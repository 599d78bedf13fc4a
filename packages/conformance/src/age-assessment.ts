import assert from 'node:assert/strict'
import {
  type Account,
  allFormed,
  answered,
  at,
  byName,
  type ConformanceCase,
  type Control,
  type Form,
  formed,
  inSection,
  jsonOf,
  kept,
  listAt,
  NothingToJudge,
  oneOf,
  type Run,
  refused,
  textAt,
} from './case.ts'
import type { Answer, Client } from './client.ts'
import { queryOf, register, some, type User } from './made-up.ts'

export const PAGES = '/assessments/bioage'
export const RESULT = '/bioage/result'

/** Page limit, against a test that never ends. */
const MOST_PAGES = 200

/** Registered user with a bearer token. */
export interface Taker extends User {
  readonly token: string
}

export async function createTaker(client: Client, control: Control): Promise<Taker> {
  const user = await register(client)
  return { ...user, token: await control.tokenOf(user.account) }
}

/** Returns the page in an answer's `data[]`; undefined after the last page. */
const pageIn = (answer: Answer): unknown => listAt(jsonOf(answered(answer, 200)), 'data')[0]

export const currentPage = async (client: Client, { token }: Taker): Promise<unknown> =>
  pageIn(await client.send('GET', PAGES, { token }))

/** Section "Answer submission": the first answer to each fact that no other answer clears. */
export function submissionFor(page: unknown) {
  const cleared = new Set<unknown>()
  const answers: Record<string, Record<string, unknown>[]> = {}
  for (const question of listAt(page, 'questions')) {
    const chosen = new Map<string, unknown>()
    for (const answer of listAt(question, 'answers')) {
      const factId = textAt(answer, 'factId')
      const answerId = at(answer, 'answerId')
      if (chosen.has(factId) || cleared.has(answerId)) continue
      chosen.set(factId, answerId)
      for (const other of listAt(answer, 'answersToClear')) cleared.add(other)
    }
    if (chosen.size > 0) answers[textAt(question, 'id')] = [...chosen].map(([fact, id]) => ({ [fact]: id }))
  }
  return { moduleId: at(page, 'moduleId'), questionGroupId: at(page, 'questionGroupId'), answers }
}

const submit = (client: Client, { token }: Taker, json: unknown): Promise<Answer> =>
  client.send('POST', PAGES, { token, json })

/**
 * Takes the test as a person would, without prior knowledge of its questions. Returns the pages seen. The document does not say what
 * follows the last page: nothing, or an answered page.
 */
export async function takeTest(client: Client, taker: Taker): Promise<readonly unknown[]> {
  const pages: unknown[] = []
  const seen = new Set<unknown>()
  let page = await currentPage(client, taker)
  while (page !== undefined && !seen.has(at(page, 'pageNumber'))) {
    pages.push(page)
    seen.add(at(page, 'pageNumber'))
    assert.ok(pages.length < MOST_PAGES, `the paged test has not ended after ${MOST_PAGES} pages`)
    page = pageIn(await submit(client, taker, submissionFor(page)))
  }
  return pages
}

/** Creates a user with a completed test. */
export async function createCompleted(client: Client, control: Control): Promise<Taker> {
  const taker = await createTaker(client, control)
  await takeTest(client, taker)
  return taker
}

export const readResult = (client: Client, { account }: Pick<User, 'account'>) =>
  client.send('GET', RESULT, { query: queryOf(account) })

/** True if the answer holds the result of a finished test. */
export const isComplete = (answer: Answer): boolean =>
  answer.status === 200 && at(jsonOf(answer), 'status') === 'COMPLETE'

type Tried = Run<[control: Control]>
const wholeTest = async (client: Client, control: Control) =>
  takeTest(client, await createTaker(client, control))
const questionsAsked = async (client: Client, control: Control) =>
  (await wholeTest(client, control)).flatMap((page) => listAt(page, 'questions'))

/** Checks a field on every page of a whole test. */
const eachPage =
  (field: string, form: Form): Tried =>
  async (client, control) => {
    for (const page of await wholeTest(client, control)) formed(at(page, field), form, `data[].${field}`)
  }

/** Checks fields of every question of a whole test. */
const eachQuestion =
  (form: Form, ...fields: readonly string[]): Tried =>
  async (client, control) => {
    for (const question of await questionsAsked(client, control))
      for (const field of fields) formed(at(question, field), form, `questions[].${field}`)
  }

/** Sections "Assessment page", "Answer submission", "States: Age assessment", and the paged test of "Endpoints". */
export const PAGED_TEST_CASES: readonly ConformanceCase[] = [
  ...inSection('Assessment page (item of data[])').control({
    ...byName(['moduleId', 'questionGroupId'], (field) => eachPage(field, 'text')),
    pageNumber: eachPage('pageNumber', 'page-number'),
    questions: eachPage('questions', 'list'),
    ...byName(['id', 'questionText', 'type'], (field) => eachQuestion('text', field)),
    ...byName(['displayLabel', 'factDataType'], (field) => eachQuestion('map-of-texts', field)),
    displayLabelOrder: eachQuestion('texts', 'displayLabelOrder'),
    answers: async (client, control) => {
      for (const question of await questionsAsked(client, control))
        for (const answer of listAt(question, 'answers')) {
          for (const field of ['value', 'text', 'factId'])
            formed(at(answer, field), 'text', `answers[].${field}`)
          kept(at(answer, 'answerId') === undefined, false, 'the lack of answers[].answerId')
          formed(at(answer, 'answersToClear'), 'list', 'answers[].answersToClear')
        }
    },
    required: eachQuestion('truth', 'required'),
    previousValues: eachQuestion('object', 'previousValues'),
    'moreInfoTitle, moreInfoBody': eachQuestion('text', 'moreInfoTitle', 'moreInfoBody'),
  }),

  ...inSection('Answer submission').control({
    'moduleId (string), questionGroupId (string), answers (object).': async (client, control) => {
      const taker = await createTaker(client, control)
      const first = await currentPage(client, taker)
      const next = pageIn(await submit(client, taker, submissionFor(first)))
      const same = at(next, 'pageNumber') === at(first, 'pageNumber')
      kept(same, false, 'the page after the first being the first')
    },
    'The answers object maps a question id to an array of objects, each mapping a fact id to the chosen answerId.':
      async (client, control) => {
        const taker = await createTaker(client, control)
        const first = await currentPage(client, taker)
        const answers = { [client.unique('question')]: [{ [client.unique('fact')]: 'no-answer' }] }
        const wrong = { ...submissionFor(first), answers }
        refused(await submit(client, taker, wrong), 'no question of the page has this id')
        const current = await currentPage(client, taker)
        kept(at(current, 'pageNumber'), at(first, 'pageNumber'), 'the current page')
      },
  }),

  ...inSection('States: Age assessment').control({
    'The test is served as a sequence of pages.': async (client, control) => {
      const numbers = (await wholeTest(client, control)).map((page) => at(page, 'pageNumber'))
      kept(new Set(numbers).size, numbers.length, 'the number of pages with a number of their own')
      kept(numbers.length > 0, true, 'there being a page')
    },
    'Submitting answers for a page returns the next page.': async (client, control) => {
      const taker = await createTaker(client, control)
      const next = pageIn(await submit(client, taker, submissionFor(await currentPage(client, taker))))
      kept(next, await currentPage(client, taker), 'the page that was returned, as the current one')
    },
    'A finished test gives the age result status COMPLETE.': async (client, control) => {
      const taker = await createTaker(client, control)
      kept(isComplete(await readResult(client, taker)), false, 'a result COMPLETE before the test')
      await takeTest(client, taker)
      const after = answered(await readResult(client, taker), 200)
      kept(at(jsonOf(after), 'status'), 'COMPLETE', 'status')
    },
  }),

  ...inSection('Endpoints: Age assessment').control({
    'GET /assessments/bioage': async (client, control) => {
      const { token } = await createTaker(client, control)
      const body = jsonOf(await client.send('GET', PAGES, { token }))
      kept(listAt(body, 'data').length, 1, 'the number of pages in data')
    },
    'the bearer token identifies the user': async (client, control) => {
      const [one, other] = [await createTaker(client, control), await createTaker(client, control)]
      const first = await currentPage(client, one)
      answered(await submit(client, one, submissionFor(first)), 200)
      const current = await currentPage(client, other)
      kept(at(current, 'pageNumber'), at(first, 'pageNumber'), "another user's page")
    },
    'POST /assessments/bioage': async (client, control) => {
      const taker = await createTaker(client, control)
      const answer = await submit(client, taker, submissionFor(await currentPage(client, taker)))
      kept(listAt(jsonOf(answered(answer, 200)), 'data').length, 1, 'the number of pages in data')
    },
  }),
]

export const COMPLETED = '/bioage/completed/questions'
export const RECOMMENDATIONS = '/bioage/assessments/{assessmentId}/recommendations'

const result = inSection('Age result')
const recommendation = inSection('Recommendation')
const completed = inSection('Completed questions record (list item)')
const endpoints = inSection('Endpoints: Age assessment')
const envelope = inSection('Envelope')
const versioning = inSection('Versioning')

/** Reads the account's age result. */
async function resultOf(client: Client, account: Account): Promise<unknown> {
  const answer = await readResult(client, { account })
  if ([204, 404].includes(answer.status)) throw new NothingToJudge('the account has no age result')
  return jsonOf(answered(answer, 200))
}

/** Reads the account's age result of a finished test. The document does not describe the ages of an unfinished test. */
async function completeResultOf(client: Client, account: Account): Promise<unknown> {
  const found = await resultOf(client, account)
  if (at(found, 'status') !== 'COMPLETE') throw new NothingToJudge('the age result is not COMPLETE')
  return found
}

function bareListOf(answer: Answer): readonly unknown[] {
  const records = jsonOf(answered(answer, 200))
  formed(records, 'list', 'the answer, without an envelope,')
  return listAt({ records }, 'records')
}

/** Reads the account's completed tests. */
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

/** Reads all recommendations for the account. */
const eachRecommendation = async (client: Client, account: Account): Promise<readonly unknown[]> =>
  some(bareListOf(await recommendationsOf(client, account)), 'recommendations')

const questionsOf = async (client: Client, account: Account) =>
  listAt(await oneCompletedOf(client, account), 'questions')

const recommendationField =
  (field: string, form: Form = 'text') =>
  async (client: Client, account: Account) => {
    for (const item of await eachRecommendation(client, account)) formed(at(item, field), form, field)
  }

/** Sections "Age result", "Recommendation", "Completed questions record", and their calls in "Endpoints". */
export const AGE_ASSESSMENT_CASES: readonly ConformanceCase[] = [
  ...result.account({
    status: async (client, account) =>
      formed(at(await resultOf(client, account), 'status'), 'text', 'status'),
    ...byName(['bioAge', 'calendarAge', 'bioAgeDelta'], (age) => async (client: Client, account: Account) => {
      const found = await completeResultOf(client, account)
      allFormed(found, { [`${age}.year`]: 'integer', [`${age}.month`]: 'integer' })
    }),
    completed: async (client, account) =>
      formed(at(await completeResultOf(client, account), 'completed'), 'iso-instant', 'completed'),
  }),
  ...recommendation.account({
    teaser: recommendationField('teaser'),
    benefitCost: recommendationField('benefitCost', oneOf('cost', 'benefit', 'neither')),
    body: recommendationField('body'),
  }),

  ...['id', 'assessmentId', 'assessmentType'].flatMap((field) =>
    completed.account({
      [`${field} (string)`]: async (client, account) =>
        formed(at(await oneCompletedOf(client, account), field), 'text', field),
    }),
  ),
  ...completed.account({
    'account (type, reference)': async (client, account) => {
      const record = await oneCompletedOf(client, account)
      allFormed(record, { 'account.type': 'text', 'account.reference': 'text' })
    },
    'created (ISO 8601 timestamp)': async (client, account) =>
      formed(at(await oneCompletedOf(client, account), 'created'), 'iso-instant', 'created'),
    'Each question has id, text and answers[].': async (client, account) => {
      for (const question of await questionsOf(client, account)) {
        allFormed(question, { text: 'text', answers: 'list' }, 'questions[].')
        kept(at(question, 'id') === undefined, false, 'the lack of questions[].id')
      }
    },
    'Each answer has id, description, label, value, all strings.': async (client, account) => {
      for (const question of await questionsOf(client, account))
        for (const answer of listAt(question, 'answers'))
          allFormed(answer, { id: 'text', description: 'text', label: 'text', value: 'text' }, 'answers[].')
    },
  }),

  ...endpoints.account({
    'GET /bioage/result': async (client, account) =>
      formed(at(await resultOf(client, account), 'status'), 'text', 'status'),
    'GET /bioage/assessments/{assessmentId}/recommendations': async (client, account) =>
      formed(await eachRecommendation(client, account), 'list', 'the answer'),
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
