/** The question about nobody: an account is read that does not exist, and any answer shows that the gateway is there. */
import { GatewayError } from '../gateway/gateway-error.ts'
import type { Tallies } from '../ledger/ledger.ts'
import { allDone } from '../model/errors.ts'
import type { Dispatcher, Lane } from './dispatcher.ts'
import { QUESTION_WAITS_MS, QUESTIONS_ABOUT_NOBODY } from './retry-policy.ts'

export interface QuestionOptions {
  /** Shared by all that this process sends to the gateway. */
  readonly dispatcher: Dispatcher
  readonly tallies: Tallies
  /** @throws GatewayError */
  readonly askAboutNobody: () => Promise<unknown>
  /** Takes the counts along. @throws WaybillError `lease-lost` where another process has the run by now */
  readonly assertHeld: () => Promise<void>
}

export class Question {
  private readonly options: QuestionOptions
  private readonly lane: Lane
  private asking: Promise<boolean> | undefined

  constructor(options: QuestionOptions, lane: Lane) {
    this.options = options
    this.lane = lane
  }

  /** Tells whether the gateway answers now. Several that want to know share one question. @throws WaybillError where the run must stop */
  isAnswered(): Promise<boolean> {
    this.asking ??= this.ask(QUESTIONS_ABOUT_NOBODY).finally(() => {
      this.asking = undefined
    })
    return this.asking
  }

  private async ask(tries: number): Promise<boolean> {
    const { dispatcher, tallies, askAboutNobody, assertHeld } = this.options
    if (dispatcher.askedForMs() > QUESTION_WAITS_MS) return false
    try {
      await this.lane.run('now', async () => {
        tallies.requests.readBack++
        await allDone([askAboutNobody(), assertHeld()])
      })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      if (error.class === 'not-sent') tallies.requests.readBack--
      if (error.class === 'refused' && (error.envelopeCode ?? error.gatewayMessage) !== undefined) return true
      return tries > 1 && this.ask(tries - 1)
    }
    return true
  }
}
