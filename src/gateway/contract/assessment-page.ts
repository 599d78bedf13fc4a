import { z } from 'zod'
import { tolerated } from './tolerated.ts'

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
  moreInfoTitle: tolerated(z.string()),
  moreInfoBody: tolerated(z.string()),
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
