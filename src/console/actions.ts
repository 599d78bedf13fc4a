/**
 * Actions of the console. Each shows effect and command, then calls the function of the command. Long actions continue after the answer; the
 * pages of the runs show the progress.
 */
import { WaybillError } from '../model/errors.ts'
import type { RunListener } from '../run/events.ts'
import {
  abandon,
  accept,
  beginBackfill,
  beginRerun,
  beginRun,
  chooseRuns,
  forChosen,
  type RunChoice,
  reconcile,
  resend,
  resumeBackfill,
  resumeRun,
  tryRun,
} from '../runs/actions.ts'
import type { Application } from '../runs/application.ts'
import { expectedWords, lookForExpected } from '../runs/expectations.ts'
import { showRun, stopRun } from '../runs/listed-runs.ts'
import { pauseJob, unpauseJob } from '../runs/pauses.ts'
import { putAside } from '../runs/put-aside.ts'
import { acknowledge, type Person } from '../runs/resolve.ts'
import type { RunOptions } from '../runs/run-job.ts'
import { testTargets } from '../runs/teller.ts'
import { readRate, readSampleSize, readSince, readWholeNumber } from '../runs/typed-words.ts'
import { verdictOf } from '../story/report/report-page.ts'
import type { JobEnd, RunSummary } from '../story/run-story.ts'
import { counted, utcTime } from '../system/shown-text.ts'
import {
  ACTION_COMMANDS,
  type ActionName,
  commandOf,
  FIELDS,
  kindOf,
  optionsOf,
  SUBJECT_FIELDS,
  type Subject,
  type SubjectField,
} from './typed-commands.ts'

/** An action before its confirmation. */
export interface Proposed {
  readonly name: string
  readonly action: ActionName
  readonly subject: Whole
  readonly options: readonly SubjectField[]
  readonly command: string
  /** Undefined until the subject is chosen. */
  readonly effect: readonly string[] | undefined
  readonly hasNote: boolean
}

/** @throws `usage-wrong` for an unknown action, or a field of another form; `run-not-found` */
export async function propose(application: Application, action: string, given: Subject): Promise<Proposed> {
  const { name, form, subject: asked } = formOf(action, given)
  const { summary } = asked.run === '' ? { summary: undefined } : await showRun(application, asked.run)
  const subject = { ...asked, run: summary?.run ?? '' }
  const isWhole = missingIn(form, subject).length === 0
  const choice =
    isWhole && form.isForMany && subject.run === '' ? choiceIn(subject, application.now()) : undefined
  // The refused start of a job is no run.
  const chosen = choice && (await chooseRuns(application, choice).catch(noneLeft))
  const { says, names } = ACTION_COMMANDS[name]
  return {
    name: `${says} ${subject[names] || subject.job || 'several runs'}`,
    action: name,
    subject,
    options: optionsOf(name, subject),
    command: commandOf(name, subject),
    effect: isWhole ? form.effect(subject, { summary, chosen }) : undefined,
    hasNote: form.hasNote === true,
  }
}

function noneLeft(error: unknown): undefined {
  if (!(error instanceof WaybillError && /^(?:nothing-left|ledger-not-found)$/.test(error.code))) throw error
}

const missingIn = ({ needs }: Form, subject: Whole): SubjectField[] =>
  needs.flatMap((one) => {
    const any: readonly SubjectField[] = typeof one === 'string' ? [one] : one
    return any.some((field) => subject[field] !== '') ? [] : any.slice(0, 1)
  })

const UNREADABLE = 'unreadable'

function formOf(
  action: string,
  given: Subject,
): { readonly name: ActionName; readonly form: Form; readonly subject: Whole } {
  if (!isAction(action))
    throw new WaybillError('usage-wrong', 'the console has no such action', {
      remedy: 'Go back to the page of the run or the schedule, and choose the action there.',
    })
  const form = FORMS[action]
  const fields = new Set<SubjectField>([ACTION_COMMANDS[action].names, ...optionsOf(action, given)])
  // The cast is sound: each field gets a text. A field that the command lacks would do what nobody has seen.
  const subject = Object.fromEntries(
    SUBJECT_FIELDS.map((field) => [field, fields.has(field) ? (given[field] ?? '') : '']),
  ) as Whole
  const whole = action === 'put-aside' ? { ...subject, why: subject.why || UNREADABLE } : subject
  assertReadable(whole)
  return { name: action, form, subject: whole }
}

