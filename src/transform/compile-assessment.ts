/** Answers to the paged test (interface, "Answer submission"): a row's answer to each question. The page defines the options. */
import { AnswersEntry } from '../model/entry.ts'
import { type Fault, fault, type TestAnswer } from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import type { CompiledField } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { FieldDefinition, MappingDefinition } from './mapping-definition.ts'
import { type CompiledRule, type RuleSite, rejected } from './rule.ts'
import { branchOf } from './scope.ts'
import { frameOfParts, NO_TIME } from './source.ts'

/** Rule name of all records of the test; a row is one person's answers. */
const ASSESSMENT = 'assessment'

const NO_ANSWERS = fault('answers-missing', 'the row answers none of the questions')

interface CompiledAnswer {
  readonly question: string
  /** Undefined where the question has a single fact, or takes any. */
  readonly fact: string | undefined
  readonly field: CompiledField
}

export function compileAssessment(
  site: RuleSite,
  definition: NonNullable<MappingDefinition['assessment']>,
): CompiledRule {
  const { context, path, source } = site
  const answers = Object.entries(definition.answers).flatMap(([question, written]): CompiledAnswer[] => {
    const at = [...path, 'answers', question]
    const compiled = (field: FieldDefinition, place: KeyPath, fact?: string): CompiledAnswer => ({
      question,
      fact,
      field: compileField(context, field, place),
    })
    if (Array.isArray(written)) return written.map((field, index) => compiled(field, [...at, index]))
    if (typeof written === 'object' && 'facts' in written)
      return Object.entries(written.facts).map(([fact, field]) =>
        compiled(field, [...at, 'facts', fact], fact),
      )
    return [compiled(written, at)]
  })
  const branch = branchOf(...answers.map(({ field }) => field))
  if (branch > 0) context.report(path, 'answers are read from the row, not from a level')
  const frameOf = frameOfParts(source, 'assessment', ',"answers":')
  return {
    branch: 0,
    apply(scope, facts) {
      const refuse = (found: Fault, from: string | undefined) =>
        rejected('assessment', ASSESSMENT, found, from)
      const given: TestAnswer[] = []
      for (const { question, fact, field } of answers) {
        const option = field.read(scope)
        if (typeof option !== 'string') return refuse(option, field.from)
        if (option !== '') given.push({ question, fact, option })
      }
      if (given.length === 0) return refuse(NO_ANSWERS, undefined)
      return new AnswersEntry(frameOf(), ASSESSMENT, facts, NO_TIME, given)
    },
  }
}
