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
import type { Gateway } from '../gateway/gateway.ts'
import { type Ledger, noTallies, type RunLedger, type RunRecord } from '../ledger/ledger.ts'
import type { Identity } from '../load/identity.ts'
import { connectStages } from './connect-stages.ts'
import { readTallies } from './counts-text.ts'
import { type DefinitionFolders, type Job, type LoadedMapping, readMapping } from './definition-files.ts'
import { type ExportStep, resumeExports, startExports, withoutContents } from './exports-of-run.ts'
import { findExports } from './find-exports.ts'
import { keepLease, takeLease } from './lease.ts'
import type { RunEvents } from './run-events.ts'
import { type ExportContext, isExportProblem, runExport } from './run-export.ts'
import { openAppended } from './run-files.ts'
import { type RunSummary, summarise } from './summary.ts'

/** Everything a run needs that is not pure; built in main.ts. */
export interface RunDependencies {
  readonly ledger: Ledger
  readonly gateway: Gateway
  /** Names the gateway in the ledger. */
  readonly gatewayName: string
  readonly identity: Identity
  readonly folders: DefinitionFolders
  readonly home: string
  readonly events: RunEvents
  readonly now: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** A run id that was not used before. */
  readonly newRunId: () => string
  /** `host:pid` of this process. */
  readonly owner: string
  readonly isDead: (owner: string) => boolean
  /** Aborted when the operator wants the run to stop: what is under way is finished, nothing new begun. */
  readonly interrupt: AbortSignal
}

export interface RunOptions {
  /** Files to take instead of those that the job finds. */
  readonly files: readonly string[]
  /** Rows to take of each export at most. */
  readonly limit: number
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
  const mappings = await readMappings(deps.folders, job)
  const earlier: RunSummary[] = []
  const resumedContents = new Set<string>()

  const unfinished = await deps.ledger.unfinishedRun(jobId)
  if (unfinished !== undefined) {
    const end = await execute(deps, job, jobId, unfinished, options, (run) =>
      resumeExports(run, deps.ledger, unfinished),
    )
    for (const { sha256 } of end.summary.exports) resumedContents.add(sha256)
    if (end.error !== undefined) return end
    earlier.push(end.summary)
  }
  const found = await findExports(job, options.files, deps.now())
  const sources = resumedContents.size === 0 ? found : await withoutContents(found, resumedContents)
  const [resumed] = earlier
  if (sources.length === 0) {
    if (resumed !== undefined) return { summary: resumed, exit: exitOf(resumed) }
    throw new WaybillError(
      'exports-none',
      `the job ${job.definition.job} found no exports (${job.sources.map(({ from, match }) => join(from, match)).join(', ')})`,
    )
  }
  const end = await execute(deps, job, jobId, undefined, options, (run) =>
    startExports(run, sources, mappings),
  )
  return { ...end, summary: { ...end.summary, ...(resumed === undefined ? {} : { resumed }) } }
}

interface Run {
  readonly id: string
  readonly runLedger: RunLedger
  readonly export: ExportContext
  readonly events: RunEvents
}