/** Work begun on this console. */
export interface Begun {
  readonly command: string
  readonly at: number
  run: string | undefined
  end: string | undefined
}

const BEGUN_SHOWN = 5

const FIRST_SIGN_MS = 5_000

export function createActor(application: Application, listener: () => RunListener) {
  const begun: Begun[] = []
  const open = new Set<Promise<unknown>>()
  return {
    begun: begun as readonly Begun[],
    /**
     * Does a confirmed action. A long one is answered at its first sign: a run, an end, or a few seconds.
     * @throws `usage-wrong` for a missing field; errors of the action, if it ends before the answer
     */
    async act(
      action: string,
      given: Subject,
      person: Person,
    ): Promise<{ readonly words: string; readonly run: string | undefined }> {
      const { name, form, subject } = formOf(action, given)
      const [missing] = missingIn(form, subject)
      if (missing !== undefined)
        throw new WaybillError('usage-wrong', `the action has no ${missing}`, {
          remedy: 'Go back, and fill in the field.',
        })
      const work: Begun = {
        command: commandOf(name, subject),
        at: application.now(),
        run: undefined,
        end: undefined,
      }
      const started = Promise.withResolvers<void>()
      const log = listener()
      const watched: RunListener = (event) => {
        if (event.type === 'runStarted') {
          work.run = event.id
          started.resolve()
        }
        if (typeof log === 'function') log(event)
        else (log[event.type] as ((given: typeof event) => void) | undefined)?.(event)
      }
      const done = form.act({ application, person, listener: watched }, subject).then(
        (words) => {
          work.end = words
          return words
        },
        (error: unknown) => {
          // The message of an unexpected error may hold anything.
          work.end =
            error instanceof WaybillError ? `${error.code}: ${error.message}` : 'unexpected error, a defect'
          throw error
        },
      )
      if (form.isLong !== true) return { words: await done, run: subject.run || undefined }
      begun.unshift(work)
      begun.splice(BEGUN_SHOWN)
      open.add(done)
      done.catch(() => {}).finally(() => open.delete(done))
      const waited = new AbortController()
      const patience = application.sleep(FIRST_SIGN_MS, waited.signal).catch(() => {})
      const words = await Promise.race([done, started.promise, patience])
      waited.abort()
      return { words: words ?? `Begun: ${work.command}`, run: work.run ?? (subject.run || undefined) }
    },
    async close(): Promise<void> {
      await Promise.allSettled(open)
    },
  }
}

interface Acting {
  readonly application: Application
  readonly person: Person
  readonly listener: RunListener
}

/** Subject of an action; a field without a value is empty. */
type Whole = Readonly<Record<SubjectField, string>>

interface Concerned {
  readonly summary: RunSummary | undefined
  /** Runs that the fields choose; undefined for an action on one run or job. */
  readonly chosen: readonly { readonly run: string; readonly job: string }[] | undefined
}

interface Form {
  /** Fields that must be there: each of them, or one of a list. */
  readonly needs: readonly (SubjectField | readonly SubjectField[])[]
  /** True if the fields choose several runs where none is named. */
  readonly isForMany?: true
  readonly hasNote?: true
  readonly effect: (subject: Whole, concerned: Concerned) => readonly string[]
  /** @returns words on the result */
  readonly act: (acting: Acting, subject: Whole) => Promise<string>
  /** True for work beyond the answer. */
  readonly isLong?: true
}

const CHOICE = ['run', 'job', 'reason', 'export', 'since'] as const

