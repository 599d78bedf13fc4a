/** What people and programs are told of: a run that has ended, an export that is late. Names, instants, counts and codes; no health data. */

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
  'test',
] as const

export type NoticeKind = (typeof NOTICE_KINDS)[number]

export interface Notice {
  readonly kind: NoticeKind
  readonly job: string
  /** Names the gateway as the ledger does. */
  readonly gateway: string
  /** What it is about, like the id of a run and how it ended: of one job and kind, each subject is told once. */
  readonly subject: string
  /** Whether a person should look. */
  readonly failure: boolean
  /** Of a failure: all that is wrong was so in an earlier run. */
  readonly known?: true | undefined
  /** Milliseconds since the epoch. */
  readonly at: number
  /** One line. */
  readonly title: string
  /** Of what could not be done: the code and words of the error. */
  readonly cause?: string | undefined
  /** Lines for people; the last ones say what to type next. */
  readonly text: readonly string[]
  /** The same for programs. */
  readonly data: Readonly<Record<string, unknown>>
}

export interface Installation {
  readonly host: string
  /** Its home folder. */
  readonly home: string
}

/** The same notice with host and home: in its text before what to type next, and in its data. */
export function sentFrom(notice: Notice, { host, home }: Installation): Notice {
  const { text, data } = notice
  const next = text.indexOf('Next')
  const at = next === -1 ? text.length : next
  return {
    ...notice,
    text: [...text.slice(0, at), `Told by  ${host}, home ${home}`, ...text.slice(at)],
    data: { ...data, host, home },
  }
}
