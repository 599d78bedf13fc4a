/** The console: pages of an installation for browsers. The pages stand on `src/runs/`, and have no rules of their own. */
import { WaybillError } from '../model/errors.ts'
import type { RunListener } from '../run/events.ts'
import type { Application } from '../runs/application.ts'
import type { Looking } from '../runs/look-over.ts'
import type { ListenAddress } from '../system/settings.ts'
import { createActor } from './actions.ts'
import { createDoor, type ListenPlace } from './door.ts'
import { createLive } from './live.ts'
import { loginLink, proxyLogin, serveOidc } from './logins.ts'
import type { MappingViews } from './mapping-page.ts'
import { type Console, serveActions, servePages } from './routes.ts'
import { SCRIPT } from './script.ts'
import type { Role, User } from './sessions.ts'
import { STYLE } from './style.ts'

export const DEFAULT_LISTEN: ListenAddress = { host: '127.0.0.1', port: 9470 }

export interface ConsoleParts {
  readonly application: Application
  readonly listen: ListenPlace
  /** True to refuse all actions, and to write nothing. */
  readonly isReadOnly: boolean
  /** True to let the user of this process see values of rows. */
  readonly showsValues: boolean
  /** Certificate and key in PEM. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly looking: Looking
  readonly mappings: MappingViews
  /** Receives the events of a run that the console has begun. */
  readonly listener: () => RunListener
  /** Receives each address that opens a session: at the start, and whenever the previous one was used. */
  readonly onAddress: (url: string) => void
}

/**
 * @returns the place where it listens; `close` ends the console, after the work that it has begun
 * @throws WaybillError `usage-wrong` for a place in use, or an address elsewhere than loopback without login and TLS
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

/** Other machines come in by a login, over TLS. @throws WaybillError `usage-wrong` */
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
