import type { Answer } from './answer.ts'
import { AnswerSubmission, AssessmentPage } from './contract/assessment-page.ts'
import { Envelope } from './contract/envelope.ts'
import { checkSuccess } from './read-envelope.ts'
import type { Transport } from './transport.ts'

const Page = Envelope(AssessmentPage)
/** What follows the last page is not documented: `data` may then be empty, null or absent. */
const PageAnswer = Page.extend({ data: Page.shape.data.nullish() })

/** The test of the biological age, page by page. The bearer token says whose test it is (section "Age assessment"). */
export interface Assessment {
  /** The page that is to be answered next; undefined where there is none, as of a finished test. @throws GatewayError */
  currentPage(): Promise<AssessmentPage | undefined>
  /**
   * Submits the answers of a page and gives the next one; undefined behind the last.
   * @throws GatewayError; ZodError for a submission that is not as the contract has it, before anything is sent
   */
  submit(answers: AnswerSubmission): Promise<AssessmentPage | undefined>
}

export function createAssessment(transport: Transport): Assessment {
  return {
    currentPage: () => transport.send({ endpoint: 'readAssessmentPage' }, readPage),
    submit: async (answers) =>
      transport.send(
        { endpoint: 'submitAnswers', body: JSON.stringify(AnswerSubmission.parse(answers)) },
        readPage,
      ),
  }
}

function readPage(answer: Answer): AssessmentPage | undefined {
  if (answer.status === 204) return undefined
  const envelope = answer.read(PageAnswer)
  checkSuccess(envelope, answer)
  return envelope.data?.[0]
}
