import type { z } from 'zod'
import { type Answer, checkAccount, checkNumber, checkSuccess } from './answer.ts'
import { type Account, accountQuery } from './contract/account.ts'
import {
  AgeResult,
  AnswerSubmission,
  AssessmentPage,
  CompletedAssessments,
  Recommendations,
} from './contract/age-assessment.ts'
import { Envelope } from './contract/shared-objects.ts'
import type { Transport } from './transport.ts'

/** Bound on the number of a person's tests; a person takes a few a year. */
const YEARS_OF_TESTS = 10

const readRecommendations = (answer: Answer): z.infer<typeof Recommendations> => answer.read(Recommendations)

/** Results of a user's age assessment, called with the API key alone (section "Age assessment"). */
export type AgeAssessment = ReturnType<typeof createAgeAssessment>

export function createAgeAssessment(transport: Transport) {
  return {
    /**
     * Reads the user's age result; undefined if there is none (404, 204 or `null`: the answer is not documented). A 404 for an unknown
     * account looks the same.
     *
     * @throws GatewayError
     */
    result: (account: Account) =>
      transport.send(
        { endpoint: 'readAgeResult', query: accountQuery(account), alsoAnswers: [404] },
        readResult,
      ),
    /** @deprecated Accepts account ids only: use `result` (section "Versioning"). @throws GatewayError */
    resultByAccountId: (accountId: string) =>
      transport.send(
        { endpoint: 'readAgeResultByAccountId', parameters: { accountId }, alsoAnswers: [404] },
        readResult,
      ),
    /**
     * Reads the recommendations of a completed test. `assessmentId` comes from `completedQuestions`. `language` is a locale tag such as
     * `en-US`; without it, no language is requested. @throws GatewayError
     */
    recommendations(assessmentId: string, account: Account, language?: string) {
      const [parameters, query] = [{ assessmentId }, accountQuery(account)]
      return transport.send(
        { endpoint: 'listRecommendations', parameters, query, language },
        readRecommendations,
      )
    },
    /** @deprecated Accepts account ids only: use `recommendations` (section "Versioning"). @throws GatewayError */
    recommendationsByAccountId(assessmentId: string, accountId: string, language?: string) {
      const parameters = { assessmentId, accountId }
      return transport.send(
        { endpoint: 'listRecommendationsByAccountId', parameters, language },
        readRecommendations,
      )
    },
    /**
     * Reads the user's completed tests with questions and answers.
     *
     * @throws GatewayError; `ambiguous` also for an answer with tests of another account
     */
    completedQuestions: (asked: Account) =>
      transport.send({ endpoint: 'listCompletedQuestions', query: accountQuery(asked) }, (answer) => {
        const completed = answer.read(CompletedAssessments)
        checkNumber(YEARS_OF_TESTS, completed)
        checkAccount(
          asked,
          completed.map(({ account }) => account),
        )
        return completed
      }),
  }
}

function readResult(answer: Answer): z.infer<typeof AgeResult> | undefined {
  if (answer.status === 404 || answer.status === 204) return undefined
  return answer.read(AgeResult.nullable()) ?? undefined
}

const Page = Envelope(AssessmentPage)
/** Answer with a page. The answer after the last page is not documented: `data` may be empty, null or absent. */
const PageAnswer = Page.extend({ data: Page.shape.data.nullish() })

/** Test of the biological age, page by page. The bearer token identifies the user (section "Age assessment"). */
export type Assessment = ReturnType<typeof createAssessment>

/** Opens the test. @param token of the person; undefined for the token of all calls */
export function createAssessment(transport: Transport, token?: string) {
  return {
    /** Reads the next page to answer; undefined if the test is finished. @throws GatewayError */
    currentPage: () => transport.send({ endpoint: 'readAssessmentPage', token }, readPage),
    /**
     * Submits the answers of a page and returns the next page; undefined after the last.
     *
     * @throws GatewayError; ZodError before sending, if the submission violates the contract
     */
    async submit(answers: AnswerSubmission) {
      const body = JSON.stringify(AnswerSubmission.parse(answers))
      return transport.send({ endpoint: 'submitAnswers', token, body }, readPage)
    },
  }
}

function readPage(answer: Answer): AssessmentPage | undefined {
  if (answer.status === 204) return undefined
  const envelope = answer.read(PageAnswer)
  checkSuccess(envelope, answer)
  return envelope.data?.[0]
}
