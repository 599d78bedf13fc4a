/** The console: pages of an installation for browsers. The pages stand on `src/runs/`, and have no rules of their own. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import type { RunListener } from '../run/events.ts'
import type { Application } from '../runs/application.ts'
import { reportOf } from '../runs/installation.ts'
import type { Looking } from '../runs/look-over.ts'
import type { Person } from '../runs/resolve.ts'
import type { ListenAddress } from '../system/settings.ts'
import { html } from '../system/shown-text.ts'
import { createActor, type Proposed, propose } from './actions.ts'
import { backfillPage } from './backfill-page.ts'
import {
  createDoor,
  type Door,
  formOf,
  inSession,
  isLive,
  type ListenPlace,
  queryOf,
  type Role,
  statusOf,
  type User,
  viewerOf,
  wantsJson,
} from './door.ts'
import { exportsPage } from './exports-page.ts'
import { inDoubtPage } from './in-doubt-page.ts'
import { codeHtml, framed, type Page, token, type Viewer } from './layout.ts'
import { createLive } from './live.ts'
import { loginLink, proxyLogin, serveOidc } from './logins.ts'
import { type MappingViews, mappingPage, mappingsPage, previewPage } from './mapping-page.ts'
import { morningPage } from './morning.ts'
import { reasonPage, valuesPage } from './reason-page.ts'
import { logPage, runPage } from './run-page.ts'
import { schedulePage } from './schedule-page.ts'
import { SCRIPT } from './script.ts'
import { STYLE } from './style.ts'
import { systemPage } from './system-page.ts'
import { tracePage } from './trace-page.ts'
import {
  ACTION_COMMANDS,
  FIELDS,
  kindOf,
  SUBJECT_FIELDS,
  type Subject,
  type SubjectField,
} from './typed-commands.ts'

export const DEFAULT_LISTEN: ListenAddress = { host: '127.0.0.1', port: 9470 }

interface ConsoleParts {
  readonly application: Application
  readonly listen: ListenPlace
  /** True to refuse all actions, and to write nothing. */
  readonly isReadOnly: boolean
  /** True to let the user of this process see values of rows. */
  readonly showsValues: boolean
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly looking: Looking
  readonly mappings: MappingViews
  readonly listener: () => RunListener
  readonly onAddress: (url: string) => void
}

/**
 * @returns the place of listening; `close` ends the console, after the work begun there
 * @throws `usage-wrong` for a place in use, or an address elsewhere than loopback without login and TLS
 */
export async function startConsole(
  parts: ConsoleParts,
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const { looking, mappings, listener, listen, onAddress, isReadOnly } = parts
  // Safe on a copy of a ledger: SQLite itself refuses writes.
  const application = parts.isReadOnly
    ? { ...parts.application, openLedger: parts.application.readLedger }
    : parts.application
  const { now, randomHex, settings } = application
  const {
    consoleUrl,
    consoleProxySecret: secret,
    consoleIssuer: issuer,
    consoleClientId: clientId,
  } = settings
  assertGuarded(parts)
  const hasLogin = secret !== undefined || issuer !== undefined
  const lists = {
    viewer: settings.consoleViewers,
    operator: settings.consoleOperators,
    'health-data': settings.consoleHealthData,
  }
  const door = await createDoor({
    now,
    randomHex,
    name: 'the console',
    listen,
    tls: parts.tls,
    url: consoleUrl === undefined ? undefined : new URL(consoleUrl),
    invited: hasLogin ? undefined : ownUser(parts),
    identify: secret === undefined ? undefined : proxyLogin(secret, lists, isReadOnly),
    wayIn:
      secret !== undefined ? () => '<p>Come by the proxy.</p>' : issuer === undefined ? undefined : loginLink,
    onAddress,
    style: STYLE,
    script: SCRIPT,
    onDefect: (code) => application.logger.error(`console: unexpected ${code}`),
  })
  if (issuer !== undefined && clientId !== undefined) {
    const { consoleClientSecret: clientSecret } = settings
    serveOidc(door, { now, randomHex, issuer: new URL(issuer), clientId, clientSecret, lists, isReadOnly })
  }
  const actor = createActor(application, listener)
  const live = createLive(application)
  const all: Console = { application, looking, mappings, door, actor, live }
  servePages(all)
  serveActions(all)
  try {
    await door.open()
  } catch (error) {
    await live.close()
    throw error
  }
  return {
    address: 'socket' in listen ? listen.socket : door.own(),
    async close() {
      await live.close()
      await door.close()
      await actor.close()
    },
  }
}

