/** Requests as they come to a gateway of this process: how many are under way at once, and which come although the gateway has asked to wait. */
import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** The other processes hear of a refusal within a second; the rest is for a busy machine. */
const HEARD_WITHIN_MS = 1_700
/** A halted process that wakes may still send for so long by what it has heard before. */
const AWAKE_WITHIN_MS = 2_000

interface Hold {
  readonly from: number
  readonly until: number
}

export interface GatewayWatch {
  /** Most requests under way at once. */
  most(): number
  /** Waits that the gateway has asked for. */
  holds(): number
  /** Requests within them, but for the first seconds after a process has woken. */
  early(): number
  /** A halted process goes on. */
  woke(): void
}

export function watchGateway(port: number): GatewayWatch {
  let underWay = 0
  let most = 0
  let early = 0
  let wokeAt = 0
  const holds: Hold[] = []
  channel('http.server.request.start').subscribe((message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    if (request.socket.localPort !== port || request.url?.startsWith('/_reference') === true) return
    most = Math.max(most, ++underWay)
    const now = Date.now()
    const isHeld = holds.some(({ from, until }) => from < now && now < until)
    if (isHeld && now > wokeAt + AWAKE_WITHIN_MS) early++
    onRetryAfter(response, (ms) => {
      const at = Date.now()
      if (ms > HEARD_WITHIN_MS) holds.push({ from: at + HEARD_WITHIN_MS, until: at + ms })
    })
    response.once('close', () => underWay--)
  })
  return {
    most: () => most,
    holds: () => holds.length,
    early: () => early,
    woke() {
      wokeAt = Date.now()
    },
  }
}

/** Headers that are written with the status are not among those of the response. */
function onRetryAfter(response: ServerResponse, tell: (ms: number) => void): void {
  const { writeHead } = response
  const watched = (...given: unknown[]): ServerResponse => {
    for (const one of given)
      if (typeof one === 'object' && one !== null && 'retry-after' in one)
        tell(Number(one['retry-after']) * 1_000)
    return Reflect.apply(writeHead, response, given)
  }
  Object.assign(response, { writeHead: watched })
}
