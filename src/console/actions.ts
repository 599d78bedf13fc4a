/**
 * Actions of the console. Each shows effect and command, then calls the function of the command. Long actions continue after the answer; the
 * pages of the runs show the progress.
 */
import { WaybillError } from '../model/errors.ts'
import type { RunListener } from '../run/events.ts'
import { chooseRuns } from '../runs/actions.ts'
import type { Application } from '../runs/application.ts'
import { showRun } from '../runs/listed-runs.ts'
import type { Person } from '../runs/resolve.ts'
import { assertReadable, choiceIn, FORMS, type Form, type Whole } from './action-forms.ts'
import {
  ACTION_COMMANDS,
  type ActionName,
  commandOf,
  isAction,
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
  /** Fields to fill in. */
  readonly options: readonly SubjectField[]
  readonly command: string
  /** Undefined until the subject is chosen. */
  readonly effect: readonly string[] | undefined
  readonly hasNote: boolean
}

/** @throws WaybillError `usage-wrong` for an unknown action, or a field of another form; `run-not-found` */
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

/** Default reason for putting an export aside. */
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
     * @throws WaybillError `usage-wrong` for a missing field; errors of the action, if it ends before the answer
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
    /** Waits for the works that go on. */
    async close(): Promise<void> {
      await Promise.allSettled(open)
    },
  }
}
