/**
 * A run of a job, from its exports to its balance. Read this and you know the system:
 *
 *   discover ─▶ fingerprint ─▶ open ─▶ map ─▶ recognise ─▶ register ─▶ deliver ─▶ settle ─▶ balance
 *   └────────── extract ───────────┘  transform  └────────── load ──────────┘    └─ reconcile ─┘
 *
 * run-export.ts takes one export through; load/load-chunk.ts one chunk; load/deliver.ts one batch.
 */
import { join } from 'node:path'
import { EXIT, type ExitCode, WaybillError } from '../errors.ts'
import { archiveResumed, archiveRun } from './archive-exports.ts'
import { type Arrival, createArrival } from './arrival.ts'
import { type DefinitionFolders, type Job, type LoadedMapping, readMapping } from './definition-files.ts'
import { divideByContents, type ExportStep, resumeExports, startExports } from './exports-of-run.ts'
import { findExports } from './find-exports.ts'
import { type OpenRun, openRun, type RunOpening } from './open-run.ts'
import type { RunDependencies } from './run-dependencies.ts'
import { type ExportEnd, isExportProblem, runExport } from './run-export.ts'
import { type RunSummary, summarise } from './summary.ts'

export interface RunOptions {
  /** Files to take instead of those that the job finds. */
  readonly files: readonly string[]
  /** Rows to take of each export at most. */
  readonly limit: number
  /** Take exports as they are, however they differ from earlier deliveries. */
  readonly acceptDrift: boolean
}

export interface JobEnd {
  readonly summary: RunSummary
  readonly exit: ExitCode
  /** What ended the last run before its time. */
  readonly error?: WaybillError
}

/**
 * Resumes the job's unfinished run, if there is one, then runs the job over the exports that were not part of it.
 * @throws WaybillError `job-held`, `exports-none`, `mapping-invalid` …: nothing was sent
 */
export async function runJob(deps: RunDependencies, job: Job, options: RunOptions): Promise<JobEnd> {
  const jobId = await deps.ledger.jobId(job.definition.job, deps.gatewayName)
  const arrival = createArrival(join(deps.home, 'spool', String(jobId)), deps.sources)
  let ended = false
  try {
    const end = await runWith(deps, arrival, jobId, job, options)
    ended = end.error === undefined
    return end
  } finally {
    await arrival.close(!ended)
  }
}

async function runWith(
  deps: RunDependencies,
  arrival: Arrival,
  jobId: number,
  job: Job,
  options: RunOptions,
): Promise<JobEnd> {
  const { ledger, events } = deps
  const { limit } = options
  const mappings = await readMappings(deps.folders, job)
  const whole = limit === Number.POSITIVE_INFINITY
  let resumed: RunSummary | undefined

  const unfinished = await ledger.unfinishedRun(jobId)
  if (unfinished !== undefined) {
    const end = await execute(deps, job, { jobId, resumed: unfinished, limit }, (run) =>
      resumeExports(run, arrival, job.sources, ledger, unfinished),
    )
    if (end.error !== undefined) return end
    resumed = end.summary
  }
  const found = await findExports(arrival, job, options.files, deps.now())
  // A run that took up what another one left has read some rows of its exports alone.
  const contents = new Set(resumed?.origin === undefined ? resumed?.exports.map(({ sha256 }) => sha256) : [])
  const { others, done } =
    resumed === undefined ? { others: found, done: [] } : await divideByContents(arrival, found, contents)
  if (resumed !== undefined && whole) await archiveResumed({ arrival, events }, resumed, done)
  if (others.length === 0) {
    if (resumed !== undefined) return { summary: resumed, exit: exitOf(resumed) }
    throw new WaybillError(
      'exports-none',
      `the job ${job.definition.job} found no exports (${job.sources.map(({ from, match }) => `${from}/${match}`).join(', ')})`,
    )
  }
  const end = await execute(deps, job, { jobId, resumed: undefined, limit }, (run) =>
    startExports(run, arrival, others, mappings, {
      ledger,
      job: job.definition.job,
      rules: job.definition.drift,
      accept: options.acceptDrift,
      readsAhead: true,
      whole,
      now: run.export.startedAt,
    }),
  )
  if (end.error === undefined && whole) await archiveRun({ arrival, events }, ledger, end.summary, others)
  return { ...end, summary: { ...end.summary, ...(resumed === undefined ? {} : { resumed }) } }
}

/** Runs until all exports are done or something stops it, and writes down how it ended. */
export async function execute(
  deps: RunDependencies,
  job: Job,
  opening: RunOpening,
  exports: (run: OpenRun) => AsyncIterable<ExportStep>,
): Promise<JobEnd> {
  const run = await openRun(deps, job, opening)
  const worked: ExportCounts[] = []
  let error: unknown
  try {
    for await (const step of exports(run)) {
      const end = await runOneExport(run, step)
      if (end === undefined) continue
      worked.push(end)
      error = end.error
      if (error !== undefined) break
    }
  } catch (stopped) {
    error = stopped
  }
  await run.end(error)
  if (error !== undefined && !(error instanceof WaybillError)) throw error
  const summary = await summarise(deps.ledger, deps.home, run.id, worked)
  if (error === undefined) return { summary, exit: exitOf(summary) }
  return { summary, exit: error.exit, error }
}

/** What became of an export; where it was stopped, with what is open as pending. */
interface ExportCounts extends ExportEnd {
  readonly ordinal: number
}

/** Undefined where nothing of the export could be sent; the ledger then says why. */
async function runOneExport(
  run: OpenRun,
  { record, mapping, limits, watch }: ExportStep,
): Promise<ExportCounts | undefined> {
  try {
    return { ordinal: record.ordinal, ...(await runExport(run.export, record, mapping, limits, watch)) }
  } catch (error) {
    if (!isExportProblem(error)) throw error
    await run.runLedger.endExport(record.id, 'failed', error.code)
    run.events.exportFailed(record.name, error)
    return undefined
  }
}

async function readMappings(folders: DefinitionFolders, job: Job): Promise<Map<string, LoadedMapping>> {
  const names = new Set(job.sources.map((source) => source.mapping))
  return new Map(
    await Promise.all(
      [...names].map(async (name) => [name, await readMapping(folders, name, job.catalog)] as const),
    ),
  )
}

/** 0 where all is accounted for and accepted or unchanged; 1 where something was left behind; 2 where nothing could be read. */
function exitOf(summary: RunSummary): ExitCode {
  const kinds = Object.values(summary.records)
  if (summary.exports.every((one) => one.error !== undefined)) return EXIT.wrongUse
  const left =
    summary.rows.rejected > 0 ||
    summary.primaryCare.refused + summary.careTeams.notReplaced > 0 ||
    summary.exports.some((one) => one.error !== undefined) ||
    kinds.some((records) => records.rejected + records.inDoubt + records.pending > 0)
  return left ? EXIT.recordsLeftBehind : EXIT.ok
}
