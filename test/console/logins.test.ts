import { generateKeyPairSync, sign } from 'node:crypto'
import { stat, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { request as requestTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createWorkplace } from '../cli/command-line.ts'
import { selfSignedCertificate } from '../gateway/self-signed-certificate.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { type Answer, ask, openInstallation, type Served, serve } from './console-under-test.ts'

/** A login takes ten minutes at most. */
const LOGIN_MS = 600_000

const SECRET = 'a secret of the proxy'
const PROXY = {
  WAYBILL_CONSOLE_PROXY_SECRET: SECRET,
  WAYBILL_CONSOLE_VIEWERS: 'night-shift',
  WAYBILL_CONSOLE_OPERATORS: 'olga, operators',
  WAYBILL_CONSOLE_HEALTH_DATA: 'privacy',
}

const cookieIn = ({ headers }: Answer): string => headers['set-cookie']?.[0]?.split(';')[0] ?? ''
const csrfIn = ({ text }: Answer): string => /name="csrf" value="(\w+)"/.exec(text)?.[1] ?? ''

test('a proxy names the person, and only with its secret', async () => {
  const { workplace, run } = await openInstallation(PROXY)
  const { base, addresses } = await serve(workplace)
  // No address opens a session beside the login.
  expect(addresses).toEqual([])
  const as = (user: string, groups = '', secret = SECRET, more: Record<string, string> = {}) => ({
    'x-forwarded-user': user,
    'x-forwarded-groups': groups,
    'x-waybill-secret': secret,
    ...more,
  })
  const get = (path: string, headers: Record<string, string>) => ask(base + path, { headers })
  // Spoofed headers: no secret, a wrong one, a user beside another one.
  for (const headers of [
    { 'x-forwarded-user': 'olga' },
    as('olga', '', 'a secret of the proxy!'),
    as('olga', '', ''),
    as('olga, mallory'),
    as(''),
  ])
    expect((await get('/', headers)).status).toBe(401)
  expect((await get('/', as('mallory', 'guests'))).status).toBe(403)
  expect((await get('/', as('night-shift-olga'))).status).toBe(403)

  const viewer = await get('/trace', as('vera', 'guests,night-shift'))
  expect(viewer.status).toBe(200)
  const own = { cookie: cookieIn(viewer) }
  const act = (headers: Record<string, string>, csrf: string) =>
    ask(`${base}/do/acknowledge`, { headers, form: { run, csrf } })
  expect((await act({ ...as('vera', 'night-shift'), ...own }, csrfIn(viewer))).status).toBe(403)
  expect((await get(`/do/acknowledge?run=${run}`, as('vera', 'night-shift'))).status).toBe(403)

  // The session of one person does not serve another, who brings its cookie and its token.
  expect((await act({ ...as('olga'), ...own }, csrfIn(viewer))).status).toBe(400)
  expect((await get('/', own)).status).toBe(401)

  const operator = await get('/trace', as('olga'))
  const values = `/runs/${run}/reasons/value-not-a-number/values`
  expect((await get(values, as('olga'))).status).toBe(403)
  expect((await get(values, as('privacy'))).status).toBe(403)
  expect((await get(values, as('vera', 'night-shift,privacy'))).text).toContain('Moor')
  const done = await act({ ...as('olga'), cookie: cookieIn(operator) }, csrfIn(operator))
  expect(done.status).toBe(303)
  const { audit } = JSON.parse((await workplace.waybill('audit', '--json')).out)
  expect(audit).toMatchObject([
    { action: 'see-values', by: 'vera' },
    { action: 'acknowledge', by: 'olga' },
  ])
})

test('elsewhere than on loopback the console needs a login, TLS, and its own address', async () => {
  const plain = await createWorkplace()
  const { code, err } = await plain.waybill('console', '--listen', '0.0.0.0:0')
  expect(code).toBe(2)
  for (const variable of ['WAYBILL_CONSOLE_ISSUER', 'WAYBILL_CONSOLE_URL', 'WAYBILL_CONSOLE_TLS_CERT'])
    expect(err).toContain(variable)
  for (const [settings, words] of [
    [{ WAYBILL_CONSOLE_PROXY_SECRET: 'short' }, 'shorter than 16'],
    [
      { ...PROXY, WAYBILL_CONSOLE_ISSUER: 'https://login.example', WAYBILL_CONSOLE_CLIENT_ID: 'w' },
      'choose one login',
    ],
    [{ WAYBILL_CONSOLE_TLS_KEY: 'key.pem' }, 'the other way round'],
    [{ WAYBILL_CONSOLE_URL: 'http://waybill.example' }, 'write it like'],
  ] as const) {
    const refused = await (await createWorkplace(settings)).waybill('console')
    expect({ code: refused.code, hasWords: refused.err.includes(words) }).toEqual({ code: 2, hasWords: true })
  }
})

test('below a path behind a proxy, addresses, cookie and redirects have the path', async () => {
  const { workplace, run } = await openInstallation({
    ...PROXY,
    WAYBILL_CONSOLE_URL: 'https://waybill.example/console',
  })
  const { base } = await serve(workplace)
  const headers = {
    'x-forwarded-user': 'olga',
    'x-waybill-secret': SECRET,
    host: 'waybill.example',
    origin: 'https://waybill.example',
  }
  const page = await ask(`${base}/console/runs/${run}`, { headers })
  expect(page.status).toBe(200)
  expect(page.text).toContain('href="/console/page.css"')
  expect(page.text).not.toMatch(/ (?:href|src|action)="\/(?!console\/)/)
  expect(page.headers['set-cookie']?.[0]).toMatch(/; Path=\/console\/; HttpOnly; Secure; SameSite=Lax$/)
  expect(page.headers['strict-transport-security']).toContain('max-age=')
  // A proxy that takes the path away, and one that leaves it.
  expect((await ask(`${base}/runs/${run}`, { headers })).status).toBe(200)
  const done = await ask(`${base}/console/do/acknowledge`, {
    headers: { ...headers, cookie: cookieIn(page) },
    form: { run, csrf: csrfIn(page) },
  })
  expect(done.headers.location).toBe('/console/')
  expect(
    (await ask(`${base}/console/`, { headers: { ...headers, origin: 'http://waybill.example' } })).status,
  ).toBe(403)
  expect((await ask(`${base}/console/`, { headers: { ...headers, host: 'other.example' } })).status).toBe(421)
})

test('with a certificate the console speaks TLS, and its cookie stays there', async () => {
  const folder = await temporaryFolder()
  const { key, cert: certificate } = selfSignedCertificate()
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(folder, 'cert.pem'), certificate)
  const tls = {
    WAYBILL_CONSOLE_TLS_CERT: join(folder, 'cert.pem'),
    WAYBILL_CONSOLE_TLS_KEY: join(folder, 'key.pem'),
  }
  const { addresses } = await serve(await createWorkplace(tls))
  expect(addresses[0]).toMatch(/^https:/)
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  requestTls(addresses[0] ?? '', { ca: certificate, checkServerIdentity: () => undefined }, (response) => {
    response.resume()
    resolve(response.headers['set-cookie'] ?? [])
  })
    .on('error', reject)
    .end()
  expect(await promise).toEqual([expect.stringContaining('; Secure')])
  const missing = await createWorkplace({ ...tls, WAYBILL_CONSOLE_TLS_KEY: join(folder, 'none.pem') })
  expect((await missing.waybill('console')).err).toContain('WAYBILL_CONSOLE_TLS_KEY cannot be read')
})

test('a unix socket is closed to others, and is taken over from a process that has ended', async () => {
  const workplace = await createWorkplace()
  const socket = join(await temporaryFolder(), 'c.sock')
  const first = await serve(workplace, ['--listen', `unix:${socket}`])
  expect((await stat(socket)).mode & 0o777).toBe(0o600)
  expect(first.said.join('\n')).toContain(
    `Forward a port of your machine: ssh -L PORT:${socket} HOST\nOpen once, in one browser: `,
  )
  const secret = first.addresses[0]?.replace(/^.*(?=\/enter)/, '') ?? ''
  const through = (path: string, host: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request({ socketPath: socket, path, headers: { host }, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      asked.on('error', reject)
      asked.end()
    })
  expect(await through('/', 'localhost:9999')).toBe(401)
  expect(await through('/', 'evil.example:9999')).toBe(421)
  const { code, err } = await workplace.waybill('console', '--listen', `unix:${socket}`)
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('cannot listen') })
  expect(await through(secret, 'localhost:9999')).toBe(303)
  expect(await first.end()).toBe(0)
  await expect(through('/', 'localhost:9999')).rejects.toMatchObject({ code: 'ENOENT' })
  await writeFile(`${socket}.file`, '')
  expect((await workplace.waybill('console', '--listen', `unix:${socket}.file`)).err).toContain(
    'is not a socket',
  )
})

