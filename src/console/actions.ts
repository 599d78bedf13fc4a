/**
 * Actions of the console. Each shows effect and command, then calls the function of the command. Long actions continue after the answer; the
 * pages of the runs show the progress.
 */
import { WaybillError } from '../model/errors.ts'
import type { RunListener } from '../run/events.ts'
import { abandon, accept, beginBackfill, beginRerun, beginRun, reconcile, resend } from '../runs/actions.ts'
import type { Application } from '../runs/application.ts'
import { showRun, stopRun } from '../runs/listed-runs.ts'
import { pauseJob, unpauseJob } from '../runs/pauses.ts'
import { putAside } from '../runs/put-aside.ts'
import { acknowledge, type Person } from '../runs/resolve.ts'
import { command } from '../story/next-steps.ts'
import { verdictOf } from '../story/report/report-page.ts'
import type { RunSummary } from '../story/run-story.ts'
import { counted, shellWord } from '../system/shown-text.ts'
import { SUBJECT_FIELDS, type Subject, type SubjectField } from './typed-commands.ts'

export interface Acting {
  readonly application: Application
  readonly person: Person
  /** Receives the events of a run, for the log. */
  readonly listener: RunListener
}

/** Subject of an action; a field without a value is empty. */
type Whole = Readonly<Record<SubjectField, string>>

interface Form {
  readonly name: string
  readonly of: 'run' | 'job' | 'either'
  /** Further required fields. */
  readonly also?: readonly SubjectField[]
  readonly hasNote?: true
  readonly command: (subject: Whole) => string
  /** @param summary undefined for a job */
  readonly effect: (subject: Whole, summary: RunSummary | undefined) => readonly string[]
  /** @returns words on the result */
  readonly act: (acting: Acting, subject: Whole) => Promise<string>
  /** True for work beyond the answer. */
  readonly isLong?: true
}

