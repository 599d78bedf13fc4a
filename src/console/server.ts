/** The console: pages of an installation for browsers. The pages stand on `src/runs/`, and have no rules of their own. */
import { WaybillError } from '../model/errors.ts'
import type { RunListener } from '../run/events.ts'
import type { Application } from '../runs/application.ts'
import type { Looking } from '../runs/look-over.ts'
import type { ListenAddress } from '../system/settings.ts'
import { createActor } from './actions.ts'
import { createDoor, type ListenPlace } from './door.ts'
import { createLive } from './live.ts'
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
  readonly looking: Looking
  readonly mappings: MappingViews
  /** Receives the events of a run that the console has begun. */
  readonly listener: () => RunListener
  /** Receives each address that opens a session: at the start, and whenever the previous one was used. */
  readonly onAddress: (url: string) => void
}

/**
 * @returns ends the console, after the work that it has begun
 * @throws WaybillError `usage-wrong` for an address that is no loopback address, or a place in use
 */
export async function startConsole(parts: ConsoleParts): Promise<{ close(): Promise<void> }> {
  const { looking, mappings, listener, listen, onAddress } = parts
  // Safe on a copy of a ledger: SQLite itself refuses writes.
  const application = parts.isReadOnly
    ? { ...parts.application, openLedger: parts.application.readLedger }
    : parts.application
  const { now, randomHex } = application
  assertLoopback(listen)
  const door = await createDoor({
    now,
    randomHex,
    name: 'the console',
    listen,
    invited: ownUser(parts),
    onAddress,
    style: STYLE,
    script: SCRIPT,
    onDefect: (code) => application.logger.error(`console: unexpected ${code}`),
  })
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
    async close() {
      await live.close()
      await door.close()
      await actor.close()
    },
  }
}

function assertLoopback(listen: ListenPlace): void {
  if ('socket' in listen || ['127.0.0.1', 'localhost', '::1'].includes(listen.host)) return
  throw new WaybillError('usage-wrong', `the console listens on loopback alone, not on ${listen.host}`, {
    remedy:
      'Leave the host out. From another machine: ssh -L 9470:127.0.0.1:9470 HOST, and open the printed address there.',
  })
}

/** The user of this process, who can type all commands, and read all files. */
function ownUser({ application, isReadOnly, showsValues }: ConsoleParts): User {
  const roles: Role[] = ['viewer', ...(isReadOnly ? [] : ['operator' as const])]
  if (showsValues && !isReadOnly) roles.push('health-data')
  return { name: application.user, roles: new Set(roles) }
}
