import { expect, it } from 'vitest'
import {
  AgeResult,
  CompletedAssessments,
  Recommendations,
} from '../../../src/gateway/contract/age-assessment.ts'

const result = {
  status: 'COMPLETE',
  bioAge: { year: 41, month: 3 },
  calendarAge: { year: 44, month: 0 },
  bioAgeDelta: { year: -2, month: -9 },
  completed: '2024-03-01T14:05:00.000Z',
}
const recommendation = { teaser: 'Walk more', benefitCost: 'benefit', body: 'Half an hour a day.' }
const answer = { id: 'a-1', description: 'd', label: 'l', value: '1' }
const question = { id: 'q-1', text: 'How often?', answers: [answer] }
const completed = {
  id: 'c-1',
  assessmentId: 'as-1',
  account: { type: 'accountId', reference: '4711' },
  created: '2024-03-01T14:05:00.000Z',
  assessmentType: 'bioage',
  questions: [question],
}

it.each([
  ['age result', AgeResult, result],
  ['age result of another state', AgeResult, { status: 'STARTED' }],
  ['recommendations', Recommendations, [recommendation]],
  ['no recommendations', Recommendations, []],
  ['completed questions', CompletedAssessments, [completed]],
])('%s: as documented, without an envelope', (_name, schema, value) => {
  expect(schema.parse(value)).toEqual(value)
})

it.each([
  [AgeResult, { ...result, more: 1, bioAge: { year: 41, month: 3, day: 2 } }],
  [Recommendations, [{ ...recommendation, more: 1 }]],
  [CompletedAssessments, [{ ...completed, more: 1, questions: [{ ...question, more: { deep: true } }] }]],
  [CompletedAssessments, [{ ...completed, questions: [{ ...question, answers: [{ ...answer, more: 1 }] }] }]],
])('case %#: unknown fields are kept', (schema, value) => {
  expect(schema.parse(value)).toEqual(value)
})

it.each([
  ['envelope for a result', AgeResult, { code: 200, message: 'm', data: [result] }, 'status'],
  ['envelope for recommendations', Recommendations, { code: 200, data: [recommendation] }, ''],
  ['envelope for completed questions', CompletedAssessments, { code: 200, data: [completed] }, ''],
  ['no assessmentId', CompletedAssessments, [{ ...completed, assessmentId: undefined }], '0.assessmentId'],
  ['no questions', CompletedAssessments, [{ ...completed, questions: undefined }], '0.questions'],
  [
    'no question id',
    CompletedAssessments,
    [{ ...completed, questions: [{ text: 't' }] }],
    '0.questions.0.id',
  ],
])('%s: a failure', (_name, schema, value, path) => {
  const issues = schema.safeParse(value).error?.issues.map((issue) => issue.path.join('.'))
  expect(issues).toEqual([path])
})
