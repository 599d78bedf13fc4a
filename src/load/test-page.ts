/** What of a person's answers goes onto a page of the paged test (interface, "Assessment page", "Answer submission"). Pure. */
import type { AnswerOption, AnswerSubmission, AssessmentPage } from '../gateway/contract/age-assessment.ts'
import { type Fault, fault, type TestAnswer } from '../model/record.ts'

/** How an option can be named: one that is named by its id is not looked for by its text. */
const NAMES: readonly ((option: AnswerOption) => unknown)[] = [
  ({ answerId }) => answerId,
  ({ value }) => value,
  ({ text }) => text,
]

/** Each page once, however often it is read. */
export const pageKey = ({ moduleId, questionGroupId }: AssessmentPage): string =>
  `${moduleId}\n${questionGroupId}`

export type PageAnswered = { readonly submission: AnswerSubmission } | { readonly fault: Fault }

/** @returns the fault where the page does not offer what is answered, or needs what is not: its words name the question, and no answer */
export function submissionOf(page: AssessmentPage, answers: readonly TestAnswer[]): PageAnswered {
  const said: AnswerSubmission['answers'] = {}
  for (const { id, answers: options, required } of page.questions) {
    const chosen: AnswerSubmission['answers'][string] = []
    for (const { fact, option } of answers.filter(({ question }) => question === id)) {
      const offered = options.filter(({ factId }) => fact === undefined || factId === fact)
      const found = NAMES.map((nameOf) => offered.filter((one) => textOf(nameOf(one)) === option)).find(
        ({ length }) => length > 0,
      )
      const [first, second] = found ?? []
      if (first === undefined)
        return refused('answer-not-offered', `the question "${id}" does not offer what the row answers`)
      if (second !== undefined)
        return refused(
          'answer-not-clear',
          `what the row answers to "${id}" fits several options: name the fact`,
        )
      chosen.push({ [first.factId]: first.answerId })
    }
    if (chosen.length > 0) said[id] = chosen
    else if (required === true) return refused('answer-missing', `the question "${id}" needs an answer`)
  }
  return { submission: { moduleId: page.moduleId, questionGroupId: page.questionGroupId, answers: said } }
}

const refused = (code: string, message: string): PageAnswered => ({ fault: fault(code, message) })

const textOf = (name: unknown): string | undefined =>
  typeof name === 'string' || typeof name === 'number' ? String(name) : undefined
