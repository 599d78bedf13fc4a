/**
 * Sends every request of a run: in the dispatcher's turn, counted, and retried as the retry policy decides. p-retry runs the tries; the policy sets
 * the waits.
 */
import pRetry from 'p-retry'
import { GatewayError, saysNotFound } from '../gateway/gateway-error.ts'
import type { Tallies } from '../ledger/ledger.ts'
import { allDone, WaybillError } from '../model/errors.ts'
import type { Dispatcher, Lane } from './dispatcher.ts'
import { type Cause, causeOf, type OutageOptions, watchOutage } from './outage.ts'
import {
  countOthers,
  decide,
  decideLost,
  type FailedRequest,
  isLate,
  type LostBatch,
  type Purpose,
} from './retry-policy.ts'

type OutageWatch = ReturnType<typeof watchOutage>

type LostTries = ReturnType<Others['lostTries']>

type Others = ReturnType<typeof countOthers>

/** Tries of the health probe: a gateway may fail the probe as it fails other requests. */
const QUESTIONS_ABOUT_NOBODY = 3

/** Longest wait before the health probe: a gateway that asks for more is down for everybody. */
const QUESTION_WAITS_MS = 2_000

export interface SendingOptions extends OutageOptions, QuestionOptions {
  /** Most requests of this run in flight. */
  readonly concurrency: number
  /** Meaning of a 404 to a read (docs/jobs.md, `reads.notFound`). */
  readonly notFound: 'unknown' | 'empty'
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly renewToken: () => Promise<void>
  readonly signal: AbortSignal
  /** Called with every wait and the last failure, for the progress display and the log. */
  readonly onWait: (
    event: Omit<Cause, 'status'> & {
      readonly operation: string
      readonly waitMs: number
      readonly givesUpAt: number
    },
  ) => void
}

/** Thrown when a queued batch no longer fits the learned size limit. Nothing was sent. */
export class Outgrown extends Error {
  override readonly name = 'Outgrown'
}

/** Batch without an answer. */
interface WaitingBatch {
  /** First try: successful reads must not extend the wait of a batch that never succeeds. */
  readonly since: number
  /** Number of tries. */
  readonly tries: number
  /** People with records in the batch. */
  readonly people: ReadonlySet<string>
  /** True for a page of a test. */
  readonly isPage?: boolean
}

/** One request, over all of its tries. */
interface Request<T> {
  readonly purpose: Purpose
  readonly operation: string
  readonly call: (attempt: number) => Promise<T>
  /** True for content sent before and not stored. */
  readonly isAgain: boolean
  /** True where others have waited: the request goes ahead of new ones. */
  readonly isAwaited: boolean
  readonly onLate?: () => void
  readonly lost: LostTries
  /** True once the request has left, now or before. */
  hasLeft: boolean
  begunAt: number
  /** Generation of the token in use, and time of its renewal for this request. */
  sentWith: number
  renewedAt: number
}

class Sender {
  readonly outages: OutageWatch
  private readonly options: SendingOptions
  private readonly others = countOthers()
  private readonly token: TokenRenewal
  private readonly givenUp = new AbortController()
  private readonly signal: AbortSignal
  private readonly lane: Lane
  private readonly answersAtAll: () => Promise<boolean>

  constructor(options: SendingOptions) {
    this.options = options
    this.outages = watchOutage(options)
    this.token = createTokenRenewal(options.renewToken)
    this.signal = AbortSignal.any([options.signal, this.givenUp.signal])
    this.lane = options.dispatcher.lane(options.concurrency, this.signal)
    this.answersAtAll = questionAboutNobody(options, this.lane)
  }

