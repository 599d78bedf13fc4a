/** Has workers run jobs: sends tickets, and follows them and their runs in the ledger. */
import type { Job } from '../definitions/definition-files.ts'
import type { LeaseRecord, Ledger } from '../ledger/ledger.ts'
import type { RunRequest, SentTicket, TicketEnd, Tickets } from '../ledger/tickets.ts'
import { type ExitCode, endingOf, WaybillError } from '../model/errors.ts'
import { LOOK_EVERY_MS } from '../run/lease.ts'
import { gatherStory } from '../story/facts.ts'
import type { JobEnd, RunStory } from '../story/run-story.ts'
import { present } from '../system/shown-text.ts'
import { type Application, withKnownLedger } from './application.ts'
import type { BeginWatch } from './begin.ts'
import type { RunOptions } from './run-job.ts'
import { assertSharedHome } from './shared-home.ts'
import { identityToSend } from './which-installation.ts'

/** First wait between two looks; each doubles the one before, up to `LOOK_EVERY_MS`. */
const FIRST_LOOK_MS = 100
/** Failed looks in a row, a second or more each, before a command gives up. The run of the worker is not concerned. */
const MOST_FAILED_LOOKS = 60

/** True for a run that any machine can do: a new ledger or key concerns this one. */
export const asksWorkers = (
  { settings }: Pick<Application, 'settings'>,
  options: Pick<RunOptions, 'lookFirst' | 'newLedger' | 'newKey'> = {},
): boolean =>
  settings.runBy === 'workers' &&
  [options.lookFirst, options.newLedger, options.newKey].every((option) => option !== true)

/** @throws `usage-wrong` without a ledger in PostgreSQL */
export function assertShared({ settings }: Pick<Application, 'settings'>): void {
  if (settings.ledger !== undefined) return
  throw new WaybillError('usage-wrong', 'workers need a ledger in PostgreSQL', {
    remedy: 'Set WAYBILL_LEDGER on each machine: docs/ledger.md, "Workers".',
  })
}

/** Opens the queue, on a machine that has the shared home. @throws `home-differs`, `ledger-unusable` */
export async function openSharedTickets(application: Application): Promise<Tickets> {
  assertShared(application)
  await withKnownLedger(application, (ledger) => assertSharedHome(application, ledger))
  return application.openTickets({ supervises: false })
}

interface Asked {
  readonly job: Job
  readonly gateway: string
  readonly request: RunRequest
}

/**
 * Has a worker carry a request out, and waits for the end.
 * @param watch its `onLook` receives the progress each second; undefined while no worker has begun
 * @throws as the run does; `job-held` if the job has a ticket already; `interrupted`: a run that has begun continues
 */
export const askWorkers = async (
  application: Application,
  watch: BeginWatch,
  asked: Asked,
): Promise<JobEnd> => (await askForReport(application, watch, asked)).end

/** As `askWorkers`. @returns also the findings of a reconciliation */
export async function askForReport(
  application: Application,
  watch: Pick<BeginWatch, 'onEnd' | 'onLook'>,
  asked: Asked,
): Promise<{ readonly end: JobEnd; readonly report: unknown }> {
  assertShared(application)
  const name = asked.job.definition.job
  const tickets = await application.openTickets({ supervises: false })
  try {
    return await withKnownLedger(application, async (ledger) => {
      // Makes the key of a new installation, and refuses another key than that of the ledger.
      await identityToSend(application, ledger, {})
      await assertSharedHome(application, ledger)
      const jobId = await ledger.jobs.id(name, asked.gateway)
      const former = await ledger.leases.last(jobId)
      const ticket = await tickets.send(keyOf(name, asked.gateway), asked.request)
      if (ticket === undefined) throw heldByTicket(name)
      const onLook = async (isTaken: boolean): Promise<void> =>
        watch.onLook?.(isTaken ? await runOf(application, ledger, jobId, former) : undefined)
      const ended = await awaitEnd(application, tickets, ticket, { name, onLook })
      const end = await endOf(application, ledger, name, ended)
      watch.onEnd?.(end)
      return { end, report: ended.report }
    })
  } finally {
    await tickets.close()
  }
}

