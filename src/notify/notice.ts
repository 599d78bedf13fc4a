/**
 * Notices to people and programs: about a run that has ended, or a late export. Names, instants, counts and codes; no health data. And the channel
 * that delivers a notice to one target: every channel passes `test/conformance/notify-channel.ts`.
 */
import { z } from 'zod'
import { iso, shown } from '../system/shown-text.ts'

export const NOTICE_KINDS = [
  'run-ended',
  'run-refused',
  'run-stopped',
  'job-held',
  'job-broken',
  'fire-missed',
  'job-late',
  'job-recovered',
  'digest',
  'jobs-gone',
  'export-late',
  'export-small',
  'export-drifted',
  'export-empty-handed',
  'test',
] as const

/** Form in the outbox, as JSON. */
const StoredNotice = z.object({
  kind: z.enum(NOTICE_KINDS),
  job: z.string(),
  gateway: z.string(),
  /** Subject, like the id of a run and its end: for each job and kind, a subject is notified once. */
  subject: z.string(),
  /** True if a person should look. */
  failure: z.boolean(),
  /** Set for a failure whose reasons all occurred in an earlier run. */
  known: z.literal(true).optional(),
  at: z.number(),
  /** One line. */
  title: z.string(),
  /** Lines for people; the last lines are commands for the next steps. */
  text: z.array(z.string()).readonly(),
  /** Facts of the notice for programs. */
  data: z.record(z.string(), z.unknown()),
})

export interface Notice extends Readonly<z.infer<typeof StoredNotice>> {
  /** Code and message of the error that prevented the work. */
  readonly cause?: string | undefined
  /** Absent: the next steps are in the text. */
  readonly next?: never
}

/** @throws ZodError for a form of another version */
export const readNotice = (text: string): Notice => StoredNotice.parse(JSON.parse(text))

/** A notice without the place of its sender. */
export interface UnsentNotice extends Omit<Notice, 'next'> {
  /** Lines with commands for the next steps. */
  readonly next: readonly string[]
}

export interface Installation {
  readonly host: string
  readonly home: string
  /** Address of the console, without a slash at the end; undefined without one. */
  readonly console: string | undefined
}

/** Adds host, home and the page of the console to a notice: to its text, before the next steps, and to its data. */
export function sentFrom({ next, ...notice }: UnsentNotice, { host, home, console }: Installation): Notice {
  const { text, data } = notice
  const page = console === undefined ? undefined : `${console}${pathOf(data)}`
  return {
    ...notice,
    text: [
      ...text,
      ...(page === undefined ? [] : [`Page     ${page}`]),
      `Sent by  ${host}, home ${home}`,
      ...(next.length === 0 ? [] : ['Next', ...next]),
    ],
    data: { ...data, host, home, ...(page === undefined ? {} : { page }) },
  }
}

/** Page of the run that the notice is about; otherwise the page of the morning. */
const pathOf = ({ run }: Notice['data']): string =>
  typeof run === 'string' ? `/runs/${encodeURIComponent(run)}` : '/'

/** A notice with an id, equal for every try. */
export interface Message {
  readonly id: string
  readonly notice: Notice
}

/**
 * Payload in one line, with control and format characters escaped. JSON in the form of Standard Webhooks (section "Payload structure"): type,
 * timestamp, data.
 */
export function payloadOf({ id, notice }: Message): string {
  const { kind, at, data, ...rest } = notice
  return shown(
    JSON.stringify({
      type: `waybill.${kind}`,
      timestamp: iso(at),
      data: { id, ...rest, details: data },
    }),
  )
}

interface Attachment {
  readonly name: string
  /** `text/html` */
  readonly type: string
  readonly content: string
}

/** Makes the attachments of a notice before it is mailed. Never rejects; empty if they cannot be made any more. */
export type Attach = (notice: Notice) => Promise<readonly Attachment[]>

export interface Channel {
  /** Tries once, within the channel's own timeout. @throws NotDelivered */
  deliver(message: Message): Promise<void>
}

/** A timeout in the message of `NotDelivered`: `0.3 s`. */
export const secondsOf = (ms: number): string => `${Math.round(ms / 100) / 10} s`

/** Reason why a message was not delivered. The message has no secret: no address beyond the host, no text from an answer or an output. */
export class NotDelivered extends Error {
  override readonly name = 'NotDelivered'
  /** True if another try within seconds may succeed. */
  readonly passing: boolean

  constructor(message: string, passing: boolean) {
    super(message)
    this.passing = passing
  }
}
