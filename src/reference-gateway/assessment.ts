import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { AnswerId } from '../gateway/contract/age-assessment.ts'
import { WaybillError } from '../model/errors.ts'
import { parseYaml } from '../yaml-file.ts'
import { contradictionsOf } from './assessment-checks.ts'
import { AssessmentDefinition, type QuestionDefinition } from './assessment-definition.ts'

const FILE = fileURLToPath(new URL('definitions/assessment.yaml', import.meta.url))

/** A page of the test. */
export interface Page {
  /** major.minor; unique in the test. */
  readonly pageNumber: string
  readonly moduleId: string
  readonly questionGroupId: string
  readonly questions: readonly QuestionDefinition[]
}

/** A test as the gateway serves it: its definition, with the pages in the order in which they are answered. */
export interface Assessment extends Omit<AssessmentDefinition, 'modules'> {
  readonly pages: readonly Page[]
}

const Definition = AssessmentDefinition.superRefine((definition, context) => {
  for (const { path, message } of contradictionsOf(definition)) {
    context.addIssue({ code: 'custom', path, message })
  }
})

/**
 * Reads the test that the gateway serves, from a file of the form of `definitions/assessment.yaml` (the default).
 * Throws `usage-wrong`, naming file, line and key of every problem, where it is none.
 */
export async function readAssessment(file = FILE): Promise<Assessment> {
  const { modules, ...rest } = parseYaml(await textOf(file), file, Definition, 'usage-wrong').value
  const pages = modules.flatMap(({ moduleId, pages }) => pages.map((page) => ({ moduleId, ...page })))
  return { ...rest, pages }
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'
    throw new WaybillError('usage-wrong', `the definition of the age assessment cannot be read: ${reason}`, {
      place: { file },
      remedy: 'Name a file that is there and may be read with --assessment.',
      cause,
    })
  }
}

/** The answers of a question that were chosen. @param chosen the id of the answer chosen, by fact id */
export function chosenOf(question: QuestionDefinition, chosen: ReadonlyMap<string, AnswerId>) {
  return question.answers.filter(({ factId, answerId }) => chosen.get(factId) === answerId)
}
