/** Commands of actions, both ways: from an action to its command, and from a suggested command to its action or page. */
import { command } from '../story/next-steps.ts'
import { shellWord } from '../system/shown-text.ts'

export interface Link {
  readonly to: string
  readonly words: string
  /** Subject for readers who hear the link alone. */
  readonly of?: string
}

interface Field {
  readonly label: string
  /** A word of the command, or an option without a value. Default: a text. */
  readonly kind?: 'yes' | 'day' | readonly string[]
}

/** Fields of an action's subject, as options of a command. */
export const FIELDS = {
  run: { label: 'Run' },
  job: { label: 'Job' },
  reason: { label: 'Reason code, like value-not-a-number' },
  why: { label: 'Reason, stored and shown: no health data' },
  export: { label: 'Export' },
  since: { label: 'Since: a day in UTC, or an age like 7d' },
  from: { label: 'First day', kind: 'day' },
  to: { label: 'Last day', kind: 'day' },
  only: { label: 'Only', kind: ['rejected', 'in-doubt'] },
  transaction: { label: 'Transaction' },
  until: { label: 'Until: 06:00, 2026-03-02T06:00 or 2h; empty for no end' },
  rate: { label: 'Most requests a second' },
  limit: { label: 'Most rows of each export' },
  verify: { label: 'Compare accepted records, too', kind: 'yes' },
  sample: { label: 'People to compare: 20, or 5%' },
  acceptDrift: { label: 'Accept drift', kind: 'yes' },
  acceptEnd: { label: 'Accept exports that look cut off', kind: 'yes' },
  lookFirst: { label: 'Read profiles before sending', kind: 'yes' },
  newLedger: { label: 'Start a new ledger', kind: 'yes' },
  newKey: { label: 'Replace the key of the ledger', kind: 'yes' },
  backfill: { label: 'Its backfill instead', kind: 'yes' },
} as const satisfies Record<string, Field>

export type SubjectField = keyof typeof FIELDS
// The cast is sound: the keys of a literal are known.
export const SUBJECT_FIELDS = Object.keys(FIELDS) as readonly SubjectField[]
export type Subject = { readonly [Name in SubjectField]?: string | undefined }

