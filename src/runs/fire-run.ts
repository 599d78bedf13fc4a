/** Runs of the fires of a schedule: by the schedule itself, or by a worker that has their ticket. */
import { type Job, readJob } from '../definitions/definition-files.ts'
import { assertTellable, chooseGateway } from '../definitions/jobs.ts'
import { type RunRequest, TicketEnd, type Tickets } from '../ledger/tickets.ts'
import { EXIT } from '../model/errors.ts'
import { notingRefusedStart } from '../needs/refused-starts.ts'
import { createRunEvents, type RunDependencies, type RunListener } from '../run/events.ts'
import { decideOnce } from '../schedule/run-schedule.ts'
import type { FireEnd, ScheduleParts } from '../schedule/schedule-parts.ts'
import { nextTry } from '../schedule/tries.ts'
import { command, type Step } from '../story/next-steps.ts'
import type { RunSummary } from '../story/run-story.ts'
import { present } from '../system/shown-text.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Application } from './application.ts'
import { awaitEnd, errorOf, heldByTicket, keyOf, refusalOf } from './ask-workers.ts'
import { type BeginWatch, followed, runFollowed } from './begin.ts'
import { openGateways } from './connect-gateway.ts'
import { followByHeartbeat } from './heartbeats.ts'
import { lastRunFile } from './last-run.ts'
import { runJob } from './run-job.ts'
import { countEnd, countRuns } from './schedule-metrics.ts'
import { isNothingExplained, isNothingFound } from './scheduled-jobs.ts'
import { createTeller, type Teller } from './teller.ts'

interface WatchedFires {
  readonly reporter: () => RunListener
  readonly teller: Teller
  readonly metrics: Metrics | undefined
}

type FireParts = Parameters<ScheduleParts<Job>['run']>

/** Begins the run of a fire. @param connect opens the ledger, and the gateway of the job */
export const beginFire = (
  application: Application,
  watched: WatchedFires,
  connect: () => Promise<RunDependencies>,
  parts: FireParts,
): Promise<FireEnd> => {
  const { settings, now } = application
  const [job, , , retryAt] = parts
  const isTriedAgain = (code: string | undefined): boolean => retryAt(code) !== undefined
  return notingRefusedStart({ home: settings.home, now }, job.definition.job, () =>
    followed([followByHeartbeat(application, job, endOfFire, isTriedAgain)], async () =>
      runOnce(application, watched, await connect(), parts),
    ),
  )
}

async function runOnce(
  application: Application,
  { teller, metrics, reporter }: WatchedFires,
  deps: RunDependencies,
  [job, onRun, fire, retryAt]: FireParts,
): Promise<FireEnd> {
  const { logger } = application
  const name = job.definition.job
  const events = createRunEvents(
    metrics === undefined ? {} : countRuns(metrics, name),
    { runStarted: ({ id }) => onRun(id) },
    reporter(),
  )
  const options = { files: [], limit: Number.POSITIVE_INFINITY, acceptDrift: false }
  const isNothing = async (error: unknown): Promise<boolean> =>
    isNothingFound(error) && (await isNothingExplained(deps.ledger, deps.gatewayName, job, fire))
  const ended = await runFollowed(application, {
    teller,
    deps: { ...deps, events },
    job,
    next: nextOfSchedule,
    isTriedAgain: (code) => retryAt(code) !== undefined,
    refusals: async (error) => !(await isNothing(error)),
    tell: [...lastRunFile(application), ...countEnd(metrics)],
    counts: (error) => !isNothingFound(error),
    work: (given) => runJob(given, job, options),
  }).catch(async (error: unknown) => {
    if (await isNothing(error)) return 'nothing' as const
    throw error
  })
  if (ended === 'nothing') return ended
  const { summary, exit, error } = ended
  if (error !== undefined)
    logger.error(`${error.message}. ${error.remedy}`, {
      job: summary.job,
      run: summary.run,
      code: error.code,
    })
  return { run: summary.run, exit, ...(error === undefined ? {} : { error: error.code }) }
}

