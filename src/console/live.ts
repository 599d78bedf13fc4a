/** Tells open pages that something changed: looks at ledger and refused starts once a second, whatever process writes them. */
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { LOOK_EVERY_MS } from '../run/lease.ts'
import { type Application, ledgerFile } from '../runs/application.ts'
import { lookAt } from '../system/own-files.ts'
import { createEventStream } from './event-stream.ts'

/** Looks after which pages are told in any case: exports become late without a change of the ledger. */
const LOOKS_IN_VAIN = 30
/** The same for a ledger on a server, whose changes leave no sign here. */
const LOOKS_AT_SERVER = 3

interface Live {
  join(response: ServerResponse): void
  close(): Promise<void>
}

export function createLive(application: Pick<Application, 'settings' | 'sleep'>): Live {
  const stream = createEventStream()
  const ending = new AbortController()
  const most = application.settings.ledger === undefined ? LOOKS_IN_VAIN : LOOKS_AT_SERVER
  const follow = async (): Promise<void> => {
    let before = versionOf(application)
    let inVain = 0
    for (;;) {
      await application.sleep(LOOK_EVERY_MS, ending.signal)
      if (stream.open === 0) continue
      const now = versionOf(application)
      inVain = now === before ? inVain + 1 : 0
      if (inVain > 0 && inVain < most) continue
      before = now
      inVain = 0
      stream.send('changed')
    }
  }
  const following = follow().catch(() => {})
  return {
    join: stream.join,
    async close() {
      ending.abort()
      stream.close()
      await following
    },
  }
}

/** Size and time of change of the files that processes write: a cheap sign that something is new. */
function versionOf(application: Pick<Application, 'settings'>): string {
  const file = ledgerFile(application)
  const refused = join(application.settings.home, 'refused')
  return [file, `${file}-wal`, refused].map(signOf).join(' ')
}

function signOf(path: string): string {
  try {
    const found = lookAt(path)
    return found === undefined ? '' : `${found.mtimeMs}/${found.size}`
  } catch {
    // The page itself reports a home that cannot be looked at.
    return ''
  }
}
