/**
 * Server for browsers, with one way in: sessions, their cookie and the printed address, checks of host and origin, headers, limits. Other users
 * of the machine reach loopback, too: an address with 128 random bits opens one session. `waybill console` and `waybill mapping edit` use this
 * door.
 */

import { createHash } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import cookies from '@fastify/cookie'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { z } from 'zod'
import { codeOf, WaybillError } from '../model/errors.ts'
import { closeSocket, removeSocket } from '../system/own-files.ts'
import type { ListenAddress } from '../system/settings.ts'
import { html } from '../system/shown-text.ts'
import { errorPage, framed, type Viewer } from './layout.ts'

/** Requests a minute of one person: a page that follows a run asks for itself once a second. */
const MOST_REQUESTS = 600
/** Attempts a minute to open a session. */
const MOST_ENTRIES = 20
/** Time for a request to come in whole: a slow one holds a connection. */
const REQUEST_MS = 30_000
const LONGEST_FORM = 16 * 1024
const LONGEST_PARAMETER = 400

/** Header of requests that a page makes by itself. */
const LIVE_HEADER = 'waybill-live'

/** Place to listen: an address, or the path of a unix socket. */
export type ListenPlace = ListenAddress | { readonly socket: string }

interface DoorParts extends SessionParts {
  /** Name for errors: `the console`. */
  readonly name: string
  readonly listen: ListenPlace
  /** Certificate and key in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** Address by which people reach the pages, if different from the place: behind a proxy. May have a path. */
  readonly url?: URL | undefined
  /** Owner of the sessions that a printed address opens; undefined: other logins alone. */
  readonly invited: User | undefined
  /** Receives each address that opens a session: at the start, and whenever the previous one was used. */
  readonly onAddress: (url: string) => void
  /** CSS and JavaScript of the pages, served as `/page.css` and `/page.js`. */
  readonly style: string
  readonly script: string
  /** Receives the code of an unexpected error. */
  readonly onDefect: (code: string) => void
  /** Login by each request: a proxy names the person. @returns undefined for a request that names nobody */
  readonly identify?: ((request: FastifyRequest) => User | undefined) | undefined
  /** Way in for a person without a session, as HTML. @param path of the page that was asked for */
  readonly wayIn?: ((path: string) => string) | undefined
}

export interface Door {
  readonly app: FastifyInstance
  readonly sessions: Sessions
  /** Path of the console in addresses, without a slash at the end: empty, or `/console`. */
  readonly base: string
  /** Scheme, host and port of the server itself; known once it listens. */
  own(): string
  /** Address of a path, with scheme and host: `https://waybill.example/console/login`. */
  address(path: string): string
  /** Opens a session for this person, and sets the cookie. */
  admit(reply: FastifyReply, user: User): Session
  send(reply: FastifyReply, page: string): FastifyReply
  redirect(reply: FastifyReply, path: string): FastifyReply
  /** @param more HTML below the words */
  refuse(reply: FastifyReply, status: number, words: string, more?: string): FastifyReply
  /** Listens, and prints the first address. @throws `usage-wrong` for a place in use */
  open(): Promise<void>
  close(): Promise<void>
}

export async function createDoor(parts: DoorParts): Promise<Door> {
  const { tls, url } = parts
  const base = (url?.pathname ?? '').replace(/\/+$/, '')
  const app: FastifyInstance = fastify({
    bodyLimit: LONGEST_FORM,
    requestTimeout: REQUEST_MS,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    // A proxy may leave the path of the console in front, or take it away.
    rewriteUrl: ({ url: asked = '/' }) =>
      base !== '' && (asked === base || asked.startsWith(`${base}/`))
        ? asked.slice(base.length) || '/'
        : asked,
    ...(tls === undefined
      ? {}
      : {
          serverFactory: (handler: RequestListener) =>
            createServer({ ...tls, requestTimeout: REQUEST_MS }, handler),
        }),
  })
  const sessions = createSessions(parts)
  const place = placeOf(app, parts)
  const send = (reply: FastifyReply, page: string): FastifyReply =>
    reply.type('text/html; charset=utf-8').send(withBase(page, base))
  const door: Door = {
    app,
    sessions,
    base,
    own: place.own,
    address: (path) => `${url === undefined ? place.own() : url.origin + base}${path}`,
    admit(reply, user) {
      const { cookie, session } = sessions.open(user)
      // Lax: a link in a mail opens its page within the session. All changes need the token of a form.
      const secure = place.isSecure
      reply.setCookie(cookieName(place), cookie, {
        httpOnly: true,
        sameSite: 'lax',
        path: `${base}/`,
        secure,
      })
      return session
    },
    send,
    redirect: (reply, path) => reply.redirect(base + path, 303),
    refuse: (reply, status, words, more = '') =>
      send(reply.code(status), framed({ title: words, body: `<h1>${html(words)}</h1>\n${more}` }, undefined)),
    async open() {
      await listen(app, parts)
      if (parts.invited !== undefined) parts.onAddress(invitation(door))
    },
    close: () => app.close(),
  }
  await protect(door, parts, place)
  app.get('/page.css', async (_, reply) => reply.type('text/css; charset=utf-8').send(parts.style))
  app.get('/page.js', async (_, reply) => reply.type('text/javascript; charset=utf-8').send(parts.script))
  serveEntrance(door, parts, place)
  return door
}

