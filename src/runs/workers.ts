/**
 * Runs on several machines over one ledger in PostgreSQL. A worker takes tickets and runs their jobs as `waybill run` does; a command that asks
 * for a run sends a ticket, and follows the run in the ledger.
 */
import { readJob, readMappings } from '../definitions/definition-files.ts'
import { assertTellable, chooseGateway, gatewayNameOf } from '../definitions/jobs.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { RunRequest, Ticket, TicketEnd, Tickets } from '../ledger/tickets.ts'
import { codeOf, EXIT, type ExitCode, endingOf, WaybillError } from '../model/errors.ts'
import { LOOK_EVERY_MS } from '../run/lease.ts'
import { gatherStory } from '../story/facts.ts'
import type { JobEnd, RunStory } from '../story/run-story.ts'
import { present } from '../system/shown-text.ts'
import { beginRun } from './actions.ts'
import { type Application, withKnownLedger } from './application.ts'
import type { BeginWatch } from './begin.ts'
import type { RunOptions } from './run-job.ts'

/** Half the silence after which a ticket goes to another worker. */
const BEAT_EVERY_MS = 5_000
/** Longest wait for the lease of a dead worker: longer than a lease in PostgreSQL lasts. */
const MOST_WAIT_MS = 30_000

/**
 * Carries out tickets until interrupted. An interrupted run is handed back: another worker continues the run at once.
 * @param watch makes the watch of each run
 * @throws WaybillError `usage-wrong` without a ledger in PostgreSQL, `ledger-unusable`
 */
export async function keepWorking(
  application: Application,
  watch: () => BeginWatch,
  concurrency: number,
): Promise<void> {
  const { interrupt, logger, sleep } = application
  assertShared(application)
  const tickets = await application.openTickets({ supervises: true })
  const pause = () => sleep(LOOK_EVERY_MS, interrupt).catch(() => {})
  let isAway = false
  const takeOne = async (): Promise<Ticket | undefined> => {
    try {
      const ticket = await tickets.take()
      if (isAway) logger.info('tickets can be taken again')
      isAway = false
      return ticket
    } catch (error) {
      const why = error instanceof WaybillError ? error.message : codeOf(error)
      if (!isAway) logger.warn(`no ticket can be taken: ${why}`)
      isAway = true
      return undefined
    }
  }
  const serve = async (): Promise<void> => {
    while (!interrupt.aborted) {
      const ticket = await takeOne()
      if (ticket === undefined) await pause()
      else await carryTicket(application, tickets, ticket, watch())
    }
  }
  logger.info('the worker has started')
  try {
    await Promise.all(Array.from({ length: concurrency }, serve))
  } finally {
    await tickets.close()
  }
  logger.info('the worker has ended')
}

function assertShared({ settings }: Pick<Application, 'settings'>): void {
  if (settings.ledger !== undefined) return
  throw new WaybillError('usage-wrong', 'workers need a ledger in PostgreSQL', {
    remedy: 'Set WAYBILL_LEDGER on each machine: docs/ledger.md, "Workers".',
  })
}

async function carryTicket(
  application: Application,
  tickets: Tickets,
  ticket: Ticket,
  watch: BeginWatch,
): Promise<void> {
  const { interrupt, logger, sleep } = application
  const over = new AbortController()
  const beating = (async () => {
    while (!over.signal.aborted) {
      // Without a heartbeat the ticket goes to another worker, and the lease decides who sends.
      await tickets.beat(ticket).catch(() => {})
      await sleep(BEAT_EVERY_MS, over.signal).catch(() => {})
    }
  })()
  const end = await runTicket(application, ticket, watch)
  over.abort()
  await beating
  const isHandedBack = interrupt.aborted && end.exit === EXIT.interrupted
  await (isHandedBack ? tickets.giveBack(ticket) : tickets.complete(ticket, end)).catch(() => {
    // The ticket comes back after the silence, and the next try finds the run in the ledger.
    logger.warn('the end of the run cannot be noted in the queue', { job: ticket.request.job })
  })
}

async function runTicket(
  application: Application,
  { attempt, request }: Ticket,
  watch: BeginWatch,
): Promise<TicketEnd> {
  const { job, limit = Number.POSITIVE_INFINITY, acceptDrift = false, ...more } = request
  try {
    if (attempt > 0) await awaitLease(application, job)
    const end = await beginRun(application, watch, job, { ...more, files: [], limit, acceptDrift })
    const { summary, exit, error, resumed } = end
    return { run: summary.run, exit, ...present({ resumed: resumed?.summary.run, code: error?.code }) }
  } catch (error) {
    const { exit, code } = endingOf(error)
    const words = error instanceof WaybillError ? `${error.message}. ${error.remedy}` : codeOf(error)
    application.logger.error(words, { job, code })
    return code === 'unexpected' ? { exit } : { exit, code }
  }
}

