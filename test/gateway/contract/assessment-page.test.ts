import { expect, it } from 'vitest'
import { AnswerSubmission, AssessmentPage } from '../../../src/gateway/contract/age-assessment.ts'

const answer = { value: '1', text: 'Never', factId: 'f-1', answerId: 'a-1', answersToClear: ['a-2'] }
const question = {
  id: 'q-1',
  questionText: 'How often?',
  displayLabel: { 'f-1': 'Times a week' },
  displayLabelOrder: ['f-1'],
  factDataType: { 'f-1': 'INTEGER', 'f-2': 'NONE' },
  answers: [answer],
  required: true,
  type: 'radio',
  previousValues: { 'f-1': '3' },
  moreInfoTitle: 'Why?',
  moreInfoBody: 'Because.',
}
const page = { moduleId: 'm-1', questionGroupId: 'g-1', pageNumber: '1.10', questions: [question] }
const empty = {
  displayLabel: {},
  displayLabelOrder: [],
  previousValues: {},
  moreInfoTitle: '',
  moreInfoBody: '',
}
const submission = {
  moduleId: 'm-1',
  questionGroupId: 'g-1',
  answers: { 'q-1': [{ 'f-1': 'a-1' }, { 'f-2': 'a-3' }], 'q-2': [{ 'f-9': 'a-9' }] },
}

const withQuestion = (fields: object) => ({ ...page, questions: [{ ...question, ...fields }] })
const withAnswer = (fields: object) => withQuestion({ answers: [{ ...answer, ...fields }] })

it.each([
  ['all fields', page],
  ['a page without questions', { ...page, questions: [] }],
  ['fields that may be empty', withQuestion(empty)],
  ['a select', withQuestion({ type: 'select' })],
  ['ids that are numbers', withAnswer({ answerId: 7, answersToClear: [8] })],
  ['a value that is a number', withAnswer({ value: 1 })],
  ['unknown fields', { ...withAnswer({ more: 1 }), more: 2 }],
])('page: %s', (_name, value) => {
  expect(AssessmentPage.parse(value)).toEqual(value)
})

it.each([
  ['moduleId', { ...page, moduleId: undefined }, 'moduleId'],
  ['questionGroupId', { ...page, questionGroupId: '' }, 'questionGroupId'],
  ['questions', { ...page, questions: null }, 'questions'],
  ['question id', withQuestion({ id: undefined }), 'questions.0.id'],
  ['answers', withQuestion({ answers: undefined }), 'questions.0.answers'],
  ['factId', withAnswer({ factId: undefined }), 'questions.0.answers.0.factId'],
  ['answerId', withAnswer({ answerId: null }), 'questions.0.answers.0.answerId'],
])('page: without %s no answer could be submitted', (_name, value, path) => {
  const issues = AssessmentPage.safeParse(value).error?.issues.map((issue) => issue.path.join('.'))
  expect(issues).toEqual([path])
})

it.each([
  ['all fields', submission],
  ['an answer id that came as a number', { ...submission, answers: { 'q-1': [{ 'f-1': 7 }] } }],
])('%s may be submitted', (_name, value) => {
  expect(AnswerSubmission.parse(value)).toEqual(value)
})

it.each([
  ['no moduleId', { ...submission, moduleId: '' }, 'moduleId'],
  ['no questionGroupId', { ...submission, questionGroupId: undefined }, 'questionGroupId'],
  ['no answers', { ...submission, answers: undefined }, 'answers'],
  ['a bare fact', { ...submission, answers: { 'q-1': { 'f-1': 'a-1' } } }, 'answers.q-1'],
  ['a bare answer id', { ...submission, answers: { 'q-1': ['a-1'] } }, 'answers.q-1.0'],
  ['several answers to a fact', { ...submission, answers: { 'q-1': [{ f: ['a'] }] } }, 'answers.q-1.0.f'],
])('%s may not be submitted', (_name, value, path) => {
  const issues = AnswerSubmission.safeParse(value).error?.issues.map((issue) => issue.path.join('.'))
  expect(issues).toEqual([path])
})
