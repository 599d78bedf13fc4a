import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { serve, serveRaw } from '../../../test/gateway/loopback.ts'
import { startReferenceGateway } from '../../reference-gateway/src/server.ts'
import { at, inSection } from '../src/case.ts'
import { type Answer, createClient, NoConnection, type Sent } from '../src/client.ts'
import { notingClient } from '../src/made-up.ts'
import { checkSafely, SUITE } from '../src/suite.ts'

const BASE = { apiKey: 'key', accessToken: 'token', makeId: randomUUID }

/** A gateway that takes every call and never answers; ends with the test. */
const silentGateway = async (): Promise<string> => (await serveRaw(() => {})).url

test('a gateway that never answers differs in everything that is asked, and holds nothing up', async () => {
  const baseUrl = await silentGateway()
  const signal = new AbortController().signal
  const client = createClient({ ...BASE, baseUrl, timeLimitMs: 50, signal })
  const account = { reference: 'p-1', type: 'partnerAccountId' } as const
  const results = await checkSafely(SUITE, client, account)
  const safe = SUITE.filter(({ needs }) => needs === 'nothing' || needs === 'account')
  expect(results.filter(({ result }) => result === 'differs')).toHaveLength(safe.length)
  for (const { result, words } of results)
    expect(words).toMatch(result === 'differs' ? /: no whole answer within 0\.05 s$/ : /it would store/)
})

test('an interruption ends the check at once, with its reason', async () => {
  const baseUrl = await silentGateway()
  const controller = new AbortController()
  const client = createClient({ ...BASE, baseUrl, timeLimitMs: 60_000, signal: controller.signal })
  const checking = checkSafely(SUITE, client, undefined)
  controller.abort(new Error('interrupted'))
  await expect(checking).rejects.toThrow('interrupted')
})

test('what is no finding of a case is not taken for one', async () => {
  const broken = inSection('Limits').nothing({
    'a defect': async () => {
      throw new TypeError('a defect')
    },
  })
  const signal = new AbortController().signal
  const client = createClient({ ...BASE, baseUrl: await silentGateway(), timeLimitMs: 50, signal })
  await expect(checkSafely(broken, client, undefined)).rejects.toThrow(TypeError)
})

const neverAborted = (): AbortSignal => new AbortController().signal
const clientOf = (baseUrl: string, more: { careTeamsPath?: string; requesterApiKey?: string } = {}) =>
  createClient({ ...BASE, ...more, baseUrl, timeLimitMs: 5_000, signal: neverAborted() })

describe('the cases that are safe', () => {
  const ran: string[] = []
  const note = (name: string) => async () => ran.push(name)
  const section = inSection('S')
  const cases = [
    ...section.nothing({ nothing: note('nothing') }),
    ...section.account({ account: async (_, { reference }) => ran.push(`account ${reference}`) }),
    ...section.writes({ writes: note('writes') }),
    ...section.control({ control: note('control') }),
  ]
  const account = { reference: 'p-1', type: 'partnerAccountId' } as const
  const [PASSED, STORES] = ['passed: ', 'not run: it would store records']

  test.each([
    ['named', account, false, [PASSED, PASSED, STORES, STORES]],
    ['none', undefined, false, [PASSED, 'not run: no account is named', STORES, STORES]],
    ['named, and storing', account, true, [PASSED, PASSED, PASSED, 'not run: it needs a gateway under test']],
  ])('of an account: %s', async (_, given, stores, results) => {
    ran.length = 0
    const found = await checkSafely(cases, clientOf('http://127.0.0.1:1'), given, stores)
    expect(found.map(({ result, words }) => `${result}: ${words}`)).toEqual(results)
    expect(ran).toEqual(['nothing', 'account p-1', 'writes'].filter((_name, at) => results[at] === PASSED))
  })

  test('a made-up user replaces the named account, and has records of each kind to read', async () => {
    const gateway = await startReferenceGateway({ clock: Date.now, makeId: randomUUID })
    const reads = SUITE.filter(
      ({ needs, section: of }) =>
        needs === 'account' && /^(Biometric|Condition|Care team) record, as/.test(of),
    )
    const results = await checkSafely(reads, clientOf(gateway.url), undefined, true).finally(() =>
      gateway.close(),
    )
    expect(new Set(results.map(({ section: of }) => of)).size).toBe(3)
    expect(results.filter(({ result }) => result !== 'passed')).toEqual([])
  })
})