/** Other machines come in by a login, over TLS. @throws `usage-wrong` */
function assertGuarded({ listen, application, tls }: ConsoleParts): void {
  if ('socket' in listen || ['127.0.0.1', 'localhost', '::1'].includes(listen.host)) return
  const { consoleUrl, consoleProxySecret, consoleIssuer } = application.settings
  const missing = [
    ...((consoleProxySecret ?? consoleIssuer) === undefined
      ? ['a login (WAYBILL_CONSOLE_PROXY_SECRET or WAYBILL_CONSOLE_ISSUER)']
      : []),
    ...(consoleUrl === undefined ? ['the address by which people come (WAYBILL_CONSOLE_URL)'] : []),
    ...(tls === undefined && consoleUrl?.startsWith('https:') !== true
      ? ['TLS (WAYBILL_CONSOLE_TLS_CERT, or a proxy with https: in WAYBILL_CONSOLE_URL)']
      : []),
  ]
  if (missing.length === 0) return
  throw new WaybillError(
    'usage-wrong',
    `${listen.host} is not loopback: the console needs ${missing.join(', ')}`,
    {
      remedy:
        'Set these, or leave the host out. From another machine: ssh -L 9470:127.0.0.1:9470 HOST, and open the printed address there.',
    },
  )
}

/** The user of this process, who can type all commands, and read all files. */
function ownUser({ application, isReadOnly, showsValues }: ConsoleParts): User {
  const roles: Role[] = ['viewer', ...(isReadOnly ? [] : ['operator' as const])]
  if (showsValues && !isReadOnly) roles.push('health-data')
  return { name: application.user, roles: new Set(roles) }
}

interface Console {
  readonly application: Application
  readonly looking: Looking
  readonly mappings: MappingViews
  readonly door: Door
  readonly actor: ReturnType<typeof createActor>
  readonly live: ReturnType<typeof createLive>
}

function viewerIn(request: FastifyRequest): Viewer {
  const viewer = viewerOf(inSession(request))
  if (viewer === undefined) throw new RangeError('the page is served without a session')
  return viewer
}

const personIn = (request: FastifyRequest, note: string | null = null): Person => ({
  by: inSession(request).user.name,
  note,
})

/** Answers with a page, or with the JSON of the page if the address ends in `?json`. */
function answer({ door }: Console, request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
  if (wantsJson(request)) return reply.send(page.json)
  const session = inSession(request)
  // An open page that updates by itself does not take the words away.
  const notice = isLive(request) ? undefined : session.notice
  if (notice !== undefined) session.notice = undefined
  const path = request.url.replace(/\?.*$/, '')
  return door.send(reply, framed(page, viewerOf(session), { path, notice }))
}

/** @throws `role-missing` */
function assertRole(request: FastifyRequest, role: Role, needed: string): void {
  const { name, roles } = inSession(request).user
  if (roles.has(role)) return
  throw new WaybillError('role-missing', `${name} may not ${needed}: the role ${role} is missing`)
}

const OfRun = z.object({ run: z.string() })
const OfReason = OfRun.extend({ code: z.string() })
const OfMapping = z.object({ mapping: z.string() })

function servePages(all: Console): void {
  const { application, actor, live, looking, mappings, door } = all
  const page = (path: string, make: (request: FastifyRequest, viewer: Viewer) => Promise<Page>): void => {
    door.app.get(path, async (request, reply) =>
      answer(all, request, reply, await make(request, viewerIn(request))),
    )
  }
  page('/', (_, viewer) => morningPage(application, actor.begun, viewer))
  page('/runs/:run', ({ params }, viewer) => runPage(application, OfRun.parse(params).run, viewer))
  page('/runs/:run/log', ({ params }) => logPage(application, OfRun.parse(params).run))
  door.app.get('/runs/:run/report', async ({ params }, reply) => {
    const { run, page: report } = await reportOf(application, OfRun.parse(params).run)
    // A page of the console would load its style from the console.
    reply.header('content-disposition', `attachment; filename="${run}.html"`)
    return door.send(reply, report)
  })
  page('/runs/:run/reasons/:code', ({ params }, viewer) => {
    const { run, code } = OfReason.parse(params)
    return reasonPage(application, run, code, viewer)
  })
  page('/runs/:run/reasons/:code/values', async (request) => {
    assertRole(request, 'health-data', 'see values of rows')
    const { run, code } = OfReason.parse(request.params)
    return valuesPage(application, run, code, personIn(request))
  })
  page('/in-doubt', (_, viewer) => inDoubtPage(application, viewer))
  page('/exports', (request) => exportsPage(application, queryOf(request).get('job') ?? undefined))
  page('/backfill', (request, viewer) => {
    const [job, from, to] = ['job', 'from', 'to'].map(
      (name) => queryOf(request).get(name)?.trim() || undefined,
    )
    return backfillPage(application, { job, from, to }, viewer)
  })
  page('/mappings', () => mappingsPage(application))
  page('/mappings/:mapping', (request, viewer) =>
    mappingPage(application, mappings, OfMapping.parse(request.params).mapping, sampleIn(request), viewer),
  )
  page('/mappings/:mapping/rows', async (request) => {
    assertRole(request, 'health-data', 'see rows of an export')
    const { mapping } = OfMapping.parse(request.params)
    return previewPage(application, mappings, mapping, sampleIn(request), personIn(request))
  })
  page('/schedule', (_, viewer) => schedulePage(application, viewer))
  page('/system', (_, viewer) => systemPage(application, looking, viewer))
  serveTrace(all)
  door.app.get('/events', (_, reply) => {
    reply.hijack()
    live.join(reply.raw)
  })
}

