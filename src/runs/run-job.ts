/**
 * Runs a job: goes on with what an earlier process has left unfinished, then takes what has arrived since. `src/run/execute.ts` carries out the
 * plans that are made here.
 */
import { type Job, type LoadedMapping, readMappings } from '../definitions/definition-files.ts'
import { targetsOf } from '../definitions/jobs.ts'
import type { Reason } from '../ledger/ledger.ts'
import { archiveResumed, archiveRun } from '../run/archive-exports.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { execute, type JobEnd } from '../run/execute.ts'
import { divideByContents } from '../run/exports-of-run.ts'
import { type FoundExport, findExports, noneFound } from '../run/find-exports.ts'
import { reasonsOfRun } from '../run/held-back.ts'
import {
  forgetKnownPeople,
  keepArticles,
  knownArticles,
  knownArticlesMapping,
  knownPeople,
  knownPeopleMapping,
} from '../run/known-ids.ts'
import { exitOf, type RunSummary } from '../run/summary.ts'
import type { Application } from './application.ts'
import { type RunWatch, withRunDependencies } from './connect-gateway.ts'
import { lastRunFile, tellingLastRun } from './last-run.ts'
import { runAndTell } from './run-and-tell.ts'
import { createTeller } from './teller.ts'
import { type Holding, whileHeld } from './while-held.ts'

export interface RunOptions {
  /** Files to take instead of those that the job finds. */
  readonly files: readonly string[]
  /** Rows to take of each export at most. */
  readonly limit: number
  /** The ledger does not know all that was delivered: profiles are read before anything is sent. */
  readonly lookFirst?: boolean
  /** Take exports as they are, however they differ from earlier deliveries. */
  readonly acceptDrift: boolean
}

/**
 * Resumes the job's unfinished run, if there is one, then runs the job over the exports that were not part of it; all the while nobody
 * else runs the job. A backfill that does is asked to let it go, and waited for.
 * @throws WaybillError `job-held`, `exports-none`, `mapping-invalid` …: nothing was sent
 */
export async function runJob(deps: RunDependencies, job: Job, options: RunOptions): Promise<JobEnd> {
  const mappings = await readMappings(deps.folders, job)
  return whileHeld(deps, job, false, (holding) => runWith(deps, holding, mappings, job, options))
}

/** Of a roster the newest delivery alone says who there is. */
const newestOf = (
  { definition, sources }: Job,
  files: readonly string[],
  found: readonly FoundExport[],
): readonly FoundExport[] =>
  definition.collect === undefined || files.length > 0
    ? found
    : sources.flatMap((source) => found.findLast(({ rules }) => rules === source) ?? [])

async function runWith(
  deps: RunDependencies,
  { held, runId, arrival }: Holding,
  mappings: ReadonlyMap<string, LoadedMapping>,
  job: Job,
  options: RunOptions,
): Promise<JobEnd> {
  const { ledger, events } = deps
  const { limit } = options
  const world = { ...deps, held, arrival }
  const whole = limit === Number.POSITIVE_INFINITY
  let resumed: RunSummary | undefined
  if (options.lookFirst === true) await ledger.noteBehind(deps.now() - 1)

  const unfinished = await ledger.unfinishedRun(held.lease.jobId, 'ordinary')
  if (unfinished !== undefined) {
    const exports = { from: 'unfinished', run: unfinished } as const
    const plan = { records: 'send', job, id: unfinished.id, resumed: unfinished, exports, limit } as const
    const end = await execute(plan, world)
    if (end.error !== undefined) return end
    resumed = end.summary
  }
  const { collect } = job.definition
  const isOfArticles = collect?.what.includes('articles') === true
  const isOfKnown = collect !== undefined && job.sources.length === 0
  if (isOfKnown && resumed !== undefined) {
    if (isOfArticles) await keepArticles(deps.home, job.definition.job, resumed.run)
    await forgetKnownPeople(deps.home, resumed.run)
    return { summary: resumed, exit: exitOf(resumed) }
  }
  const found = isOfKnown
    ? isOfArticles
      ? await knownArticles(deps, arrival, runId, collect.articles ?? {})
      : await knownPeople(deps, arrival, runId)
    : newestOf(job, options.files, await findExports(arrival, job, options.files, deps.now()))
  // A run that took up what another one left has read some rows of its exports alone.
  const taken =
    resumed === undefined || resumed.origin !== undefined ? [] : await ledger.exportsOf(resumed.run)
  const { others, done } =
    resumed === undefined ? { others: found, done: [] } : await divideByContents(arrival, found, taken)
  const { gatewayName, home } = deps
  const archiving = { gatewayName, arrival, events, ledger, runLedger: ledger.amendRun(held.lease), home }
  if (resumed !== undefined && whole) resumed = await archiveResumed(archiving, resumed, done)
  if (others.length === 0) {
    if (resumed !== undefined) return { summary: resumed, exit: exitOf(resumed) }
    throw noneFound(job)
  }
  const plan = {
    records: 'send',
    ...{ job, id: runId, resumed: undefined, limit },
    exports: {
      from: 'found',
      found: others,
      mappings: isOfArticles ? knownArticlesMapping() : isOfKnown ? knownPeopleMapping() : mappings,
      acceptDrift: options.acceptDrift,
    },
    ...(options.files.length > 0 ? { part: 'files' as const } : {}),
  } as const
  const end = await execute(plan, world)
  const { summary } = end
  if (isOfArticles && end.error === undefined) await keepArticles(deps.home, job.definition.job, runId)
  if (isOfKnown && end.error === undefined) await forgetKnownPeople(deps.home, runId)
  const ended = end.error === undefined && whole ? await archiveRun(archiving, summary, others) : summary
  return { ...end, summary: { ...ended, ...(resumed === undefined ? {} : { resumed }) } }
}

export interface Beginning {
  readonly job: Job
  /** As `chooseGateway` gives it. */
  readonly gateway: string
  /** Whether targets are notified, too, where nothing could be run: not where somebody has just typed what is refused. */
  readonly refusals: boolean
  /** Requests a second at most. */
  readonly requestsPerSecond?: number | undefined
  readonly work: (deps: RunDependencies) => Promise<JobEnd>
}

export interface BeginWatch extends RunWatch {
  /** Called when the run has ended, before its notifications are delivered: that may take ten seconds. */
  readonly onEnd?: (end: JobEnd, reasonsOf: (run: string) => Promise<readonly Reason[]>) => Promise<void>
}

/** @throws what `work` throws: then nothing was run */
export function begin(
  application: Application,
  watch: BeginWatch,
  { job, gateway, refusals, requestsPerSecond, work }: Beginning,
): Promise<JobEnd> {
  return withRunDependencies(application, watch, gateway, async (opened) => {
    const { ledger } = opened
    const deps = { ...opened, requestsPerSecond }
    const name = job.definition.job
    const teller = createTeller(application, ledger, new Map([[name, targetsOf(job)]]))
    const tell = lastRunFile(application)
    const told = (given: RunDependencies): Promise<JobEnd> =>
      tellingLastRun(application, given, { job: name, tell, refusals }, () => work(given))
    try {
      const end = await runAndTell(application, { teller, deps, job, refusals, work: told })
      await watch.onEnd?.(end, (run) => reasonsOfRun(ledger, run))
      return end
    } finally {
      await teller.deliver()
    }
  })
}
