/** State of an installation beside its runs: jobs that a run holds, notices on their way, a restored copy. */
import { type OpenWork, processName } from '../ledger/ledger.ts'
import { activityOf } from '../story/facts.ts'
import type { RunActivity } from '../story/run-story.ts'
import { type Application, withLedgerIfAny } from './application.ts'

export interface Lock {
  readonly job: string
  readonly run: string
  /** `stopped`: the process is gone, and the next run of the job takes over. */
  readonly activity: RunActivity
  /** Process that waits for the job, as `host:pid`. */
  readonly waiter: string | undefined
}

/** Reads the unfinished runs with their processes, oldest first; empty without a ledger. */
export const readLocks = (application: Application): Promise<readonly Lock[]> =>
  withLedgerIfAny(application, async (ledger) => {
    const { isDead } = application
    const now = application.now()
    const locks: Lock[] = []
    for (const run of (await ledger?.runs.list(Number.MAX_SAFE_INTEGER, { states: ['running'] })) ?? []) {
      const activity = ledger && (await activityOf(ledger, run, now, isDead))
      if (activity === undefined) continue
      const waiter = await ledger?.way.waiter(run.job_id, now, isDead)
      locks.unshift({ job: run.job, run: run.id, activity, waiter: waiter && processName(waiter.owner) })
    }
    return locks
  })

/** Notices that were not delivered, and a restored copy; undefined without a ledger. */
export const readOpenWork = (
  application: Application,
): Promise<Pick<OpenWork, 'undelivered' | 'copy'> | undefined> =>
  withLedgerIfAny(application, async (ledger) => ledger?.overview.openWork(application.now()))