/** Addresses on pages begin at the root of the console; behind a proxy, they begin at its path. Quotes in texts are escaped: no text has this form. */
const withBase = (page: string, base: string): string =>
  base === '' ? page : page.replaceAll(/ (href|src|action)="\//g, ` $1="${base}/`)

interface Place {
  /** Scheme and host of the server itself. */
  own(): string
  /** True for a host name of a request that is served. */
  serves(host: string): boolean
  isOrigin(origin: string): boolean
  readonly isSecure: boolean
  /** Part of the cookie's name. */
  key(): string
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

function placeOf(app: FastifyInstance, { tls, url, listen }: DoorParts): Place {
  const scheme = tls === undefined ? 'http' : 'https'
  const port = (): string => portOf(app.server.address())
  // A socket is reached by a forwarded port of any number.
  const serves = (host: string): boolean => {
    const [, name = '', given = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? []
    return host === url?.host || (LOOPBACK.includes(name) && ('socket' in listen || given === port()))
  }
  return {
    own: () =>
      'socket' in listen ? `${scheme}://localhost:PORT` : `${scheme}://${shownHost(listen)}:${port()}`,
    serves,
    isOrigin(origin) {
      if (origin === url?.origin) return true
      const { protocol = '', host = '' } = URL.parse(origin) ?? {}
      return protocol === `${scheme}:` && host !== url?.host && serves(host)
    },
    isSecure: tls !== undefined || url?.protocol === 'https:',
    key: () => ('socket' in listen ? 'socket' : port()),
  }
}

const shownHost = ({ host }: ListenAddress): string => (host.includes(':') ? `[${host}]` : host)

const portOf = (bound: string | AddressInfo | null): string =>
  bound === null || typeof bound === 'string' ? '' : String(bound.port)

async function listen(app: FastifyInstance, { listen: place, name }: DoorParts): Promise<void> {
  const shown = 'socket' in place ? place.socket : `${shownHost(place)}:${place.port}`
  try {
    if (!('socket' in place)) {
      await app.listen(place)
      return
    }
    if (await isAnswered(place.socket)) throw new RangeError('another process listens there')
    removeSocket(place.socket)
    await app.listen({ path: place.socket })
    closeSocket(place.socket)
  } catch (cause) {
    if (cause instanceof WaybillError) throw cause
    throw new WaybillError('usage-wrong', `${name} cannot listen on ${shown}`, {
      remedy: 'Name another place, or end the process that listens there.',
      cause,
    })
  }
}

function isAnswered(socket: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const connection = connect(socket)
  connection.on('connect', () => {
    connection.destroy()
    resolve(true)
  })
  connection.on('error', () => resolve(false))
  return promise
}

