/** Commands suggested by needs and runs, with the matching pages and actions of the console. Unlisted commands have no page. */
export interface Link {
  readonly to: string
  readonly words: string
  /** Subject for readers who hear the link alone. */
  readonly of?: string
}

/** Fields of an action's subject. `only`: part of a run to rerun; `transaction`: a single record; `from`, `to`: days of a backfill. */
export const SUBJECT_FIELDS = ['run', 'job', 'reason', 'only', 'transaction', 'from', 'to', 'export'] as const
export type SubjectField = (typeof SUBJECT_FIELDS)[number]
export type Subject = { readonly [Field in SubjectField]?: string | undefined }

/** Address of the confirmation page of an action. */
export const actionPath = (action: string, subject: Subject): string => {
  const given = Object.entries(subject).flatMap(([field, value]): [string, string][] =>
    value === undefined ? [] : [[field, value]],
  )
  return `/do/${action}?${new URLSearchParams(given)}`
}

const WORD = '([\\w.@:+-]+)'

/** Pattern of a command, the action, and the names of its words. */
const ACTIONS: readonly (readonly [
  pattern: string,
  action: string,
  names: readonly SubjectField[],
  words: string,
])[] = [
  [`acknowledge ${WORD}`, 'acknowledge', ['run'], 'Acknowledge'],
  [`acknowledge ${WORD} --reason ${WORD}`, 'acknowledge', ['run', 'reason'], 'Acknowledge'],
  [`acknowledge --job ${WORD}`, 'acknowledge', ['job'], 'Acknowledge'],
  [`acknowledge --job ${WORD} --reason ${WORD}`, 'acknowledge', ['job', 'reason'], 'Acknowledge'],
  [`pause ${WORD}`, 'pause', ['job'], 'Pause'],
  [`unpause ${WORD}`, 'unpause', ['job'], 'End the pause of'],
  [`stop ${WORD}`, 'stop', ['run'], 'Stop'],
  [`run ${WORD}`, 'run', ['job'], 'Run'],
  [`rerun ${WORD}`, 'rerun', ['run'], 'Rerun'],
  [`rerun ${WORD} --only (rejected|in-doubt)`, 'rerun', ['run', 'only'], 'Rerun'],
  [`reconcile ${WORD}`, 'reconcile', ['run'], 'Reconcile'],
  [`resolve ${WORD} --accept`, 'accept', ['run'], 'Accept'],
  [`resolve ${WORD} --resend`, 'resend', ['run'], 'Resend'],
  [`resolve ${WORD} --give-up`, 'give-up', ['run'], 'Give up'],
  [`backfill ${WORD} --from ${WORD} --to ${WORD}`, 'backfill', ['job', 'from', 'to'], 'Backfill'],
  [`put-aside ${WORD} --job ${WORD} --reason unreadable`, 'put-aside', ['export', 'job'], 'Put aside'],
]

const PAGES: readonly (readonly [pattern: string, to: (word: string) => string, words: string])[] = [
  [`(?:show|watch) ${WORD}`, (run) => `/runs/${run}`, 'Open the run'],
  ['doctor()', () => '/system', 'Open System'],
  [`schedule --explain ${WORD}`, (job) => `/schedule#job-${job}`, 'Open Schedule'],
]

/** The action of a suggested command; undefined for commands without an action. */
export function actionOf(command: string): Link | undefined {
  for (const [pattern, action, names, words] of ACTIONS) {
    const found = new RegExp(`^waybill ${pattern}$`).exec(command)
    if (found === null) continue
    const subject = Object.fromEntries(names.map((name, at) => [name, found[at + 1]]))
    return { to: actionPath(action, subject), words: [words, ...found.slice(1)].join(' ') }
  }
  return undefined
}

/** The page of a reading command. */
export function pageOf(command: string): Link | undefined {
  for (const [pattern, to, words] of PAGES) {
    const [, word] = new RegExp(`^waybill ${pattern}$`).exec(command) ?? []
    if (word !== undefined) return { to: to(word), words }
  }
  return undefined
}
