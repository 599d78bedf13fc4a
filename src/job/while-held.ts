/** Work on a job while nobody else runs it. */

import type { Job } from '../definitions/definition-files.ts'
import type { JobEnd } from './carry-out.ts'
import { type HeldJob, holdJob } from './lease.ts'
import type { RunDependencies } from './run-dependencies.ts'
import { settleOpenChunks } from './settle-open-chunks.ts'

/**
 * Waits for its turn where one of two is a backfill, settles what the job's unfinished run of the other kind has under way, and works.
 * @param givesWay whether it is a backfill
 * @param work given the id for a new run
 * @throws WaybillError `job-held`; `interrupted` while it waited
 */
export async function whileHeld(
  deps: RunDependencies,
  job: Job,
  givesWay: boolean,
  work: (held: HeldJob, runId: string) => Promise<JobEnd>,
): Promise<JobEnd> {
  const name = job.definition.job
  const jobId = await deps.ledger.jobId(name, deps.gatewayName)
  const runId = deps.newRunId()
  const held = await holdJob(deps, { jobId, job: name, runId, givesWay })
  try {
    const stopped = await settleOpenChunks(deps, job, held, givesWay ? 'ordinary' : 'backfill')
    return stopped ?? (await work(held, runId))
  } finally {
    await held.release()
  }
}