/** Checks and headers of all requests. */
async function protect(door: Door, parts: DoorParts, place: Place): Promise<void> {
  const { app, refuse } = door
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // A foreign name that was turned to this server (DNS rebinding).
    if (!place.serves(request.headers.host ?? ''))
      return refuse(reply, 421, 'This host name is not served here.')
    const { origin } = request.headers
    if (origin !== undefined && !place.isOrigin(origin))
      return refuse(reply, 403, 'The request comes from another page.')
    return undefined
  })
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ['data:'],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: place.isSecure,
    // With no referrer at all, browsers hide the origin of a form, too.
    referrerPolicy: { policy: 'same-origin' },
  })
  await app.register(rateLimit, {
    max: MOST_REQUESTS,
    timeWindow: '1 minute',
    // Behind a proxy, all people have one address.
    keyGenerator: (request) => sessionOf(request)?.user.name ?? request.ip ?? '',
  })
  await app.register(cookies)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )
  app.setNotFoundHandler(async (_, reply) => refuse(reply, 404, 'There is no such page.'))
  app.setErrorHandler(async (error, request, reply) => {
    const known = error instanceof WaybillError
    const status = known ? statusOf(error) : statusGiven(error)
    if (!known && status < 500) return refuse(reply, status, 'The request cannot be served.')
    if (!known) parts.onDefect(codeOf(error))
    reply.code(status)
    if (wantsJson(request) && known)
      return { error: { code: error.code, message: error.message, remedy: error.remedy } }
    return door.send(reply, framed(errorPage(error), viewerOf(sessionOf(request))))
  })
}

const STATUS: Readonly<Record<string, number>> = {
  'usage-wrong': 400,
  'role-missing': 403,
  'job-held': 409,
  'nothing-left': 409,
  'run-unfinished': 409,
  'run-pruned': 410,
}

export const statusOf = ({ code }: WaybillError): number =>
  STATUS[code] ?? (code.endsWith('-not-found') ? 404 : 503)

const Thrown = z.object({ statusCode: z.int().min(400).max(599) })
const statusGiven = (error: unknown): number => Thrown.safeParse(error).data?.statusCode ?? 500

/** Name of the cookie: browsers keep cookies by host, not by port. */
const cookieName = (place: Place): string => `waybill-${place.key()}`

const NEWEST = '<p>Open the newest address that was printed.</p>'

const invitation = (door: Door): string => door.address(`/enter/${door.sessions.invite()}`)

const OPEN_PATHS = /^\/(?:enter\/|login(?:$|[/?])|page\.(?:css|js)$)/

function serveEntrance(door: Door, parts: DoorParts, place: Place): void {
  const { app, sessions, refuse } = door
  const { invited, onAddress, identify } = parts
  const wayIn = (path: string): string => parts.wayIn?.(path) ?? NEWEST
  const cookieOf = (request: FastifyRequest): string | undefined => request.cookies[cookieName(place)]
  if (invited !== undefined)
    app.get('/enter/:secret', ENTRY, async (request, reply) => {
      const { secret } = z.object({ secret: z.string() }).parse(request.params)
      if (!sessions.isInvited(secret))
        return refuse(reply, 403, 'This address was used, or is wrong.', NEWEST)
      onAddress(invitation(door))
      door.admit(reply, invited)
      return door.redirect(reply, '/')
    })
  const find = (request: FastifyRequest, reply: FastifyReply): Session | undefined => {
    const isPerson = !isLive(request) && request.url !== '/events'
    const session = sessions.find(cookieOf(request), isPerson)
    if (identify === undefined) return session
    const user = identify(request)
    if (user === undefined) return undefined
    return session !== undefined && isSameUser(session.user, user) ? session : door.admit(reply, user)
  }
  app.decorateRequest('session', null)
  app.addHook('onRequest', async (request, reply) => {
    if (OPEN_PATHS.test(request.url)) return undefined
    const session = find(request, reply)
    if (session === undefined)
      return refuse(reply, 401, 'There is no session, or it has ended.', wayIn(request.url))
    request.setDecorator('session', session)
    if (session.user.roles.has('viewer')) return undefined
    return refuse(reply, 403, `${session.user.name} has no role here.`)
  })
  app.post('/leave', async (request, reply) => {
    formOf(request)
    sessions.close(cookieOf(request))
    reply.clearCookie(cookieName(place), { path: `${door.base}/` })
    return refuse(reply, 200, 'You have signed out.', wayIn('/'))
  })
}

/** Limit of routes that open a session. */
export const ENTRY = {
  config: {
    rateLimit: { max: MOST_ENTRIES, timeWindow: '1 minute', keyGenerator: ({ ip }: FastifyRequest) => ip },
  },
}

