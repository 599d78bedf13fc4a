import type { Gateway } from '../../src/gateway/gateway.ts'
import type { CallName } from './documented-calls.ts'
import { echoing, json, type Reply } from './loopback.ts'
import { ACCOUNT, BIOMETRIC, RECORDS_REQUEST, REGISTRATION } from './sample-records.ts'

/** One way to call a method of the client, and what must arrive. */
export interface SampleCall {
  readonly call: (gateway: Gateway, serverUrl: string) => Promise<unknown>
  /** An answer that the client can read; without one an envelope that is empty. */
  readonly reply?: Reply
  /** Path and query as they arrive; without one the documented path, with the query. */
  readonly url?: string
  readonly query?: string
  readonly body?: string
}

const OF_ACCOUNT = 'accountReference=participant+4711%26x&accountReferenceType=partnerAccountId'
export const EMPTY = json(200, { code: '200', data: [], errors: [] })
const PAGE = { moduleId: 'm-1', questionGroupId: 'g-1' }
const ANSWERS = { ...PAGE, answers: { 'q-1': [{ 'f-1': 'a-1' }, { 'f-2': 7 }] } }
const SEARCH = { page: 1, limit: 100, sort: { updated: 'desc' } }
const ADVICE = '/bioage/assessments/as%2F1/recommendations'

