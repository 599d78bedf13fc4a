import { z } from 'zod'
import { AnswerId, type AnswerSubmission } from '../gateway/contract/age-assessment.ts'
import { type Assessment, chosenOf, type Page } from './assessment.ts'
import type { QuestionDefinition } from './assessment-definition.ts'
import { type Fault, faultAt, MOST_FAULTS, Refusal } from './refusal.ts'

/** How far a user is in a test, in the form in which it is stored. */
export const Progress = z.object({
  /** Numbers of the pages that were answered. */
  pages: z.array(z.string()),
  /** Pairs of fact id and id of the answer chosen. */
  chosen: z.array(z.tuple([z.string(), AnswerId])),
})
export type Progress = z.infer<typeof Progress>

export const NOTHING_ANSWERED: Progress = { pages: [], chosen: [] }

/** The first page that was not answered; undefined once the test is complete. */
export function currentPage({ pages }: Assessment, progress: Progress): Page | undefined {
  const chosen = new Map(progress.chosen)
  return pages.find(
    ({ pageNumber, questions }) =>
      !progress.pages.includes(pageNumber) ||
      questions.some((question) => question.required && missingIn(question, chosen).length > 0),
  )
}

/**
 * Takes the answers of a page: the current one, or an earlier one, whose answers they replace as a whole. Of answers that
 * clear each other within the submission, the one sent first stays; what was answered on other pages is cleared too.
 * @returns the new state, and the page after the one answered; no page after the last
 * @throws Refusal 400 for a page, question, fact or answer that is not there and for a required answer that is missing,
 * 409 for a page whose turn has not come
 */
export function answerPage(
  assessment: Assessment,
  progress: Progress,
  submission: AnswerSubmission,
): { readonly progress: Progress; readonly next: Page | undefined } {
  const { pages } = assessment
  const index = pages.findIndex(
    ({ moduleId, questionGroupId }) =>
      moduleId === submission.moduleId && questionGroupId === submission.questionGroupId,
  )
  const page = pages[index]
  if (page === undefined) {
    throw new Refusal(400, [
      faultAt('submission', 'moduleId and questionGroupId name no page', undefined, 'questionGroupId'),
    ])
  }
  const current = currentPage(assessment, progress)
  if (current !== undefined && index > pages.indexOf(current)) {
    throw new Refusal(409, [
      faultAt('submission', 'a page before this one is not answered', undefined, 'questionGroupId'),
    ])
  }
  const answers = readAnswers(page, submission.answers)
  const cleared = new Set(answers.flatMap(({ answersToClear }) => answersToClear))
  const ofPage = new Set(page.questions.flatMap(({ factDataType }) => Object.keys(factDataType)))
  const elsewhere = progress.chosen.filter(([factId, id]) => !ofPage.has(factId) && !cleared.has(id))
  return {
    progress: {
      pages: [...new Set([...progress.pages, page.pageNumber])],
      chosen: [
        ...elsewhere,
        ...answers.map(({ factId, answerId }): [string, AnswerId] => [factId, answerId]),
      ],
    },
    next: pages[index + 1],
  }
}

type Chosen = QuestionDefinition['answers'][number]

/** The answers of a submission that stay, in the order sent. */
function readAnswers({ questions }: Page, sent: AnswerSubmission['answers']): Chosen[] {
  const faults: Fault[] = []
  const fault = (message: string, ...place: (string | number)[]) => {
    if (faults.length === MOST_FAULTS) return
    faults.push(faultAt('submission', message, undefined, ['answers', ...place.map(shortened)].join('.')))
  }
  const chosen = new Map<string, Chosen>()
  for (const [questionId, choices] of Object.entries(sent)) {
    const question = questions.find(({ id }) => id === questionId)
    if (question === undefined) fault('no such question on this page', questionId)
    else readChoices(question, choices, chosen, fault)
  }
  const ids = new Map([...chosen].map(([factId, { answerId }]) => [factId, answerId]))
  for (const question of questions.filter(({ required }) => required)) {
    for (const place of missingIn(question, ids)) fault('an answer is required', ...place)
  }
  if (faults.length > 0) throw new Refusal(400, faults)
  return withoutCleared([...chosen.values()])
}

function readChoices(
  question: QuestionDefinition,
  choices: AnswerSubmission['answers'][string],
  chosen: Map<string, Chosen>,
  fault: (message: string, ...place: (string | number)[]) => void,
): void {
  for (const [index, choice] of choices.entries()) {
    for (const [factId, answerId] of Object.entries(choice)) {
      const place = [question.id, index, factId]
      const options = question.answers.filter((option) => option.factId === factId)
      const option = options.find((candidate) => candidate.answerId === answerId)
      if (options.length === 0) fault('no such fact in this question', ...place)
      else if (option === undefined) fault('no such answer to this fact', ...place)
      else if (chosen.has(factId)) fault('this fact is answered twice', ...place)
      else chosen.set(factId, option)
    }
  }
}

/** Places of what a required question lacks: its facts, or the question itself where one answer is enough. */
function missingIn(question: QuestionDefinition, chosen: ReadonlyMap<string, AnswerId>): string[][] {
  const answered = new Set(chosenOf(question, chosen).map(({ factId }) => factId))
  if (question.type === 'checkbox') return answered.size === 0 ? [[question.id]] : []
  return Object.keys(question.factDataType).flatMap((factId) =>
    answered.has(factId) ? [] : [[question.id, factId]],
  )
}

/** An answer that was cleared clears nothing itself, so that of two that clear each other one stays. */
function withoutCleared(chosen: readonly Chosen[]): Chosen[] {
  const cleared = new Set<AnswerId>()
  for (const { answerId, answersToClear } of chosen) {
    if (!cleared.has(answerId)) for (const id of answersToClear) cleared.add(id)
  }
  return chosen.filter(({ answerId }) => !cleared.has(answerId))
}

/** Ids that were sent may be of any length; an error says so much of them that they can be found. */
export function shortened(part: string | number): string {
  const text = String(part)
  return text.length <= 64 ? text : `${text.slice(0, 64)}…`
}
