/**
 * Every request of a run goes through here: sent when the dispatcher lets it, retried by the one policy (p-retry carries it
 * out), within the job's patience, and counted.
 */
import pRetry, { AbortError } from 'p-retry'
import { GatewayError, saysNotFound } from '../gateway/gateway-error.ts'
import type { Tallies } from '../ledger/ledger.ts'
import { allDone, WaybillError } from '../model/errors.ts'
import type { Dispatcher } from './dispatcher.ts'
import { asTold } from './flow.ts'
import { type Alone, countOthers } from './refused-batch.ts'
import {
  batchWaits,
  type Cause,
  causeOf,
  decide,
  failedAgain,
  isNews,
  type Outage,
  type Purpose,
  QUESTION_WAITS_MS,
  QUESTIONS_ABOUT_NOBODY,
  TRIES_OF_A_BATCH,
} from './retry-policy.ts'

export interface SendingOptions {
  /** Shared by all that this process sends to the gateway. */
  readonly dispatcher: Dispatcher
  /** Requests of this run under way at most. */
  readonly concurrency: number
  /** Milliseconds in which nothing gets through, or one batch does not, after which the run ends as interrupted. */
  readonly patienceMs: number
  /** What a 404 of the gateway to a read means (docs/jobs.md, `reads.notFound`). */
  readonly notFound: 'unknown' | 'empty'
  readonly tallies: Tallies
  readonly now: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly renewToken: () => Promise<void>
  /** Takes the counts along. @throws WaybillError `lease-lost` where another process has the run by now */
  readonly assertHeld: () => Promise<void>
  readonly signal: AbortSignal
  /** Asks the gateway about nobody: what it answers shows that it is there. @throws GatewayError */
  readonly askAboutNobody: () => Promise<unknown>
  /** Told of every wait, for the progress display and the log. */
  readonly onWait: (event: {
    readonly operation: string
    readonly waitMs: number
    readonly class: string
    /** What happened last: the call, and its answer or what was wrong with the connection. */
    readonly what: string
    readonly givesUpAt: number
  }) => void
  /** Told when nothing gets through, again where that has another cause, and when something does. Nothing of it is told while all goes well. */
  readonly onOutage: (outage: ToldOutage) => void
}

export interface ToldOutage extends Outage {
  readonly isOver: boolean
  /** When the run ends, unless something gets through. */
  readonly givesUpAt: number
}

/** What waited for its turn should by then go out otherwise; nothing of it was sent. */
export class Outgrown extends Error {
  override readonly name = 'Outgrown'
}

/** A batch of which an answer cannot be had. */
export interface WaitingBatch {
  /** When it was first tried: reads that get through must not draw out what never does. */
  readonly since: number
  /** How often it was sent. */
  readonly tries: number
  /** Those whose records it holds. */
  readonly people: ReadonlySet<string>
}

export interface Sending {
  /**
   * A write that must not be repeated blindly. Refused, too large and ambiguous answers are thrown.
   * @param fits asked when its turn has come, before anything is sent
   * @param call writes down what it is about to send, and with it that it is sent
   * @param again whether what it carries was sent before, and is not stored
   * @throws GatewayError, WaybillError; `Outgrown` where it does not fit
   */
  once<T>(
    operation: string,
    fits: () => boolean,
    call: (attempt: number) => Promise<T>,
    again?: boolean,
  ): Promise<T>
  /**
   * A write behind what is stored, that may be repeated: PCP mark, deletion. Refusals are thrown, and so is what fails again and again
   * (`ambiguous`) while the gateway answers others. @throws GatewayError, WaybillError
   */
  idempotent<T>(operation: string, call: () => Promise<T>): Promise<T>
  /**
   * As `idempotent`, but what a person's records hang on: not given up before other writes get through, or the patience is at its end.
   * @param isLate called when others need not wait for it any more
   * @throws GatewayError, WaybillError
   */
  register<T>(operation: string, call: () => Promise<T>, isLate: () => void): Promise<T>
  /**
   * As `idempotent`, counted as a read-back. A refusal says nothing of what is stored, so it is thrown, but for the 404 that the job
   * says to mean that there is nothing.
   */
  read<Item>(operation: string, call: () => Promise<readonly Item[]>): Promise<readonly Item[]>
  /**
   * Waits with a batch, unless the run is stopped.
   * @returns false where it may fail by itself, and the patience is at its end, or was for the same person since another got through: it has
   * one more chance in halves, and a record alone none
   * @throws WaybillError `gateway-unreachable` or `gateway-failing` when the patience is at its end
   */
  wait(operation: string, waitMs: number, cause: Cause, batch: WaitingBatch): Promise<boolean>
  /** What was waited for needs no other try: reading has told what became of it. */
  settled(): void
}

