/** Sends all requests of this process to a gateway, when `src/load/flow.ts` permits. Each run has a lane with a ceiling; lanes take turns. */
import { GatewayError } from '../gateway/gateway-error.ts'
import {
  admit,
  adopt,
  type Breaker,
  beginFlow,
  type Ending,
  end,
  type Flow,
  hastened,
  nextStart,
  start,
} from './flow.ts'
import { type Asked, type Granted, SHARE_MS } from './share.ts'

/** Share of the process in the pace of the gateway. */
export interface GatewayShare {
  /**
   * Begins to renew the share.
   * @param ask called before each renewal
   * @param grant called afterwards
   */
  begin(ask: () => Asked, grant: (granted: Granted) => void): void
  /** Renews at once: others have to hear of a refusal. */
  renew(): void
}

export interface Dispatcher {
  /**
   * @param ceiling most requests of this lane in flight
   * @param signal its abort fails the waiting requests of the lane with its reason; requests in flight go on
   */
  lane(ceiling: number, signal: AbortSignal): Lane
  /** Milliseconds of silence, as requested by the gateway or during an outage. */
  heldForMs(): number
  /** Part of the hold, in milliseconds, requested by the gateway. */
  askedForMs(): number
  traffic(): Traffic
  /** Lets one request try within this many milliseconds, unless the gateway has requested a longer wait. */
  tryWithin(ms: number): void
}

interface Traffic {
  readonly breaker: Breaker['state']
  readonly permitted: number
  readonly underWay: number
}

/** Traffic to several gateways, summed. A breaker that is not closed is shown. */
export function trafficOf(dispatchers: Iterable<Pick<Dispatcher, 'traffic'>>): Traffic {
  let sum: Traffic = { breaker: 'closed', permitted: 0, underWay: 0 }
  for (const dispatcher of dispatchers) {
    const { breaker, permitted, underWay } = dispatcher.traffic()
    sum = {
      breaker: sum.breaker === 'open' || breaker === 'closed' ? sum.breaker : breaker,
      permitted: sum.permitted + permitted,
      underWay: sum.underWay + underWay,
    }
  }
  return sum
}

type Turn = 'new' | 'again' | 'now'

export interface Lane {
  /**
   * Sends a request in its turn: requests sent before go ahead of new ones. A `now` request goes ahead of all, and is the try during an outage; it
   * waits only as long as the gateway has requested.
   */
  run<T>(turn: Turn, request: () => Promise<T>): Promise<T>
}

interface DispatcherOptions {
  /** Clock in milliseconds. A clock set back does not extend a hold. */
  readonly now: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Most requests a second, over all lanes; undefined: as many as the gateway takes. */
  readonly requestsPerSecond?: number | undefined
  /** Set where other processes send to the gateway, too: without a fresh share nothing is sent. */
  readonly share?: GatewayShare | undefined
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

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { now, random, sleep, requestsPerSecond, share } = options
  const clock = steadily(now)
  let flow = beginFlow(0, requestsPerSecond)
  const queue = createQueue()
  const alarm = createAlarm(clock, sleep, () => sendNext())
  const shared =
    share &&
    followShare(share, clock, {
      flow: () => flow,
      isWaiting: () => !queue.isEmpty(),
      adopt(granted) {
        flow = adopt(flow, granted, clock())
        sendNext()
      },
    })

  const sendNext = (): void => {
    // The next renewal calls this function again.
    if (shared?.isFresh() === false) return
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      const at = nextStart(next.isHurried ? hastenedBy(flow, clock()) : flow)
      if (at > clock()) {
        // Infinity: the end of a request calls this function again.
        if (at !== Number.POSITIVE_INFINITY) alarm.set(at)
        return
      }
      queue.take(next.lane)?.begin()
    }
    // Nothing waits for a time any more: no timer may keep the process alive.
    alarm.clear()
  }

  const begin: Dispatching['begin'] = (lane) => {
    flow = start(flow, clock())
    // An opening breaker starts an epoch: requests sent before say nothing about the gateway now.
    const { epoch } = flow.breaker
    lane.underWay++
    return (ending) => {
      const before = flow.breaker
      flow = end(flow, epoch, ending, clock(), random)
      const { breaker } = flow
      if (breaker.epoch !== before.epoch || breaker.notBefore > before.notBefore) shared?.heard()
      lane.underWay--
      sendNext()
    }
  }

  const left = (until: number): number => (flow.breaker.state === 'open' ? Math.max(0, until - clock()) : 0)

  return {
    lane(ceiling, signal) {
      flow = admit(flow, ceiling)
      return openLane({ ceiling, waiting: [], underWay: 0 }, signal, {
        queue,
        begin,
        sendNext,
        wakeShare: () => shared?.wake(),
      })
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

interface Dispatching {
  readonly queue: Queue
  /** Notes a request of the lane as under way. @returns a function to note its end */
  readonly begin: (lane: OpenLane) => (ending: Ending) => void
  readonly sendNext: () => void
  readonly wakeShare: () => void
}

function openLane(
  lane: OpenLane,
  signal: AbortSignal,
  { queue, begin, sendNext, wakeShare }: Dispatching,
): Lane {
  signal.addEventListener('abort', () => {
    for (const { reject } of queue.empty(lane)) reject(signal.reason)
    sendNext()
  })
  return {
    run: (turn, request) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const send = (): void => carryOut(request, begin(lane), resolve, reject)
        queue.add(lane, { turn, begin: send, reject })
        wakeShare()
        sendNext()
      }),
  }
}

