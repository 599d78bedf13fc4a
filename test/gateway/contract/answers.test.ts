import { describe, expect, it } from 'vitest'
import { RegistrationAnswer } from '../../../src/gateway/contract/account.ts'
import {
  AgeResult,
  AssessmentPage,
  CompletedAssessments,
  Recommendations,
} from '../../../src/gateway/contract/age-assessment.ts'
import { ContentDetail, ContentListItem } from '../../../src/gateway/contract/content.ts'
import {
  BiometricEcho,
  BiometricRead,
  CareTeamReturned,
  ConditionReturned,
} from '../../../src/gateway/contract/health-profile.ts'
import { Envelope, ErrorEnvelope, NestedEnvelope } from '../../../src/gateway/contract/shared-objects.ts'

const codes = [{ code: '8480-6' }]
const answer = { value: '1', factId: 'f-1', answerId: 'a-1', answersToClear: ['a-2'] }
const question = { id: 'q-1', answers: [answer] }
const page = { moduleId: 'm-1', questionGroupId: 'g-1', pageNumber: '1.10', questions: [question] }
const withAnswer = (fields: object) => ({
  ...page,
  questions: [{ ...question, answers: [{ ...answer, ...fields }] }],
})
const completed = { assessmentId: 'as-1', questions: [{ id: 'q-1', answers: [] }] }

describe('answers bear', () => {
  it.each([
    ['errors of any form', ErrorEnvelope, { more: 'text', errors: [{ exception: null }, 'bare'] }],
    ['a code as a number', Envelope(BiometricEcho), { code: 201, message: 'm', data: [] }],
    ['a code as a string', Envelope(BiometricEcho), { code: '200', message: 'm', data: [] }],
    ['an age result of another state', AgeResult, { status: 'STARTED' }],
    ['a page without questions', AssessmentPage, { ...page, questions: [] }],
    ['ids of answers that are numbers', AssessmentPage, withAnswer({ answerId: 7, answersToClear: [8] })],
    ['a value that is a number', AssessmentPage, withAnswer({ value: 1 })],
    ['ids of content that are numbers', ContentDetail, { id: 1, resourceId: 2, primaryTag: { id: 3 } }],
  ])('%s', (_, schema, value) => {
    expect(schema.parse(value)).toEqual(value)
  })
})

describe('a missing field is a failure where a client needs it', () => {
  it.each([
    [BiometricEcho, { value: 1 }, 'transactionId'],
    [BiometricRead, { observationDate: '1' }, 'codes'],
    [BiometricRead, { codes }, 'observationDate'],
    [BiometricRead, { codes: [{ name: 'n' }], observationDate: '1' }, 'codes.0.code'],
    [ConditionReturned, { codes }, 'observationDate'],
    [CareTeamReturned, { npi: '1' }, 'id'],
    [RegistrationAnswer, { partnerAccountId: 'p' }, 'accountId'],
    [Envelope(BiometricEcho), { code: 201, message: 'm' }, 'data'],
    [Envelope(BiometricEcho), { data: [], errors: 'failed' }, 'errors'],
    [NestedEnvelope(ConditionReturned), { data: [] }, 'data'],
    [AgeResult, { code: 200, message: 'm', data: [{ status: 'COMPLETE' }] }, 'status'],
    [Recommendations, { code: 200, data: [] }, ''],
    [CompletedAssessments, { code: 200, data: [completed] }, ''],
    [CompletedAssessments, [{ ...completed, assessmentId: undefined }], '0.assessmentId'],
    [CompletedAssessments, [{ ...completed, questions: undefined }], '0.questions'],
    [CompletedAssessments, [{ ...completed, questions: [{ text: 't' }] }], '0.questions.0.id'],
    [AssessmentPage, { ...page, moduleId: undefined }, 'moduleId'],
    [AssessmentPage, { ...page, questionGroupId: '' }, 'questionGroupId'],
    [AssessmentPage, { ...page, questions: null }, 'questions'],
    [AssessmentPage, { ...page, questions: [{ answers: [] }] }, 'questions.0.id'],
    [AssessmentPage, { ...page, questions: [{ id: 'q-1' }] }, 'questions.0.answers'],
    [AssessmentPage, withAnswer({ factId: undefined }), 'questions.0.answers.0.factId'],
    [AssessmentPage, withAnswer({ answerId: null }), 'questions.0.answers.0.answerId'],
  ])('case %#', (schema, value, path) => {
    const issues = schema.safeParse(value).error?.issues.map((issue) => issue.path.join('.'))
    expect(issues).toEqual([path])
  })

  it.each([
    [ContentListItem, { title: 't' }],
    [ContentListItem, { id: '' }],
    [ContentDetail, { id: null }],
  ])('content: case %#', (schema, value) => {
    const issues = schema.safeParse(value).error?.issues.map((issue) => issue.path[0])
    expect(new Set(issues)).toEqual(new Set(['id']))
  })
})