  /** Tries, and follows the policy, until an answer or the last try. */
  send<T>(
    purpose: Purpose,
    operation: string,
    call: (attempt: number) => Promise<T>,
    {
      isAgain = false,
      isAwaited = false,
      ...more
    }: Partial<Pick<Request<T>, 'isAgain' | 'isAwaited' | 'onLate'>> = {},
  ): Promise<T> {
    const lost = this.others.lostTries(purpose, operation)
    const request: Request<T> = {
      purpose,
      operation,
      call,
      isAgain,
      isAwaited,
      ...more,
      lost,
      hasLeft: isAgain,
      begunAt: 0,
      sentWith: 0,
      renewedAt: Number.NEGATIVE_INFINITY,
    }
    // Without the signal: p-retry would discard an answer that arrives during the stop.
    return pRetry((attempt) => this.try(request, attempt), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 0,
      shouldRetry: ({ error, attemptNumber }) =>
        error instanceof GatewayError && this.goesOn(request, error, attemptNumber),
    })
  }

  private async try<T>(request: Request<T>, attempt: number): Promise<T> {
    request.begunAt = this.options.now()
    try {
      // A request that keeps failing no longer goes first: the try after a hold decides for all requests.
      const goesFirst = (attempt > 1 || request.isAwaited) && !isLate(request.lost.count)
      const turn = goesFirst ? 'again' : 'new'
      const result = await this.lane.run(turn, () => this.leave(request, attempt))
      this.gotThrough(request)
      return result
    } catch (error) {
      this.note(request, error)
      throw error
    }
  }

  private async leave<T>(request: Request<T>, attempt: number): Promise<T> {
    // Counted when leaving, and ended after the count is saved: a killed process leaves uncounted only requests in flight.
    this.count(request, 1)
    const kept = request.purpose === 'batch' && attempt === 1 ? undefined : this.options.assertHeld()
    // A sleeping process may have been taken for dead: the new holder of its run or claims settles and sends the requests in flight.
    if (attempt > 1 || request.purpose !== 'read') await kept
    request.sentWith = this.token.generation
    request.begunAt = this.options.now()
    const answer = request.call(attempt)
    await allDone<unknown>([answer, Promise.resolve(kept)])
    return answer
  }

  private count({ purpose, hasLeft }: Request<unknown>, by: 1 | -1): void {
    const { requests } = this.options.tallies
    requests[purpose === 'read' ? 'readBack' : 'sent'] += by
    if (hasLeft && purpose !== 'read') requests.retried += by
  }

  private gotThrough({ purpose, operation }: Request<unknown>): void {
    this.outages.gotThrough(purpose)
    this.others.gotThrough(purpose, operation)
  }

  /** Counts a failed try: not sent, successful after all, or lost. */
  private note(request: Request<unknown>, error: unknown): void {
    const { outages } = this
    const isUnsent = neverLeft(error)
    if (isUnsent) this.count(request, -1)
    if (!(error instanceof GatewayError)) return
    request.hasLeft ||= !isUnsent
    if (error.class !== 'refused' && error.class !== 'too-large')
      outages.failed(causeOf(error), request.begunAt, this.options.dispatcher.heldForMs())
    else if (error.status !== undefined) this.gotThrough(request)
    if (error.class !== 'ambiguous') return
    const at = this.options.now()
    request.lost.add(at)
    if (request.purpose === 'batch') outages.noneTakenSince ??= at
    if (isLate(request.lost.count)) request.onLate?.()
  }

  /** Follows the policy. @returns false without another try. @throws where nothing more may be sent */
  private async goesOn(request: Request<unknown>, error: GatewayError, tries: number): Promise<boolean> {
    const { operation } = request
    const { now, random } = this.options
    const cause = causeOf(error)
    try {
      let facts = this.factsOf(request, error, tries)
      let step = decide(facts, random)
      if (step.kind === 'ask') {
        facts = this.factsOf(request, error, tries, await this.answersAtAll())
        step = decide(facts, random)
      }
      if (step.kind === 'stop') throw refusedCredentials(operation, error)
      if (step.kind === 'end') throw impatient(operation, cause, this.outages.patienceMs() - facts.leftMs)
      if (step.kind === 'retry') {
        const { heldMs, leftMs } = facts
        await this.pause(operation, cause, { ...step, givesUpAt: now() + leftMs, heldMs })
      }
      if (step.kind === 'renew-token') {
        await this.token.renew(request.sentWith)
        request.renewedAt = now()
      }
      return step.kind === 'retry' || step.kind === 'renew-token'
    } catch (stop) {
      // Queued requests must not try one by one.
      this.givenUp.abort(stop)
      throw stop
    }
  }

  private factsOf(
    { purpose, lost, isAgain, begunAt, renewedAt }: Request<unknown>,
    { class: kind, retryAfterMs }: GatewayError,
    tries: number,
    answersNobody?: boolean,
  ): FailedRequest {
    const { now, dispatcher } = this.options
    const { failingSince, noneTakenSince } = this.outages
    // One reading of the clock: the time left must not shrink when a wait is cut to it.
    const at = now()
    const isLost = kind === 'ambiguous'
    // A batch sent before has its own patience, which ends in `wait`.
    const ofBatch = isAgain ? at : noneTakenSince
    const ofAny = Math.min(failingSince ?? at, (isLost ? lost.since : at) ?? at)
    const since = (isLost && purpose === 'batch' ? ofBatch : ofAny) ?? at
    return {
      class: kind,
      purpose,
      tries,
      retryAfterMs,
      answersNobody,
      lost: lost.count,
      others: lost.beside(),
      tokenAgeMs: begunAt - renewedAt,
      heldMs: dispatcher.heldForMs(),
      askedMs: dispatcher.askedForMs(),
      leftMs: since + this.outages.patienceMs() - at,
    }
  }

  /** @param heldMs milliseconds for which the dispatcher holds all requests: then the dispatcher waits, and any request may be the try */
  private async pause(
    operation: string,
    { class: kind, what }: Cause,
    { waitMs, givesUpAt, heldMs = 0 }: { waitMs: number; givesUpAt: number; heldMs?: number },
  ): Promise<void> {
    if (waitMs === 0) return
    this.options.onWait({ operation, waitMs, class: kind, what, givesUpAt })
    // Waits for the rest of the patience, with one more try at the end.
    if (heldMs > waitMs) this.options.dispatcher.tryWithin(waitMs)
    if (heldMs === 0) await this.options.sleep(waitMs, this.signal)
  }

  /**
   * Waits with a batch before the look at the profiles.
   * @returns false where the batch is given up: halves get one more chance, a record alone none
   * @throws WaybillError `gateway-unreachable` or `gateway-failing` when the patience ends
   */
  async wait(operation: string, cause: Cause, { since, people, ...batch }: WaitingBatch): Promise<boolean> {
    const { now, random, patienceMs } = this.options
    const givesUpAt = since + patienceMs
    const factsOf = (answersNobody?: boolean): LostBatch => ({
      isPage: false,
      ...batch,
      isAnswered: cause.status !== undefined,
      answersNobody,
      ...this.others.besideBatch(people),
      leftMs: givesUpAt - now(),
    })
    let facts = factsOf()
    let step = decideLost(facts, random)
    if (step.kind === 'ask') {
      this.outages.batchWaits(cause, since, 0)
      facts = factsOf(await this.answersAtAll())
      step = decideLost(facts, random)
    }
    const waitMs = step.kind === 'read' ? step.waitMs : 0
    if (step.kind !== 'give-up') this.outages.batchWaits(cause, since, waitMs)
    if (step.kind === 'end') throw impatient(operation, cause, patienceMs - facts.leftMs)
    if (step.kind === 'halve') {
      this.others.gaveUp(people)
      this.outages.noneTakenSince = undefined
    }
    await this.pause(operation, cause, { waitMs, givesUpAt })
    return step.kind === 'read'
  }
}

