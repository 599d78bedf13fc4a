/** Holds a job while one of its runs is made, and what is fetched for it: what its other unfinished run has under way is settled first. */
import type { Job } from '../definitions/definition-files.ts'
import type { RunKind } from '../ledger/ledger.ts'
import { type Arrival, createArrival, spoolFolder } from '../run/arrival.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { execute, type JobEnd } from '../run/execute.ts'
import { type HeldJob, holdJob, settledOnly } from '../run/lease.ts'
import { openChunksOf } from '../run/resume.ts'

/**
 * The other run is left unfinished, and nothing of it under way.
 * @returns how it ended where that could not be done; nothing else may then be sent
 */
async function settleOpenChunks(
  deps: RunDependencies,
  job: Job,
  held: HeldJob,
  kind: RunKind,
): Promise<JobEnd | undefined> {
  const { ledger, home } = deps
  const { jobId } = held.lease
  const unfinished = await ledger.unfinishedRun(jobId, kind)
  if (unfinished === undefined) return undefined
  const open = await openChunksOf(ledger, unfinished)
  if (open.size === 0) return undefined
  const arrival = createArrival(spoolFolder(home, jobId, kind), deps.sources)
  const turn = async (_signal: AbortSignal, chunk: number): Promise<void> => {
    if (!open.has(chunk)) throw settledOnly()
  }
  const plan = {
    records: 'send',
    settlesOnly: true,
    ...{ job, id: unfinished.id, resumed: unfinished },
    limit: Number.POSITIVE_INFINITY,
    exports: { from: 'unfinished', run: unfinished },
  } as const
  try {
    const end = await execute(plan, { ...deps, held, arrival, turn })
    return end.error?.code === 'gave-way' ? undefined : end
  } finally {
    await arrival.close(true)
  }
}

export interface Holding {
  readonly held: HeldJob
  /** Of a new run. */
  readonly runId: string
  readonly arrival: Arrival
}

/**
 * Waits for its turn where one of two is a backfill, settles what the job's unfinished run of the other kind has under way, and works.
 * @param givesWay whether it is a backfill
 * @throws WaybillError `job-held`; `interrupted` while it waited
 */
export async function whileHeld(
  deps: RunDependencies,
  job: Job,
  givesWay: boolean,
  work: (holding: Holding) => Promise<JobEnd>,
): Promise<JobEnd> {
  const name = job.definition.job
  const jobId = await deps.ledger.jobId(name, deps.gatewayName)
  const runId = deps.newRunId()
  const held = await holdJob(deps, { jobId, job: name, runId, givesWay })
  try {
    const [own, other] = givesWay ? (['backfill', 'ordinary'] as const) : (['ordinary', 'backfill'] as const)
    const stopped = await settleOpenChunks(deps, job, held, other)
    if (stopped !== undefined) return stopped
    const arrival = createArrival(spoolFolder(deps.home, jobId, own), deps.sources)
    let ended = false
    try {
      const end = await work({ held, runId, arrival })
      ended = end.error === undefined
      return end
    } finally {
      // Whoever goes on with it needs what was fetched.
      await arrival.close(!ended)
    }
  } finally {
    await held.release()
  }
}
