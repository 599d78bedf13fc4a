import type { ReferenceGatewayOptions } from '../src/server.ts'
import { startGateway } from './gateway-under-test.ts'

/** Parts of a page of the age assessment for the tests. */
export interface ShownPage {
  readonly moduleId: string
  readonly questionGroupId: string
  readonly pageNumber: string
  readonly questions: {
    readonly id: string
    readonly previousValues: Record<string, string>
    readonly [field: string]: unknown
  }[]
}

const HEADERS = { 'x-api-key': 'key', authorization: 'Bearer t-1', 'x-api-version': '1.0' }
const PATH = '/assessments/bioage'

type Choices = Record<string, Record<string, unknown>[]>

/** The pages of the shipped test in their order, each with a submission that is good. */
export const SHOWN_PAGES = ['1.1', '1.2', '2.1', '3.1', '4.1'] as const
const SUBMISSIONS: Record<(typeof SHOWN_PAGES)[number], { group: [string, string]; answers: Choices }> = {
  '1.1': {
    group: ['body-and-day', 'size'],
    answers: { height: [{ 'height-feet': 'feet-5' }, { 'height-inches': 'inches-7' }] },
  },
  '1.2': { group: ['body-and-day', 'sitting'], answers: { 'sitting-hours': [{ sitting: 'sits-much' }] } },
  '2.1': {
    group: ['tobacco', 'tobacco-use'],
    answers: {
      tobacco: [{ 'tobacco-use': 'tobacco-current' }],
      cigarettes: [{ 'cigarettes-a-day': 'cigarettes-10' }],
    },
  },
  '3.1': {
    group: ['movement', 'activity'],
    answers: { 'activity-kinds': [{ walked: 'did-walk' }, { gardened: 'did-garden' }] },
  },
  '4.1': { group: ['rest', 'sleep'], answers: { 'sleep-hours': [{ sleep: 'sleep-good' }] } },
}

/** The submission of a page, with other answers where some are given. */
export function submission(page: (typeof SHOWN_PAGES)[number], answers?: unknown) {
  const {
    group: [moduleId, questionGroupId],
    answers: good,
  } = SUBMISSIONS[page]
  return { moduleId, questionGroupId, answers: answers ?? good }
}

/** A gateway with the account p-1, for which the token t-1 stands, and the calls of the paged test. */
export async function startTest(options: Partial<ReferenceGatewayOptions> = {}) {
  const gateway = await startGateway({
    tokenOwners: { 't-1': { reference: 'p-1', type: 'partnerAccountId' } },
    ...options,
  })
  const accountId = await gateway.register('p-1')

  const ask = async (method: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await gateway.call(method, PATH, body, { ...HEADERS, ...headers })
    const shown: { code: number; message: string; data: ShownPage[] } = JSON.parse(answer.text)
    return { ...answer, shown, page: shown.data[0] }
  }
  const submit = (body: unknown) => ask('POST', body)
  return {
    ...gateway,
    accountId,
    read: (headers: Record<string, string> = {}) => ask('GET', undefined, headers),
    submit,
    /** Answers the pages up to one, and that one. */
    async answerUpTo(last: (typeof SHOWN_PAGES)[number]) {
      for (const page of SHOWN_PAGES.slice(0, SHOWN_PAGES.indexOf(last) + 1)) await submit(submission(page))
    },
  }
}
