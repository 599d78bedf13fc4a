import { z } from 'zod'
import { AccountReferenceAsRead } from './account.ts'
import { each, InstantAsRead, textsAsRead, tolerated } from './shared-objects.ts'

/**
 * Age, or difference of two ages, in whole years and months. The interface bounds neither, and does not say how a negative difference is
 * split: both parts may be negative.
 */
export const Age = z.looseObject({ year: z.int(), month: z.int() })
export type Age = z.infer<typeof Age>

/**
 * Section "Age result": answer of GET /bioage/result and of its deprecated form with the account id in the path, without an envelope.
 * `status` is needed: `COMPLETE` marks a finished test and meaningful ages; other values, the answer for a user without a result, and which
 * age `bioAgeDelta` subtracts, are not documented. `completed` is ISO 8601.
 */
export const AgeResult = z.looseObject({
  status: z.string().min(1),
  ...each(['bioAge', 'calendarAge', 'bioAgeDelta'], tolerated(Age)),
  completed: tolerated(InstantAsRead),
})
export type AgeResult = z.infer<typeof AgeResult>

/** Section "Recommendation": the subject of following it. */
export const BenefitCost = z.enum(['cost', 'benefit', 'neither'])
export type BenefitCost = z.infer<typeof BenefitCost>

/** Section "Recommendation". The language follows the header Accept-Language; the form of `body` is not documented. */
export const Recommendation = z.looseObject({
  teaser: tolerated(z.string()),
  benefitCost: tolerated(BenefitCost),
  body: tolerated(z.string()),
})
export type Recommendation = z.infer<typeof Recommendation>

/** Answer of GET /bioage/assessments/{assessmentId}/recommendations: a bare array, without an envelope. */
export const Recommendations = z.array(Recommendation)
export type Recommendations = z.infer<typeof Recommendations>

/** Answer to a question of a completed test; all four fields are documented as strings. */
export const CompletedAnswer = z.looseObject(textsAsRead('id', 'description', 'label', 'value'))

/** Question of a completed test. `id` is needed to distinguish questions. */
export const CompletedQuestion = z.looseObject({
  id: z.string(),
  text: tolerated(z.string()),
  answers: tolerated(z.array(CompletedAnswer)),
})
export type CompletedQuestion = z.infer<typeof CompletedQuestion>

/**
 * Section "Completed questions record": a completed test. `assessmentId` is needed: recommendations are read by it, and nothing else in the
 * interface returns it. `created` is ISO 8601.
 */
export const CompletedAssessment = z.looseObject({
  id: tolerated(z.string()),
  assessmentId: z.string().min(1),
  account: tolerated(AccountReferenceAsRead),
  created: tolerated(InstantAsRead),
  assessmentType: tolerated(z.string()),
  questions: z.array(CompletedQuestion),
})
export type CompletedAssessment = z.infer<typeof CompletedAssessment>

/** Answer of GET /bioage/completed/questions: a bare array, without an envelope. */
export const CompletedAssessments = z.array(CompletedAssessment)
export type CompletedAssessments = z.infer<typeof CompletedAssessments>

/**
 * Id of an answer to choose. The interface does not say whether ids are strings or numbers, so the id is sent back in the form of the page.
 */
export const AnswerId = z.union([z.string().min(1), z.int()])
export type AnswerId = z.infer<typeof AnswerId>

/** Section "Assessment page": a string of the form major.minor. Not a decimal number: `1.10` comes after `1.9`. */
export const PageNumber = z.string().regex(/^\d+\.\d+$/, 'Expected a page number of the form major.minor')
export type PageNumber = z.infer<typeof PageNumber>

/**
 * Item of a question's `answers[]`. `factId` and `answerId` are needed for a submission. The form of `value` is not documented.
 * `answersToClear` is assumed to hold the ids of the answers excluded by this one.
 */
export const AnswerOption = z.looseObject({
  value: z.unknown(),
  text: tolerated(z.string()),
  factId: z.string().min(1),
  answerId: AnswerId,
  answersToClear: tolerated(z.array(AnswerId)),
})
export type AnswerOption = z.infer<typeof AnswerOption>

/**
 * Section "Assessment page", question fields. `displayLabel`, `factDataType` and `previousValues` are maps by fact id; the first and the
 * last may be empty, as may `displayLabelOrder` and the two texts of `moreInfo`. Known data types are `NONE` and `INTEGER`, known input
 * kinds in `type` are `radio` and `select`; neither list is closed.
 */
export const AssessmentQuestion = z.looseObject({
  id: z.string().min(1),
  questionText: tolerated(z.string()),
  displayLabel: tolerated(z.record(z.string(), z.string())),
  displayLabelOrder: tolerated(z.array(z.string())),
  factDataType: tolerated(z.record(z.string(), z.string())),
  answers: z.array(AnswerOption),
  required: tolerated(z.boolean()),
  type: tolerated(z.string()),
  previousValues: tolerated(z.record(z.string(), z.unknown())),
  ...textsAsRead('moreInfoTitle', 'moreInfoBody'),
})

/**
 * Section "Assessment page": item of `data[]` in the envelopes of GET /assessments/bioage (the current page) and POST /assessments/bioage
 * (the next page). `moduleId` and `questionGroupId` are needed: a submission names the page by them. The answer after the last page is not
 * documented.
 */
export const AssessmentPage = z.looseObject({
  moduleId: z.string().min(1),
  questionGroupId: z.string().min(1),
  pageNumber: tolerated(PageNumber),
  questions: z.array(AssessmentQuestion),
})
export type AssessmentPage = z.infer<typeof AssessmentPage>

/**
 * Section "Answer submission": body of POST /assessments/bioage. `answers` maps a question id to an array of objects that map a fact id to
 * the chosen answer. The bearer token alone identifies the user.
 */
export const AnswerSubmission = z.looseObject({
  moduleId: z.string().min(1),
  questionGroupId: z.string().min(1),
  answers: z.record(z.string().min(1), z.array(z.record(z.string().min(1), AnswerId))),
})
export type AnswerSubmission = z.infer<typeof AnswerSubmission>
