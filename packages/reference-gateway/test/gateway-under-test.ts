import { afterEach } from 'vitest'
import { type ReferenceGateway, type ReferenceGatewayOptions, startReferenceGateway } from '../src/server.ts'

/** The gateway's clock stands here: 2024-07-01T00:00:00Z. */
export const NOW = Date.UTC(2024, 6, 1)

const started: ReferenceGateway[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((gateway) => gateway.close()))
})

/** Parts of an answer's item or a stored record for the tests. */
export interface Item {
  readonly id: string
  readonly transactionId: string
  readonly npi: string
  readonly value: number
  readonly pcp: boolean
  readonly updateDate: string
  readonly _account: string
}

/** How much the gateway holds. */
export interface Counts {
  readonly account: number
  readonly biometric: number
  readonly condition: number
  readonly careTeam: number
}

/** Parts of an answer's body for the tests. */
export interface Body {
  readonly accountId: string
  readonly code: number | string
  readonly message: string
  readonly data: Item[]
  readonly errors: { readonly message: string; readonly position?: number; readonly field?: string }[]
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body parsed; empty where it is not JSON. */
  readonly body: Body
}

const CREDENTIALS = { 'x-api-key': 'key', authorization: 'Bearer token' }

/** Starts a gateway that ends with the test, and gives the calls it is spoken to with. */
export async function startGateway(options: Partial<ReferenceGatewayOptions> = {}) {
  let ids = 0
  const makeId = () => `id-${++ids}`
  const gateway = await startReferenceGateway({ clock: () => NOW, makeId, ...options })
  started.push(gateway)

  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = CREDENTIALS,
  ): Promise<Answer> => {
    const answer = await fetch(gateway.url + path, {
      method,
      headers:
        body === undefined ? headers : { 'content-type': 'application/json;charset=UTF-8', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const json = answer.headers.get('content-type')?.startsWith('application/json') === true
    return { status: answer.status, headers: answer.headers, text, body: json ? JSON.parse(text) : {} }
  }

  return {
    url: gateway.url,
    close: gateway.close,
    call,
    register: async (partnerAccountId: string): Promise<string> => {
      const { body } = await call('POST', '/account/register', registration({ partnerAccountId }))
      return body.accountId
    },
    counts: async (): Promise<Counts> => JSON.parse((await call('GET', '/_reference/counts')).text),
    /** Everything stored of a kind. */
    records: async (kind: string) =>
      (await call('GET', `/_reference/records?kind=${kind}`)).text
        .split('\n')
        .filter((line) => line !== '')
        .map((line): Item => JSON.parse(line)),
  }
}

/** Query that names an account by its partner account id. */
export const of = (reference: string, type = 'partnerAccountId') =>
  `accountReference=${encodeURIComponent(reference)}&accountReferenceType=${type}`

export const account = (reference: string) => ({ reference, type: 'partnerAccountId' })

export const registration = (fields: Record<string, unknown> = {}) => ({
  dateOfBirth: '1970-02-28',
  firstName: 'Test',
  gender: 'FEMALE',
  lastName: 'Person',
  partnerAccountId: 'p-1',
  postalCode: '00000',
  ...fields,
})

const source = {
  name: 'Test Screening',
  type: 'screening',
  notes: 'made up',
  meta: { dataQuality: 'normalized' },
}

export const biometric = (fields: Record<string, unknown> = {}) => ({
  transactionId: 't-1',
  account: account('p-1'),
  name: 'Systolic blood pressure',
  observationDate: '2024-03-01T14:05:00.000Z',
  codeSystem: '2.16.840.1.113883.6.1',
  codeSystemName: 'LOINC',
  code: '8480-6',
  codes: [{ code: '8480-6', codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC', name: 'Systolic' }],
  refHigh: 120,
  refLow: 90,
  refRange: '90-120',
  type: 'Observation',
  value: 118.5,
  unit: 'mm[Hg]',
  source: { ...source, meta: { ...source.meta, batchId: 'b-1', persistentRecordId: 'r-1' } },
  ...fields,
})

export const condition = (fields: Record<string, unknown> = {}) => ({
  transactionId: 'c-1',
  account: account('p-1'),
  name: 'Type 2 diabetes',
  status: 'active',
  source,
  observationDate: Date.UTC(2024, 2, 1),
  medication: [],
  family: { history: 'none', member: ['mother'] },
  codes: [
    {
      code: 'E11',
      codeSystem: '2.16.840.1.113883.6.90',
      codeSystemName: 'ICD-10-CM',
      name: 'Type 2 diabetes',
    },
  ],
  ...fields,
})

export const careTeam = (fields: Record<string, unknown> = {}) => ({
  account: account('p-1'),
  name: 'Test Practice',
  profile: 'https://practice.example/1',
  phoneNumber: '555-0100',
  type: 'PCP',
  location: 'Main',
  address: '1 Test Street',
  city: 'Testville',
  zip: '00000',
  npi: '1234567893',
  observationDate: String(Date.UTC(2024, 2, 1)),
  source,
  ...fields,
})