const FORMS: Readonly<Record<ActionName, Form>> = {
  acknowledge: {
    needs: [CHOICE],
    isForMany: true,
    hasNote: true,
    effect: (subject, concerned) => [
      `${runsMeant(subject, concerned)}: rejects and failures${subject.reason === '' ? '' : ` for ${subject.reason}`} become final. Records in doubt still need a decision.`,
      `Nothing is sent. The rows stay in the rejects files.${subject.export + subject.since === '' ? ` To withdraw it: \`${commandOf('undo-acknowledge', subject)}\`` : ''}`,
    ],
    act: ({ application, person }, subject) => acknowledged(application, subject, person, false),
  },
  'undo-acknowledge': {
    needs: [['run', 'job', 'reason']],
    hasNote: true,
    effect: (subject, concerned) => [
      `${runsMeant(subject, concerned)}: rejects and failures${subject.reason === '' ? '' : ` for ${subject.reason}`} need somebody again.`,
    ],
    act: ({ application, person }, subject) => acknowledged(application, subject, person, true),
  },
  pause: {
    needs: ['job'],
    hasNote: true,
    effect: ({ until }) => [
      `The schedule no longer starts the job, until ${until === '' ? 'somebody ends the pause' : `${until} in the zone of the schedule`}. A running one finishes.`,
    ],
    async act({ application, person }, { job, until: given }) {
      const { changed, until } = await pauseJob(application, job, person, given || undefined)
      const end = until === undefined ? '' : ` until ${utcTime(until)} UTC`
      return changed ? `${job} is paused${end}.` : `${job} was paused already.`
    },
  },
  unpause: {
    needs: ['job'],
    hasNote: true,
    effect: () => ['The schedule starts the job again. Missed runs follow its `missed` setting.'],
    async act({ application, person }, { job }) {
      const { changed } = await unpauseJob(application, job, person)
      return changed ? `${job} is scheduled again.` : `${job} was not paused.`
    },
  },
  count: {
    needs: ['job'],
    isLong: true,
    effect: () => ['The exports that have arrived are read, mapped and counted. Nothing is sent or written.'],
    async act({ application }, subject) {
      const { rows, exports, failed } = await tryRun(application, subject.job, runOptions(subject))
      const unread =
        failed.length === 0
          ? ''
          : `; not read: ${failed.map(({ name, error }) => `${name} (${error.code})`).join(', ')}`
      return `Dry run of ${subject.job}: ${counted(exports.length, 'export')}, ${counted(rows.read, 'row')}, ${rows.mapped} mapped, ${rows.skipped} skipped, ${rows.rejected} rejected${unread}. Nothing was sent.`
    },
  },
  run: {
    needs: ['job'],
    isLong: true,
    effect: (subject) => [
      'An unfinished run of the job is finished first. Then the exports that have arrived are delivered to the gateway of the job.',
      ...(subject.newLedger === ''
        ? []
        : ['Risk: without the former ledger, records that were delivered are sent once more.']),
      ...(subject.newKey === ''
        ? []
        : ['Records that were delivered under the former key are looked for in the profiles.']),
      `To count first and send nothing: \`${commandOf('count', subject)}\``,
    ],
    act: async ({ application, listener }, subject) =>
      ended(await beginRun(application, { listener }, subject.job, runOptions(subject))),
  },
  resume: {
    needs: ['job'],
    isLong: true,
    effect: ({ backfill }) => [
      `The interrupted ${backfill === '' ? 'run' : 'backfill'} of the job is continued. No new exports are read.`,
    ],
    async act({ application, listener }, { job, backfill }) {
      const resume = backfill === '' ? resumeRun : resumeBackfill
      return ended(await resume(application, { listener }, job))
    },
  },
  stop: {
    needs: ['run'],
    hasNote: true,
    isLong: true,
    effect: () => [
      'Requests in flight are finished, and nothing new begins. The next run of the job continues this one.',
    ],
    async act({ application, person }, { run }) {
      return endedWords((await stopRun(application, run, person)).summary)
    },
  },
  rerun: {
    needs: [CHOICE],
    isForMany: true,
    isLong: true,
    effect: (subject, concerned) => [
      `${runsMeant(subject, concerned)}: the rows left behind${subject.only === '' ? '' : ` (${subject.only})`} are mapped again with the current mapping, and sent to ${concerned.summary?.gateway ?? 'the gateway'} as a new run${concerned.summary === undefined ? ' each, oldest first' : ''}.`,
    ],
    async act(acting, subject) {
      const { application, listener } = acting
      const only = subject.only === 'rejected' || subject.only === 'in-doubt' ? subject.only : undefined
      return ofEach(acting, subject, async (run) =>
        ended(await beginRerun(application, { listener }, run, only)),
      )
    },
  },
  reconcile: {
    needs: [CHOICE],
    isForMany: true,
    isLong: true,
    effect: (subject, concerned) => [
      `${runsMeant(subject, concerned)}: profiles are read at ${concerned.summary?.gateway ?? 'the gateway'} to find out whether unanswered records arrived. Nothing is sent.`,
      ...(subject.verify === ''
        ? []
        : [
            `Accepted records are compared with the profiles of ${subject.sample === '' ? 'all people' : `a sample (${subject.sample})`}.`,
          ]),
    ],
    async act(acting, subject) {
      const { application, listener } = acting
      const sample = parsed(subject, 'sample', readSampleSize) ?? { kind: 'all' as const }
      const verify = subject.verify === '' ? undefined : { sample }
      return ofEach(acting, subject, async (run) => {
        const done = await reconcile(application, { listener }, run, verify)
        const kinds = Object.values(done.verified?.records ?? {})
        const total = (count: 'equal' | 'differs' | 'missing'): number =>
          kinds.reduce((sum, kind) => sum + kind[count], 0)
        const compared =
          kinds.length === 0
            ? ''
            : `; compared: ${total('equal')} equal, ${total('differs')} differ, ${total('missing')} missing`
        return `Run ${done.run}: ${counted(done.found, 'record')} found, ${done.missed} missing, ${done.inDoubt} still in doubt${compared}.`
      })
    },
  },
  accept: {
    needs: ['run'],
    hasNote: true,
    effect: (subject, concerned) => [
      `${recordsMeant(subject, concerned)} as delivered, and nothing is sent again.`,
      'A record that the gateway does not have is then missing there for good. Reconcile first, to find out.',
    ],
    async act({ application, person, listener }, { run, transaction }) {
      const { records } = await accept(application, listener, run, person, onlyThis(transaction))
      return `${counted(records, 'record')} in doubt of run ${run} ${records === 1 ? 'counts' : 'count'} as delivered.`
    },
  },
  resend: {
    needs: ['run'],
    hasNote: true,
    isLong: true,
    effect: (subject, concerned) => [
      `${recordsMeant(subject, concerned)} as not delivered: the profiles are read once more, and records that are not there are sent again, as a new run.`,
      'Risk: a record that arrived, and that the profile does not show yet, is then there twice. Reconcile first, to find out.',
    ],
    act: async ({ application, person, listener }, { run, transaction }) =>
      ended((await resend(application, { listener }, run, person, onlyThis(transaction))).resent),
  },
  'give-up': {
    needs: ['run'],
    hasNote: true,
    effect: () => [
      'The run is not finished. Its records in flight are recognised when they come again: for unanswered ones, the profiles are read first.',
      'This cannot be undone.',
    ],
    async act({ application, person, listener }, { run }) {
      await abandon(application, listener, run, person)
      return `Run ${run} is given up.`
    },
  },
  'put-aside': {
    needs: ['export', 'why'],
    effect: ({ job, export: name }) => [
      `Later runs${job === '' ? '' : ` of ${job}`} pass over ${name} until its content changes. The file stays untouched.`,
    ],
    async act({ application, person }, { job, why, export: name }) {
      const request = { name, job: job || undefined, undo: false }
      await putAside(application, request, { ...person, note: why })
      return `${name} is put aside.`
    },
  },
  'put-back': {
    needs: ['export'],
    effect: ({ job, export: name }) => [`The next run${job === '' ? '' : ` of ${job}`} reads ${name} again.`],
    async act({ application, person }, { job, export: name }) {
      await putAside(application, { name, job: job || undefined, undo: true }, person)
      return `${name} is read again by the next run.`
    },
  },
  backfill: {
    needs: ['job', 'from', 'to'],
    isLong: true,
    effect: ({ job, from, to }) => [
      `The exports of ${from} to ${to} are delivered, oldest first, to the gateway of the job. An unfinished backfill of these days is continued.`,
      `The backfill gives way to other runs of ${job}.`,
    ],
    async act({ application, listener }, subject) {
      const { job, from, to } = subject
      const { acceptDrift, acceptEnd } = accepting(subject)
      const range = { from, to, rate: parsed(subject, 'rate', readRate), acceptEnd }
      const given = acceptDrift ? { ...range, acceptDrift: true as const } : range
      return ended(await beginBackfill(application, { listener }, job, given))
    },
  },
  notify: {
    needs: ['job'],
    isLong: true,
    effect: () => [
      'A test notice goes to all targets of the job. Then the notices that wait, or were given up, are delivered.',
    ],
    async act({ application }, { job }) {
      const { targets, waiting } = await testTargets(application, job)
      const ends = targets.map(({ target, error }) => `${target} ${error ?? 'accepted it'}`)
      return `Test notice of ${job}: ${ends.join('; ')}. ${counted(waiting.delivered, 'notice')} of before delivered, ${waiting.left} left.`
    },
  },
  expect: {
    needs: ['job'],
    isLong: true,
    effect: () => [
      'The sources of the job are listed. If expected exports are missing, its targets are notified.',
    ],
    async act({ application }, { job }) {
      const { found } = await lookForExpected(application, job)
      return `${job}: ${found.map(expectedWords).join('; ')}.`
    },
  },
}

