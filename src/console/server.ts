/**
 * The console: pages of an installation for browsers on this machine. Other users reach loopback, too: an address with 128 random bits
 * opens a session, once. The pages stand on `src/runs/`, and have no rules of their own.
 */
import type { AddressInfo } from 'node:net'
import cookies from '@fastify/cookie'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { z } from 'zod'
import { codeOf, WaybillError } from '../model/errors.ts'
import type { RunListener } from '../run/events.ts'
import type { Application } from '../runs/application.ts'
import type { Looking } from '../runs/look-over.ts'
import type { ListenAddress } from '../system/settings.ts'
import { html } from '../system/shown-text.ts'
import { createActor, type Proposed, propose } from './actions.ts'
import { codeHtml, errorPage, framed, type Page, token } from './layout.ts'
import { createLive } from './live.ts'
import { morningPage } from './morning.ts'
import { logPage, reasonPage, runPage } from './run-page.ts'
import { schedulePage } from './schedule-page.ts'
import { SCRIPT } from './script.ts'
import { createSessions, isFormOf, type Session, type Sessions } from './sessions.ts'
import { STYLE } from './style.ts'
import { systemPage } from './system-page.ts'
import { tracePage } from './trace-page.ts'

export const DEFAULT_LISTEN: ListenAddress = { host: '127.0.0.1', port: 9470 }

/** Requests a minute from an address: a page that follows a run asks for itself once a second. */
const MOST_REQUESTS = 600
/** Tries a minute to open a session. */
const MOST_ENTRIES = 20
/** Bytes of a form at most. */
const LONGEST_FORM = 16 * 1024
const LONGEST_PARAMETER = 400

/** Header of requests that a page makes by itself. */
const LIVE_HEADER = 'waybill-live'

export interface ConsoleParts {
  readonly application: Application
  readonly listen: ListenAddress
  /** True to offer no actions. */
  readonly isReadOnly: boolean
  readonly looking: Looking
  /** Receives the events of a run that the console has begun. */
  readonly listener: () => RunListener
  /** Receives each address that opens a session: at the start, and whenever the one before was used. */
  readonly onAddress: (url: string) => void
}

/** What the routes share. */
interface Console extends ConsoleParts {
  readonly app: FastifyInstance
  readonly sessions: Sessions
  readonly actor: ReturnType<typeof createActor>
  readonly live: ReturnType<typeof createLive>
  /** `127.0.0.1:9470` */
  readonly host: () => string
}

/**
 * @returns ends the console, after the work that it has begun
 * @throws WaybillError `usage-wrong` for an address that is no loopback address, or a port in use
 */
export async function startConsole(parts: ConsoleParts): Promise<{ close(): Promise<void> }> {
  const { application, listen, listener, onAddress } = parts
  const address = loopback(listen)
  const app = fastify({
    bodyLimit: LONGEST_FORM,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
  })
  const host = (): string => hostOf(app.server.address())
  const sessions = createSessions(application)
  const actor = createActor(application, listener)
  const live = createLive(application)
  const all: Console = { ...parts, app, sessions, actor, live, host }
  await protect(all)
  serveFiles(all)
  serveEntrance(all)
  servePages(all)
  if (!parts.isReadOnly) serveActions(all)
  try {
    await app.listen(address)
  } catch (cause) {
    await live.close()
    throw new WaybillError('usage-wrong', `the console cannot listen on ${address.host}:${address.port}`, {
      remedy: 'Name another port with --listen, or end the process on this port.',
      cause,
    })
  }
  onAddress(invitation(all))
  return {
    async close() {
      await live.close()
      await app.close()
      await actor.close()
    },
  }
}

function loopback({ host, port }: ListenAddress): ListenAddress {
  const own = host === 'localhost' ? '127.0.0.1' : host
  if (own === '127.0.0.1' || own === '::1') return { host: own, port }
  throw new WaybillError('usage-wrong', `the console listens on loopback alone, not on ${host}`, {
    remedy:
      'Leave the host out. From another machine: ssh -L 9470:127.0.0.1:9470 HOST, and open the printed address there.',
  })
}

function hostOf(bound: string | AddressInfo | null): string {
  if (bound === null || typeof bound === 'string') return ''
  return `${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`
}

const invitation = ({ sessions, host }: Pick<Console, 'sessions' | 'host'>): string =>
  `http://${host()}/enter/${sessions.invite()}`