/** An issuer that confirms one person, with the faults of an attacker on demand. */
async function startIssuer() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const state = {
    claims: {} as Record<string, unknown>,
    nonce: '',
    issuer: '',
    audience: 'waybill',
    verifiers: [] as string[],
  }
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const server = createServer((asked, response) => {
    const json = (value: object): unknown =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    let body = ''
    asked.on('data', (chunk) => {
      body += chunk
    })
    asked.on('end', () => {
      if (asked.url === '/.well-known/openid-configuration')
        return json({
          issuer: state.issuer,
          authorization_endpoint: `${state.issuer}/authorize`,
          token_endpoint: `${state.issuer}/token`,
          jwks_uri: `${state.issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        })
      if (asked.url === '/keys')
        return json({
          keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }],
        })
      state.verifiers.push(new URLSearchParams(body).get('code_verifier') ?? '')
      const at = Math.floor(Date.now() / 1000)
      const claims = {
        iss: state.issuer,
        aud: state.audience,
        iat: at,
        exp: at + 60,
        nonce: state.nonce,
        ...state.claims,
      }
      const signed = `${part({ alg: 'RS256', kid: 'one' })}.${part(claims)}`
      const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
      return json({ access_token: 'x', token_type: 'Bearer', id_token: `${signed}.${signature}` })
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  onTestFinished(() => void server.close())
  state.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return state
}

/** Begins a login. @returns the cookie of the browser, and the parameters that the issuer gets */
async function begin({ base }: Served, to = '/schedule') {
  const login = await ask(`${base}/login?${new URLSearchParams({ to })}`)
  expect(login.status).toBe(303)
  const url = new URL(login.headers.location ?? '')
  return { cookie: cookieIn(login), given: url.searchParams }
}

const backTo = ({ base }: Served, cookie: string, state: string): Promise<Answer> =>
  ask(`${base}/login/back?${new URLSearchParams({ code: 'one', state })}`, { headers: { cookie } })

test('a login by OpenID Connect opens a session with the roles of name and groups', async () => {
  const issuer = await startIssuer()
  const workplace = await createWorkplace({
    WAYBILL_CONSOLE_ISSUER: issuer.issuer,
    WAYBILL_CONSOLE_CLIENT_ID: 'waybill',
    WAYBILL_CONSOLE_CLIENT_SECRET: 'a secret of the client',
    WAYBILL_CONSOLE_OPERATORS: 'operators,olga@hospital.example',
  })
  let at = Date.now()
  const served = await serve(workplace, [], { now: () => at })
  const { base } = served
  const outside = await ask(`${base}/schedule`)
  expect(outside.status).toBe(401)
  expect(outside.text).toContain('href="/login?to=%2Fschedule"')

  const { cookie, given } = await begin(served)
  expect(given.get('redirect_uri')).toBe(`${base}/login/back`)
  expect(given.get('code_challenge_method')).toBe('S256')
  issuer.nonce = given.get('nonce') ?? ''
  issuer.claims = { sub: 'u1', email: 'olga@hospital.example', email_verified: true }
  // A browser that brings a session of its own choice gets another one (session fixation).
  const [name] = `waybill-${new URL(base).port}`.split('=')
  const planted = `${name}=${'a'.repeat(32)}`
  const entered = await backTo(served, `${cookie}; ${planted}`, given.get('state') ?? '')
  expect({ status: entered.status, to: entered.headers.location }).toEqual({ status: 303, to: '/schedule' })
  const session =
    entered.headers['set-cookie']?.find((one) => one.startsWith(`${name}=`))?.split(';')[0] ?? ''
  expect(session).not.toBe(planted)
  const page = await ask(`${base}/trace`, { headers: { cookie: session } })
  expect(page.text).toContain('<p>olga@hospital.example</p>')

  // An answer is used once, belongs to the browser that began, and comes in time.
  const again = await backTo(served, cookie, given.get('state') ?? '')
  expect(again.status).toBe(403)
  const other = await begin(served)
  issuer.nonce = other.given.get('nonce') ?? ''
  expect((await backTo(served, '', other.given.get('state') ?? '')).status).toBe(403)
  expect((await backTo(served, other.cookie, 'another')).status).toBe(403)
  const slow = await begin(served)
  issuer.nonce = slow.given.get('nonce') ?? ''
  at += LOGIN_MS
  expect((await backTo(served, slow.cookie, slow.given.get('state') ?? '')).status).toBe(403)
  const quick = await begin(served, '/trace?person=17')
  issuer.nonce = quick.given.get('nonce') ?? ''
  at += LOGIN_MS - 1
  const back = await backTo(served, quick.cookie, quick.given.get('state') ?? '')
  expect([back.status, back.headers.location]).toEqual([303, '/trace?person=17'])

  // A mail address that nobody has verified is no name; a path that leads elsewhere is none of the console.
  const stranger = await begin(served, '//evil.example/')
  issuer.nonce = stranger.given.get('nonce') ?? ''
  issuer.claims = { sub: 'u2', email: 'olga@hospital.example', email_verified: false }
  const let_in = await backTo(served, stranger.cookie, stranger.given.get('state') ?? '')
  expect(let_in.headers.location).toBe('/')
  const nobody = let_in.headers['set-cookie']?.find((one) => one.startsWith(`${name}=`))?.split(';')[0] ?? ''
  expect((await ask(`${base}/`, { headers: { cookie: nobody } })).status).toBe(403)

  // Browsers drop tabs, and take a backslash for a slash.
  for (const to of [
    '/\t/evil.example/',
    '/\\evil.example/',
    '/\n/evil.example/',
    'https://evil.example/',
    'evil',
  ]) {
    const lured = await begin(served, to)
    issuer.nonce = lured.given.get('nonce') ?? ''
    const back = await backTo(served, lured.cookie, lured.given.get('state') ?? '')
    expect({ to, location: back.headers.location }).toEqual({ to, location: '/' })
  }

  // A token for another client, or with another nonce, opens nothing.
  for (const fault of ['audience', 'nonce'] as const) {
    const forged = await begin(served)
    issuer.claims = { sub: 'u1', groups: ['operators'] }
    issuer.nonce = forged.given.get('nonce') ?? ''
    issuer.audience = 'waybill'
    issuer[fault] = 'another'
    expect((await backTo(served, forged.cookie, forged.given.get('state') ?? '')).status).toBe(403)
  }
  expect(issuer.verifiers.every((verifier) => verifier.length === 64)).toBe(true)
})
