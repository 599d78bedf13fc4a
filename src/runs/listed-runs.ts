/** Runs: a page of them, one, its log lines. Watches or stops a run in any process. */
import { createReadStream, existsSync } from 'node:fs'
import { z } from 'zod'
import { readJob } from '../definitions/definition-files.ts'
import { readGatewayName } from '../definitions/jobs.ts'
import type { Ledger, RunFilter } from '../ledger/ledger.ts'
import type { RunState } from '../ledger/states.ts'
import { WaybillError } from '../model/errors.ts'
import { LOOK_EVERY_MS } from '../run/lease.ts'
import { activityOf, cameAnew, gatherDetails, mostFrequentReason, summarise } from '../story/facts.ts'
import type { ListedRun, RunActivity, RunStory } from '../story/run-story.ts'
import { present } from '../system/shown-text.ts'
import { textLines } from '../system/text-lines.ts'
import type { LogFile } from '../telemetry/logger.ts'
import { nameRun } from './amend-run.ts'
import { type Application, withKnownLedger } from './application.ts'
import type { Person } from './resolve.ts'

/** States in texts for people: `running` in the ledger is either under way, or stopped. */
type ShownState = 'under-way' | 'stopped' | 'interrupted' | 'finished' | 'failed'

export interface RunQuestion {
  readonly limit: number
  /** From 1. */
  readonly page?: number
  readonly job?: string | undefined
  /** Only runs that need a person. */
  readonly failed?: true | undefined
  /** Earliest start. */
  readonly since?: number | undefined
  readonly state?: ShownState | undefined
}

export interface ListedRuns {
  readonly runs: readonly ListedRun[]
  readonly total: number
  readonly page: number
  readonly pages: number
}

/** Newest first. @throws `job-not-found` */
export const listRuns = (
  application: Application,
  { limit, page = 1, job, failed, since, state }: RunQuestion,
): Promise<ListedRuns> =>
  withKnownLedger(application, async (ledger) => {
    const active = await activeRuns(application, ledger)
    const only = { job, failed, since, ...ofState(active, state, failed) }
    const total = await ledger.runs.count(only)
    const runs: ListedRun[] = []
    for (const { id } of await ledger.runs.list(limit, only, (page - 1) * limit)) {
      const activity = active.get(id)
      const mostFrequent = await mostFrequentReason(ledger, id)
      runs.push({
        ...(await summarise(ledger, application.settings.home, id)),
        ...present({ activity, mostFrequent }),
      })
    }
    if (job !== undefined && total === 0) await assertKnown(application, ledger, job)
    return { runs, total, page, pages: Math.max(1, Math.ceil(total / limit)) }
  })

/** Activity of runs that are `running` in the ledger: per job at most one ordinary run and one backfill. */
async function activeRuns(
  { now, isDead }: Pick<Application, 'now' | 'isDead'>,
  ledger: Ledger,
): Promise<Map<string, RunActivity>> {
  const active = new Map<string, RunActivity>()
  for (const run of await ledger.runs.list(Number.MAX_SAFE_INTEGER, { states: ['running'] })) {
    const activity = await activityOf(ledger, run, now(), isDead)
    if (activity !== undefined) active.set(run.id, activity)
  }
  return active
}

function ofState(
  active: ReadonlyMap<string, RunActivity>,
  state: RunQuestion['state'],
  failed: true | undefined,
): Pick<RunFilter, 'states' | 'among' | 'except'> {
  const those = (kind: RunActivity['kind']): string[] =>
    [...active].flatMap(([id, activity]) => (activity.kind === kind ? [id] : []))
  const stored = new Set<RunState>(['interrupted', 'finished', 'failed'])
  const states = [...stored].filter((one) => one === state)
  return {
    ...present({ states }),
    ...(state === 'under-way' || state === 'stopped' ? { among: those(state) } : {}),
    // A run in progress has not failed.
    ...(failed === true ? { except: those('under-way') } : {}),
  }
}

/** Accepts a job with runs, or with a job file of this name. @throws `job-not-found` */
async function assertKnown(
  { settings }: Application,
  ledger: Pick<Ledger, 'runs'>,
  job: string,
): Promise<void> {
  if ((await ledger.runs.list(1, { job })).length > 0) return
  await readJob(settings, job).catch((error: unknown) => {
    // A problem in the job file does not concern past runs.
    if (error instanceof WaybillError && error.code !== 'job-not-found') return
    throw error
  })
}

