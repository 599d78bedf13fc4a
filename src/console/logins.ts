/** Logins of several people: by a proxy that names the person in a header, or by OpenID Connect. Settings map names and groups to roles. */
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import * as oidc from 'openid-client'
import { z } from 'zod'
import { html } from '../system/shown-text.ts'
import { type Door, ENTRY, isSecret, queryOf, ROLES, type Role, type User } from './door.ts'

/** Names and groups by role; `*` stands for everybody with a login. */
type RoleLists = Readonly<Record<Role, readonly string[]>>

interface OidcSettings {
  readonly issuer: URL
  readonly clientId: string
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined
}

/** Headers from the proxy, which must remove equal headers of a browser. */
const SECRET_HEADER = 'x-waybill-secret'
const USER_HEADER = 'x-forwarded-user'
const GROUPS_HEADER = 'x-forwarded-groups'

/** @param names name and groups of the person */
function userOf(name: string, names: readonly string[], lists: RoleLists, isReadOnly: boolean): User {
  const given = (role: Role): boolean => lists[role].some((one) => one === '*' || names.includes(one))
  const roles = new Set(ROLES.filter((role) => given(role) && !(isReadOnly && role !== 'viewer')))
  if (given('operator')) roles.add('viewer')
  return { name, roles }
}

/** Reads the person from the headers of a proxy that knows the secret; undefined for any other request. */
export const proxyLogin =
  (secret: string, lists: RoleLists, isReadOnly: boolean) =>
  ({ headers }: Pick<FastifyRequest, 'headers'>): User | undefined => {
    if (!isSecret(secret, headers[SECRET_HEADER])) return undefined
    const name = headers[USER_HEADER]
    // Node joins repeated headers with a comma.
    if (typeof name !== 'string' || name.trim() === '' || name.includes(',')) return undefined
    const groups = String(headers[GROUPS_HEADER] ?? '')
      .split(',')
      .map((group) => group.trim())
      .filter((group) => group !== '')
    return userOf(name.trim(), [name.trim(), ...groups], lists, isReadOnly)
  }

/** Time for a login at the issuer, in milliseconds, and logins that may be open at once. */
const LOGIN_MS = 10 * 60_000
const MOST_OPEN = 1_000
const LOGIN_COOKIE = 'waybill-login'
const VERIFIER_BYTES = 32

/** Claims that give name and roles. Names under a person's control give no role: a mail address counts once verified. */
const Claims = z.object({
  sub: z.string().min(1),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
  groups: z.array(z.string()).default([]),
})

interface OpenLogin {
  readonly verifier: string
  readonly nonce: string
  readonly to: string
  readonly at: number
}

interface OidcParts extends OidcSettings {
  readonly now: () => number
  readonly randomHex: (bytes: number) => string
  readonly lists: RoleLists
  readonly isReadOnly: boolean
}

/** Link to the login, for people without a session. */
export const loginLink = (path: string): string =>
  `<p><a class="act" href="/login?${html(new URLSearchParams({ to: path }).toString())}">Sign in</a></p>`

/** Serves `/login` and `/login/back`: authorization code with PKCE, state and nonce, bound to the browser by a cookie. */
export function serveOidc(door: Door, parts: OidcParts): void {
  const { issuer, clientId, clientSecret, now, randomHex, lists, isReadOnly } = parts
  const open = new Map<string, OpenLogin>()
  let known: oidc.Configuration | undefined
  // The issuer may be away when the console starts.
  const discovered = async (): Promise<oidc.Configuration> => {
    known ??= await oidc.discovery(issuer, clientId, clientSecret, undefined, {
      execute: issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : [],
    })
    return known
  }
  // The port is known once the server listens.
  const back = (): string => door.address('/login/back')
  const cookieOptions = () => ({
    httpOnly: true,
    sameSite: 'lax' as const,
    path: `${door.base}/login`,
    secure: back().startsWith('https:'),
  })

  door.app.get('/login', ENTRY, async (request, reply) => {
    const to = queryOf(request).get('to') ?? '/'
    const [state, nonce, verifier] = [randomHex(16), randomHex(16), randomHex(VERIFIER_BYTES)]
    for (const [key, { at }] of open) if (now() - at >= LOGIN_MS) open.delete(key)
    if (open.size >= MOST_OPEN) return door.refuse(reply, 429, 'Too many logins are open. Try again later.')
    open.set(digest(state), { verifier, nonce, to: ownPath(to), at: now() })
    reply.setCookie(LOGIN_COOKIE, state, cookieOptions())
    const url = oidc.buildAuthorizationUrl(await discovered(), {
      redirect_uri: back(),
      scope: 'openid email groups',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    return reply.redirect(url.href, 303)
  })

  door.app.get('/login/back', ENTRY, async (request, reply) => {
    const state = request.cookies[LOGIN_COOKIE] ?? ''
    reply.clearCookie(LOGIN_COOKIE, cookieOptions())
    const begun = open.get(digest(state))
    open.delete(digest(state))
    if (begun === undefined || now() - begun.at >= LOGIN_MS)
      return door.refuse(reply, 403, 'This login was not begun here, or took too long.', loginLink('/'))
    const { verifier, nonce, to } = begun
    const answer = new URL(back())
    answer.search = queryOf(request).toString()
    const claims = await oidc
      .authorizationCodeGrant(await discovered(), answer, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      })
      .then((tokens) => Claims.parse(tokens.claims()))
      // An answer of the issuer may hold anything.
      .catch(() => undefined)
    if (claims === undefined)
      return door.refuse(reply, 403, 'The issuer did not confirm the login.', loginLink('/'))
    const { sub, email, groups } = claims
    const name = claims.email_verified === true && email !== undefined ? email : sub
    door.admit(reply, userOf(name, [sub, name, ...groups], lists, isReadOnly))
    return door.redirect(reply, to)
  })
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Path of the console, as browsers read it: `//host`, `/\host` and `/TAB/host` lead elsewhere. @returns `/` for any other address */
function ownPath(to: string): string {
  const here = 'http://waybill'
  const url = to.startsWith('/') ? URL.parse(to, here) : null
  return url?.origin === here ? url.pathname + url.search : '/'
}
