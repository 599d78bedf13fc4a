import { type ConformanceCase, inSection } from './case.ts'
import type { Client } from './client.ts'
import {
  createTaker,
  currentPage,
  pageIn,
  readResult,
  submissionFor,
  submit,
  takeTest,
} from './paged-test.ts'
import {
  assertForm,
  assertKept,
  assertRefused,
  assertStatus,
  at,
  type Form,
  jsonOf,
  LIST,
  listAt,
  mapOf,
  OBJECT,
  PAGE_NUMBER,
  TEXT,
  TEXTS,
  TRUTH,
} from './values.ts'

const pages = inSection('Assessment page (item of data[])')
const submission = inSection('Answer submission')
const states = inSection('States: Age assessment')
const endpoints = inSection('Endpoints: Age assessment')

/** Every page of a whole test has the field in its form. */
const eachPage = (field: string, form: Form): ConformanceCase =>
  pages.control(field, async (client, control) => {
    for (const page of await takeTest(client, await createTaker(client, control)))
      assertForm(at(page, field), form, `data[].${field}`)
  })

/** Every question of a whole test has the fields in their form. */
const eachQuestion = (row: string, form: Form): ConformanceCase =>
  pages.control(row, async (client, control) => {
    for (const page of await takeTest(client, await createTaker(client, control)))
      for (const question of listAt(page, 'questions'))
        for (const field of row.split(', ')) assertForm(at(question, field), form, `questions[].${field}`)
  })

const stray = (client: Client) => ({
  [client.unique('question')]: [{ [client.unique('fact')]: 'no-answer' }],
})

/** Sections "Assessment page", "Answer submission", "States: Age assessment", and of "Endpoints" the paged test. */
export const ASSESSMENT_PAGE_CASES: readonly ConformanceCase[] = [
  eachPage('moduleId', TEXT),
  eachPage('questionGroupId', TEXT),
  eachPage('pageNumber', PAGE_NUMBER),
  eachPage('questions', LIST),
  eachQuestion('id', TEXT),
  eachQuestion('questionText', TEXT),
  eachQuestion('displayLabel', mapOf(TEXT)),
  eachQuestion('displayLabelOrder', TEXTS),
  eachQuestion('factDataType', mapOf(TEXT)),
  pages.control('answers', async (client, control) => {
    for (const page of await takeTest(client, await createTaker(client, control)))
      for (const question of listAt(page, 'questions'))
        for (const answer of listAt(question, 'answers')) {
          for (const field of ['value', 'text', 'factId'])
            assertForm(at(answer, field), TEXT, `answers[].${field}`)
          assertKept(at(answer, 'answerId') === undefined, false, 'the lack of answers[].answerId')
          assertForm(at(answer, 'answersToClear'), LIST, 'answers[].answersToClear')
        }
  }),
  eachQuestion('required', TRUTH),
  eachQuestion('type', TEXT),
  eachQuestion('previousValues', OBJECT),
  eachQuestion('moreInfoTitle, moreInfoBody', TEXT),

  submission.control(
    'moduleId (string), questionGroupId (string), answers (object).',
    async (client, control) => {
      const taker = await createTaker(client, control)
      const first = await currentPage(client, taker)
      const next = pageIn(await submit(client, taker, submissionFor(first)))
      assertKept(
        at(next, 'pageNumber') === at(first, 'pageNumber'),
        false,
        'the page after the first being the first',
      )
    },
  ),
  submission.control(
    'The answers object maps a question id to an array of objects, each mapping a fact id to the chosen answerId.',
    async (client, control) => {
      const taker = await createTaker(client, control)
      const first = await currentPage(client, taker)
      const wrong = { ...submissionFor(first), answers: stray(client) }
      assertRefused(await submit(client, taker, wrong), 'no question of the page has this id')
      assertKept(
        at(await currentPage(client, taker), 'pageNumber'),
        at(first, 'pageNumber'),
        'the current page',
      )
    },
  ),

  states.control('The test is served as a sequence of pages.', async (client, control) => {
    const seen = await takeTest(client, await createTaker(client, control))
    const numbers = seen.map((page) => at(page, 'pageNumber'))
    assertKept(new Set(numbers).size, numbers.length, 'the number of pages with a number of their own')
    assertKept(numbers.length > 0, true, 'there being a page')
  }),
  states.control('Submitting answers for a page returns the next page.', async (client, control) => {
    const taker = await createTaker(client, control)
    const next = pageIn(await submit(client, taker, submissionFor(await currentPage(client, taker))))
    assertKept(next, await currentPage(client, taker), 'the page that was returned, as the current one')
  }),
  states.control('A finished test gives the age result status COMPLETE.', async (client, control) => {
    const taker = await createTaker(client, control)
    const before = await readResult(client, taker)
    const complete = before.status === 200 && at(jsonOf(before), 'status') === 'COMPLETE'
    assertKept(complete, false, 'a result COMPLETE before the test')
    await takeTest(client, taker)
    const after = await readResult(client, taker)
    assertStatus(after, 200)
    assertKept(at(jsonOf(after), 'status'), 'COMPLETE', 'status')
  }),

  endpoints.control('GET /assessments/bioage', async (client, control) => {
    const taker = await createTaker(client, control)
    const body = jsonOf(await client.send('GET', '/assessments/bioage', { token: taker.token }))
    assertKept(listAt(body, 'data').length, 1, 'the number of pages in data')
  }),
  endpoints.control('the bearer token identifies the user', async (client, control) => {
    const [one, other] = [await createTaker(client, control), await createTaker(client, control)]
    const first = await currentPage(client, one)
    assertStatus(await submit(client, one, submissionFor(first)), 200)
    assertKept(
      at(await currentPage(client, other), 'pageNumber'),
      at(first, 'pageNumber'),
      "another user's page",
    )
  }),
  endpoints.control('POST /assessments/bioage', async (client, control) => {
    const taker = await createTaker(client, control)
    const answer = await submit(client, taker, submissionFor(await currentPage(client, taker)))
    assertStatus(answer, 200)
    assertKept(listAt(jsonOf(answer), 'data').length, 1, 'the number of pages in data')
  }),
]