export function createSending(options: SendingOptions): Sending {
  const { dispatcher, now, random } = options
  const givenUp = new AbortController()
  const signal = AbortSignal.any([options.signal, givenUp.signal])
  const lane = dispatcher.lane(options.concurrency, signal)
  const token = createTokenRenewal(options.renewToken)
  // From the first failure, not from the last answer: a long stretch in which there was nothing to send is no silence.
  let failingSince: number | undefined
  let outage: Outage | undefined
  let takenAt = Number.NEGATIVE_INFINITY
  /** Since when batches fail, and none was taken: reads that get through, and tell nothing, are no sign that more should be sent. */
  let noneTakenSince: number | undefined
  const others = countOthers()

  const tell = (told: Outage, isOver: boolean): void =>
    options.onOutage({ ...told, isOver, givesUpAt: told.since + options.patienceMs })
  const goesOn = (next: Outage | undefined): void => {
    if (next !== undefined && isNews(outage, next)) tell(next, false)
    outage = next
  }
  const end = (): void => {
    if (outage?.isNotable === true) tell(outage, true)
    outage = undefined
  }
  const gotThrough = (purpose: Purpose, operation: string): void => {
    failingSince = undefined
    others.gotThrough(purpose, operation)
    if (purpose === 'batch') {
      takenAt = now()
      noneTakenSince = undefined
    }
    if (outage?.ofBatch !== true || purpose === 'batch') end()
  }
  const didNot = (error: GatewayError, begunAt: number): void => {
    failingSince ??= now()
    goesOn(failedAgain(outage, causeOf(error), { begunAt, now: now(), heldMs: dispatcher.heldForMs() }))
  }

  /** @throws WaybillError `gateway-unreachable` or `gateway-failing` when the patience would end within the wait, which begins at `at` */
  const announce = (operation: string, waitMs: number, reason: Cause, since: number, at: number): void => {
    const givesUpAt = since + options.patienceMs
    if (at + waitMs > givesUpAt) {
      throw impatient(operation, reason, at - since)
    }
    options.onWait({ operation, waitMs, class: reason.class, what: reason.what, givesUpAt })
  }

  /** @throws AbortError for whatever still waits, too, where the patience is over */
  const assertPatient = (operation: string, reason: Cause, since: number): void => {
    const at = now()
    if (at <= since + options.patienceMs) return
    throw giveUp(impatient(operation, reason, at - since))
  }

  /** Nothing more is sent: what waits for its turn must not try it one by one. */
  const giveUp = (error: unknown): AbortError => {
    givenUp.abort(error)
    return asFinal(error)
  }

  let asking: Promise<boolean> | undefined
  /** Whether the gateway answers a question about nobody, now. Several that want to know share one question. */
  const answersAtAll = (): Promise<boolean> => {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }
  const ask = async (tries = QUESTIONS_ABOUT_NOBODY): Promise<boolean> => {
    if (dispatcher.askedForMs() > QUESTION_WAITS_MS) return false
    try {
      await lane.run('now', async () => {
        countRead(1)
        await allDone([options.askAboutNobody(), options.assertHeld()])
      })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (error.class === 'not-sent') countRead(-1)
      if (error.class === 'refused' && (error.envelopeCode ?? error.gatewayMessage) !== undefined) return true
      return tries > 1 && ask(tries - 1)
    }
    return true
  }

  /**
   * While sending is held, the dispatcher is what waits: any request may be the one that tries.
   * @param alone a request that may be given up by itself at the end of the patience
   * @returns false where it is given up
   */
  const waitForRetry = async (
    operation: string,
    waitMs: number,
    failure: GatewayError,
    alone: Alone | undefined,
  ): Promise<boolean> => {
    if (dispatcher.heldForMs() === 0 && waitMs === 0) return true
    // One look at the clock: what is left must not be found to be less when the wait is cut to it.
    const at = now()
    const since = Math.min(failingSince ?? at, alone?.since ?? at)
    const leftMs = since + options.patienceMs - at
    // What is left of the patience is waited out, and one more try is made at its end.
    if (leftMs > 0 && dispatcher.heldForMs() > leftMs) dispatcher.tryWithin(leftMs)
    const heldMs = dispatcher.heldForMs()
    if ((heldMs || waitMs) > leftMs) {
      const end = alone?.atEnd() ?? 'stop'
      if (end === 'give-up' || (end === 'ask' && (await answersAtAll()))) return false
    }
    announce(operation, heldMs || waitMs, causeOf(failure), since, at)
    if (heldMs === 0) await options.sleep(waitMs, signal)
    return true
  }

  const send = <T>(
    operation: string,
    purpose: Purpose,
    /** Of a request that leaves; -1: it did not. @param again whether it had before */
    count: (by: 1 | -1, again: boolean) => void,
    call: (attempt: number) => Promise<T>,
    { again = false, isLate }: { readonly again?: boolean; readonly isLate?: () => void } = {},
  ) => {
    const alone = others.request(purpose, operation)
    let renewedAt = Number.NEGATIVE_INFINITY
    let sentWith = token.generation
    let hasLeft = again
    const attemptOnce = async (attempt: number): Promise<T> => {
      let begunAt = now()
      try {
        // What fails again and again no longer goes before all others: what is tried first when sending was held decides for all.
        const goesFirst = attempt > 1 && alone.ambiguous < TRIES_OF_A_BATCH
        const result = await lane.run(goesFirst ? 'again' : 'new', async () => {
          // Counted as it leaves, and not over before the count is kept: what a process that is killed has not counted is no more than it had under way.
          count(1, hasLeft)
          const kept = purpose === 'batch' && attempt === 1 ? undefined : options.assertHeld()
          // A process that slept may have been taken for dead: whoever has its run, or its claims, settles what it had under way, and sends it.
          if (attempt > 1 || purpose !== 'read') await kept
          sentWith = token.generation
          begunAt = now()
          const answer = call(attempt)
          await allDone<unknown>([answer, Promise.resolve(kept)])
          return answer
        })
        gotThrough(purpose, operation)
        return result
      } catch (error) {
        const isAnswered = error instanceof GatewayError && error.status !== undefined
        const isUnsent =
          error instanceof GatewayError
            ? error.class === 'not-sent' || (error.class === 'refused' && !isAnswered)
            : error instanceof Outgrown
        if (isUnsent) count(-1, hasLeft)
        if (!(error instanceof GatewayError)) throw asFinal(error)
        hasLeft ||= !isUnsent
        if (error.class !== 'refused' && error.class !== 'too-large') didNot(error, begunAt)
        else if (isAnswered) gotThrough(purpose, operation)
        const { class: kind, status } = error
        const isAmbiguous = kind === 'ambiguous'
        if (isAmbiguous && purpose === 'batch') {
          noneTakenSince ??= now()
          // What was sent before has a patience of its own, which ends in `wait`.
          if (!again) assertPatient(operation, causeOf(error), noneTakenSince)
        }
        const told = isAmbiguous ? alone.failed(now()) : NONE_FAILED
        if (isAmbiguous && alone.ambiguous === TRIES_OF_A_BATCH) isLate?.()
        const tokenRenewed = begunAt - renewedAt < FRESH_MS
        const decision = decide({ class: kind, attempt, purpose, tokenRenewed, ...told }, random)
        if (decision.kind === 'give-back') throw new AbortError(error)
        if (decision.kind === 'stop') {
          const code =
            status !== undefined && status < 400 ? 'gateway-redirects' : 'gateway-refused-credentials'
          const words = `the gateway answered ${status ?? error.class} to "${operation}"`
          throw giveUp(new WaybillError(code, words, { cause: error }))
        }
        const next = async (): Promise<boolean> => {
          if (decision.kind === 'renew-token') return token.renew(sentWith).then(() => true)
          if (decision.kind === 'ask' && (await answersAtAll())) return false
          // It was under way when sending was held, and others have got through since: nothing but its own answer holds it.
          const { retryAfterMs } = error
          const isAskedAlone = retryAfterMs !== undefined && dispatcher.heldForMs() === 0
          const waitMs = isAskedAlone ? asTold(retryAfterMs, random) : decision.waitMs
          return waitForRetry(operation, waitMs, error, isAmbiguous ? alone : undefined)
        }
        const goesOnTrying = await next().catch((stop: unknown) => {
          throw giveUp(stop)
        })
        if (!goesOnTrying) throw new AbortError(error)
        if (decision.kind === 'renew-token') renewedAt = now()
        throw error
      }
    }
    // The waits are the policy's own, made above; p-retry adds none.
    // It is not given the signal either: it would throw away an answer that came in the moment of the stop.
    return pRetry(attemptOnce, { retries: Number.POSITIVE_INFINITY, minTimeout: 0 })
  }

  const { requests } = options.tallies
  const countSent = (by: 1 | -1, again: boolean): void => {
    requests.sent += by
    if (again) requests.retried += by
  }
  const countRead = (by: 1 | -1): void => {
    requests.readBack += by
  }
  return {
    once: (operation, fits, call, again) =>
      send(
        operation,
        'batch',
        countSent,
        async (attempt) => {
          if (attempt === 1 && !fits()) throw new Outgrown()
          return call(attempt)
        },
        again === undefined ? {} : { again },
      ),
    idempotent: (operation, call) => send(operation, 'follow-up', countSent, call),
    register: (operation, call, isLate) => send(operation, 'registration', countSent, call, { isLate }),
    read: (operation, call) =>
      send(operation, 'read', countRead, call).catch((error: unknown) => {
        if (options.notFound === 'empty' && error instanceof GatewayError && saysNotFound(error)) return []
        throw error
      }),
    async wait(operation, waitMs, cause, { since, tries, people }) {
      const at = now()
      goesOn(batchWaits(outage, cause, { since, now: at, waitMs, takenAt }))
      const leftMs = since + options.patienceMs - at
      const isOver = leftMs <= 0 || (tries >= TRIES_OF_A_BATCH && others.hasGivenUp(people))
      if (isOver && cause.status !== undefined && (await answersAtAll()) && others.mayGiveUpBatch(people)) {
        noneTakenSince = undefined
        return false
      }
      // What is left of the patience is waited out, and it is tried once more at its end.
      const ms = leftMs > 0 ? Math.min(waitMs, leftMs) : waitMs
      announce(operation, ms, cause, since, at)
      await options.sleep(ms, signal)
      return true
    },
    settled: end,
  }
}