describe('the client', () => {
  const headersSeen = async (path: string, sent: Sent = {}): Promise<readonly unknown[]> => {
    const { url, seen } = await serve(() => ({ status: 200, body: '{}' }))
    await clientOf(`${url}//`, { requesterApiKey: 'requester' }).send('POST', path, sent)
    const [{ headers = {}, url: to = '' } = {}] = seen
    const names = ['x-api-key', 'authorization', 'x-api-version', 'accept-language', 'content-type']
    // Any language is the default of fetch.
    return [to, ...names.map((name) => (headers[name] === '*' ? undefined : headers[name]))]
  }
  const json = 'application/json'

  // The sections "Authentication" and "Versioning" of the interface.
  test.each<[path: string, sent: Sent, to: string, ...headers: (string | undefined)[]]>([
    [
      '/health-profile/x',
      { json: 1 },
      '/health-profile/x',
      'key',
      'Bearer token',
      undefined,
      undefined,
      `${json};charset=UTF-8`,
    ],
    [
      '/health-profile/x',
      { token: 'own', without: ['X-API-Key'] },
      '/health-profile/x',
      undefined,
      'Bearer own',
      undefined,
      undefined,
      undefined,
    ],
    [
      '/assessments/bioage',
      { json: 1 },
      '/assessments/bioage',
      'key',
      'Bearer token',
      '1.0',
      undefined,
      json,
    ],
    [
      '/content/{id}',
      { path: { id: 'a/b' } },
      '/content/a%2Fb',
      'key',
      undefined,
      '1.0.0',
      undefined,
      undefined,
    ],
    [
      '/medical-records/x',
      { query: { a: ['1', '2'], b: '3' } },
      '/medical-records/x?a=1&a=2&b=3',
      'requester',
      undefined,
      '1.0.0',
      undefined,
      undefined,
    ],
    [
      '/bioage/recommendations',
      { headers: { 'X-API-Version': '2' } },
      '/bioage/recommendations',
      'key',
      undefined,
      '2',
      'en-US',
      undefined,
    ],
  ])('sends to %s, with %j, what the interface asks for', async (path, sent, ...seen) => {
    expect(await headersSeen(path, sent)).toEqual(seen)
  })

  test('follows no redirect, reads answers up to their limit alone, and tells a broken answer from none', async () => {
    const { url } = await serve(({ url: to }) =>
      to === '/away'
        ? { status: 302, headers: { location: '/' } }
        : { status: 200, body: 'x'.repeat(Number(to.slice(1))) },
    )
    const client = clientOf(url)
    const limit = 4 * 1024 * 1024
    expect(await client.send('GET', '/away')).toMatchObject({ call: 'GET /away', status: 302 })
    expect((await client.send('GET', `/${limit}`)).text).toHaveLength(limit)
    await expect(client.send('GET', `/${limit + 1}`)).rejects.toThrow(`longer than ${limit} bytes`)
    const cut = await serveRaw((_, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('x', () => response.destroy())
    })
    const broken = await clientOf(cut.url)
      .send('GET', '/')
      .catch((error: unknown) => error)
    expect(broken).toMatchObject({ message: expect.stringContaining('the answer broke off') })
    expect(broken).not.toBeInstanceOf(NoConnection)
  })

  test('puts a document without key and token, to an address alone', async () => {
    const { url, seen } = await serve(() => ({ status: 200 }))
    await clientOf(url).upload(`${url}/up`, 'PDF')
    const [{ method, headers, body } = {}] = seen
    expect([method, headers?.['content-type'], body]).toEqual(['PUT', 'application/pdf', 'PDF'])
    expect(headers).not.toHaveProperty('x-api-key')
    await expect(clientOf(url).upload('elsewhere', 'PDF')).rejects.toThrow(
      'expected an address; got other text',
    )
  })

  test('takes the path of care teams that is given, else that of their creation', () => {
    expect(clientOf('http://x', { careTeamsPath: '/other' }).careTeamsPath).toBe('/other')
    expect(clientOf('http://x').careTeamsPath).toBe('/health-profile/care-teams')
  })
})

test('all that a check may have made up is taken away, and what stays is named', async () => {
  const calls: string[] = []
  const statuses: Record<string, number> = {
    'PATCH taken': 200,
    'PATCH refused': 422,
    'DELETE kept': 409,
    'DELETE gone': 410,
  }
  const answer = async (method: string, path: string, sent: Sent = {}): Promise<Answer> => {
    const [one] = Array.isArray(sent.json) ? sent.json : [sent.json]
    const name =
      one?.partnerAccountId ??
      one?.referenceNumber ??
      sent.query?.['accountReference'] ??
      sent.path?.['referenceNumber']
    calls.push(`${method} ${name}`)
    if (name === 'lost') throw new NoConnection({ message: 'no answer' })
    return { call: path, status: statuses[`${method} ${name}`] ?? 200, headers: new Headers(), text: '' }
  }
  const client = notingClient({ ...clientOf('http://x'), send: answer })
  const requests = '/medical-records/requester'
  const makes = (referenceNumber: string) => client.send('PATCH', requests, { json: [{ referenceNumber }] })
  const registers = (partnerAccountId: string) =>
    client.send('POST', '/account/register', { json: { partnerAccountId } })
  const withdraws = (referenceNumber: string) =>
    client.send('DELETE', `${requests}/{referenceNumber}`, { path: { referenceNumber } })
  await registers('ann')
  await registers('gone')
  await expect(registers('lost')).rejects.toThrow('no answer')
  for (const one of ['taken', 'refused', 'kept', 'withdrawn']) await makes(one)
  await withdraws('withdrawn')
  await withdraws('kept')
  calls.length = 0
  expect(await client.takeAway()).toEqual({ users: 3, requests: 2, left: ['lost', 'kept'] })
  expect(calls).toEqual(['ann', 'gone', 'lost', 'taken', 'kept'].map((name) => `DELETE ${name}`))
})

test.each([
  ['data.0.id', '7'],
  ['data.1.id', undefined],
  ['data.length', undefined],
  ['toString', undefined],
  ['constructor.name', undefined],
  ['none', null],
  ['none.id', undefined],
  ['text.0', undefined],
])('at the path %s an answer has %j', (path, value) => {
  expect(at({ data: [{ id: '7' }], none: null, text: 'words' }, path)).toBe(value)
})
