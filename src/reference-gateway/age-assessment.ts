import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ENDPOINTS } from '../gateway/contract/endpoints.ts'
import { accountInQuery } from './account-query.ts'
import type { Account, AccountStore } from './account-store.ts'
import { type Assessment, chosenOf } from './assessment.ts'
import { currentPage } from './assessment-progress.ts'
import type { AssessmentStore, StoredAssessment } from './assessment-store.ts'
import { languageFor, recommend } from './recommendations.ts'
import { faultAt, faultsOf, Refusal } from './refusal.ts'
import { score } from './scoring.ts'
import { serveEndpoint } from './serve-endpoint.ts'

/**
 * Section "Age assessment", what follows from a complete test, without an envelope. Result and recommendations are 404
 * until then ("An age result exists only for a user who has completed the test"); the list of answered questions is
 * empty. `completed` and `created` are the time of the last answer. The forms with the account in the path are served
 * for account ids alone.
 */
export function serveAgeAssessment(
  app: FastifyInstance,
  assessment: Assessment,
  assessments: AssessmentStore,
  accounts: AccountStore,
): void {
  const findCompleted = (account: Account): StoredAssessment | undefined => {
    const found = assessments.find(account.seq, assessment.assessmentId)
    const isComplete = found !== undefined && currentPage(assessment, found.progress) === undefined
    return isComplete ? found : undefined
  }
  const completedOf = (account: Account): StoredAssessment => {
    const completed = findCompleted(account)
    if (completed === undefined) throw new Refusal(404, [faultAt('assessment', 'not completed')])
    return completed
  }
  const byAccountId = (accountId: string): Account => {
    const account = accounts.resolve({ type: 'accountId', reference: accountId })
    if (account === undefined) throw new Refusal(404, [faultAt('accountId', 'not registered')])
    return account
  }

  const resultOf = (account: Account) => {
    const { progress, answeredMs } = completedOf(account)
    const chosen = progress.chosen.map(([, answerId]) => answerId)
    return {
      status: 'COMPLETE',
      ...score(assessment.scoring, chosen, accounts.dateOfBirthOf(account), answeredMs),
      completed: new Date(answeredMs).toISOString(),
    }
  }
  serveEndpoint(app, 'readAgeResult', async (request) => resultOf(accountInQuery(request.query, accounts)))
  serveEndpoint(app, 'readAgeResultByAccountId', async (request) => {
    const { accountId } = parametersOf(request, ENDPOINTS.readAgeResultByAccountId.parameters)
    return resultOf(byAccountId(accountId))
  })

  const recommendationsOf = (
    account: Account,
    assessmentId: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => {
    if (assessmentId !== assessment.assessmentId) {
      throw new Refusal(404, [faultAt('assessmentId', 'no such assessment')])
    }
    const chosen = completedOf(account).progress.chosen.map(([, answerId]) => answerId)
    const language = languageFor(request.headers['accept-language'], assessment.languages)
    reply.header('content-language', language).header('vary', 'Accept-Language')
    return recommend(assessment.recommendations, chosen, language)
  }
  serveEndpoint(app, 'listRecommendations', async (request, reply) => {
    const { assessmentId } = parametersOf(request, ENDPOINTS.listRecommendations.parameters)
    return recommendationsOf(accountInQuery(request.query, accounts), assessmentId, request, reply)
  })
  serveEndpoint(app, 'listRecommendationsByAccountId', async (request, reply) => {
    const { parameters } = ENDPOINTS.listRecommendationsByAccountId
    const { assessmentId, accountId } = parametersOf(request, parameters)
    return recommendationsOf(byAccountId(accountId), assessmentId, request, reply)
  })

  serveEndpoint(app, 'listCompletedQuestions', async (request) => {
    const account = accountInQuery(request.query, accounts)
    const completed = findCompleted(account)
    return completed === undefined ? [] : [completedQuestions(assessment, completed, account)]
  })
}

/** The parameters of the path. 400 where one is empty. */
function parametersOf<Parameters extends z.ZodType>(request: FastifyRequest, schema: Parameters) {
  const result = schema.safeParse(request.params)
  if (!result.success) throw new Refusal(400, faultsOf(result.error, 'path'))
  return result.data
}

/** Section "Completed questions record": the questions that were answered, in the order of the pages. */
function completedQuestions(
  assessment: Assessment,
  { id, progress, answeredMs }: StoredAssessment,
  account: Account,
) {
  const chosen = new Map(progress.chosen)
  const questions = assessment.pages.flatMap((page) => page.questions)
  return {
    id,
    assessmentId: assessment.assessmentId,
    account: { type: 'accountId', reference: account.accountId },
    created: new Date(answeredMs).toISOString(),
    assessmentType: assessment.assessmentType,
    questions: questions.flatMap((question) => {
      const answers = chosenOf(question, chosen).map(({ answerId, factId, text, value }) => ({
        id: String(answerId),
        description: text,
        label: question.displayLabel[factId] ?? '',
        value,
      }))
      return answers.length === 0 ? [] : [{ id: question.id, text: question.questionText, answers }]
    }),
  }
}
