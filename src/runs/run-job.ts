/**
 * A run of a job, from its exports to its balance. Read this and you know the system:
 *
 *   discover ─▶ fingerprint ─▶ open ─▶ map ─▶ recognise ─▶ register ─▶ deliver ─▶ settle ─▶ balance
 *   └────────── extract ───────────┘  transform  └────────── load ──────────┘    └─ reconcile ─┘
 *
 * carry-out.ts takes a run through; run-export.ts one export; load/load-chunk.ts one chunk; load/deliver.ts one batch.
 */
import { type Job, type LoadedMapping, readMappings } from '../definitions/definition-files.ts'
import { carryOut, exitOf, type JobEnd } from '../run/execute.ts'
import type { RunSummary } from '../run/summary.ts'
import { archiveResumed, archiveRun } from '../run/archive-exports.ts'
import { type Arrival, createArrival, spoolFolder } from '../run/arrival.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { divideByContents, resumeExports, startExports } from '../run/exports-of-run.ts'
import { findExports, noneFound } from '../run/find-exports.ts'
import type { HeldJob } from '../run/lease.ts'
import { whileHeld } from '../run/resume.ts'

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
  return whileHeld(deps, job, false, async (held, runId) => {
    const arrival = createArrival(spoolFolder(deps.home, held.lease.jobId, 'ordinary'), deps.sources)
    let ended = false
    try {
      const end = await runWith(deps, { held, runId, arrival, mappings }, job, options)
      ended = end.error === undefined
      return end
    } finally {
      await arrival.close(!ended)
    }
  })
}

interface Holding {
  readonly held: HeldJob
  /** Of the new run. */
  readonly runId: string
  readonly arrival: Arrival
  readonly mappings: ReadonlyMap<string, LoadedMapping>
}

async function runWith(
  deps: RunDependencies,
  { held, runId, arrival, mappings }: Holding,
  job: Job,
  options: RunOptions,
): Promise<JobEnd> {
  const { ledger, events } = deps
  const { limit } = options
  const whole = limit === Number.POSITIVE_INFINITY
  let resumed: RunSummary | undefined
  if (options.lookFirst === true) await ledger.noteBehind(deps.now() - 1)

  const unfinished = await ledger.unfinishedRun(held.lease.jobId, 'ordinary')
  if (unfinished !== undefined) {
    const opening = { id: unfinished.id, resumed: unfinished, limit }
    const end = await carryOut(deps, job, held, opening, (run) =>
      resumeExports(run, arrival, job.sources, ledger, unfinished),
    )
    if (end.error !== undefined) return end
    resumed = end.summary
  }
  const found = await findExports(arrival, job, options.files, deps.now())
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
  const part = options.files.length > 0 ? { part: 'files' as const } : {}
  const end = await carryOut(deps, job, held, { id: runId, resumed: undefined, limit, ...part }, (run) =>
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
  const { summary } = end
  const ended = end.error === undefined && whole ? await archiveRun(archiving, summary, others) : summary
  return { ...end, summary: { ...ended, ...(resumed === undefined ? {} : { resumed }) } }
}
