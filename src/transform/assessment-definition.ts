/** The section `assessment` of a mapping, as written (docs/assessment.md). */
import { z } from 'zod'
import { FieldDefinition } from './field-definition.ts'

/** One answer; several, of which each may be empty; or one for each fact of the question. */
const Answers = z.union([
  z.strictObject({ facts: z.record(z.string().min(1), FieldDefinition) }),
  z.array(FieldDefinition).min(1),
  FieldDefinition,
])

export const AssessmentDefinition = z.strictObject({
  answers: z.record(z.string().min(1), Answers).meta({
    description:
      'By the id of the question: the field that says which option was chosen, by its id, its value or its text.',
  }),
})
export type AssessmentDefinition = z.infer<typeof AssessmentDefinition>