/** Checks and headers of all requests. */
async function protect({ app, host, application, isReadOnly }: Console): Promise<void> {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // A foreign name that was turned to loopback (DNS rebinding).
    const own = [host(), host().replace(/^.*:(?=\d+$)/, 'localhost:')]
    if (!own.includes(request.headers.host ?? ''))
      return refuse(reply, 421, 'This host name is not served here.')
    const { origin } = request.headers
    if (origin !== undefined && !own.some((one) => origin === `http://${one}`))
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
    // Loopback has no TLS.
    strictTransportSecurity: false,
    // With no referrer at all, browsers hide the origin of a form, too.
    referrerPolicy: { policy: 'same-origin' },
  })
  await app.register(rateLimit, { max: MOST_REQUESTS, timeWindow: '1 minute' })
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
    if (!known) application.logger.error(`console: unexpected ${codeOf(error)}`)
    reply.code(status)
    if (wantsJson(request) && known)
      return { error: { code: error.code, message: error.message, remedy: error.remedy } }
    return sendHtml(
      reply,
      framed(errorPage(error), { ...NO_FRAME, isReadOnly, csrf: sessionOf(request)?.csrf }),
    )
  })
}

const NO_FRAME = { csrf: undefined, notice: undefined, path: '', isReadOnly: true } as const

const STATUS: Readonly<Record<string, number>> = {
  'usage-wrong': 400,
  'job-held': 409,
  'nothing-left': 409,
  'run-unfinished': 409,
  'run-pruned': 410,
}

const statusOf = ({ code }: WaybillError): number => STATUS[code] ?? (code.endsWith('-not-found') ? 404 : 503)

const Thrown = z.object({ statusCode: z.int().min(400).max(599) })
const statusGiven = (error: unknown): number => Thrown.safeParse(error).data?.statusCode ?? 500

const refuse = (reply: FastifyReply, status: number, words: string): FastifyReply =>
  sendHtml(reply.code(status), framed({ title: words, body: `<h1>${html(words)}</h1>` }, NO_FRAME))

const sendHtml = (reply: FastifyReply, page: string): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(page)

