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

/** Bound of the tests of a person, who takes a few a year. */
const YEARS_OF_TESTS = 10

const readRecommendations = (answer: Answer): Recommendations => answer.read(Recommendations)

/** What is known of a user's biological age, called with the API key alone (section "Age assessment"). */
export type AgeAssessment = ReturnType<typeof createAgeAssessment>

export function createAgeAssessment(transport: Transport) {
  return {
    /**
     * The user's age result, or undefined where the gateway has none (404, 204 or `null`: the answer is not documented). A
     * 404 for an account that the gateway does not know cannot be told from it. @throws GatewayError
     */
    result: (account: Account) =>
      transport.send(
        { endpoint: 'readAgeResult', query: accountQuery(account), alsoAnswers: [404] },
        readResult,
      ),
    /** @deprecated Takes account ids only: use `result` (section "Versioning"). @throws GatewayError */
    resultByAccountId: (accountId: string) =>
      transport.send(
        { endpoint: 'readAgeResultByAccountId', parameters: { accountId }, alsoAnswers: [404] },
        readResult,
      ),
    /**
     * What follows from a completed test. `assessmentId` comes from `completedQuestions`. `language` is a locale tag such as
     * `en-US`; without one no language is asked for. @throws GatewayError
     */
    recommendations(assessmentId: string, account: Account, language?: string) {
      const [parameters, query] = [{ assessmentId }, accountQuery(account)]
      return transport.send(
        { endpoint: 'listRecommendations', parameters, query, language },
        readRecommendations,
      )
    },
    /** @deprecated Takes account ids only: use `recommendations` (section "Versioning"). @throws GatewayError */
    recommendationsByAccountId(assessmentId: string, accountId: string, language?: string) {
      const parameters = { assessmentId, accountId }
      return transport.send(
        { endpoint: 'listRecommendationsByAccountId', parameters, language },
        readRecommendations,
      )
    },
    /**
     * The user's completed tests, each with its questions and the answers given.
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

function readResult(answer: Answer): AgeResult | undefined {
  if (answer.status === 404 || answer.status === 204) return undefined
  return answer.read(AgeResult.nullable()) ?? undefined
}

const Page = Envelope(AssessmentPage)
/** What follows the last page is not documented: `data` may then be empty, null or absent. */
const PageAnswer = Page.extend({ data: Page.shape.data.nullish() })

/** The test of the biological age, page by page. The bearer token says whose test it is (section "Age assessment"). */
export type Assessment = ReturnType<typeof createAssessment>

/** @param token of the person; undefined: the one of all calls */
export function createAssessment(transport: Transport, token?: string) {
  return {
    /** The page that is to be answered next; undefined where there is none, as of a finished test. @throws GatewayError */
    currentPage: () => transport.send({ endpoint: 'readAssessmentPage', token }, readPage),
    /**
     * Submits the answers of a page and gives the next one; undefined behind the last.
     * @throws GatewayError; ZodError for a submission that is not as the contract has it, before anything is sent
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