/** Runs until all exports are done or something stops it, and writes down how it ended. */
async function execute(
  deps: RunDependencies,
  job: Job,
  jobId: number,
  resumed: RunRecord | undefined,
  options: RunOptions,
  exports: (run: Run) => AsyncIterable<ExportStep>,
): Promise<JobEnd> {
  const { ledger, now, events } = deps
  const startedAt = now()
  const id = resumed?.id ?? deps.newRunId()
  const rejectsPath = resumed?.rejects_path ?? join('rejects', id)
  const receiptsPath = resumed?.receipts_path ?? join('receipts', `${id}.ndjson.gz`)
  const lease = await takeLease(
    ledger,
    { jobId, job: job.definition.job, runId: id, owner: deps.owner, now: startedAt },
    deps.isDead,
  )
  const runLedger =
    resumed === undefined
      ? await ledger.startRun(lease, { id, jobId, startedAt, rejectsPath, receiptsPath })
      : await ledger.resumeRun(lease, resumed)
  events.runStarted({
    id,
    job: job.definition.job,
    gateway: deps.gatewayName,
    resumed: resumed !== undefined,
  })

  const tallies = resumed === undefined ? noTallies() : readTallies(resumed.tallies)
  const receipts = openAppended(join(deps.home, receiptsPath), await settledReceipts(ledger, id))
  const stopping = new AbortController()
  const stop = (reason: unknown): void => stopping.abort(reason)
  const onInterrupt = (): void => stop(new WaybillError('interrupted', 'the run was interrupted'))
  deps.interrupt.addEventListener('abort', onInterrupt, { once: true })
  if (deps.interrupt.aborted) onInterrupt()
  const kept = keepLease(runLedger, now, stop)

  const run: Run = {
    id,
    runLedger,
    events,
    export: connectStages(deps, job, jobId, {
      runLedger,
      tallies,
      receipts,
      stop,
      signal: stopping.signal,
      limit: options.limit,
      rejectsPath,
    }),
  }
  const pending: ExportPending[] = []
  let error: unknown
  try {
    for await (const step of exports(run)) {
      const end = await runOneExport(run, step)
      if (end === undefined) continue
      pending.push(end)
      error = end.error
      if (error !== undefined) break
    }
  } catch (stopped) {
    error = stopped
  }
  try {
    kept.stop()
    deps.interrupt.removeEventListener('abort', onInterrupt)
    await receipts.close()
    const state = endState(error)
    const reason = error === undefined ? null : error instanceof WaybillError ? error.code : 'unexpected'
    if (!(error instanceof WaybillError && error.code === 'lease-lost')) {
      await runLedger.endRun({ state, endedAt: now(), workedMs: now() - startedAt, reason }, tallies)
      await ledger.releaseLease(lease)
    }
  } finally {
    events.runEnded()
  }
  if (error !== undefined && !(error instanceof WaybillError)) throw error
  const summary = await summarise(ledger, deps.home, id, pending)
  if (error === undefined) return { summary, exit: exitOf(summary) }
  return { summary, exit: error.exit, error }
}

/** Counts of an export that was stopped, with what is open as pending. */
export interface ExportPending {
  readonly ordinal: number
  readonly counts: Awaited<ReturnType<typeof runExport>>['counts']
  readonly error?: unknown
}

async function runOneExport(run: Run, { record, mapping }: ExportStep): Promise<ExportPending | undefined> {
  try {
    return { ordinal: record.ordinal, ...(await runExport(run.export, record, mapping)) }
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
    await Promise.all([...names].map(async (name) => [name, await readMapping(folders, name)] as const)),
  )
}

/** Length up to which the receipts of a run are settled. */
async function settledReceipts(ledger: Ledger, runId: string): Promise<number> {
  const exports = await ledger.exportsOf(runId)
  const chunks = await Promise.all(exports.map((record) => ledger.chunksOf(record.id)))
  return Math.max(0, ...chunks.flat().map((chunk) => chunk.receipts_length ?? 0))
}

/**
 * A run that its own threshold has stopped is over: nothing of it is under way, and resumed, it would map as before and stop again.
 */
function endState(error: unknown): 'finished' | 'interrupted' | 'failed' {
  if (error === undefined) return 'finished'
  return error instanceof WaybillError && error.code === 'threshold-passed' ? 'failed' : 'interrupted'
}

/** 0 where all is accounted for and accepted or unchanged; 1 where something was left behind; 2 where nothing could be read. */
function exitOf(summary: RunSummary): ExitCode {
  const kinds = Object.values(summary.records)
  if (summary.exports.every((one) => one.error !== undefined)) return EXIT.wrongUse
  const left =
    summary.rows.rejected > 0 ||
    summary.primaryCare.refused > 0 ||
    summary.exports.some((one) => one.error !== undefined) ||
    kinds.some((records) => records.rejected + records.inDoubt + records.pending > 0)
  return left ? EXIT.recordsLeftBehind : EXIT.ok
}
