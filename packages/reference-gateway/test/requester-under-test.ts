import type { ReferenceGatewayOptions } from '../src/server.ts'
import { NOW, startGateway } from './gateway-under-test.ts'

export const PATH = '/medical-records/requester'
export const HEADERS = { 'x-api-key': 'key', 'x-api-version': '1.0.0' }
export const PDF = '%PDF-1.7\n%%EOF\n'
const MINUTE = 60_000

/** Parts of a request in an answer for the tests. */
export interface Returned {
  readonly referenceNumber: string
  readonly patient: Record<string, unknown>
  readonly provider: Record<string, unknown>
  readonly request: Record<string, unknown>
  readonly webhook: Record<string, unknown>
  readonly authorizationUploadUrl: string
  readonly status: Record<string, unknown>
  readonly results: readonly Returned[]
  readonly [other: string]: unknown
}

export interface RequesterAnswer {
  readonly status: number
  readonly text: string
  readonly body: {
    readonly code: number
    readonly message: string
    readonly data: readonly Returned[]
    readonly errors: { readonly code: number; readonly message: string; readonly exception?: null }[]
  }
}

/** A gateway whose clock the test moves, and the calls of the requester. */
export async function startRequester(options: Partial<ReferenceGatewayOptions> = {}) {
  let now = NOW
  const gateway = await startGateway({ clock: () => now, ...options })

  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = HEADERS,
  ): Promise<RequesterAnswer> => {
    const { status, text } = await gateway.call(method, path, body, headers)
    return { status, text, body: JSON.parse(text) }
  }

  const put = async (
    address: string,
    body: string | Uint8Array = PDF,
    type = 'application/pdf',
    more: Record<string, string> = {},
  ): Promise<RequesterAnswer> => {
    const answer = await fetch(address, { method: 'PUT', headers: { 'content-type': type, ...more }, body })
    const text = await answer.text()
    return { status: answer.status, text, body: JSON.parse(text) }
  }

  const upsert = (...requests: unknown[]) => call('PATCH', PATH, requests)
  const search = (...filter: unknown[]) => call('POST', PATH, { page: 1, limit: 100, filter })

  return {
    url: gateway.url,
    close: gateway.close,
    passMinutes: (minutes: number) => {
      now += minutes * MINUTE
    },
    call,
    put,
    upsert,
    search,
    remove: (referenceNumber: string) => call('DELETE', `${PATH}/${encodeURIComponent(referenceNumber)}`),
    /** Reference numbers that a search for the made-up patient finds, in its order. */
    held: async (): Promise<string[]> => {
      const { body } = await search(filter({ lastName: 'Person' }))
      return (body.data[0]?.results ?? []).map(({ referenceNumber }) => referenceNumber)
    },
  }
}

/** A request as the interface wants one that is new. */
export const roi = (fields: Record<string, unknown> = {}) => ({
  referenceNumber: 'ref-1',
  patient: {
    type: 'member',
    reference: 'm-1',
    zip: '00000',
    firstName: 'Test',
    lastName: 'Person',
    dob: '1970-02-28',
  },
  provider: { groupName: 'Test Practice', npi: '1234567893', city: 'Testville', unlisted: 'kept' },
  request: {
    type: '',
    requestType: 'Continuity of Care',
    requestSubType: 'Personal',
    datesOfService: { type: 'startEnd', start: '2020-01-31', end: '2021-12-01' },
    disclosures: ['abstract', 'x_ray_reports', 'xray_reports'],
  },
  webhook: { sendStatusChange: false, url: '' },
  ...fields,
})

export const filter = (patient: Record<string, unknown>, request: Record<string, unknown> = {}) => ({
  patient,
  request: { type: '', subType: '', ...request },
})

/** The inner envelope of a refusal, and the phrase before it. */
export function innerOf(answer: RequesterAnswer): {
  readonly phrase: string
  readonly inner: {
    readonly code: number
    readonly message: string
    readonly errors: { code: number; message: string }[]
  }
} {
  const { message } = answer.body
  const brace = message.indexOf('{')
  return { phrase: message.slice(0, brace), inner: JSON.parse(message.slice(brace)) }
}