const endOfFire = (end: FireEnd) =>
  end === 'nothing' ? { exit: EXIT.ok, code: undefined } : { exit: end.exit, code: end.error }

/** A run that was interrupted with the schedule needs no command: the schedule resumes the run. */
const nextOfSchedule = ({ run, state, reason }: RunSummary): readonly Step[] | undefined =>
  state === 'interrupted' && reason === 'interrupted'
    ? [{ say: 'It resumes when the schedule starts; to look', commands: [command('show', run)] }]
    : undefined

interface FireOfTicket {
  readonly job: string
  readonly due: number
}

/** Begins the run of a fire whose ticket this worker has. The schedule that has sent the ticket ends the fire. */
export async function beginFireOfTicket(
  application: Application,
  watch: BeginWatch,
  { job: name, due }: FireOfTicket,
): Promise<TicketEnd> {
  const { settings, now } = application
  const job = await readJob(settings, name)
  assertTellable(settings, job)
  const gateway = chooseGateway(settings, job)
  const { common, at, close } = await openGateways(application, watch)
  const { ledger } = common
  const teller = createTeller(application, ledger)
  let decidedAt: number | undefined
  const retryAt = decideOnce((code) => {
    decidedAt = now()
    return nextTry(job.definition.schedule, due, code, decidedAt)
  })
  try {
    const jobId = await ledger.jobs.id(job.definition.job, gateway)
    const fire = (await ledger.fires.open(jobId)).find((one) => one.due === due)
    // Left the schedule meanwhile.
    if (fire === undefined) return { exit: EXIT.ok }
    let noted: Promise<void> = Promise.resolve()
    const onRun = (id: string): void => {
      // The end names the run in any case.
      noted = noted.then(() => ledger.fires.noteRun(fire, id)).catch(() => {})
    }
    const watched = { teller, metrics: undefined, reporter: () => watch.listener }
    const end = await beginFire(application, watched, () => at(gateway), [job, onRun, fire, retryAt, false])
    await noted
    if (end === 'nothing') return { exit: EXIT.ok }
    const { run, exit, error } = end
    return TicketEnd.parse({ run, exit, code: error, decidedAt })
  } catch (error) {
    return { ...refusalOf(error), ...present({ decidedAt }) }
  } finally {
    await teller.deliver()
    await close()
  }
}

const requestOf = (job: string, due: number): RunRequest => ({ what: 'run', job, files: [], fire: due })

/** True while a worker is to run a job for a fire. */
export async function isFireAwaited(
  tickets: Tickets,
  gateway: string,
  { job, due }: FireOfTicket,
): Promise<boolean> {
  const ticket = await tickets.find(keyOf(job, gateway), requestOf(job, due))
  const state = ticket && (await tickets.stateOf(ticket))
  return state === 'queued' || state === 'taken'
}

/**
 * Has a worker run the job of a fire, and waits for the end.
 * @throws `job-held`; `interrupted`: the worker goes on, and the schedule that continues the fire finds its ticket
 */
export async function askForFire(
  application: Application,
  tickets: Tickets,
  gateway: string,
  [job, , { due }, retryAt, isContinued]: FireParts,
): Promise<FireEnd> {
  const name = job.definition.job
  const request = requestOf(name, due)
  const key = keyOf(name, gateway)
  const before = isContinued ? await tickets.find(key, request) : undefined
  const isThere = before !== undefined && (await tickets.stateOf(before)) !== 'gone'
  const ticket = isThere ? before : await tickets.send(key, request)
  if (ticket === undefined) throw heldByTicket(name)
  const end = await awaitEnd(application, tickets, ticket, { name })
  retryAt(end.code, end.decidedAt)
  const error = errorOf(end, `the worker refused the run of ${name}; its log has the cause`)
  if (end.run !== undefined) return { run: end.run, exit: end.exit, ...present({ error: error?.code }) }
  if (error === undefined && end.exit === EXIT.ok) return 'nothing'
  throw error ?? new Error(`the run of ${name} ended with exit code ${end.exit}`)
}
