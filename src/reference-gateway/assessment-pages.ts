import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AnswerSubmission } from '../gateway/contract/age-assessment.ts'
import type { Account, AccountStore } from './account-store.ts'
import { type Assessment, chosenOf, type Page } from './assessment.ts'
import { answerPage, currentPage, NOTHING_ANSWERED, type Progress, shortened } from './assessment-progress.ts'
import type { AssessmentStore } from './assessment-store.ts'
import { bearerOf } from './credentials.ts'
import { faultAt, faultsOf, Refusal } from './refusal.ts'
import { serveEndpoint } from './serve-endpoint.ts'
import { inTransaction } from './store.ts'
import type { TokenBook } from './token-book.ts'

/**
 * The paged test of section "Age assessment": GET gives the first page that is not answered, POST the page after the one
 * answered; `data` is empty once none is left. The token says whose test it is: 403 where it stands for nobody, 404 where
 * its account is not registered. A page may be answered again at any time; a complete test is complete anew then.
 */
export function serveAssessmentPages(
  app: FastifyInstance,
  store: DatabaseSync,
  parts: {
    readonly assessment: Assessment
    readonly assessments: AssessmentStore
    readonly accounts: AccountStore
    readonly tokens: TokenBook
    readonly clock: () => number
  },
): void {
  const { assessment, assessments, accounts, tokens, clock } = parts
  const { assessmentId } = assessment
  const progressOf = (user: Account) => assessments.find(user.seq, assessmentId)?.progress ?? NOTHING_ANSWERED

  serveEndpoint(app, 'readAssessmentPage', async (request) => {
    const progress = progressOf(userOf(request, tokens, accounts))
    return success(currentPage(assessment, progress), progress)
  })

  serveEndpoint(app, 'submitAnswers', async (request) => {
    const user = userOf(request, tokens, accounts)
    const submission = readSubmission(request.body)
    return inTransaction(store, () => {
      const { progress, next } = answerPage(assessment, progressOf(user), submission)
      assessments.save(user.seq, assessmentId, progress, clock())
      return success(next, progress)
    })
  })
}

/** The user that the request's token stands for. */
function userOf(request: FastifyRequest, tokens: TokenBook, accounts: AccountStore): Account {
  const owner = tokens.ownerOf(bearerOf(request))
  if (owner === undefined) {
    const how = 'bind it with `waybill gateway --bind TOKEN=REFERENCE` or POST /_reference/tokens'
    throw new Refusal(403, [{ message: `Authorization: the token stands for no user; ${how}` }])
  }
  const account = accounts.resolve(owner)
  if (account === undefined) {
    throw new Refusal(404, [faultAt('account', 'that of the token is not registered')])
  }
  return account
}

/** A submission; the keys in the places of its faults are shortened, since they were sent. */
function readSubmission(body: unknown): AnswerSubmission {
  const result = AnswerSubmission.safeParse(body)
  if (result.success) return result.data
  const issues = result.error.issues.map((issue) => ({
    ...issue,
    path: issue.path.map((part) => (typeof part === 'string' ? shortened(part) : part)),
  }))
  throw new Refusal(400, faultsOf(new z.ZodError(issues), 'submission'))
}

const success = (page: Page | undefined, progress: Progress) => ({
  code: 200,
  message: '200 OK',
  data: page === undefined ? [] : [withPreviousValues(page, progress)],
})

/** The page on the wire; `previousValues` holds the values, not the ids, of the answers chosen before. */
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