function serveFiles({ app }: Console): void {
  app.get('/console.css', async (_, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get('/console.js', async (_, reply) => reply.type('text/javascript; charset=utf-8').send(SCRIPT))
}

/** Browsers keep cookies by host, not by port: each console has a name of its own. */
const cookieName = (host: string): string => `waybill-${host.replace(/^.*:/, '')}`

function serveEntrance(all: Console): void {
  const { app, sessions, host, onAddress } = all
  const limits = { config: { rateLimit: { max: MOST_ENTRIES, timeWindow: '1 minute' } } }
  app.get('/enter/:secret', limits, async (request, reply) => {
    const cookie = sessions.enter(z.object({ secret: z.string() }).parse(request.params).secret)
    if (cookie === undefined) return refuse(reply, 403, `This address was used, or is wrong. ${NEWEST}`)
    onAddress(invitation(all))
    reply.setCookie(cookieName(host()), cookie, { httpOnly: true, sameSite: 'strict', path: '/' })
    return reply.redirect('/', 303)
  })
  app.decorateRequest('session', null)
  app.addHook('onRequest', async (request, reply) => {
    if (/^\/(?:enter\/|console\.)/.test(request.url)) return undefined
    const isPerson = request.headers[LIVE_HEADER] === undefined && request.url !== '/events'
    const session = sessions.find(request.cookies[cookieName(host())], isPerson)
    if (session === undefined) return refuse(reply, 401, `There is no session, or it has ended. ${NEWEST}`)
    request.setDecorator('session', session)
    return undefined
  })
  app.post('/leave', async (request, reply) => {
    formOf(request)
    sessions.leave(request.cookies[cookieName(host())])
    reply.clearCookie(cookieName(host()), { path: '/' })
    return refuse(reply, 200, `You have signed out. ${NEWEST}`)
  })
}

const NEWEST = 'Open the newest address that the console has printed.'

const sessionOf = (request: FastifyRequest): Session | undefined =>
  request.getDecorator<Session | null>('session') ?? undefined

/** Session of a request behind the check for one. */
function inSession(request: FastifyRequest): Session {
  const session = sessionOf(request)
  if (session === undefined) throw new RangeError('the page is served without a session')
  return session
}

/** Fields of a form of the session. @throws WaybillError `usage-wrong` for a form of another page */
function formOf(request: FastifyRequest): URLSearchParams {
  const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
  if (!isFormOf(inSession(request), form.get('csrf')))
    throw new WaybillError('usage-wrong', 'the form is not of this session', {
      remedy: 'Open the page again, and send the form from there.',
    })
  return form
}

const queryOf = (request: FastifyRequest): URLSearchParams =>
  new URL(request.url, 'http://waybill').searchParams

const wantsJson = (request: FastifyRequest): boolean => queryOf(request).has('json')

/** Answers with a page, or with its JSON if the address ends in `?json`. */
function answer(all: Console, request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
  if (wantsJson(request)) return reply.send(page.json)
  const session = inSession(request)
  const { notice } = session
  session.notice = undefined
  const path = request.url.replace(/\?.*$/, '')
  return sendHtml(reply, framed(page, { csrf: session.csrf, notice, path, isReadOnly: all.isReadOnly }))
}

const OfRun = z.object({ run: z.string() })
const OfReason = OfRun.extend({ code: z.string() })

function servePages(all: Console): void {
  const { app, application, isReadOnly, actor, live, looking } = all
  const page = (path: string, make: (request: FastifyRequest) => Promise<Page>): void => {
    app.get(path, async (request, reply) => answer(all, request, reply, await make(request)))
  }
  page('/', () => morningPage(application, actor.begun, isReadOnly))
  page('/runs/:run', ({ params }) => runPage(application, OfRun.parse(params).run, isReadOnly))
  page('/runs/:run/log', ({ params }) => logPage(application, OfRun.parse(params).run))
  page('/runs/:run/reasons/:code', ({ params }) => {
    const { run, code } = OfReason.parse(params)
    return reasonPage(application, run, code, isReadOnly)
  })
  page('/schedule', () => schedulePage(application, isReadOnly))
  page('/system', () => systemPage(application, looking))
  const traced = async (
    request: FastifyRequest,
    reply: FastifyReply,
    given: URLSearchParams,
    person?: string,
  ) => {
    const { error, ...found } = await tracePage(
      application,
      { transaction: given.get('transaction')?.trim(), row: given.get('row')?.trim(), person },
      inSession(request).csrf,
    )
    if (error instanceof WaybillError) {
      if (wantsJson(request)) throw error
      reply.code(statusOf(error))
    }
    return answer(all, request, reply, found)
  }
  app.get('/trace', (request, reply) => traced(request, reply, queryOf(request)))
  app.post('/trace', (request, reply) => {
    const form = formOf(request)
    return traced(request, reply, form, form.get('person')?.trim())
  })
  app.get('/events', (_, reply) => {
    reply.hijack()
    live.join(reply.raw)
  })
}

const OfAction = z.object({ action: z.string() })

function subjectIn(given: URLSearchParams) {
  const one = (name: string): string | undefined => given.get(name)?.trim() || undefined
  return { run: one('run'), job: one('job'), reason: one('reason'), only: one('only') }
}

/** An action is shown with its effect first; the form that does it belongs to the session. */
function serveActions(all: Console): void {
  const { app, application, actor } = all
  app.get('/do/:action', async (request, reply) => {
    const { action } = OfAction.parse(request.params)
    const proposed = await propose(application, action, subjectIn(queryOf(request)))
    return answer(all, request, reply, proposalPage(proposed, inSession(request).csrf))
  })
  app.post('/do/:action', async (request, reply) => {
    const form = formOf(request)
    const { action } = OfAction.parse(request.params)
    const person = { by: application.user, note: form.get('note')?.trim() || null }
    const { words, run } = await actor.act(action, subjectIn(form), person)
    inSession(request).notice = words
    if (action === 'acknowledge') return reply.redirect('/', 303)
    return reply.redirect(run === undefined ? '/schedule' : `/runs/${encodeURIComponent(run)}`, 303)
  })
}

function proposalPage({ name, action, subject, command, effect, hasNote }: Proposed, csrf: string): Page {
  const fields = Object.entries(subject).map(
    ([field, value]) => `<input type="hidden" name="${field}" value="${html(value)}">`,
  )
  const back = subject.run === '' ? '/schedule' : `/runs/${encodeURIComponent(subject.run)}`
  return {
    title: name,
    json: { command, effect },
    body: `<h1>${html(name)}</h1>
${effect.map((line) => `<p>${codeHtml(line)}</p>`).join('\n')}
<p>The command that does the same:</p>
<pre>${html(command)}</pre>
<form method="post" action="/do/${html(action)}">${token(csrf)}${fields.join('')}
${hasNote ? '<label>Reason, stored and shown: no health data <input name="note" maxlength="500" autocomplete="off"></label>\n' : ''}<button class="does">${html(name)}</button> <a class="act plain" href="${back}">Back</a></form>`,
  }
}