const optionOf = (field: SubjectField): string =>
  field === 'why' ? '--reason' : `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Kind of the input for a field. */
export const kindOf = (field: SubjectField): Field['kind'] => (FIELDS[field] as Field).kind

interface ActionCommand {
  readonly says: string
  readonly verb: string
  /** Field behind the verb. */
  readonly names: SubjectField
  /** Option that makes the action. */
  readonly fixed?: string
  /** In the order of the command. */
  readonly options: readonly SubjectField[]
}

const MANY = ['job', 'reason', 'export', 'since'] as const

/** Actions of the console, by the name in their address. */
export const ACTION_COMMANDS = {
  acknowledge: { says: 'Acknowledge', verb: 'acknowledge', names: 'run', options: MANY },
  'undo-acknowledge': {
    says: 'Withdraw the acknowledgement of',
    verb: 'acknowledge',
    names: 'run',
    fixed: '--undo',
    options: ['job', 'reason'],
  },
  pause: { says: 'Pause', verb: 'pause', names: 'job', options: ['until'] },
  unpause: { says: 'End the pause of', verb: 'unpause', names: 'job', options: [] },
  count: {
    says: 'Dry run of',
    verb: 'run',
    names: 'job',
    fixed: '--dry-run',
    options: ['limit', 'acceptDrift', 'acceptEnd'],
  },
  run: {
    says: 'Run',
    verb: 'run',
    names: 'job',
    options: ['limit', 'acceptDrift', 'acceptEnd', 'lookFirst', 'newLedger', 'newKey'],
  },
  resume: { says: 'Resume', verb: 'resume', names: 'job', options: ['backfill'] },
  stop: { says: 'Stop', verb: 'stop', names: 'run', options: [] },
  rerun: { says: 'Rerun', verb: 'rerun', names: 'run', options: ['only', ...MANY] },
  reconcile: { says: 'Reconcile', verb: 'reconcile', names: 'run', options: [...MANY, 'verify', 'sample'] },
  accept: {
    says: 'Accept',
    verb: 'resolve',
    names: 'run',
    fixed: '--accept',
    options: ['transaction'],
  },
  resend: {
    says: 'Resend',
    verb: 'resolve',
    names: 'run',
    fixed: '--resend',
    options: ['transaction'],
  },
  'give-up': { says: 'Give up', verb: 'resolve', names: 'run', fixed: '--give-up', options: [] },
  'put-aside': { says: 'Put aside', verb: 'put-aside', names: 'export', options: ['job', 'why'] },
  'put-back': {
    says: 'Read again',
    verb: 'put-aside',
    names: 'export',
    fixed: '--undo',
    options: ['job'],
  },
  backfill: {
    says: 'Backfill',
    verb: 'backfill',
    names: 'job',
    options: ['from', 'to', 'rate', 'acceptDrift', 'acceptEnd'],
  },
  notify: { says: 'Send a test notice of', verb: 'notify', names: 'job', options: [] },
  expect: { says: 'Look for the exports of', verb: 'expect', names: 'job', options: [] },
} as const satisfies Record<string, ActionCommand>

export type ActionName = keyof typeof ACTION_COMMANDS
// The cast is sound: the keys of a literal are known.
const ACTION_NAMES = Object.keys(ACTION_COMMANDS) as readonly ActionName[]

/** Options that may go with the subject: a named run is not chosen, too, except for its reason. */
export function optionsOf(action: ActionName, subject: Subject): readonly SubjectField[] {
  const { names, options }: ActionCommand = ACTION_COMMANDS[action]
  if (names !== 'run' || !subject.run) return options
  const isPart = action === 'acknowledge' || action === 'undo-acknowledge'
  return options.filter((one) => !MANY.some((many) => many === one) || (isPart && one === 'reason'))
}

/** The command that does what an action does. */
export function commandOf(action: ActionName, subject: Subject): string {
  const { verb, names, fixed }: ActionCommand = ACTION_COMMANDS[action]
  const named = subject[names]
  const given = optionsOf(action, subject).flatMap((field) => {
    const value = subject[field]
    if (!value) return []
    return [optionOf(field), ...(kindOf(field) === 'yes' ? [] : [shellWord(value)])]
  })
  return command(
    verb,
    ...(named ? [shellWord(named)] : []),
    ...(fixed === undefined ? [] : [fixed]),
    ...given,
  )
}

/** Address of the confirmation page of an action. */
export const actionPath = (action: ActionName, subject: Subject): string => {
  const given = Object.entries(subject).flatMap(([field, value]): [string, string][] =>
    value === undefined ? [] : [[field, value]],
  )
  return `/do/${action}?${new URLSearchParams(given)}`
}

/** The action of a suggested command; undefined for commands without an action. */
export function actionOf(typed: string): Link | undefined {
  const words = [...typed.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  for (const action of ACTION_NAMES) {
    const subject = subjectIn(action, words.slice(1))
    // Words that are understood in part make another command.
    if (subject === undefined || commandOf(action, subject) !== typed) continue
    const said = Object.entries(subject).map(([field, value]) =>
      value === 'yes' ? FIELDS[field as SubjectField].label.toLowerCase() : value,
    )
    return { to: actionPath(action, subject), words: [ACTION_COMMANDS[action].says, ...said].join(' ') }
  }
  return undefined
}

function subjectIn(action: ActionName, [first, ...words]: readonly string[]): Subject | undefined {
  const { verb, names, fixed, options }: ActionCommand = ACTION_COMMANDS[action]
  if (first !== verb || (fixed !== undefined && !words.includes(fixed))) return undefined
  const rest = words.filter((word) => word !== fixed)
  const subject: { [Name in SubjectField]?: string } = {}
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? ''
    const field = options.find((one) => optionOf(one) === word)
    if (field !== undefined) subject[field] = kindOf(field) === 'yes' ? 'yes' : (rest[++at] ?? '')
    else if (at === 0) subject[names] = word
    else return undefined
  }
  return subject
}

const WORD = '([\\w.@:+-]+)'

const PAGES: readonly (readonly [pattern: string, to: (word: string) => string, words: string])[] = [
  [`(?:show|watch) ${WORD}`, (run) => `/runs/${run}`, 'Open the run'],
  ['doctor()', () => '/system', 'Open System'],
  [`schedule --explain ${WORD}`, (job) => `/schedule#job-${job}`, 'Open Schedule'],
  [`trace ${WORD}`, (transaction) => `/trace?${new URLSearchParams({ transaction })}`, 'Open Trace'],
]

/** The page of a reading command. */
export function pageOf(typed: string): Link | undefined {
  for (const [pattern, to, words] of PAGES) {
    const [, word] = new RegExp(`^waybill ${pattern}$`).exec(typed) ?? []
    if (word !== undefined) return { to: to(word), words }
  }
  return undefined
}
