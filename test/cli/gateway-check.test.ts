import type { RequestListener } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  biometric,
  condition,
  startGateway,
} from '../../packages/reference-gateway/test/gateway-under-test.ts'
import { HEADERS, PATH, PDF, roi } from '../../packages/reference-gateway/test/requester-under-test.ts'
import { closedPort } from '../closed-port.ts'
import { serveRaw } from '../gateway/loopback.ts'
import { openClinic, REGISTERED_ROW } from './clinic.ts'
import { createWorkplace, type Ended } from './command-line.ts'
import { startReferenceStore } from './reference-store.ts'

const CREDENTIALS = { WAYBILL_API_KEY: 'key', WAYBILL_ACCESS_TOKEN: 'token' }

const Report = z.object({
  gateway: z.string(),
  passed: z.int(),
  differs: z.int(),
  notRun: z.int(),
  results: z.array(z.object({ section: z.string(), row: z.string(), result: z.string(), words: z.string() })),
})

const reportOf = ({ out }: Ended) => Report.parse(JSON.parse(out))

/** Passes every call on to the gateway, but for those that `lie` answers itself. */
async function lyingGateway(honest: string, lie: (...call: Parameters<RequestListener>) => boolean) {
  const { url } = await serveRaw(async (request, response) => {
    if (lie(request, response)) return
    const pieces: Uint8Array[] = []
    for await (const piece of request) pieces.push(piece)
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
    const answer = await fetch(honest + request.url, {
      method: request.method ?? 'GET',
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(pieces.length === 0 ? {} : { body: Buffer.concat(pieces) }),
    })
    const type = answer.headers.get('content-type') ?? 'text/plain'
    response.writeHead(answer.status, { 'content-type': type }).end(await answer.text())
  })
  return url
}

test.each([
  // The port of tcpmux: fetch bars it, and has no code for that.
  ['http://127.0.0.1:1', 'bad port'],
  ['https://gateway.invalid/api', 'ENOTFOUND|EAI_AGAIN'],
])('a gateway that cannot be reached is told with its address and why: %s', async (url, why) => {
  const { waybill } = await createWorkplace(CREDENTIALS)
  const { code, err } = await waybill('gateway', '--check', url)
  expect(code).toBe(3)
  expect(err).toMatch(
    new RegExp(`the gateway ${url}/? cannot be reached: GET \\S+: no answer \\((?:${why})\\)`),
  )
})

