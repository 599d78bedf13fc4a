/** Sends all requests of this process to a gateway when `src/load/flow.ts` lets them. Each run has a lane, with its own ceiling; lanes take turns. */
import { GatewayError } from '../gateway/gateway-error.ts'
import {
  admit,
  type Breaker,
  beginFlow,
  type Ending,
  end,
  type Flow,
  hastened,
  nextStart,
  start,
} from './flow.ts'

export interface Dispatcher {
  /**
   * @param ceiling requests of this lane under way at most
   * @param signal when it is aborted, what waits in the lane fails with its reason; what is under way goes on
   */
  lane(ceiling: number, signal: AbortSignal): Lane
  /** Milliseconds for which nothing is sent, as the gateway wants it or nothing gets through. */
  heldForMs(): number
  /** Of them those that the gateway has asked for. */
  askedForMs(): number
  traffic(): Traffic
  /** Lets one request try in so many milliseconds, unless the gateway has asked for longer. */
  tryWithin(ms: number): void
}

export interface Traffic {
  readonly breaker: Breaker['state']
  /** Requests that may be under way at once, while the breaker is closed. */
  readonly permitted: number
  readonly underWay: number
}

/** Before anything was sent. */
export const NO_TRAFFIC: Traffic = { breaker: 'closed', permitted: 0, underWay: 0 }

export type Turn = 'new' | 'again' | 'now'

export interface Lane {
  /**
   * Sends a request when its turn has come: those that were sent before go before new ones. One of `now` goes before all, and is the one that
   * tries where nothing gets through; it waits for no more than what the gateway has asked for.
   */
  run<T>(turn: Turn, request: () => Promise<T>): Promise<T>
}

export interface DispatcherOptions {
  /** Milliseconds. A clock that is set back does not hold requests longer than they must be. */
  readonly now: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Requests a second at most, of all lanes together; undefined: as many as the gateway takes. */
  readonly requestsPerSecond?: number | undefined
}

interface Waiting {
  readonly turn: Turn
  readonly begin: () => void
  readonly reject: (reason: unknown) => void
}

interface OpenLane {
  readonly ceiling: number
  readonly waiting: Waiting[]
  underWay: number
}

export function createDispatcher({ now, random, sleep, requestsPerSecond }: DispatcherOptions): Dispatcher {
  const clock = steadily(now)
  let flow = beginFlow(0, requestsPerSecond)
  /** Those in which something waits, in the order of their turns. */
  const lanes: OpenLane[] = []
  let alarm: { readonly at: number; readonly stop: AbortController } | undefined

  const setAlarm = (at: number): void => {
    if (alarm !== undefined && alarm.at <= at) return
    alarm?.stop.abort()
    const set = { at, stop: new AbortController() }
    alarm = set
    sleep(Math.max(1, Math.ceil(at - clock())), set.stop.signal).then(
      () => {
        if (alarm !== set) return
        alarm = undefined
        sendNext()
      },
      () => undefined,
    )
  }

  const sendNext = (): void => {
    for (;;) {
      const free = lanes.filter((lane) => lane.underWay < lane.ceiling)
      const hurried = free.find(({ waiting: [first] }) => first?.turn === 'now')
      const lane = hurried ?? free[0]
      if (lane === undefined) break
      const at = nextStart(hurried === undefined ? flow : hastenedBy(flow, clock()))
      if (at > clock()) {
        // Infinity: the end of a request comes back here.
        if (at !== Number.POSITIVE_INFINITY) setAlarm(at)
        return
      }
      lanes.splice(lanes.indexOf(lane), 1)
      const next = lane.waiting.shift()
      if (lane.waiting.length > 0) lanes.push(lane)
      next?.begin()
    }
    // Nothing waits for a moment any more: no timer may keep the process alive.
    alarm?.stop.abort()
    alarm = undefined
  }

  /** While the breaker is open. */
  const left = (until: number): number => (flow.breaker.state === 'open' ? Math.max(0, until - clock()) : 0)

  return {
    lane(ceiling, signal) {
      flow = admit(flow, ceiling)
      const lane: OpenLane = { ceiling, waiting: [], underWay: 0 }
      signal.addEventListener('abort', () => {
        for (const { reject } of lane.waiting.splice(0)) reject(signal.reason)
        if (lanes.includes(lane)) lanes.splice(lanes.indexOf(lane), 1)
        sendNext()
      })
      return {
        run: (turn, request) =>
          new Promise((resolve, reject) => {
            if (signal.aborted) return reject(signal.reason)
            const begin = (): void => {
              const started = start(flow, clock())
              // A breaker that opens begins an epoch: what was sent before it does not tell how things stand then.
              const { epoch } = started.breaker
              flow = started
              lane.underWay++
              const ended = (ending: Ending): void => {
                flow = end(flow, epoch, ending, clock(), random)
                lane.underWay--
                sendNext()
              }
              request().then(
                (result) => {
                  resolve(result)
                  ended({ kind: 'answered' })
                },
                (error: unknown) => {
                  // Before the caller hears of it: what it does next depends on whether sending is held now.
                  ended(endingOf(error))
                  reject(error)
                },
              )
            }
            const hurried = lane.waiting.findIndex((one) => one.turn !== 'now')
            const place =
              turn === 'now' ? 0 : turn === 'again' && hurried !== -1 ? hurried : lane.waiting.length
            lane.waiting.splice(place, 0, { turn, begin, reject })
            if (!lanes.includes(lane)) lanes.push(lane)
            sendNext()
          }),
      }
    },
    heldForMs: () => left(flow.breaker.until),
    askedForMs: () => left(flow.breaker.notBefore),
    traffic() {
      const { breaker, ceiling, underWay } = flow
      return { breaker: breaker.state, permitted: ceiling, underWay }
    },
    tryWithin(ms) {
      flow = hastenedBy(flow, clock() + ms)
      sendNext()
    },
  }
}

const hastenedBy = (flow: Flow, at: number): Flow => ({ ...flow, breaker: hastened(flow.breaker, at) })

function endingOf(error: unknown): Ending {
  if (!(error instanceof GatewayError)) return { kind: 'aside' }
  switch (error.class) {
    case 'not-taken':
      return { kind: 'not-taken', retryAfterMs: error.retryAfterMs }
    case 'not-sent':
    case 'ambiguous':
      return { kind: 'failed' }
    default:
      return { kind: 'answered' }
  }
}

/** A clock that goes on where the given one is set back. */
function steadily(now: () => number): () => number {
  let last = now()
  let behind = 0
  return () => {
    const given = now()
    if (given + behind < last) behind = last - given
    last = given + behind
    return last
  }
}