const sampleIn = (request: FastifyRequest): number | undefined =>
  Number(/^[1-9]\d{0,8}$/.exec(queryOf(request).get('export') ?? '')?.[0]) || undefined

/** A person is asked for in a form: addresses are kept by browsers. */
function serveTrace(all: Console): void {
  const { app } = all.door
  const traced = async (
    request: FastifyRequest,
    reply: FastifyReply,
    given: URLSearchParams,
    person?: string,
  ): Promise<FastifyReply> => {
    const { error, ...found } = await tracePage(
      all.application,
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
}

const OfAction = z.object({ action: z.string() })

const subjectIn = (given: URLSearchParams): Subject =>
  Object.fromEntries(SUBJECT_FIELDS.map((name) => [name, given.get(name)?.trim() || undefined]))

/** Actions with a result in the list of needs. */
const LISTED: ReadonlySet<string> = new Set(['acknowledge', 'undo-acknowledge', 'put-aside', 'put-back'])

function serveActions(all: Console): void {
  const { application, actor, door } = all
  door.app.get('/do/:action', async (request, reply) => {
    assertRole(request, 'operator', 'act')
    const { action } = OfAction.parse(request.params)
    const proposed = await propose(application, action, subjectIn(queryOf(request)))
    return answer(all, request, reply, proposalPage(proposed, inSession(request).csrf))
  })
  door.app.post('/do/:action', async (request, reply) => {
    const form = formOf(request)
    assertRole(request, 'operator', 'act')
    const { action } = OfAction.parse(request.params)
    const person = personIn(request, form.get('note')?.trim() || null)
    const { words, run } = await actor.act(action, subjectIn(form), person)
    inSession(request).notice = words
    if (LISTED.has(action)) return door.redirect(reply, '/')
    return door.redirect(reply, run === undefined ? '/schedule' : `/runs/${encodeURIComponent(run)}`)
  })
}

function proposalPage(proposed: Proposed, csrf: string): Page {
  const { name, action, subject, options, command, effect, hasNote } = proposed
  const fields = Object.entries(subject).flatMap(([field, value]) =>
    value === '' ? [] : [`<input type="hidden" name="${field}" value="${html(value)}">`],
  )
  const back = subject.run === '' ? '/schedule' : `/runs/${encodeURIComponent(subject.run)}`
  const confirm =
    effect === undefined
      ? '<p>Choose first.</p>'
      : `${effect.map((line) => `<p>${codeHtml(line)}</p>`).join('\n')}
<p>The command that does the same:</p>
<pre>${html(command)}</pre>
<form method="post" action="/do/${html(action)}">${token(csrf)}${fields.join('')}
${hasNote ? '<label>Reason, stored and shown: no health data <input name="note" maxlength="500" autocomplete="off"></label>\n' : ''}<p class="acts"><button class="does">${html(name)}</button> <a class="act plain" href="${back}">Back</a></p></form>`
  return {
    title: name,
    json: { command, effect },
    body: `<h1>${html(name)}</h1>
${confirm}
${options.length === 0 ? '' : optionsForm(proposed)}`,
  }
}

/** The form changes effect and command of the page, and does nothing else. */
function optionsForm({ action, subject, options, effect }: Proposed): string {
  const { names } = ACTION_COMMANDS[action]
  const named = subject[names]
  const hidden = named === '' ? '' : `<input type="hidden" name="${names}" value="${html(named)}">`
  const input = (field: SubjectField): string => {
    const kind = kindOf(field)
    const value = subject[field]
    if (kind === 'yes')
      return `<input type="checkbox" name="${field}" value="yes"${value === '' ? '' : ' checked'}>`
    if (typeof kind === 'object')
      return `<select name="${field}">${['', ...kind].map((one) => `<option${one === value ? ' selected' : ''}>${one}</option>`).join('')}</select>`
    return `<input${kind === 'day' ? ' type="date"' : ''} name="${field}" value="${html(value)}" autocomplete="off">`
  }
  const fields = options.map((field) => `<label>${html(FIELDS[field].label)} ${input(field)}</label>`)
  return `<details class="options"${effect === undefined ? ' open' : ''}><summary>Options</summary>
<form method="get" action="/do/${html(action)}">${hidden}${fields.join('\n')}
<button>Show the effect</button></form></details>`
}
