/** Metrics of the last run of a job: computed from the ledger at the end of a run, and written to a file if the settings name one. */

import type { RunRecord } from '../ledger/ledger.ts'
import { EXIT, type ExitCode, endingOf, reasonOf } from '../model/errors.ts'
import type { RunDependencies } from '../run/events.ts'
import { gatherStory, summarise } from '../story/facts.ts'
import { type LastEnd, lastRunOf } from '../story/metrics.ts'
import type { JobEnd, RunStory } from '../story/run-story.ts'
import type { LastRun } from '../telemetry/last-run-metrics.ts'
import type { Application } from './application.ts'
import type { Follower } from './follower.ts'

export type Watched = Pick<RunDependencies, 'ledger' | 'gatewayName' | 'home' | 'now'>

const RUNS_LOOKED_AT = 50
/** Number of fires to search for the last refused one: the newest fire may be in progress, or missed. */
const FIRES_LOOKED_AT = 10

/**
 * Publishes the metrics of a run, also after an early end. A failure never fails the run.
 * @param tell receivers of the metrics; without any, no metrics are computed
 * @param counts true if an error that refused the run counts as a run
 */
export function followLastRun(
  { logger }: Pick<Application, 'logger'>,
  deps: Watched,
  job: string,
  tell: readonly ((run: LastRun) => void | Promise<void>)[],
  counts: (error: unknown) => boolean,
): Follower<JobEnd> {
  const publish = async (exit: ExitCode, story?: RunStory): Promise<void> => {
    // The run that holds the job reports itself.
    if (tell.length === 0 || exit === EXIT.jobHeld) return
    try {
      const run = await readLastRun(deps, { job, exit, story, endedAt: deps.now() })
      for (const one of tell) await one(run)
    } catch (error) {
      logger.warn(`the metrics of the run cannot be published: ${reasonOf(error)}`, { job })
    }
  }
  return {
    ended: (end) => publish(end.exit, end),
    async failed(error) {
      if (counts(error)) await publish(endingOf(error).exit)
    },
  }
}

/** Writer of the metrics file; empty if the settings name none. */
export function lastRunFile({
  settings: { metricsFile },
}: Pick<Application, 'settings'>): readonly ((run: LastRun) => Promise<void>)[] {
  if (metricsFile === undefined) return []
  return [
    async (run) => {
      const { writeLastRun } = await import('../telemetry/last-run-metrics.ts')
      await writeLastRun(metricsFile.replaceAll('{job}', run.job), run)
    },
  ]
}

/** End of the job's last run, according to the ledger. */
export interface KnownLastRun {
  /** Changes with every new state of the last run. */
  readonly version: string
  readonly endedAt: number
  read(): Promise<LastRun>
}

/** Undefined if no run of the job has ended. A fire stands for a run that the schedule could not start. */
export async function latestEnd(deps: Watched, job: string): Promise<KnownLastRun | undefined> {
  const { ledger, gatewayName, home } = deps
  const jobId = await ledger.jobs.id(job, gatewayName)
  const inDoubt = await ledger.left.heldRecords(jobId)
  const run = (await runsOf(deps, job)).find(({ ended_at }) => ended_at !== null)
  const endedAt = run?.ended_at ?? 0
  const [refused] = (await ledger.fires.latest(jobId, FIRES_LOOKED_AT)).filter(
    ({ run_id, exit, ended_at }) => run_id === null && exit !== null && (ended_at ?? 0) > endedAt,
  )
  if (refused !== undefined) {
    const end = {
      job,
      exit: refused.exit ?? EXIT.defect,
      story: undefined,
      endedAt: refused.ended_at ?? refused.due,
    }
    const version = `${refused.due} ${inDoubt}`
    return { version, endedAt: end.endedAt, read: () => readLastRun(deps, end) }
  }
  if (run === undefined) return undefined
  return {
    version: `${run.id} ${endedAt} ${inDoubt}`,
    endedAt,
    async read() {
      const story = await gatherStory({ ledger, home }, run.id)
      return readLastRun(deps, { job, story, exit: story.summary.exit ?? EXIT.defect, endedAt })
    },
  }
}

async function readLastRun(deps: Watched, end: Omit<LastEnd, 'cleanEndedAt' | 'inDoubt'>): Promise<LastRun> {
  const { ledger, gatewayName } = deps
  const { job, exit, endedAt } = end
  return lastRunOf({
    ...end,
    cleanEndedAt: exit === EXIT.ok ? endedAt : await lastCleanEnd(deps, job),
    inDoubt: await ledger.left.heldRecords(await ledger.jobs.id(job, gatewayName)),
  })
}

async function lastCleanEnd(deps: Watched, job: string): Promise<number | undefined> {
  for (const run of await runsOf(deps, job)) {
    if (run.state !== 'finished' || run.ended_at === null) continue
    if ((await summarise(deps.ledger, deps.home, run.id)).exit === EXIT.ok) return run.ended_at
  }
  return undefined
}

const runsOf = async ({ ledger, gatewayName }: Watched, job: string): Promise<RunRecord[]> =>
  (await ledger.runs.list(RUNS_LOOKED_AT, { job })).filter(({ gateway }) => gateway === gatewayName)
