import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SUITE } from '../../packages/conformance/src/suite.ts'
import { ENDPOINTS } from '../../src/gateway/contract/endpoints.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { PROJECT, page, sections, tableRows } from './pages.ts'

const documented = sections(page('docs/gateway.md'), 2)
const endpoints = tableRows(documented.get('Endpoints') ?? '')
const questions = tableRows(documented.get('Where the document leaves a question open') ?? '').map(
  ([question = '']) => Number.parseInt(question, 10),
)

/** Endpoints that the interface document writes in another way. */
const ROWS_OF_THE_DOCUMENT = new Map([
  ['GET /health-profile/care-teams', 'GET not shown'],
  ['PUT /authorizationUploadUrl', 'PUT authorizationUploadUrl (value returned by the create/update call)'],
])

const conformance = new Set(SUITE.map(({ section, row }) => `${section} / ${row}`))
const sources = (file: string): string =>
  globSync(`{test/gateway,packages/reference-gateway/test}/${file}.test.ts`, { cwd: PROJECT })
    .map((path) => readFileSync(join(PROJECT, path), 'utf8'))
    .join('')

/** Tests of the questions, by number: `file › title` in test/gateway or packages/reference-gateway/test. */
const TESTS_OF_QUESTIONS: readonly (readonly [test: string, questions: readonly number[]])[] = [
  ['medical-records › gives back unlisted fields of the request and its blocks', [1]],
  ['accounts › gives a known partnerAccountId the same account id, or 409 where so set', [2]],
  ['accounts › removes the account with its records and no other, and lets the id be registered anew', [3]],
  ['accounts › refuses %s %j without repeating it', [4]],
  ['observations › refuses the batch for an account that is not registered, naming the position', [5]],
  ['observations › takes one user on the plain path and several on /bulk, by either reference', [6]],
  ['observations › takes the URL form of the account that ends in its id', [7]],
  ['observations › is answered with 201, in the order sent, under the account as sent', [8, 9, 10, 15]],
  ['resources › two records, %s', [11]],
  ['observations › refuses the batch for a bad %s, naming the position, and stores none of it', [12, 16, 19]],
  ['openapi-answers › the refusal of %s %s passes the published schema', [13, 57]],
  [
    'observations › answers a condition with its id and in a nested envelope, without transactionId and, as read, without id',
    [14, 24, 25, 26, 27],
  ],
  [
    'observations › is read with an id, the account id, and the time it was stored as its update',
    [17, 20, 21],
  ],
  ['observations › is the latest by the first of its codes; of equals it is the one stored later', [18]],
  [
    'observations › is stored as it is sent, twice where sent twice, with fields that are not known',
    [22, 23],
  ],
  ['headers › leave the bearer token off the bulk call of conditions, and off no other', [28]],
  ['care-teams › creates and lists entries as returned: no account, userId the account id', [29, 30]],
  ['care-teams › stores each entry under the account it names, or none of the batch', [31]],
  ['care-teams › is set by id or npi, on one entry of the user at most', [32]],
  ['care-teams › by %j answers %i', [33]],
  ['care-teams › is unset by a DELETE with a body, and only on the entry named', [34]],
  ['care-teams › deletes with %j: %i, and leaves %j', [35]],
  ['age-assessment › is not there until the last page is answered: 404 with an envelope', [36]],
  ['paged-test › leads through all pages in order, and to an empty data after the last', [37]],
  ['age-assessment › are in the language that %j asks for, in both forms', [38]],
  ['content › refuses %s, naming the parameter', [39]],
  [
    'medical-records › reads both spellings of dates of service and subtype, and answers in that of the samples',
    [40],
  ],
  ['medical-records › lets datesOfService.type default to startEnd', [41]],
  [
    'medical-records-rules › after any changes, a field has the last value sent for it, and is absent where that was null or none',
    [42, 43],
  ],
  ['medical-records › refuses a reference number twice in an array', [44]],
  ['medical-records › refuses one without the %s block in the bare form', [45]],
  ['medical-records › takes a request type %s, and answers it as sent', [46]],
  ['medical-records-search › page %i of %i a page, from 1', [47]],
  ['upload › blocks deletion from then on; an update keeps the document', [48]],
  [
    'upload › lasts 30 minutes to the millisecond, then answers 410 until a further upsert gives a new address',
    [49],
  ],
  ['upload › takes a PDF without a key: the document is available, `updated` moves, the status stays', [50]],
  [
    'gateway-error › gives the reasons of an inner envelope first, each once, then the phrase around them',
    [51],
  ],
  ['headers › $name: $method $path', [52]],
  ['credentials › %s asks for the headers of the contract, and for no other', [53]],
  ['headers › give the requester the one key there is', [54]],
  ['paged-test › is not known of a token that is bound to nobody: 403, saying how to bind it', [55]],
  ['hostile-input › refuses what is not a JSON body of it, stores nothing of it, and goes on', [56]],
]

/** Whether a test of this name is there: a case of the conformance suite, or a title in a test file. */
function isTest(name: string): boolean {
  const [file = '', ...title] = name.split(' › ')
  const rest = title.join(' › ')
  if (rest === '') return false
  if (file === 'conformance') return conformance.has(rest)
  return ["'", '`'].some((quote) => sources(file).includes(`${quote}${rest}${quote}`))
}

describe('docs/gateway.md', () => {
  it('has every endpoint, and no other', () => {
    const named = endpoints.map(([endpoint = '']) => endpoint.replaceAll('`', '')).sort()
    expect(named).toEqual(
      Object.values(ENDPOINTS)
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    )
  })

  it('has every call of the client, and no other', () => {
    const gateway = createGateway({
      baseUrl: 'http://127.0.0.1:1',
      apiKey: 'key',
      accessToken: async () => 'token',
      now: () => 0,
      nextRequestId: () => '',
    })
    const calls = Object.entries(gateway).flatMap(([resource, methods]) =>
      typeof methods === 'function' ? [] : Object.keys(methods).map((method) => `${resource}.${method}`),
    )
    gateway.close()
    const named = endpoints.flatMap(([, client = '']) =>
      [...client.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    )
    expect(named.sort()).toEqual(calls.sort())
  })

  it('has every open point', () => {
    expect(questions).toEqual(Array.from({ length: 57 }, (_, at) => at + 1))
  })

  it.each(Object.values(ENDPOINTS).map(({ method, path }) => `${method} ${path}`))(
    'is right that the suite has a case for %s',
    (endpoint) => {
      const row = ROWS_OF_THE_DOCUMENT.get(endpoint) ?? endpoint
      expect(SUITE.map((one) => one.row)).toContain(row)
    },
  )

  it('has a test for every open point', () => {
    const tested = TESTS_OF_QUESTIONS.flatMap(([, numbers]) => numbers)
    expect(tested.toSorted((a, b) => a - b)).toEqual(questions)
  })

  it.each(TESTS_OF_QUESTIONS)('has the test %s', (test) => {
    expect(test).toSatisfy(isTest)
  })

  it('is not satisfied by any name', () => {
    expect(isTest('accounts › does what nobody wrote')).toBe(false)
    expect(isTest('conformance › Endpoints: Accounts / GET /account')).toBe(false)
    expect(existsSync(join(PROJECT, 'docs/faults.md'))).toBe(true)
  })
})