test('the reference gateway differs in nothing, with an account and without', async () => {
  const { url, call, register, counts } = await startGateway()
  await register('p-1')
  await call('POST', '/health-profile/biometrics', [biometric()])
  await call('POST', '/health-profile/conditions', [condition()])
  const before = await counts()
  const asked = new Set<string>()
  const seen = await lyingGateway(url, (request) => {
    asked.add(`${request.method} ${request.url?.split('?')[0]}`)
    return false
  })
  const { waybill } = await createWorkplace(CREDENTIALS)

  const plain = await waybill('gateway', '--check', url)
  expect(plain).toMatchObject({ code: 0, err: '' })
  expect(plain.out).toMatch(/: 4\d cases passed, 0 differ, \d+ were not run \(.*no account is named/)

  const named = await waybill('gateway', '--check', seen, '--account', 'p-1', '--json')
  const report = reportOf(named)
  expect(named.code).toBe(0)
  expect(report.results.filter(({ result }) => result === 'differs')).toEqual([])
  expect(report.passed + report.notRun).toBe(report.results.length)
  expect(report.passed).toBeGreaterThan(75)
  expect(await counts()).toEqual(before)
  // A search is the one POST that stores nothing.
  expect([...asked].filter((call) => !call.startsWith('GET '))).toEqual(['POST /medical-records/requester'])
})

test('an account that the ledger knows is read, and nothing is made up where it knows none', async () => {
  const clinic = await openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\n`,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    store: await startReferenceStore(),
  })
  const { waybill } = clinic.workplace
  const url = clinic.workplace.environment['WAYBILL_GATEWAY_URL'] ?? ''
  await clinic.deliver(
    'day.csv',
    'id,day,first,last,born,gender,zip,pulse\nann,2026-03-02,A,B,1980-02-03,FEMALE,04884,61\n',
  )
  expect((await clinic.run()).code).toBe(0)
  // The address is compared in its normal form.
  const typed = url.replace('http', 'HTTP')
  const { results } = reportOf(await waybill('gateway', '--check', typed, '--known-account', '--json'))
  const read = results.find(({ section, row }) => section === 'Biometric record, as read' && row === 'value')
  expect(read?.result).toBe('passed')
  const { url: other } = await startGateway()
  const unknown = await waybill('gateway', '--check', other, '--known-account')
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('knows no account')])
})

test('with made-up users the cases that store are run, too, and what they made up is gone behind them', async () => {
  const { url, register, counts } = await startGateway()
  await register('p-1')
  const before = await counts()
  const { waybill } = await createWorkplace(CREDENTIALS)
  const ended = await waybill('gateway', '--check', url, '--made-up-users', '--json')
  expect([ended.code, ended.err]).toEqual([0, ''])
  const report = reportOf(ended)
  expect(report.passed).toBeGreaterThan(200)
  const { madeUp } = z
    .object({ madeUp: z.object({ users: z.int(), requests: z.int(), left: z.array(z.string()) }) })
    .parse(JSON.parse(ended.out))
  expect(madeUp.users).toBeGreaterThan(50)
  // Their authorizations were uploaded: such a request is not deleted any more.
  const { medicalRecords, authorization, ...others } = z
    .looseObject({ medicalRecords: z.int(), authorization: z.int() })
    .parse(await counts())
  expect([medicalRecords, authorization]).toEqual([madeUp.left.length, madeUp.left.length])
  expect(before).toMatchObject(others)
  for (const one of madeUp.left) expect(one).toMatch(/^conformance-/)
})

test('who is not registered may be listed among the errors of an answer of success', async () => {
  const { url } = await startGateway()
  const seen = await lyingGateway(url, (request, response) => {
    if (request.url !== '/health-profile/biometrics') return false
    const pieces: Uint8Array[] = []
    request.on('data', (piece: Uint8Array) => pieces.push(piece))
    request.on('end', async () => {
      const { method = 'GET', headers } = request
      const { host: _, connection: __, 'content-length': ___, ...given } = headers
      const sent = Object.entries(given).map(([name, value]): [string, string] => [name, String(value)])
      const answer = await fetch(url + request.url, { method, headers: sent, body: Buffer.concat(pieces) })
      const type = { 'content-type': 'application/json' }
      if (answer.status !== 404) return response.writeHead(answer.status, type).end(await answer.text())
      const errors = [{ code: 404, message: 'account: not registered' }]
      return response
        .writeHead(201, type)
        .end(JSON.stringify({ code: 201, message: 'CREATED', data: [], errors }))
    })
    return true
  })
  const { waybill } = await createWorkplace(CREDENTIALS)
  const { results } = reportOf(await waybill('gateway', '--check', seen, '--made-up-users', '--json'))
  const open = results.filter(({ row }) =>
    /^(?:Registration must be completed|DELETE \/account|registered$)/.test(row),
  )
  expect(open.length).toBeGreaterThan(2)
  expect(open.filter(({ result }) => result !== 'passed')).toEqual([])
})

test('what the gateway would not delete is named', async () => {
  const { url } = await startGateway()
  const seen = await lyingGateway(url, (request, response) => {
    if (request.method !== 'DELETE' || !request.url?.startsWith('/account')) return false
    response.writeHead(500).end()
    return true
  })
  const { waybill } = await createWorkplace(CREDENTIALS)
  const { code, out } = await waybill('gateway', '--check', seen, '--made-up-users')
  expect(code).toBe(1)
  expect(out).toMatch(
    /^Made up: \d+ users and \d+ requests for medical records; not deleted: conformance-user-/m,
  )
})

test('the key of the requester goes out with its calls alone', async () => {
  const { url } = await startGateway()
  const keys = new Set<string>()
  const seen = await lyingGateway(url, (request) => {
    const key = request.headers['x-api-key']
    const isRequester = request.url?.startsWith('/medical-records/') === true
    // The suite also looks what becomes of a call without a key, and with a wrong one.
    if (key === 'key' || key === 'requester') keys.add(`${isRequester ? 'requester' : 'others'}: ${key}`)
    return false
  })
  const { waybill } = await createWorkplace({ ...CREDENTIALS, WAYBILL_REQUESTER_API_KEY: 'requester' })
  expect(await waybill('gateway', '--check', seen)).toMatchObject({ code: 0, err: '' })
  expect([...keys].sort()).toEqual(['others: key', 'requester: requester'])
})

test('what a gateway answers otherwise is named, without a value of it', async () => {
  const { url } = await startGateway()
  const liar = await lyingGateway(url, (request, response) => {
    if (request.url !== '/content/distribution/article') return false
    const article = {
      id: 'a-1',
      resourceId: 'r-1',
      type: 'article',
      title: 17,
      uri: '/a',
      primaryTag: 'secret',
    }
    const body = { code: '200', message: 'OK', data: [article] }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return true
  })
  const { waybill } = await createWorkplace(CREDENTIALS)
  const { code, out } = await waybill('gateway', '--check', liar)
  expect(code).toBe(1)
  expect(out).toMatch(/Envelope +code +differs +.*code, the status as integer/)
  expect(out).toMatch(/Content item +List item.* +differs +title: expected a string; got a number/)
  expect(out).toMatch(/Authentication +X-API-Key +differs +.*X-API-Key is missing; got 200/)
  expect(out).not.toContain('secret')
})

test('reads of who is nobody, that hold something, need no key, or fail by the type of a reference, are differences', async () => {
  const { url } = await startGateway()
  const json = { 'content-type': 'application/json' }
  const liar = await lyingGateway(url, ({ url: asked = '', headers }, response) => {
    if (asked.startsWith('/bioage/completed/questions'))
      response.writeHead(200, json).end('[{"assessmentId":"a"}]')
    else if (asked.startsWith('/health-profile/conditions') && headers['x-api-key'] === undefined)
      response.writeHead(200, json).end('{"data":{"data":[]}}')
    else if (asked.startsWith('/health-profile/biometrics') && asked.includes('Type=accountId'))
      response.writeHead(500).end()
    else if (asked.startsWith('/bioage/assessments/') && headers['accept-language'] === 'xx')
      response.writeHead(406).end()
    else return false
    return true
  })
  const { waybill } = await createWorkplace(CREDENTIALS)
  const { results } = reportOf(await waybill('gateway', '--check', liar, '--json'))
  const differing = results.filter(({ result }) => result === 'differs')
  expect(differing.map(({ section, row }) => `${section}: ${row.slice(0, 30)}`).sort()).toEqual([
    'Account reference (request bodies, field account): User-identifying query paramet',
    'Authentication: Accept-Language',
    'Authentication: X-API-Key',
    'Endpoints: Age assessment: GET /bioage/completed/question',
    'Endpoints: Biometrics: GET /health-profile/biometrics',
  ])
})

test('HTML, a redirect, an answer without an end and one that breaks off are differences', async () => {
  const piece = Buffer.alloc(65_536, 'x')
  const answers: Readonly<Record<string, RequestListener>> = {
    '/content/distribution/article': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>')
    },
    '/medical-records/requester/requestTypes': (_, response) => {
      response.writeHead(302, { location: '/elsewhere' }).end()
    },
    '/medical-records/requester': (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (response.write(piece));
      }
      response.on('drain', more)
      more()
    },
    '/bioage/result': (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy())
    },
  }
  const { url } = await serveRaw((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? '']
    if (answer === undefined) response.writeHead(404).end()
    else answer(request, response)
  })
  const { waybill } = await createWorkplace(CREDENTIALS)
  const ended = await waybill('gateway', '--check', url, '--json')
  expect(ended.code).toBe(1)
  const words = reportOf(ended).results.map((result) => result.words)
  expect(words).toContain('GET /content/distribution/article: expected JSON; got another format (text/html)')
  expect(words).toContain('GET /medical-records/requester/requestTypes: expected status 200; got 302')
  expect(words).toContain('POST /medical-records/requester: the answer is longer than 4194304 bytes')
  expect(words).toContainEqual(expect.stringMatching(/^GET \/bioage\/result: the answer broke off/))
})

test('a closed port ends with 3, and so do refused credentials', async () => {
  const { waybill } = await createWorkplace(CREDENTIALS)
  const closed = await waybill('gateway', '--check', `http://127.0.0.1:${await closedPort()}`)
  expect(closed.code).toBe(3)
  expect(closed.err).toContain('ECONNREFUSED')

  const { url } = await startGateway({ apiKeys: ['another'] })
  const refusedKey = await waybill('gateway', '--check', url, '--json')
  expect(refusedKey.code).toBe(3)
  expect(JSON.parse(refusedKey.out)).toMatchObject({ error: { code: 'gateway-refused-credentials' } })

  const strict = await startGateway({ tokens: ['another'] })
  const refusedToken = await waybill('gateway', '--check', strict.url)
  expect(refusedToken.code).toBe(3)
  expect(refusedToken.err).toContain('access token')
})

test('wrong use is told: plain http abroad, no credentials, options for serving, an account without --check', async () => {
  const { waybill } = await createWorkplace()
  const abroad = await waybill('gateway', '--check', 'http://gateway.example/api')
  expect(abroad.code).toBe(2)
  expect(abroad.err).toContain('plain http')
  const bare = await waybill('gateway', '--check', 'https://gateway.example/api')
  expect(bare.code).toBe(2)
  expect(bare.err).toContain('WAYBILL_API_KEY')
  expect((await waybill('gateway', '--check', 'https://gateway.example', '--open')).code).toBe(2)
  expect((await waybill('gateway', '--account', 'p-1')).code).toBe(2)

  const { url } = await startGateway()
  const credible = await createWorkplace(CREDENTIALS)
  const unknown = await credible.waybill('gateway', '--check', url, '--account', 'accountId:nobody')
  expect(unknown.code).toBe(2)
  expect(unknown.err).toContain('does not know the account')
})

/** Serves the reference gateway by its command. @returns its address, and its clock */
async function serveByCommand(...options: string[]) {
  const { waybillWith } = await createWorkplace()
  const interrupt = new AbortController()
  const listening = Promise.withResolvers<string>()
  const clock = { now: Date.parse('2026-03-02T12:00:00Z') }
  const running = waybillWith(
    (context) => ({
      ...context,
      ...{ interrupt: interrupt.signal, now: () => clock.now },
      out: (lines) => listening.resolve([lines].flat().join('\n')),
    }),
    ...['gateway', '--port', '0', ...options],
  )
  onTestFinished(async () => {
    interrupt.abort()
    await running
  })
  const said = await listening.promise
  return { said, url: /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? expect.fail(said), clock }
}

test.each([
  [[], 'in memory', 'any-key', 'any-token'],
  [
    ['--data', 'gateway.sqlite', '--api-key', 'k-1', 'k-2', '--token', 'a b'],
    'gateway.sqlite',
    'k-1',
    "'a b'",
  ],
])(
  'the gateway of the command with %j says where its records are, and what a job needs',
  async (options, where, key, token) => {
    const { said, url } = await serveByCommand(...options)
    expect(said).toContain(`The reference gateway listens on ${url} (${where}). Ctrl-C ends it.`)
    expect(said).toContain(
      `export WAYBILL_GATEWAY_URL=${url} WAYBILL_API_KEY=${key} WAYBILL_ACCESS_TOKEN=${token}\n`,
    )
    const { said: json } = await serveByCommand(...options, '--json')
    expect(JSON.parse(json)).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) })
  },
)

