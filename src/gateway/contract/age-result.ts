import { z } from 'zod'
import { AccountReferenceAsRead } from './account-reference.ts'
import { InstantAsRead } from './observation-date.ts'
import { tolerated } from './tolerated.ts'

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
  bioAge: tolerated(Age),
  calendarAge: tolerated(Age),
  bioAgeDelta: tolerated(Age),
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
export const CompletedAnswer = z.looseObject({
  id: tolerated(z.string()),
  description: tolerated(z.string()),
  label: tolerated(z.string()),
  value: tolerated(z.string()),
})
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