/**
 * Calls of a run. They throw WaybillError where the run must stop, and GatewayError where the caller goes on: refused, too large, lost, failing by
 * itself.
 */
export interface Sending extends ReturnType<typeof createSending> {}

export function createSending(options: SendingOptions) {
  const sender = new Sender(options)
  return {
    /**
     * Sends a write that must not be repeated blindly.
     * @param fits called in the request's turn, before anything is sent
     * @param call records in the ledger the batch and its sending, then sends
     * @throws `Outgrown` where the batch does not fit
     */
    once: <T>(
      operation: string,
      fits: () => boolean,
      call: (attempt: number) => Promise<T>,
      more?: Partial<Pick<Request<T>, 'isAgain' | 'isAwaited'>>,
    ): Promise<T> =>
      sender.send(
        'batch',
        operation,
        async (attempt) => {
          if (attempt === 1 && !fits()) throw new Outgrown()
          return call(attempt)
        },
        more,
      ),
    /** Sends an idempotent write: PCP mark, deletion. */
    idempotent: <T>(operation: string, call: () => Promise<T>): Promise<T> =>
      sender.send('follow-up', operation, call),
    /**
     * Sends a write as `idempotent`, but for a person whose records depend on it: not given up before other writes succeed, or the patience ends.
     * @param onLate called when others need not wait for the request any more, and at each later failure
     */
    register: <T>(operation: string, call: () => Promise<T>, onLate: () => void): Promise<T> =>
      sender.send('registration', operation, call, { onLate }),
    /** Reads, counted as read-back. The job may define a 404 as empty; any other refusal says nothing about stored records. */
    read: <Item>(operation: string, call: () => Promise<readonly Item[]>): Promise<readonly Item[]> =>
      sender.send('read', operation, call).catch((error: unknown) => {
        if (options.notFound === 'empty' && error instanceof GatewayError && saysNotFound(error)) return []
        throw error
      }),
    wait: (operation: string, cause: Cause, batch: WaitingBatch): Promise<boolean> =>
      sender.wait(operation, cause, batch),
    /** Ends the wait for a batch settled by reading: no further try is needed. */
    settled: (): void => sender.outages.end(),
  }
}

