/**
 * What people and programs are told of: a run that has ended, an export that is late. Names, instants, counts and codes; no health data. And
 * what carries it to one target: every channel passes `test/conformance/notify-channel.ts`.
 */
import { z } from 'zod'
import { shown } from '../shown-text.ts'

export const NOTICE_KINDS = [
  'run-ended',
  'run-refused',
  'run-stopped',
  'job-held',
  'job-broken',
  'fire-missed',
  'jobs-gone',
  'export-late',
  'export-small',
  'export-drifted',
  'export-empty-handed',
  'test',
] as const

/** As the outbox keeps it, as JSON. */
const StoredNotice = z.object({
  kind: z.enum(NOTICE_KINDS),
  job: z.string(),
  /** Names the gateway as the ledger does. */
  gateway: z.string(),
  /** What it is about, like the id of a run and how it ended: of one job and kind, each subject is told once. */
  subject: z.string(),
  /** Whether a person should look. */
  failure: z.boolean(),
  /** Of a failure: all that is wrong was so in an earlier run. */
  known: z.literal(true).optional(),
  /** Milliseconds since the epoch. */
  at: z.number(),
  /** One line. */
  title: z.string(),
  /** Lines for people; the last ones say what to type next. */
  text: z.array(z.string()).readonly(),
  /** The same for programs. */
  data: z.record(z.string(), z.unknown()),
})

export interface Notice extends Readonly<z.infer<typeof StoredNotice>> {
  /** Of what could not be done: the code and words of the error. */
  readonly cause?: string | undefined
  /** Stands in the text. */
  readonly next?: never
}

/** @throws ZodError where another version has kept it otherwise */
export const readNotice = (text: string): Notice => StoredNotice.parse(JSON.parse(text))

/** A notice that does not say yet where it comes from. */
export interface UnsentNotice extends Omit<Notice, 'next'> {
  /** Lines that say what to type next. */
  readonly next: readonly string[]
}

export interface Installation {
  readonly host: string
  /** Its home folder. */
  readonly home: string
}

/** The notice with host and home: in its text before what to type next, and in its data. */
export function sentFrom({ next, ...notice }: UnsentNotice, { host, home }: Installation): Notice {
  const { text, data } = notice
  return {
    ...notice,
    text: [...text, `Told by  ${host}, home ${home}`, ...(next.length === 0 ? [] : ['Next', ...next])],
    data: { ...data, host, home },
  }
}

/** A notice with the id that it has in every try. */
export interface Message {
  readonly id: string
  readonly notice: Notice
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
