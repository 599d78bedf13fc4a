/** A notice as programs get it: the body of a webhook, the standard input of a command (docs/notifications.md). */
import { z } from 'zod'
import { shown } from '../shown-text.ts'
import type { Message } from './channel.ts'
import { NOTICE_KINDS, type Notice } from './notice.ts'

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