const neverLeft = (error: unknown): boolean =>
  error instanceof GatewayError
    ? error.class === 'not-sent' || (error.class === 'refused' && error.status === undefined)
    : error instanceof Outgrown

const impatient = (operation: string, { status, what }: Cause, waitedMs: number): WaybillError =>
  new WaybillError(
    status === undefined ? 'gateway-unreachable' : 'gateway-failing',
    `"${operation}" did not succeed for ${Math.round(waitedMs / 1000)} s, the patience of the job (last: ${what})`,
  )

const refusedCredentials = (operation: string, cause: GatewayError): WaybillError =>
  new WaybillError(
    cause.status !== undefined && cause.status < 400 ? 'gateway-redirects' : 'gateway-refused-credentials',
    `the gateway answered ${cause.status ?? cause.class} to "${operation}"`,
    { cause },
  )

type TokenRenewal = ReturnType<typeof createTokenRenewal>

/** Renews the token once for all requests refused with it. */
function createTokenRenewal(renewToken: () => Promise<void>) {
  let underWay: Promise<void> | undefined
  const token = {
    /** Number of renewals: identifies the token of a request. */
    generation: 0,
    /** @param refused generation of the token that the request used; a later generation means that the token is renewed already */
    async renew(refused: number): Promise<void> {
      if (refused !== token.generation) return
      underWay ??= renewToken()
        .then(() => {
          token.generation++
        })
        .finally(() => {
          underWay = undefined
        })
      await underWay
    },
  }
  return token
}

interface QuestionOptions {
  /** Dispatcher of all requests of this process to the gateway. */
  readonly dispatcher: Dispatcher
  readonly tallies: Tallies
  /** @throws GatewayError */
  readonly askAboutNobody: () => Promise<unknown>
  /** Saves the counts as well. @throws WaybillError `lease-lost` where another process holds the run by now */
  readonly assertHeld: () => Promise<void>
}

/**
 * @returns a function that probes whether the gateway answers now. Concurrent callers share one probe. It throws WaybillError where the run must stop
 */
function questionAboutNobody(
  { dispatcher, tallies: { requests }, askAboutNobody, assertHeld }: QuestionOptions,
  lane: Lane,
): () => Promise<boolean> {
  const ask = async (tries: number): Promise<boolean> => {
    if (dispatcher.askedForMs() > QUESTION_WAITS_MS) return false
    try {
      await lane.run('now', async () => {
        requests.readBack++
        await allDone([askAboutNobody(), assertHeld()])
      })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (error.class === 'not-sent') requests.readBack--
      if (error.class === 'refused' && (error.envelopeCode ?? error.gatewayMessage) !== undefined) return true
      return tries > 1 && ask(tries - 1)
    }
    return true
  }
  let asking: Promise<boolean> | undefined
  return () => {
    asking ??= ask(QUESTIONS_ABOUT_NOBODY).finally(() => {
      asking = undefined
    })
    return asking
  }
}
