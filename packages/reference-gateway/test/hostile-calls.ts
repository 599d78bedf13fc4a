import { connect } from 'node:net'
import { expect } from 'vitest'
import { account, biometric, careTeam, condition, registration, startGateway } from './gateway-under-test.ts'
import { filter, roi } from './requester-under-test.ts'
import { submission } from './test-taker.ts'

/** A call that carries a body, with a body that is good. */
export interface HostileCall {
  readonly call: string
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly version?: string | undefined
}

const PROFILE = '/health-profile'
const REQUESTER = '/medical-records/requester'
/** A new entry's id: the first two ids go to the account and the entry that are there from the start. */
const marked = { account: account('p-1'), id: 'id-2', npi: '1234567893' }

const search = { page: 1, limit: 100, sort: { by: 'dob' }, filter: [filter({ lastName: 'Person' })] }
const TABLE: readonly (readonly [
  call: string,
  method: string,
  path: string,
  body: unknown,
  version?: string,
])[] = [
  ['registration', 'POST', '/account/register', registration({ partnerAccountId: 'p-2' })],
  ['biometrics', 'POST', `${PROFILE}/biometrics`, [biometric()]],
  ['biometrics bulk', 'POST', `${PROFILE}/biometrics/bulk`, [biometric(), biometric()]],
  ['conditions', 'POST', `${PROFILE}/conditions`, [condition()]],
  ['conditions bulk', 'POST', `${PROFILE}/conditions/bulk`, [condition(), condition()]],
  ['care teams', 'POST', `${PROFILE}/care-teams`, [careTeam()]],
  ['setting the PCP', 'POST', `${PROFILE}/care-teams/pcp`, marked],
  ['unsetting the PCP', 'DELETE', `${PROFILE}/care-teams/pcp`, marked],
  ['answers', 'POST', '/assessments/bioage', submission('1.1'), '1.0'],
  ['upsert', 'PATCH', REQUESTER, [roi(), roi({ referenceNumber: 'ref-2' })], '1.0.0'],
  ['search', 'POST', REQUESTER, search, '1.0.0'],
]
/** Every call with a JSON body: section "Endpoints". */
export const CALLS: readonly HostileCall[] = TABLE.map(([call, method, path, body, version]) => {
  return { call, method, path, body, version }
})

/** Longest body of the gateways here. */
export const BODY_LIMIT = 1_000_000

/** Answer to a request of a test. */
export interface Reply {
  readonly status: number
  readonly type: string | null
  readonly text: string
}

/** A gateway with an account, a care team entry of it and a token for it, spoken to with any bytes and headers. */
export async function startTarget() {
  const gateway = await startGateway({
    open: true,
    bodyLimit: BODY_LIMIT,
    tokenOwners: { token: { reference: 'p-1', type: 'partnerAccountId' } },
  })
  await gateway.register('p-1')
  await gateway.call('POST', `${PROFILE}/care-teams`, [careTeam()])

  const send = async (
    { method, path, version }: Pick<HostileCall, 'method' | 'path' | 'version'>,
    body: string | Uint8Array<ArrayBuffer> | undefined,
    headers: Record<string, string> = {},
  ): Promise<Reply> => {
    const answer = await fetch(gateway.url + path, {
      method,
      headers: {
        'x-api-key': 'key',
        authorization: 'Bearer token',
        'content-type': 'application/json;charset=UTF-8',
        ...(version === undefined ? {} : { 'x-api-version': version }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
  }

  return {
    ...gateway,
    send,
    /** Everything that the gateway holds, as it tells. */
    holdings: async (): Promise<string> => (await gateway.call('GET', '/_reference/counts')).text,
    /** Writes bytes on a connection of their own; what came back, once the gateway has ended it. */
    raw: (bytes: string | Buffer): Promise<Reply> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
        let text = ''
        socket.setEncoding('latin1').on('data', (chunk) => {
          text += chunk
        })
        // A reset comes after the answer, where the gateway ended the connection before all was sent.
        socket.on('error', (error) => (text === '' ? reject(error) : undefined))
        socket.on('close', () => {
          const [head = '', body = ''] = text.split('\r\n\r\n')
          const type = /^content-type: (.*)$/im.exec(head)?.[1] ?? null
          resolve({ status: Number(head.split(' ')[1]), type, text: body })
        })
        socket.write(bytes)
      }),
    /** Begins a request and goes away before it is whole. */
    abandon: (bytes: string): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
        socket.on('error', () => undefined).on('close', () => resolve())
        socket.write(bytes, () => socket.resetAndDestroy())
      }),
  }
}

/** The answer is a success, or a refusal with an envelope: a code that mirrors the status, and what was wrong. */
export function expectAnswered({ status, type, text }: Reply): void {
  if (status >= 200 && status < 300) return
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  expect(type).toMatch(/^application\/json/)
  const body: { code: unknown; message: unknown; errors: unknown[] } = JSON.parse(text)
  expect([Number(body.code), typeof body.message]).toEqual([status, 'string'])
  expect(body.errors).toContainEqual(expect.objectContaining({ message: expect.any(String) }))
}

/** The places of all values in a JSON value, the whole of it first. */
export function placesIn(value: unknown): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[]]
  const keys = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value)
  return [[], ...keys.flatMap((key) => placesIn(Reflect.get(value, key)).map((place) => [key, ...place]))]
}

/** JSON text of a value with another JSON text at a place in it. */
export function textWith(value: unknown, place: readonly (string | number)[], text: string): string {
  const [key, ...rest] = place
  if (key === undefined || typeof value !== 'object' || value === null) return text
  const member = (name: string | number, inner: unknown) =>
    String(name) === String(key) ? textWith(inner, rest, text) : JSON.stringify(inner)
  return Array.isArray(value)
    ? `[${value.map((inner, index) => member(index, inner)).join(',')}]`
    : `{${Object.entries(value)
        .map(([name, inner]) => `${JSON.stringify(name)}:${member(name, inner)}`)
        .join(',')}}`
}
