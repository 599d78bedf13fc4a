import { z } from 'zod'
import { AnswerId, BenefitCost, PageNumber } from '../gateway/contract/age-assessment.ts'

const text = z.string().min(1)

const AnswerDefinition = z.strictObject({
  /** Unique in the whole file: an answer is cleared, scored and followed by recommendations under it. */
  answerId: AnswerId,
  factId: text,
  /** Digits where the fact's data type is `INTEGER`. */
  value: text,
  text,
  /** Ids of the answers that fall away when this one is chosen. */
  answersToClear: z.array(AnswerId).default([]),
})

/**
 * A question, in the fields of section "Assessment page". A fact takes one answer. A required question asks for an answer
 * to every fact of it (`radio`, `select`) or to one at least (`checkbox`, whose answers have a fact each).
 */
const QuestionDefinition = z.strictObject({
  id: text,
  questionText: text,
  type: z.enum(['radio', 'select', 'checkbox']),
  required: z.boolean(),
  displayLabel: z.record(text, z.string()).default({}),
  displayLabelOrder: z.array(text).default([]),
  factDataType: z.record(text, z.enum(['NONE', 'INTEGER'])),
  answers: z.array(AnswerDefinition).min(1),
  moreInfoTitle: z.string().default(''),
  moreInfoBody: z.string().default(''),
})
export type QuestionDefinition = z.infer<typeof QuestionDefinition>

const ModuleDefinition = z.strictObject({
  moduleId: text,
  pages: z
    .array(
      z.strictObject({
        pageNumber: PageNumber,
        questionGroupId: text,
        questions: z.array(QuestionDefinition).min(1),
      }),
    )
    .min(1),
})

/** The scoring rule: months that each answer adds to the calendar age. Of no medical meaning. */
const ScoringRule = z.strictObject({
  /** Calendar age of an account whose date of birth is not known. */
  ageWithoutDateOfBirth: z.strictObject({ year: z.int().min(0), month: z.int().min(0).max(11) }),
  /** By how many months the biological age may lie below and above the calendar age. */
  bounds: z.strictObject({ younger: z.int().min(0), older: z.int().min(0) }),
  /** Months by answer id; an answer that is not named adds none. */
  months: z.record(text, z.int()),
})
export type ScoringRule = z.infer<typeof ScoringRule>

const RecommendationDefinition = z.strictObject({
  /** Given where one of these answers was chosen. */
  when: z.array(AnswerId).min(1),
  benefitCost: BenefitCost,
  /** By language tag. */
  texts: z.record(text, z.strictObject({ teaser: text, body: text })),
})
export type RecommendationDefinition = z.infer<typeof RecommendationDefinition>

/** The form of `definitions/assessment.yaml`: the pages of a test, how it is scored, and what is recommended after it. */
export const AssessmentDefinition = z.strictObject({
  assessmentId: text,
  assessmentType: text,
  modules: z.array(ModuleDefinition).min(1),
  scoring: ScoringRule,
  /** Tags of RFC 5646; the first is the default. */
  languages: z.array(text).min(1),
  recommendations: z.array(RecommendationDefinition),
})
export type AssessmentDefinition = z.infer<typeof AssessmentDefinition>
