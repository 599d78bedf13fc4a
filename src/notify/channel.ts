/** A way to tell one target. Every channel passes `test/conformance/notify-channel.ts`. */
import type { Notice } from './notice.ts'

/** A notice with the id that it has in every try. */
export interface Message {
  readonly id: string
  readonly notice: Notice
}

export interface Channel {
  /** Tries once, within the channel's own time limit. @throws NotDelivered */
  deliver(message: Message): Promise<void>
}

/** What kept a message from being delivered. Its words hold no secret: no address beyond the host, nothing that was answered or printed. */
export class NotDelivered extends Error {
  override readonly name = 'NotDelivered'
  /** Whether it may go through within seconds. */
  readonly passing: boolean

  constructor(message: string, passing: boolean) {
    super(message)
    this.passing = passing
  }
}