/** Sends, and notes the end before the caller learns of an error: the caller's next step depends on whether sending is held now. */
function carryOut<T>(
  request: () => Promise<T>,
  ended: (ending: Ending) => void,
  resolve: (result: T) => void,
  reject: (reason: unknown) => void,
): void {
  request().then(
    (result) => {
      resolve(result)
      ended({ kind: 'answered' })
    },
    (error: unknown) => {
      ended(endingOf(error))
      reject(error)
    },
  )
}

type Queue = ReturnType<typeof createQueue>

/** Orders the lanes with waiting requests by their turns. */
function createQueue() {
  const lanes: OpenLane[] = []
  const remove = (lane: OpenLane): void => {
    if (lanes.includes(lane)) lanes.splice(lanes.indexOf(lane), 1)
  }
  return {
    isEmpty: () => lanes.length === 0,
    add(lane: OpenLane, one: Waiting): void {
      const { waiting } = lane
      const behindHurried = waiting.findIndex(({ turn }) => turn !== 'now')
      const last = waiting.length
      const again = behindHurried === -1 ? last : behindHurried
      waiting.splice({ now: 0, again, new: last }[one.turn], 0, one)
      if (!lanes.includes(lane)) lanes.push(lane)
    },
    /** Lane of the next request; undefined where no lane with a request has room. */
    next(): { lane: OpenLane; isHurried: boolean } | undefined {
      const free = lanes.filter((lane) => lane.underWay < lane.ceiling)
      const hurried = free.find(({ waiting: [first] }) => first?.turn === 'now')
      const lane = hurried ?? free[0]
      return lane && { lane, isHurried: hurried !== undefined }
    },
    /** Takes a request of the lane. The other lanes have a turn before the next one. */
    take(lane: OpenLane): Waiting | undefined {
      remove(lane)
      const one = lane.waiting.shift()
      if (lane.waiting.length > 0) lanes.push(lane)
      return one
    },
    /** Takes all requests of the lane. */
    empty(lane: OpenLane): readonly Waiting[] {
      remove(lane)
      return lane.waiting.splice(0)
    },
  }
}

function createAlarm(clock: () => number, sleep: DispatcherOptions['sleep'], ring: () => void) {
  let current: { at: number; stop: AbortController } | undefined
  return {
    set(at: number): void {
      if (current !== undefined && current.at <= at) return
      current?.stop.abort()
      const own = { at, stop: new AbortController() }
      current = own
      sleep(Math.max(1, Math.ceil(at - clock())), own.stop.signal).then(
        () => {
          if (current !== own) return
          current = undefined
          ring()
        },
        () => undefined,
      )
    },
    clear(): void {
      current?.stop.abort()
      current = undefined
    },
  }
}

interface Sharing {
  readonly flow: () => Flow
  /** True if a request waits for its turn. */
  readonly isWaiting: () => boolean
  readonly adopt: (granted: Granted) => void
}

function followShare(share: GatewayShare, clock: () => number, { flow, isWaiting, adopt: take }: Sharing) {
  let hasBegun = false
  let isIdle = false
  let askedAt = 0
  let freshUntil = Number.NEGATIVE_INFINITY
  let askedRate = 0
  let grantedRate: number | undefined
  /** The breaker as this process has opened it. */
  let heard: Breaker | undefined
  const heldNow = () => {
    const forMs = heard === undefined ? 0 : heard.until - clock()
    if (heard === undefined || forMs <= 0) return undefined
    return { forMs, askedForMs: Math.max(0, heard.notBefore - clock()), openings: heard.openings }
  }
  const ask = (): Asked => {
    askedAt = clock()
    const { ceiling, underWay, pace } = flow()
    askedRate = pace.rate
    const rate = askedRate === Number.POSITIVE_INFINITY ? undefined : askedRate
    isIdle = underWay === 0 && !isWaiting()
    return { ceiling, underWay, busy: !isIdle, rate, grantedRate, hold: heldNow() }
  }
  return {
    /** Call with each waiting request. A process without requests takes nothing; after an idle renewal a process has a single slot, and renews. */
    wake(): void {
      if (isIdle) {
        isIdle = false
        share.renew()
      }
      if (hasBegun) return
      hasBegun = true
      share.begin(ask, (granted) => {
        freshUntil = askedAt + SHARE_MS
        grantedRate = granted.rate
        // A refusal has set the rate meanwhile: the next renewal tells the others.
        take(flow().pace.rate === askedRate ? granted : { ...granted, rate: undefined })
      })
    },
    isFresh: () => clock() < freshUntil,
    heard(): void {
      heard = flow().breaker
      share.renew()
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

/** Clock that goes on when the given clock is set back. */
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