const sessionOf = (request: FastifyRequest): Session | undefined =>
  request.getDecorator<Session | null>('session') ?? undefined

/** Session of a request behind the check for one. */
export function inSession(request: FastifyRequest): Session {
  const session = sessionOf(request)
  if (session === undefined) throw new RangeError('the page is served without a session')
  return session
}

/** Fields of a form of the session. @throws `usage-wrong` for a form of another page */
export function formOf(request: FastifyRequest): URLSearchParams {
  const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
  if (!isSecret(inSession(request).csrf, form.get('csrf')))
    throw new WaybillError('usage-wrong', 'the form is not of this session', {
      remedy: 'Open the page again, and send the form from there.',
    })
  return form
}

export const queryOf = (request: FastifyRequest): URLSearchParams =>
  new URL(request.url, 'http://waybill').searchParams

/** True for a request that a page makes by itself. */
export const isLive = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers[LIVE_HEADER] !== undefined

export const wantsJson = (request: FastifyRequest): boolean => queryOf(request).has('json')

/** Time without a request of a person after which a session ends, and the longest session, in milliseconds. */
const IDLE_MS = 30 * 60_000
const LENGTH_MS = 12 * 3_600_000

const SECRET_BYTES = 16

/** `viewer` sees all pages, `operator` acts, and `health-data` sees values of rows. An operator is a viewer, too. */
export const ROLES = ['viewer', 'operator', 'health-data'] as const
export type Role = (typeof ROLES)[number]

/** Person behind a session. */
export interface User {
  readonly name: string
  readonly roles: ReadonlySet<Role>
}

export const isSameUser = (one: User, other: User): boolean =>
  one.name === other.name && ROLES.every((role) => one.roles.has(role) === other.roles.has(role))

interface Session {
  readonly user: User
  readonly csrf: string
  readonly openedAt: number
  /** Words for the next page: the result of an action. */
  notice: string | undefined
}

interface Kept extends Session {
  usedAt: number
}

type Sessions = ReturnType<typeof createSessions>

interface SessionParts {
  readonly now: () => number
  readonly randomHex: (bytes: number) => string
}

function createSessions({ now, randomHex }: SessionParts) {
  // The time of a search for a hash reveals nothing about the secret.
  const sessions = new Map<string, Kept>()
  let entrance = ''
  const isOver = ({ usedAt, openedAt }: Kept): boolean =>
    now() - usedAt >= IDLE_MS || now() - openedAt >= LENGTH_MS
  return {
    /** Makes the secret of the next address; the previous address no longer works. */
    invite(): string {
      const secret = randomHex(SECRET_BYTES)
      entrance = digest(secret)
      return secret
    },
    /** Uses the secret up. @returns false for a wrong or used secret */
    isInvited(secret: string): boolean {
      if (digest(secret) !== entrance) return false
      entrance = ''
      return true
    },
    /** Opens a session with a new cookie, never with a cookie that the browser brought. */
    open(user: User): { readonly cookie: string; readonly session: Session } {
      for (const [key, session] of sessions) if (isOver(session)) sessions.delete(key)
      const cookie = randomHex(SECRET_BYTES)
      const at = now()
      const csrf = randomHex(SECRET_BYTES)
      const session = { user, csrf, openedAt: at, usedAt: at, notice: undefined }
      sessions.set(digest(cookie), session)
      return { cookie, session }
    },
    /** @param isPerson false for a request that the page makes by itself: such requests keep no session alive */
    find(cookie: string | undefined, isPerson: boolean): Session | undefined {
      const session = cookie === undefined ? undefined : sessions.get(digest(cookie))
      if (session === undefined || isOver(session)) return undefined
      if (isPerson) session.usedAt = now()
      return session
    },
    close(cookie: string | undefined): void {
      if (cookie !== undefined) sessions.delete(digest(cookie))
    },
  }
}

const digest = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** True if both texts are equal; the time of the comparison reveals nothing. */
export const isSecret = (secret: string, given: unknown): boolean =>
  typeof given === 'string' && digest(given) === digest(secret)

export const viewerOf = (session: Session | undefined): Viewer | undefined =>
  session && {
    csrf: session.csrf,
    name: session.user.name,
    mayAct: session.user.roles.has('operator'),
    maySeeValues: session.user.roles.has('health-data'),
  }
