import { type Account, accountQuery } from './account-query.ts'
import type { Answer } from './answer.ts'
import { AgeResult, CompletedAssessments, Recommendations } from './contract/age-result.ts'
import type { Transport } from './transport.ts'

/** What is known of a user's biological age, called with the API key alone (section "Age assessment"). */
export interface AgeAssessment {
  /**
   * The user's age result, or undefined where the gateway has none (404, 204 or `null`: the answer is not documented). A
   * 404 for an account that the gateway does not know cannot be told from it. @throws GatewayError
   */
  result(account: Account): Promise<AgeResult | undefined>
  /** @deprecated Takes account ids only: use `result` (section "Versioning"). @throws GatewayError */
  resultByAccountId(accountId: string): Promise<AgeResult | undefined>
  /**
   * What follows from a completed test. `assessmentId` comes from `completedQuestions`. `language` is a locale tag such as
   * `en-US`; without one no language is asked for. @throws GatewayError
   */
  recommendations(assessmentId: string, account: Account, language?: string): Promise<Recommendations>
  /** @deprecated Takes account ids only: use `recommendations` (section "Versioning"). @throws GatewayError */
  recommendationsByAccountId(
    assessmentId: string,
    accountId: string,
    language?: string,
  ): Promise<Recommendations>
  /** The user's completed tests, each with its questions and the answers given. @throws GatewayError */
  completedQuestions(account: Account): Promise<CompletedAssessments>
}

const readRecommendations = (answer: Answer): Recommendations => answer.read(Recommendations)

export function createAgeAssessment(transport: Transport): AgeAssessment {
  return {
    result: (account) =>
      transport.send(
        { endpoint: 'readAgeResult', query: accountQuery(account), alsoAnswers: [404] },
        readResult,
      ),
    resultByAccountId: (accountId) =>
      transport.send(
        { endpoint: 'readAgeResultByAccountId', parameters: { accountId }, alsoAnswers: [404] },
        readResult,
      ),
    recommendations: (assessmentId, account, language) =>
      transport.send(
        {
          endpoint: 'listRecommendations',
          parameters: { assessmentId },
          query: accountQuery(account),
          language,
        },
        readRecommendations,
      ),
    recommendationsByAccountId: (assessmentId, accountId, language) =>
      transport.send(
        { endpoint: 'listRecommendationsByAccountId', parameters: { assessmentId, accountId }, language },
        readRecommendations,
      ),
    completedQuestions: (account) =>
      transport.send({ endpoint: 'listCompletedQuestions', query: accountQuery(account) }, (answer) =>
        answer.read(CompletedAssessments),
      ),
  }
}

function readResult(answer: Answer): AgeResult | undefined {
  if (answer.status === 404 || answer.status === 204) return undefined
  return answer.read(AgeResult.nullable()) ?? undefined
}