/** Every method of the client. */
export const SAMPLE_CALLS: Readonly<Record<CallName, SampleCall>> = {
  'accounts.register': {
    call: ({ accounts }) => accounts.register(REGISTRATION),
    reply: json(200, { accountId: 'a-1', partnerAccountId: 'p-1' }),
    body: JSON.stringify(REGISTRATION),
  },
  'accounts.delete': {
    call: ({ accounts }) => accounts.delete(ACCOUNT),
    reply: { status: 204 },
    query: OF_ACCOUNT,
  },
  'biometrics.create': {
    call: ({ biometrics }) => biometrics.create([BIOMETRIC]),
    reply: echoing('t-1'),
    body: JSON.stringify([BIOMETRIC]),
  },
  'biometrics.createBulk': {
    call: ({ biometrics }) => biometrics.createBulk([BIOMETRIC]),
    reply: echoing('t-1'),
    body: JSON.stringify([BIOMETRIC]),
  },
  'biometrics.sendBulk': {
    call: ({ biometrics }) => biometrics.sendBulk('[ {"value":5.10} ]', 1),
    reply: echoing('t-1'),
    body: '[ {"value":5.10} ]',
  },
  'biometrics.read': { call: ({ biometrics }) => biometrics.read(ACCOUNT), query: OF_ACCOUNT },
  'conditions.create': { call: ({ conditions }) => conditions.create([]), body: '[]' },
  'conditions.createBulk': { call: ({ conditions }) => conditions.createBulk([]), body: '[]' },
  'conditions.sendBulk': {
    call: ({ conditions }) => conditions.sendBulk('[{}]', 1),
    reply: json(200, { code: '200', data: [{ id: 'c-1' }], errors: [] }),
    body: '[{}]',
  },
  'conditions.read': {
    call: ({ conditions }) => conditions.read(ACCOUNT),
    reply: json(200, { data: { code: '200', data: [], errors: [] } }),
    query: OF_ACCOUNT,
  },
  'careTeams.create': { call: ({ careTeams }) => careTeams.create([]), body: '[]' },
  'careTeams.createBulk': { call: ({ careTeams }) => careTeams.createBulk([]), body: '[]' },
  'careTeams.sendBulk': {
    call: ({ careTeams }) => careTeams.sendBulk('[{}]', 1),
    reply: json(200, { code: '200', data: [{ id: '1' }], errors: [] }),
    body: '[{}]',
  },
  'careTeams.list': { call: ({ careTeams }) => careTeams.list(ACCOUNT), query: OF_ACCOUNT },
  'careTeams.delete': {
    call: ({ careTeams }) => careTeams.delete(ACCOUNT, { id: ['1', '2'], npi: ['1234567893'] }),
    reply: { status: 204 },
    query: `${OF_ACCOUNT}&id=1&id=2&npi=1234567893`,
  },
  'careTeams.setPrimary': {
    call: ({ careTeams }) => careTeams.setPrimary({ account: ACCOUNT, npi: '1234567893' }),
    reply: json(200, { code: '200', data: [{ npi: '1234567893' }], errors: [] }),
    body: JSON.stringify({ account: ACCOUNT, npi: '1234567893' }),
  },
  'careTeams.unsetPrimary': {
    call: ({ careTeams }) => careTeams.unsetPrimary({ account: ACCOUNT, id: '1' }),
    reply: json(200, { code: '200', data: [{}], errors: [] }),
    body: JSON.stringify({ account: ACCOUNT, id: '1' }),
  },
  'ageAssessment.result': {
    call: ({ ageAssessment }) => ageAssessment.result(ACCOUNT),
    reply: json(200, { status: 'COMPLETE' }),
    query: OF_ACCOUNT,
  },
  'ageAssessment.resultByAccountId': {
    call: ({ ageAssessment }) => ageAssessment.resultByAccountId('a/1?'),
    reply: json(200, { status: 'COMPLETE' }),
    url: '/bioage/result/a%2F1%3F',
  },
  'ageAssessment.recommendations': {
    call: ({ ageAssessment }) => ageAssessment.recommendations('as/1', ACCOUNT, 'es-US'),
    reply: json(200, []),
    url: `${ADVICE}?${OF_ACCOUNT}`,
  },
  'ageAssessment.recommendationsByAccountId': {
    call: ({ ageAssessment }) => ageAssessment.recommendationsByAccountId('as/1', 'a 1', 'es-US'),
    reply: json(200, []),
    url: `${ADVICE}/a%201`,
  },
  'ageAssessment.completedQuestions': {
    call: ({ ageAssessment }) => ageAssessment.completedQuestions(ACCOUNT),
    reply: json(200, []),
    query: OF_ACCOUNT,
  },
  'assessment.currentPage': {
    call: ({ assessment }) => assessment.currentPage(),
    reply: json(200, { code: 200, data: [{ ...PAGE, questions: [] }] }),
  },
  'assessment.submit': {
    call: ({ assessment }) => assessment.submit(ANSWERS),
    reply: json(200, { code: 200, data: [] }),
    body: JSON.stringify(ANSWERS),
  },
  'content.listArticles': {
    call: ({ content }) => content.listArticles({ tag: ['heart', 'a&b'], page: 2 }),
    query: 'tag=heart&tag=a%26b&page=2',
  },
  'content.articles': {
    call: ({ content }) =>
      Array.fromAsync(content.articles({ tag: 'heart' }, { parameter: 'page', first: 0 })),
    query: 'tag=heart&page=0',
  },
  'content.article': {
    call: ({ content }) => content.article(17),
    reply: json(200, { code: 200, data: [{ id: 17 }] }),
    url: '/content/distribution/article/17',
  },
  'medicalRecords.upsert': {
    call: ({ medicalRecords }) => medicalRecords.upsert([RECORDS_REQUEST]),
    reply: json(200, { code: 200, data: [{ referenceNumber: 'ref-1' }] }),
    body: JSON.stringify([RECORDS_REQUEST]),
  },
  'medicalRecords.requests': {
    call: ({ medicalRecords }) =>
      Array.fromAsync(
        medicalRecords.requests([{ patient: { lastName: 'Person' }, request: { type: '', subType: '' } }]),
      ),
    reply: json(200, { code: 200, data: [{ results: [] }] }),
    body: JSON.stringify({
      page: 1,
      limit: 100,
      filter: [{ patient: { lastName: 'Person' }, request: { type: '', subTyp: '' } }],
    }),
  },
  'medicalRecords.search': {
    call: ({ medicalRecords }) =>
      medicalRecords.search({
        ...SEARCH,
        filter: [{ patient: { lastName: 'Person' }, request: { type: '', subType: 's-1' } }],
      }),
    reply: json(200, { code: 200, data: [{ results: [] }] }),
    body: JSON.stringify({
      ...SEARCH,
      filter: [{ patient: { lastName: 'Person' }, request: { type: '', subTyp: 's-1' } }],
    }),
  },
  'medicalRecords.delete': {
    call: ({ medicalRecords }) => medicalRecords.delete('ref/1'),
    url: '/medical-records/requester/ref%2F1',
  },
  'medicalRecords.requestTypes': { call: ({ medicalRecords }) => medicalRecords.requestTypes() },
  'medicalRecords.uploadAuthorization': {
    call: ({ medicalRecords }, serverUrl) =>
      medicalRecords.uploadAuthorization(
        `${serverUrl}/store/1?signature=x%2Fy`,
        Buffer.from('%PDF-1.7 é\n%%EOF'),
      ),
    reply: { status: 201, body: 'whatever' },
    url: '/store/1?signature=x%2Fy',
    body: '%PDF-1.7 é\n%%EOF',
  },
}