test.each([
  [[], 404],
  [['--open'], 200],
])(
  'the gateway of the command with %j answers about a person whom nobody registered',
  async (options, status) => {
    const { url } = await serveByCommand(...options)
    const whose = 'accountReference=nobody&accountReferenceType=partnerAccountId'
    const headers = { ...HEADERS, authorization: 'Bearer token' }
    const answer = await fetch(`${url}/health-profile/biometrics?${whose}`, { headers })
    expect(answer.status).toBe(status)
  },
)

test.each([
  [[], 30 * 60_000 - 1, 200],
  [[], 30 * 60_000, 410],
  [['--upload-lifetime', '2s'], 1_999, 200],
  [['--upload-lifetime', '2s'], 2_000, 410],
])('the gateway of the command with %j takes an upload after %i ms: %i', async (options, ms, status) => {
  const { url, clock } = await serveByCommand(...options)
  const asked = await fetch(`${url}${PATH}`, {
    ...{ method: 'PATCH', body: JSON.stringify([roi()]) },
    headers: { ...HEADERS, 'content-type': 'application/json' },
  })
  const Returned = z.object({ data: z.array(z.looseObject({ authorizationUploadUrl: z.string() })) })
  const [request] = Returned.parse(await asked.json()).data
  clock.now += ms
  const headers = { 'content-type': 'application/pdf' }
  const sent = await fetch(request?.authorizationUploadUrl ?? '', { method: 'PUT', headers, body: PDF })
  expect(sent.status).toBe(status)
})