const ACTIONS: Readonly<Record<string, Form>> = {
  acknowledge: {
    name: 'Acknowledge',
    of: 'either',
    hasNote: true,
    command: acknowledgeCommand,
    effect: (subject, summary) => [
      `${subject.run === '' ? 'All runs of the job so far' : leftWords(summary)}: what is left behind${subject.reason === '' ? '' : ` for ${subject.reason}`} stays as it is, and needs nobody any more.`,
      `Nothing is sent. The rows stay in the rejects files. To withdraw it: \`${acknowledgeCommand(subject)} --undo\``,
    ],
    async act({ application, person }, { run, job, reason }) {
      const which = { run: run || undefined, job: job || undefined, reason: reason || undefined }
      const { runs, left } = await acknowledge(application, which, person)
      return `Acknowledged: ${counted(runs.length, 'run')}. ${left === 0 ? 'No run needs attention.' : `${counted(left, 'run needs', 'runs need')} attention.`}`
    },
  },
  pause: {
    name: 'Pause',
    of: 'job',
    hasNote: true,
    command: ({ job }) => command('pause', shellWord(job)),
    effect: () => [
      'The schedule no longer starts the job, until somebody ends the pause. A running one finishes.',
    ],
    async act({ application, person }, { job }) {
      const { changed } = await pauseJob(application, job, person)
      return changed ? `${job} is paused.` : `${job} was paused already.`
    },
  },
  unpause: {
    name: 'End the pause',
    of: 'job',
    command: ({ job }) => command('unpause', shellWord(job)),
    effect: () => ['The schedule starts the job again. Missed runs follow its `missed` setting.'],
    async act({ application, person }, { job }) {
      const { changed } = await unpauseJob(application, job, person)
      return changed ? `${job} is scheduled again.` : `${job} was not paused.`
    },
  },
  run: {
    name: 'Run',
    of: 'job',
    isLong: true,
    command: ({ job }) => command('run', shellWord(job)),
    effect: ({ job }) => [
      'An unfinished run of the job is finished first. Then the exports that have arrived are delivered to the gateway of the job.',
      `To count first and send nothing, type \`${command('run', shellWord(job), '--dry-run')}\`.`,
    ],
    async act({ application, listener }, { job }) {
      const options = { files: [], limit: Number.POSITIVE_INFINITY, acceptDrift: false }
      const { summary } = await beginRun(application, { listener }, job, options)
      return ended(summary)
    },
  },
  stop: {
    name: 'Stop',
    of: 'run',
    isLong: true,
    command: ({ run }) => command('stop', shellWord(run)),
    effect: () => [
      'Requests in flight are finished, and nothing new begins. The next run of the job continues this one.',
    ],
    async act({ application, person }, { run }) {
      return ended((await stopRun(application, run, person)).summary)
    },
  },
  rerun: {
    name: 'Rerun',
    of: 'run',
    isLong: true,
    command: ({ run, only }) =>
      command('rerun', shellWord(run), ...(only === '' ? [] : ['--only', shellWord(only)])),
    effect: (_, summary) => [
      `${leftWords(summary)}: the rows left behind are mapped again with the current mapping, and sent to ${summary?.gateway ?? 'the gateway'} as a new run.`,
    ],
    async act({ application, listener }, { run, only }) {
      const selection = only === 'rejected' || only === 'in-doubt' ? only : undefined
      return ended((await beginRerun(application, { listener }, run, selection)).summary)
    },
  },
  reconcile: {
    name: 'Reconcile',
    of: 'run',
    isLong: true,
    command: ({ run }) => command('reconcile', shellWord(run)),
    effect: (_, summary) => [
      `Profiles are read at ${summary?.gateway ?? 'the gateway'} to find out whether unanswered records arrived. Nothing is sent.`,
    ],
    async act({ application, listener }, { run }) {
      const { found, missed, inDoubt } = await reconcile(application, { listener }, run)
      return `Run ${run}: ${counted(found, 'record')} found, ${missed} missing, ${inDoubt} still in doubt.`
    },
  },
  accept: {
    name: 'Accept',
    of: 'run',
    hasNote: true,
    command: (subject) => resolveCommand(subject, '--accept'),
    effect: (subject, summary) => [
      `${recordsMeant(subject, summary)} as delivered, and nothing is sent again.`,
      'A record that the gateway does not have is then missing there for good. Reconcile first, to find out.',
    ],
    async act({ application, person, listener }, { run, transaction }) {
      const { records } = await accept(application, listener, run, person, onlyThis(transaction))
      return `${counted(records, 'record')} in doubt of run ${run} ${records === 1 ? 'counts' : 'count'} as delivered.`
    },
  },
  resend: {
    name: 'Resend',
    of: 'run',
    hasNote: true,
    isLong: true,
    command: (subject) => resolveCommand(subject, '--resend'),
    effect: (subject, summary) => [
      `${recordsMeant(subject, summary)} as not delivered: the profiles are read once more, and records that are not there are sent again, as a new run.`,
      'Risk: a record that arrived, and that the profile does not show yet, is then there twice. Reconcile first, to find out.',
    ],
    async act({ application, person, listener }, { run, transaction }) {
      const again = await resend(application, { listener }, run, person, onlyThis(transaction))
      return ended(again.resent.summary)
    },
  },
  'give-up': {
    name: 'Give up',
    of: 'run',
    hasNote: true,
    command: ({ run }) => command('resolve', shellWord(run), '--give-up'),
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
    name: 'Put aside',
    of: 'job',
    also: ['export'],
    hasNote: true,
    command: ({ job, export: name }) =>
      command('put-aside', shellWord(name), '--job', shellWord(job), '--reason', UNREADABLE),
    effect: ({ job, export: name }) => [
      `Later runs of ${job} pass over ${name} until its content changes. The file stays untouched.`,
    ],
    async act({ application, person }, { job, export: name }) {
      const request = { name, job, undo: false }
      await putAside(application, request, { ...person, note: person.note ?? UNREADABLE })
      return `${name} is put aside.`
    },
  },
  backfill: {
    name: 'Backfill',
    of: 'job',
    also: ['from', 'to'],
    isLong: true,
    command: ({ job, from, to }) =>
      command('backfill', shellWord(job), '--from', shellWord(from), '--to', shellWord(to)),
    effect: ({ job, from, to }) => [
      `The exports of ${from} to ${to} are delivered, oldest first, to the gateway of the job. An unfinished backfill of these days is continued.`,
      `The backfill gives way to other runs of ${job}.`,
    ],
    async act({ application, listener }, { job, from, to }) {
      return ended((await beginBackfill(application, { listener }, job, { from, to })).summary)
    },
  },
}

