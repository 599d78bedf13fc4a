/** A way to tell one target. Every channel passes `test/conformance/notify-channel.ts`. What programs get is a notice as JSON. */

import { z } from 'zod'
import { shown } from '../shown-text.ts'
import { NOTICE_KINDS, type Notice } from './notice.ts'

/** A notice with the id that it has in every try. */
export interface Message {
  readonly id: string
  readonly notice: Notice
}

/** What goes with a mail. */
export interface Attachment {
  readonly name: string
  /** `text/html` */
  readonly type: string
  readonly content: string
}

/** What goes with the mail of a notice: made when that is sent. Never rejects; nothing where it cannot be made any more. */
export type Attach = (notice: Notice) => Promise<readonly Attachment[]>

export interface Channel {
  /** Tries once, within the channel's own time limit. @throws NotDelivered */
  deliver(message: Message): Promise<void>
}

/** A time limit, as `NotDelivered` names it: `0.3 s`. */
export const secondsOf = (ms: number): string => `${Math.round(ms / 100) / 10} s`

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

/** In one line, without characters that act: they are escaped. JSON of the form that Standard Webhooks recommends (section "Payload structure"): type, timestamp, data. */
export function payloadOf({ id, notice }: Message): string {
  const { kind, at, data, ...rest } = notice
  return shown(
    JSON.stringify({
      type: `waybill.${kind}`,
      timestamp: new Date(at).toISOString(),
      data: { id, ...rest, details: data },
    }),
  )
}

const StoredNotice = z.object({
  kind: z.enum(NOTICE_KINDS),
  job: z.string(),
  gateway: z.string(),
  subject: z.string(),
  failure: z.boolean(),
  known: z.literal(true).optional(),
  at: z.number(),
  title: z.string(),
  text: z.array(z.string()),
  data: z.record(z.string(), z.unknown()),
})

/** A notice from the JSON in which the outbox keeps it. @throws ZodError where another version has kept it otherwise */
export const readNotice = (text: string): Notice => StoredNotice.parse(JSON.parse(text))