/** A token that goes out so soon after it was fetched has not run out: where it is refused, the next one would be, too. */
const FRESH_MS = 60_000

const NONE_FAILED = { ambiguous: 0, othersSinceFirst: false, othersSinceLast: false }

const impatient = (operation: string, reason: Cause, waitedMs: number): WaybillError =>
  new WaybillError(
    reason.status === undefined ? 'gateway-unreachable' : 'gateway-failing',
    `the gateway did not let "${operation}" through for ${Math.round(waitedMs / 1000)} s (last: ${reason.what}); the job's patience is at its end`,
  )

const asFinal = (error: unknown): AbortError => new AbortError(error instanceof Error ? error : String(error))

/** Renews the token once for all requests that were refused with it. */
export interface TokenRenewal {
  /** Counts renewals: which token a request goes out with. */
  readonly generation: number
  /** @param refused the generation with which the request went out; where a later one is there by now, that is the renewal */
  renew(refused: number): Promise<void>
}

function createTokenRenewal(renewToken: () => Promise<void>): TokenRenewal {
  let generation = 0
  let underWay: Promise<void> | undefined
  return {
    get generation() {
      return generation
    },
    async renew(refused) {
      if (refused !== generation) return
      underWay ??= renewToken()
        .then(() => {
          generation++
        })
        .finally(() => {
          underWay = undefined
        })
      await underWay
    },
  }
}
