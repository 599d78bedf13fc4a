import type { AnswerClass } from '../../src/gateway/answer-class.ts'
import type { EndpointName } from '../../src/gateway/contract/endpoints.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import type { CallName } from './documented-calls.ts'
import type { SharedReference } from './shared-reference.ts'

/** What the client says of a call that it did not throw for. */
export interface Told {
  readonly class: AnswerClass
  /** Keys of the records that were echoed; of one that was never sent, whatever stands in its place. */
  readonly echoes: readonly string[]
  readonly errors: number
}

/** One call that is about to be made. */
export interface Attempt {
  /** Keys of what is sent: the records of a batch, or the one effect of another call. */
  readonly sent: readonly string[]
  /** @param origin where an address that the gateway gave is looked for */
  readonly call: (gateway: Gateway, origin: string) => Promise<Told>
  /** How often each of the keys has taken effect; those that have not are left out. */
  readonly stored: () => Promise<Readonly<Record<string, number>>>
}

/** A method of the client that changes what the gateway holds. */
export interface StruckWrite {
  readonly name: CallName
  readonly endpoint: EndpointName
  /** What the interface answers a success with: an echo of each record, another body, or none that is documented. */
  readonly answer: 'echo' | 'body' | 'none'
  /** A status outside 2xx that the method answers in place of throwing. */
  readonly alsoAnswers?: number
  /** @param subject new at each call; accounts, ids and reference numbers are made of it */
  readonly prepare: (reference: SharedReference, subject: string) => Promise<Attempt>
}