/** @param name undefined: the latest. @throws `run-not-found` */
export const showRun = (application: Application, name = 'latest'): Promise<RunStory> =>
  withKnownLedger(application, async (ledger) => {
    const { settings, now, isDead } = application
    const run = await nameRun(ledger, name)
    const sources = { ledger, home: settings.home, now: now(), isDead }
    const { summary: found, reasons } = await gatherDetails(sources, run.id)
    const untold = await ledger.notifications.untold(run.job_id, run.id)
    const gateway = await readGatewayName(settings, found.job)
    const rejected = reasons.filter(
      ({ outcome, count, settled }) => outcome === 'rejected' && count > settled,
    )
    const names = new Set(rejected.map(({ exportName }) => exportName))
    const anew = await cameAnew(ledger, run, [...names])
    const settingsName = gateway === found.gateway ? undefined : gateway
    return { summary: { ...found, ...present({ anew, untold, settingsName }) }, reasons }
  })

/** JSON of `waybill show`. */
export const runJson = ({ summary, reasons }: RunStory): object => ({ ...summary, reasons })

const Line = z.looseObject({
  timestamp: z.string(),
  level: z.string(),
  message: z.string(),
  run: z.string().optional(),
})
type LogLine = z.infer<typeof Line>

/**
 * Log lines, oldest first.
 * @param name of the run; undefined: the latest
 * @throws `run-not-found`; `log-not-found` if no log file is configured, or none exists
 */
export async function* logOfRun(application: Application, name = 'latest'): AsyncGenerator<LogLine> {
  const { id } = await withKnownLedger(application, (ledger) => nameRun(ledger, name))
  for (const file of filesOf(application.settings.logFile)) {
    for await (const text of textLines(createReadStream(file))) {
      if (!text.includes(id)) continue
      const line = parsed(text)
      if (line?.run === id) yield line
    }
  }
}

function filesOf(logFile: LogFile | undefined): string[] {
  if (logFile === undefined)
    throw new WaybillError('log-not-found', 'no log file is configured: WAYBILL_LOG_FILE is not set')
  const { path, files } = logFile
  const aside = Array.from({ length: files - 1 }, (_, at) => `${path}.${files - 1 - at}`)
  const there = [...aside, path].filter((file) => existsSync(file))
  if (there.length > 0) return there
  throw new WaybillError('log-not-found', `there is no log file ${path}`, { place: { file: path } })
}

/** Undefined for a line of another program. */
function parsed(text: string): LogLine | undefined {
  try {
    return Line.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/**
 * Asks the process of a run to stop, and waits for the end. Requests in flight are finished; the next run of the job resumes the run. If the
 * process dies, its successor is asked, too; a run without a process ends in the ledger.
 * @throws `run-not-found`; `nothing-left` if the run is not in progress
 */
export async function stopRun(application: Application, name: string, person: Person): Promise<RunStory> {
  const { now, isDead } = application
  const run = await withKnownLedger(application, async (ledger) => {
    const ofJob = await ledger.runs.list(Number.MAX_SAFE_INTEGER, { job: name, states: ['running'] })
    const isJob = ofJob.length > 0 || (await ledger.runs.list(1, { job: name })).length > 0
    for (const { id } of isJob ? ofJob : [await nameRun(ledger, name)])
      if (await ledger.leases.stop(id, { ...person, at: now() }, isDead)) return id
    throw new WaybillError(
      'nothing-left',
      isJob ? `no run of ${name} is under way` : `run ${name} is not under way`,
    )
  })
  const isStopping = ({ leases }: Ledger) => leases.isStopping(run, now(), isDead)
  while (await withKnownLedger(application, isStopping)) await awaitLook(application, run)
  return showRun(application, run)
}

/**
 * Waits for the end of the run.
 * @param onLook receives the progress, first at once, then each second
 * @throws `run-not-found`; `interrupted`: the run itself continues
 */
export async function watchRun(
  application: Application,
  name: string | undefined,
  onLook: (shown: RunStory) => void = () => {},
): Promise<RunStory> {
  let run = name
  for (;;) {
    const shown = await showRun(application, run)
    run = shown.summary.run
    if (shown.summary.activity?.kind !== 'under-way') return shown
    onLook(shown)
    await awaitLook(application, run)
  }
}

async function awaitLook(
  { interrupt, sleep }: Pick<Application, 'interrupt' | 'sleep'>,
  run: string,
): Promise<void> {
  await sleep(LOOK_EVERY_MS, interrupt).catch(() => {})
  if (interrupt.aborted)
    throw new WaybillError('interrupted', `run ${run} is no longer watched; it continues`, {
      remedy: `Type \`waybill watch ${run}\` to watch it again, or \`waybill stop ${run}\` to end it.`,
    })
}
