import { z } from 'zod'
import { AccountReferenceAsRead } from './account.ts'
import { each, InstantAsRead, textsAsRead, tolerated } from './shared-objects.ts'

/**
 * An age, or a difference of two, in whole years and months. The interface bounds neither, and does not say how the sign
 * of a difference is spread over the two: both may be negative.
 */
export const Age = z.looseObject({ year: z.int(), month: z.int() })
export type Age = z.infer<typeof Age>

/**
 * Section "Age result": the answer of GET /bioage/result and of its deprecated form with the account id in the path,
 * without an envelope. `status` is needed: it is `COMPLETE` when the test is finished and says whether the ages mean
 * anything; its other values, and the answer for a user without a result, are not documented. `completed` is ISO 8601.
 * Which age `bioAgeDelta` is taken from is not documented either.
 */
export const AgeResult = z.looseObject({
  status: z.string().min(1),
  ...each(['bioAge', 'calendarAge', 'bioAgeDelta'], tolerated(Age)),
  completed: tolerated(InstantAsRead),
})
export type AgeResult = z.infer<typeof AgeResult>

/** Section "Recommendation": what following it is about. */
export const BenefitCost = z.enum(['cost', 'benefit', 'neither'])
export type BenefitCost = z.infer<typeof BenefitCost>

/** Section "Recommendation". Its language follows the header Accept-Language; the form of `body` is not documented. */
export const Recommendation = z.looseObject({
  teaser: tolerated(z.string()),
  benefitCost: tolerated(BenefitCost),
  body: tolerated(z.string()),
})
export type Recommendation = z.infer<typeof Recommendation>

/** The answer of GET /bioage/assessments/{assessmentId}/recommendations: a bare array, without an envelope. */
export const Recommendations = z.array(Recommendation)
export type Recommendations = z.infer<typeof Recommendations>

/** An answer given to a question of a completed test; all four fields are documented as strings. */
export const CompletedAnswer = z.looseObject(textsAsRead('id', 'description', 'label', 'value'))
export type CompletedAnswer = z.infer<typeof CompletedAnswer>

/** A question of a completed test. `id` is needed: questions are told apart by it. */
export const CompletedQuestion = z.looseObject({
  id: z.string(),
  text: tolerated(z.string()),
  answers: tolerated(z.array(CompletedAnswer)),
})
export type CompletedQuestion = z.infer<typeof CompletedQuestion>

/**
 * Section "Completed questions record": one completed test. `assessmentId` is needed: recommendations are asked for by
 * it, and nothing else in the interface gives it. `created` is ISO 8601.
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

/** The answer of GET /bioage/completed/questions: a bare array, without an envelope. */
export const CompletedAssessments = z.array(CompletedAssessment)
export type CompletedAssessments = z.infer<typeof CompletedAssessments>

/**
 * The id of an answer that can be chosen. The interface does not say whether it is a string or a number: it is sent back
 * in the form in which the page gave it.
 */
export const AnswerId = z.union([z.string().min(1), z.int()])
export type AnswerId = z.infer<typeof AnswerId>

/** Section "Assessment page": a string of the form major.minor. It is no decimal number: `1.10` comes after `1.9`. */
export const PageNumber = z.string().regex(/^\d+\.\d+$/, 'Expected a page number of the form major.minor')
export type PageNumber = z.infer<typeof PageNumber>

/**
 * An item of a question's `answers[]`. `factId` and `answerId` are needed: a submission consists of them. The form of
 * `value` is not documented. `answersToClear` is taken to hold the ids of the answers that this one excludes.
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
 * Section "Assessment page", question fields. `displayLabel`, `factDataType` and `previousValues` are maps by fact id;
 * the first and the last may be empty, as may `displayLabelOrder` and the two texts of `moreInfo`. Of the data types
 * `NONE` and `INTEGER` occur, of the input kinds in `type` `radio` and `select`; neither list is closed.
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
export type AssessmentQuestion = z.infer<typeof AssessmentQuestion>

/**
 * Section "Assessment page": the item of `data[]` that GET /assessments/bioage (the current page) and POST
 * /assessments/bioage (the next page) answer in an envelope. `moduleId` and `questionGroupId` are needed: a submission
 * names the page by them. What follows the last page is not documented.
 */
export const AssessmentPage = z.looseObject({
  moduleId: z.string().min(1),
  questionGroupId: z.string().min(1),
  pageNumber: tolerated(PageNumber),
  questions: z.array(AssessmentQuestion),
})
export type AssessmentPage = z.infer<typeof AssessmentPage>

/**
 * Section "Answer submission": the body of POST /assessments/bioage. `answers` maps a question id to an array of
 * objects, each of which maps a fact id to the answer chosen. The bearer token alone says whose test it is.
 */
export const AnswerSubmission = z.looseObject({
  moduleId: z.string().min(1),
  questionGroupId: z.string().min(1),
  answers: z.record(z.string().min(1), z.array(z.record(z.string().min(1), AnswerId))),
})
export type AnswerSubmission = z.infer<typeof AnswerSubmission>
