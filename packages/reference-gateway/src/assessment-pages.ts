import type { DatabaseSync } from 'node:sqlite'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AnswerId, AnswerSubmission } from '../../../src/gateway/contract/age-assessment.ts'
import type { Account, AccountStore, Parts } from './accounts.ts'
import { type Assessment, chosenOf, type Page, type QuestionDefinition } from './assessment-definition.ts'
import { bearerOf, type TokenBook } from './credentials.ts'
import { type Fault, faultAt, faultsOf, MOST_FAULTS, Refusal, serveEndpoint, success } from './refusal.ts'
import { inTransaction } from './store.ts'

/** Progress of a user in a test, as stored. */
export const Progress = z.object({
  /** Numbers of the answered pages. */
  pages: z.array(z.string()),
  /** Pairs of fact id and id of the chosen answer. */
  chosen: z.array(z.tuple([z.string(), AnswerId])),
})
export type Progress = z.infer<typeof Progress>

const NOTHING_ANSWERED: Progress = { pages: [], chosen: [] }

/** Returns the first unanswered page; undefined once the test is complete. */
export function currentPage({ pages }: Assessment, progress: Progress): Page | undefined {
  const chosen = new Map(progress.chosen)
  return pages.find(
    ({ pageNumber, questions }) =>
      !progress.pages.includes(pageNumber) ||
      questions.some((question) => question.required && missingIn(question, chosen).length > 0),
  )
}

/**
 * Takes the answers of the current page, or replaces all answers of an earlier page. If answers clear each other within the submission, the
 * first one sent stays. Cleared answers on other pages are removed too.
 *
 * @returns the new progress and the page after the answered one; no page after the last
 * @throws Refusal 400 for an unknown page, question, fact or answer and for a missing required answer; 409 for a page ahead of the current
 * one
 */
function answerPage(
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

/** Returns the answers of a submission that stay, in the order sent. */
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

/** Returns the places missing in a required question: facts, or the question itself if a single answer is enough. */
function missingIn(question: QuestionDefinition, chosen: ReadonlyMap<string, AnswerId>): string[][] {
  const answered = new Set(chosenOf(question, chosen).map(({ factId }) => factId))
  if (question.type === 'checkbox') return answered.size === 0 ? [[question.id]] : []
  return Object.keys(question.factDataType).flatMap((factId) =>
    answered.has(factId) ? [] : [[question.id, factId]],
  )
}

/** Removes cleared answers. A cleared answer clears nothing, so of two answers that clear each other, one stays. */
function withoutCleared(chosen: readonly Chosen[]): Chosen[] {
  const cleared = new Set<AnswerId>()
  for (const { answerId, answersToClear } of chosen) {
    if (!cleared.has(answerId)) for (const id of answersToClear) cleared.add(id)
  }
  return chosen.filter(({ answerId }) => !cleared.has(answerId))
}

/** Shortens an id for an error: a client may send ids of any length. */
export function shortened(part: string | number): string {
  const text = String(part)
  return text.length <= 64 ? text : `${text.slice(0, 64)}…`
}

/** Stored state of a user's test. */
export interface StoredAssessment {
  readonly id: string
  readonly progress: Progress
  /** Epoch milliseconds of the last answer. */
  readonly answeredMs: number
}

/** Table of tests in progress or complete: a row per user and test. */
export function createAssessmentStore(store: DatabaseSync, makeId: () => string) {
  const select = store.prepare(
    'SELECT id, progress, answered_ms FROM assessments WHERE account = ? AND assessment_id = ?',
  )
  const upsert = store.prepare(
    `INSERT INTO assessments (id, account, assessment_id, progress, answered_ms) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (account, assessment_id) DO UPDATE SET progress = excluded.progress, answered_ms = excluded.answered_ms`,
  )

  return {
    find(account: number, assessmentId: string): StoredAssessment | undefined {
      const row = select.get(account, assessmentId)
      if (row === undefined) return undefined
      return {
        id: String(row['id']),
        progress: Progress.parse(JSON.parse(String(row['progress']))),
        answeredMs: Number(row['answered_ms']),
      }
    },

    save(account: number, assessmentId: string, progress: Progress, answeredMs: number): void {
      upsert.run(makeId(), account, assessmentId, JSON.stringify(progress), answeredMs)
    },
  }
}

export type AssessmentStore = ReturnType<typeof createAssessmentStore>

/**
 * Serves the paged test of section "Age assessment". GET returns the first unanswered page, POST the page after the answered one; `data` is
 * empty after the last. The token identifies the user: 403 if the token is bound to nobody, 404 if its account is not registered. A page
 * may be answered again at any time; a complete test is then complete anew.
 */
export function serveAssessmentPages(
  { app, store, accounts, clock }: Parts,
  assessment: Assessment,
  assessments: AssessmentStore,
  tokens: TokenBook,
): void {
  const { assessmentId } = assessment
  const progressOf = (user: Account) => assessments.find(user.seq, assessmentId)?.progress ?? NOTHING_ANSWERED

  serveEndpoint(app, 'readAssessmentPage', async (request) => {
    const progress = progressOf(userOf(request, tokens, accounts))
    return answered(currentPage(assessment, progress), progress)
  })

  serveEndpoint(app, 'submitAnswers', async (request) => {
    const user = userOf(request, tokens, accounts)
    const submission = readSubmission(request.body)
    return inTransaction(store, () => {
      const { progress, next } = answerPage(assessment, progressOf(user), submission)
      assessments.save(user.seq, assessmentId, progress, clock())
      return answered(next, progress)
    })
  })
}

/** Returns the user of the request's token. */
function userOf(request: FastifyRequest, tokens: TokenBook, accounts: AccountStore): Account {
  const owner = tokens.ownerOf(bearerOf(request))
  if (owner === undefined) {
    const how = 'bind it with `waybill gateway --bind TOKEN=REFERENCE` or POST /_reference/tokens'
    throw new Refusal(403, [{ message: `Authorization: the token is bound to no user; ${how}` }])
  }
  const account = accounts.resolve(owner)
  if (account === undefined) {
    throw new Refusal(404, [faultAt('account', 'the account of the token is not registered')])
  }
  return account
}

/** Parses a submission. Its keys come from the client, so places of faults shorten them. */
function readSubmission(body: unknown): AnswerSubmission {
  const result = AnswerSubmission.safeParse(body)
  if (result.success) return result.data
  const issues = result.error.issues.map((issue) => ({
    ...issue,
    path: issue.path.map((part) => (typeof part === 'string' ? shortened(part) : part)),
  }))
  throw new Refusal(400, faultsOf(new z.ZodError(issues), 'submission'))
}

const answered = (page: Page | undefined, progress: Progress) =>
  success(page === undefined ? [] : [withPreviousValues(page, progress)])

/** Builds the page on the wire; `previousValues` holds the values, not the ids, of earlier answers. */
function withPreviousValues({ moduleId, questionGroupId, pageNumber, questions }: Page, progress: Progress) {
  const chosen = new Map(progress.chosen)
  return {
    moduleId,
    questionGroupId,
    pageNumber,
    questions: questions.map((question) => ({
      ...question,
      previousValues: Object.fromEntries(
        chosenOf(question, chosen).map(({ factId, value }) => [factId, value]),
      ),
    })),
  }
}
