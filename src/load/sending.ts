/**
 * Every request of a run goes through here: under the concurrency ceiling, retried by the one policy (p-retry carries it
 * out), within the job's patience, and counted.
 */
import pRetry, { AbortError } from 'p-retry'
import { WaybillError } from '../errors.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { Tallies } from '../ledger/ledger.ts'
import { createConcurrency } from './concurrency.ts'
import { decide } from './retry-policy.ts'

export interface SendingOptions {
  readonly concurrency: number
  /** Milliseconds in which nothing gets through, or one batch does not, after which the run ends as interrupted. */
  readonly patienceMs: number
  readonly tallies: Tallies
  readonly now: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly renewToken: () => Promise<void>
  readonly signal: AbortSignal
  /** Told of every wait, for the progress display and the log. */
  readonly onWait: (event: {
    readonly operation: string
    readonly waitMs: number
    readonly class: string
    readonly givesUpAt: number
  }) => void
}

export interface Sending {
  /** A write that must not be repeated blindly. Refused, too large and ambiguous answers are thrown. @throws GatewayError, WaybillError */
  once<T>(operation: string, call: (attempt: number) => Promise<T>): Promise<T>
  /** A write that may be repeated: registration, PCP mark. Refusals are thrown. @throws GatewayError, WaybillError */
  idempotent<T>(operation: string, call: () => Promise<T>): Promise<T>
  /** As `idempotent`, counted as a read-back. */
  read<T>(operation: string, call: () => Promise<T>): Promise<T>
  /**
   * Waits, unless the run is stopped.
   * @param since when it was first tried: reads that get through must not draw out what never does
   * @throws WaybillError `gateway-unreachable` when the patience would end before
   */
  wait(operation: string, waitMs: number, reason: string, since: number): Promise<void>
}

export function createSending(options: SendingOptions): Sending {
  const concurrency = createConcurrency(options.concurrency)
  // From the first failure, not from the last answer: a long stretch in which there was nothing to send is no silence.
  let failingSince: number | undefined

  const wait = async (operation: string, waitMs: number, reason: string, since: number): Promise<void> => {
    const givesUpAt = since + options.patienceMs
    if (options.now() + waitMs > givesUpAt) {
      throw new WaybillError(
        'gateway-unreachable',
        `the gateway did not let "${operation}" through for ${Math.round((options.now() - since) / 1000)} s (last: ${reason}); the job's patience is at its end`,
      )
    }
    options.onWait({ operation, waitMs, class: reason, givesUpAt })
    await options.sleep(waitMs, options.signal)
  }

  const send = <T>(
    operation: string,
    idempotent: boolean,
    count: (attempt: number) => void,
    call: (attempt: number) => Promise<T>,
  ) => {
    let tokenRenewed = false
    const attemptOnce = async (attempt: number): Promise<T> => {
      try {
        const result = await concurrency.run(() => {
          options.signal.throwIfAborted()
          count(attempt)
          return call(attempt)
        })
        failingSince = undefined
        concurrency.speedUp()
        return result
      } catch (error) {
        if (!(error instanceof GatewayError))
          throw new AbortError(error instanceof Error ? error : String(error))
        const { retryAfterMs, status } = error
        if (error.class === 'refused' || error.class === 'too-large') failingSince = undefined
        else failingSince ??= options.now()
        const decision = decide(
          { class: error.class, retryAfterMs, attempt, idempotent, tokenRenewed },
          options.random,
        )
        if (decision.kind === 'give-back') throw new AbortError(error)
        if (decision.kind === 'stop') {
          const code =
            status !== undefined && status < 400 ? 'gateway-redirects' : 'gateway-refused-credentials'
          const words = `the gateway answered ${status ?? error.class} to "${operation}"`
          throw new AbortError(new WaybillError(code, words, { cause: error }))
        }
        if (decision.kind === 'renew-token') {
          tokenRenewed = true
          await options.renewToken()
        } else {
          if (decision.slowDown) concurrency.slowDown()
          await wait(operation, decision.waitMs, error.class, failingSince ?? options.now()).catch(
            (stop: unknown) => {
              throw new AbortError(stop instanceof Error ? stop : String(stop))
            },
          )
        }
        throw error
      }
    }
    // The waits are the policy's own, made above; p-retry adds none.
    // It is not given the signal either: it would throw away an answer that came in the moment of the stop.
    return pRetry(attemptOnce, { retries: Number.POSITIVE_INFINITY, minTimeout: 0 })
  }

  const { requests } = options.tallies
  const countSent = (attempt: number): void => {
    requests.sent++
    if (attempt > 1) requests.retried++
  }
  const countRead = (): void => {
    requests.readBack++
  }
  return {
    once: (operation, call) => send(operation, false, countSent, call),
    idempotent: (operation, call) => send(operation, true, countSent, call),
    read: (operation, call) => send(operation, true, countRead, call),
    wait,
  }
}