/** Default reason for putting an export aside. */
const UNREADABLE = 'unreadable'

const resolveCommand = ({ run, transaction }: Whole, how: string): string =>
  command(
    'resolve',
    shellWord(run),
    how,
    ...(transaction === '' ? [] : ['--transaction', shellWord(transaction)]),
  )

const recordsMeant = ({ run, transaction }: Whole, summary: RunSummary | undefined): string =>
  transaction === ''
    ? `${leftWords(summary)}: the records in doubt count`
    : `The record ${transaction} of run ${run} counts`

const onlyThis = (transaction: string): string[] => (transaction === '' ? [] : [transaction])

function acknowledgeCommand({ run, job, reason }: Whole): string {
  const which = run === '' ? ['--job', shellWord(job)] : [shellWord(run)]
  return command('acknowledge', ...which, ...(reason === '' ? [] : ['--reason', shellWord(reason)]))
}

const leftWords = (summary: RunSummary | undefined): string =>
  summary === undefined ? '' : verdictOf(summary).words

const ended = (summary: RunSummary): string =>
  `Run ${summary.run} of ${summary.job}: ${verdictOf(summary).words}.`

/** An action before its confirmation. */
export interface Proposed {
  readonly name: string
  readonly action: string
  readonly subject: Whole
  readonly command: string
  readonly effect: readonly string[]
  readonly hasNote: boolean
}

/** @throws WaybillError `usage-wrong` for an unknown action, or a missing run or job; `run-not-found` */
export async function propose(application: Application, action: string, given: Subject): Promise<Proposed> {
  const { form, subject } = formOf(action, given)
  const { summary } = subject.run === '' ? { summary: undefined } : await showRun(application, subject.run)
  const whole = { ...subject, run: summary?.run ?? '' }
  return {
    name: `${form.name} ${whole.run === '' ? whole.job : whole.run}`,
    action,
    subject: whole,
    command: form.command(whole),
    effect: form.effect(whole, summary),
    hasNote: form.hasNote === true,
  }
}

function formOf(action: string, given: Subject): { readonly form: Form; readonly subject: Whole } {
  const form = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  // The cast is sound: each field gets a text.
  const subject = Object.fromEntries(SUBJECT_FIELDS.map((field) => [field, given[field] ?? ''])) as Whole
  const { run, job } = subject
  const isNamed = form?.of === 'run' ? run !== '' : form?.of === 'job' ? job !== '' : run !== '' || job !== ''
  if (form === undefined || !isNamed || form.also?.some((field) => subject[field] === '') === true)
    throw new WaybillError('usage-wrong', 'the console has no such action', {
      remedy: 'Go back to the page of the run or the schedule, and choose the action there.',
    })
  return { form, subject }
}

/** Work begun on this console. */
export interface Begun {
  readonly command: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Run of the work, once known. */
  run: string | undefined
  /** Result; undefined until the end. */
  end: string | undefined
}

/** Latest works to show. */
const BEGUN_SHOWN = 5

/** Longest wait for the run of a long action, in milliseconds. */
const FIRST_SIGN_MS = 5_000

export function createActor(application: Application, listener: () => RunListener) {
  const begun: Begun[] = []
  const open = new Set<Promise<unknown>>()
  return {
    begun: begun as readonly Begun[],
    /**
     * Does a confirmed action. A long one is answered at its first sign: a run, an end, or a few seconds.
     * @throws errors of the action, if it ends before the answer
     */
    async act(
      action: string,
      given: Subject,
      person: Person,
    ): Promise<{ readonly words: string; readonly run: string | undefined }> {
      const { form, subject } = formOf(action, given)
      const work: Begun = {
        command: form.command(subject),
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
    /** Waits for the works that go on. */
    async close(): Promise<void> {
      await Promise.allSettled(open)
    },
  }
}
