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
  'export-drifted',
  'export-empty-handed',
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
  /** Stands in the text. */
  readonly next?: never
  /** The same for programs. */
  readonly data: Readonly<Record<string, unknown>>
}

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