/** Waits for the end of a dead worker's lease. A job that somebody else runs is refused afterwards, as ever. */
async function awaitLease(application: Application, name: string): Promise<void> {
  const { settings, now, sleep, interrupt, isDead } = application
  const { definition } = await readJob(settings, name)
  await withKnownLedger(application, async (ledger) => {
    const jobId = await ledger.jobs.id(definition.job, gatewayNameOf(settings, definition))
    const until = now() + MOST_WAIT_MS
    while (now() < until && (await ledger.leases.holder(jobId, now(), isDead)) !== undefined)
      await sleep(LOOK_EVERY_MS, interrupt)
  })
}

/** True for a run that any machine can do: files, and a new ledger or key, concern this one. */
export const isForWorkers = (
  { settings }: Pick<Application, 'settings'>,
  { files, lookFirst, newLedger, newKey }: RunOptions,
): boolean =>
  settings.runBy === 'workers' &&
  files.length === 0 &&
  [lookFirst, newLedger, newKey].every((option) => option !== true)

/**
 * Has a worker run a job, and waits for the end.
 * @param onLook receives the progress each second; undefined while no worker has begun
 * @throws WaybillError as a run does; `job-held` if the job has a ticket already; `interrupted`: a run that has begun continues
 */
export async function askWorkers(
  application: Application,
  name: string,
  options: RunOptions,
  onLook: (shown: RunStory | undefined) => void,
): Promise<JobEnd> {
  const { settings } = application
  assertShared(application)
  const job = await readJob(settings, name)
  assertTellable(settings, job)
  const gateway = chooseGateway(settings, job)
  await readMappings(settings, job)
  const tickets = await application.openTickets({ supervises: false })
  try {
    const id = await tickets.send(`${job.definition.job} ${gateway}`, requestOf(name, options))
    if (id === undefined)
      throw new WaybillError('job-held', `a worker runs the job ${name}, or is about to`, {
        remedy: 'To follow the run: `waybill watch`. To stop it: `waybill stop RUN`.',
      })
    return await withKnownLedger(application, async (ledger) => {
      const jobId = await ledger.jobs.id(job.definition.job, gateway)
      const end = await awaitEnd(application, ledger, tickets, { id, name, jobId, onLook })
      return endOf(application, ledger, name, end)
    })
  } finally {
    await tickets.close()
  }
}

const requestOf = (
  job: string,
  { limit, acceptDrift, acceptEnd, unfinishedAlone }: RunOptions,
): RunRequest => ({
  job,
  ...present({ acceptEnd, unfinishedAlone }),
  ...(Number.isFinite(limit) ? { limit } : {}),
  ...(acceptDrift ? { acceptDrift } : {}),
})

interface Asked {
  readonly id: string
  readonly name: string
  readonly jobId: number
  readonly onLook: (shown: RunStory | undefined) => void
}

async function awaitEnd(
  application: Application,
  ledger: Ledger,
  tickets: Tickets,
  { id, name, jobId, onLook }: Asked,
): Promise<TicketEnd> {
  const { interrupt, sleep } = application
  for (;;) {
    const state = await tickets.stateOf(id)
    if (typeof state === 'object') return state
    if (state === 'gone') throw new WaybillError('interrupted', `the ticket of the job ${name} was removed`)
    if (interrupt.aborted) {
      if (state === 'queued') await tickets.withdraw(id)
      throw new WaybillError('interrupted', `the run of ${name} is no longer watched`, {
        remedy:
          state === 'queued' ? 'No worker had begun it.' : 'It continues on its worker: `waybill watch`.',
      })
    }
    onLook(state === 'queued' ? undefined : await runOf(application, ledger, jobId))
    await sleep(LOOK_EVERY_MS, interrupt).catch(() => {})
  }
}

/** Story of the run that holds the job; undefined before its first write. */
async function runOf(application: Application, ledger: Ledger, jobId: number): Promise<RunStory | undefined> {
  const last = await ledger.leases.last(jobId)
  const known = last === undefined ? undefined : await ledger.runs.find(last.run_id)
  return known && story(application, ledger, known.id)
}

const story = ({ settings }: Application, ledger: Ledger, run: string): Promise<RunStory> =>
  gatherStory({ ledger, home: settings.home }, run)

async function endOf(
  application: Application,
  ledger: Ledger,
  name: string,
  { run, resumed, exit, code }: TicketEnd,
): Promise<JobEnd> {
  if (run === undefined) {
    const message = `the worker refused the run of ${name}; its log has the cause`
    throw code === undefined ? new Error(message) : new WaybillError(code, message)
  }
  const shown = await story(application, ledger, run)
  const { detail = 'the run ended early' } = shown.summary
  return {
    ...shown,
    exit: exit as ExitCode,
    ...present({
      error: code && new WaybillError(code, detail),
      resumed: resumed === undefined ? undefined : await story(application, ledger, resumed),
    }),
  }
}