const onlyThis = (transaction: string): string[] => (transaction === '' ? [] : [transaction])

async function acknowledged(
  application: Application,
  subject: Whole,
  person: Person,
  undo: boolean,
): Promise<string> {
  const { runs, left, isStart } = await acknowledge(
    application,
    { ...choiceIn(subject, application.now()), undo },
    person,
  )
  const start = isStart ? `, and the refused start of ${subject.job}` : ''
  return `${undo ? 'No longer acknowledged' : 'Acknowledged'}: ${counted(runs.length, 'run')}${start}. ${left === 0 ? 'No run needs attention.' : `${counted(left, 'run needs', 'runs need')} attention.`}`
}

/** Runs that the fields choose. @throws `usage-wrong` */
function choiceIn(subject: Whole, now: number): RunChoice {
  const { run, job, reason, export: name } = subject
  return {
    run: run || undefined,
    job: job || undefined,
    reason: reason || undefined,
    export: name || undefined,
    since: parsed(subject, 'since', readSince)?.(now),
  }
}

/** Does it to the named run, or to each of the chosen ones. @returns the words on the last results */
async function ofEach(
  { application }: Acting,
  subject: Whole,
  act: (run: string) => Promise<string>,
): Promise<string> {
  if (subject.run !== '') return act(subject.run)
  const ends = await forChosen(application, choiceIn(subject, application.now()), act)
  return `${counted(ends.length, 'run')}. ${ends.map(({ run, result }) => result ?? `Run ${run} was left out.`).join(' ')}`
}

