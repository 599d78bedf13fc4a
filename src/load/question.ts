/** Health probe: reads an account that does not exist. Any answer shows that the gateway is up. */
import { GatewayError } from '../gateway/gateway-error.ts'
import type { Tallies } from '../ledger/ledger.ts'
import { allDone } from '../model/errors.ts'
import type { Dispatcher, Lane } from './dispatcher.ts'
import { QUESTION_WAITS_MS, QUESTIONS_ABOUT_NOBODY } from './retry-policy.ts'

export interface QuestionOptions {
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
export function questionAboutNobody(
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