/** Name of a job with its gateway, as tickets know it. */
export const keyOf = (job: string, gateway: string): string => `${job} ${gateway}`

export const heldByTicket = (job: string): WaybillError =>
  new WaybillError('job-held', `a worker runs the job ${job}, or is about to`, {
    remedy: 'To follow the run: `waybill watch`. To stop it: `waybill stop RUN`.',
  })

interface Following {
  readonly name: string
  readonly onLook?: (isTaken: boolean) => Promise<void>
}

/** Waits for the end of a ticket, also while the database is away. @throws `interrupted`, `ledger-unusable` */
export async function awaitEnd(
  { interrupt, sleep }: Pick<Application, 'interrupt' | 'sleep'>,
  tickets: Tickets,
  ticket: SentTicket,
  { name, onLook }: Following,
): Promise<TicketEnd> {
  let failed = 0
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(LOOK_EVERY_MS, 2 * waitMs)) {
    try {
      const state = await tickets.stateOf(ticket)
      if (typeof state === 'object') return state
      if (state === 'gone') throw new WaybillError('interrupted', `the ticket of the job ${name} was removed`)
      if (interrupt.aborted) {
        if (state === 'queued') await tickets.withdraw(ticket)
        throw new WaybillError('interrupted', `the run of ${name} is no longer watched`, {
          remedy:
            state === 'queued'
              ? 'Nothing has begun. Start a worker (`waybill worker`), and repeat the command.'
              : 'It continues on its worker: `waybill watch`.',
        })
      }
      await onLook?.(state === 'taken')
      failed = 0
    } catch (error) {
      const isAway = error instanceof WaybillError && error.code === 'ledger-unusable'
      if (!isAway || interrupt.aborted || ++failed > MOST_FAILED_LOOKS) throw error
    }
    await sleep(waitMs, interrupt).catch(() => {})
  }
}

/** Story of the run that holds the job; undefined before its first write. @param former lease before the ticket was sent */
async function runOf(
  application: Application,
  ledger: Ledger,
  jobId: number,
  former: LeaseRecord | undefined,
): Promise<RunStory | undefined> {
  const last = await ledger.leases.last(jobId)
  if (last === undefined || last.token === former?.token) return undefined
  const known = await ledger.runs.find(last.run_id)
  return known && storyOf(application, ledger, known.id)
}

const storyOf = ({ settings }: Application, ledger: Ledger, run: string): Promise<RunStory> =>
  gatherStory({ ledger, home: settings.home }, run)

/** Error that a worker has met. @param otherwise message where the worker gave none */
export function errorOf({ code, words }: TicketEnd, otherwise: string): WaybillError | undefined {
  if (code === undefined) return undefined
  if (words === undefined) return new WaybillError(code, otherwise)
  const { message, remedy, place, findings } = words
  return new WaybillError(code, message, {
    remedy,
    findings: findings.map((one) => ({ ...one, place: present(one.place) })),
    ...(place === undefined ? {} : { place: present(place) }),
  })
}

/** Error for the ticket, without a stack. @param exit of a run that has begun */
export function refusalOf(error: unknown, exit: number = endingOf(error).exit): TicketEnd {
  if (!(error instanceof WaybillError)) return { exit }
  const { code, message, remedy, place, findings } = error
  return { exit, code, words: { message, remedy, findings, ...present({ place }) } }
}

async function endOf(
  application: Application,
  ledger: Ledger,
  name: string,
  end: TicketEnd,
): Promise<JobEnd> {
  const { run, resumed, exit } = end
  const refused = `the worker refused the run of ${name}; its log has the cause`
  const error = errorOf(end, run === undefined ? refused : 'the run ended early')
  if (run === undefined) throw error ?? new Error(refused)
  return {
    ...(await storyOf(application, ledger, run)),
    exit: exit as ExitCode,
    ...present({
      error,
      resumed: resumed === undefined ? undefined : await storyOf(application, ledger, resumed),
    }),
  }
}