const accepting = ({ acceptDrift, acceptEnd }: Whole) => ({
  acceptDrift: acceptDrift !== '',
  acceptEnd: acceptEnd === '' ? undefined : (true as const),
})

function runOptions(subject: Whole): RunOptions {
  const yes = (given: string): true | undefined => (given === '' ? undefined : true)
  if (subject.newLedger !== '' && subject.lookFirst + subject.newKey !== '')
    throw new WaybillError('usage-wrong', 'a new ledger goes without looking first, and without a new key')
  return {
    files: [],
    limit: parsed(subject, 'limit', readWholeNumber) ?? Number.POSITIVE_INFINITY,
    ...accepting(subject),
    lookFirst: yes(subject.lookFirst),
    newLedger: yes(subject.newLedger),
    newKey: yes(subject.newKey),
  }
}

/** @throws `usage-wrong` for a text of another form */
function parsed<Value>(
  subject: Whole,
  field: SubjectField,
  read: (text: string) => Value | undefined,
): Value | undefined {
  const text = subject[field]
  if (text === '') return undefined
  const value = read(text)
  if (value !== undefined) return value
  throw new WaybillError('usage-wrong', `"${text}" does not fit: ${FIELDS[field].label}`)
}

/** Checks the form of all fields before anything is shown or done. @throws `usage-wrong` */
function assertReadable(subject: Whole): void {
  parsed(subject, 'since', readSince)
  parsed(subject, 'rate', readRate)
  parsed(subject, 'limit', readWholeNumber)
  parsed(subject, 'sample', readSampleSize)
  // The cast is sound: the keys of a record are its fields.
  for (const field of Object.keys(subject) as SubjectField[]) {
    const kind = kindOf(field)
    const words = kind === 'yes' ? ['yes'] : typeof kind === 'object' ? kind : undefined
    if (words !== undefined) parsed(subject, field, (text) => (words.includes(text) ? text : undefined))
  }
}

function runsMeant({ run, job }: Whole, { summary, chosen }: Concerned): string {
  if (summary !== undefined) return `Run ${run} of ${summary.job} (${verdictOf(summary).words})`
  if (chosen === undefined) return job === '' ? 'All runs' : `All runs of ${job} so far`
  const jobs = new Set(chosen.map((one) => one.job))
  return `${counted(chosen.length, 'run')} of ${[...jobs].join(', ')}`
}

const recordsMeant = ({ run, transaction }: Whole, { summary }: Concerned): string =>
  transaction === ''
    ? `${summary === undefined ? '' : verdictOf(summary).words}: the records in doubt count`
    : `The record ${transaction} of run ${run} counts`

const ended = ({ summary }: JobEnd): string => endedWords(summary)

const endedWords = (summary: RunSummary): string =>
  `Run ${summary.run} of ${summary.job}: ${verdictOf(summary).words}.`

const isAction = (name: string): name is ActionName => Object.hasOwn(ACTION_COMMANDS, name)
