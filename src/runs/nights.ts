/** Runs of the last nights by job, for a grid, and what the runs of a job left for somebody. */
import type { Ledger } from '../ledger/ledger.ts'
import { activityOf } from '../story/facts.ts'
import type { RunActivity } from '../story/run-story.ts'
import { type Application, withLedgerIfAny } from './application.ts'
import { listJobs } from './scheduled-jobs.ts'

const DAY_MS = 86_400_000

/** State of a run in the grid. `left`: the run finished, and something of it still needs somebody. `stopped`: unfinished, with no process. */
export type NightState = 'well' | 'left' | 'failed' | 'stopped' | 'under-way'

export interface NightRun {
  readonly run: string
  readonly state: NightState
  readonly activity?: RunActivity
}

export interface Nights {
  /** Days in UTC, oldest first: `2026-03-02`. */
  readonly days: readonly string[]
  readonly jobs: readonly {
    readonly job: string
    /** Runs by the day on which they began, newest first. */
    readonly runs: ReadonlyMap<string, readonly NightRun[]>
  }[]
}

/**
 * Reads the runs that began on the last days. Jobs are those of the folder, and those with a run.
 * @param count of days, today included
 * @throws as `withLedgerIfAny`
 */
export async function readNights(application: Application, count: number): Promise<Nights> {
  const today = Math.floor(application.now() / DAY_MS)
  const days = Array.from({ length: count }, (_, at) => dayOf((today - count + 1 + at) * DAY_MS))
  const named = (await listJobs(application.settings).catch(() => [])).map(({ name }) => name)
  const since = (today - count + 1) * DAY_MS
  const found = await withLedgerIfAny(application, (ledger) => runsSince(application, ledger, since))
  const byJob = Map.groupBy(found, ({ job }) => job)
  return {
    days,
    jobs: [...new Set([...named, ...byJob.keys()])]
      .sort()
      .map((job) => ({ job, runs: Map.groupBy(byJob.get(job) ?? [], ({ day }) => day) })),
  }
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

async function runsSince(
  { now, isDead }: Application,
  ledger: Ledger | undefined,
  since: number,
): Promise<(NightRun & { readonly job: string; readonly day: string })[]> {
  if (ledger === undefined) return []
  const open = new Set(
    (await ledger.runs.list(Number.MAX_SAFE_INTEGER, { since, failed: true })).map(({ id }) => id),
  )
  const found: (NightRun & { readonly job: string; readonly day: string })[] = []
  for (const run of await ledger.runs.list(Number.MAX_SAFE_INTEGER, { since })) {
    const activity = await activityOf(ledger, run, now(), isDead)
    const at = { run: run.id, job: run.job, day: dayOf(run.started_at) }
    if (activity?.kind === 'under-way') found.push({ ...at, state: 'under-way', activity })
    else found.push({ ...at, state: stateOf(run.state, open.has(run.id)) })
  }
  return found
}

function stateOf(state: string, isOpen: boolean): NightState {
  if (state === 'running' || state === 'interrupted') return 'stopped'
  if (!isOpen) return 'well'
  return state === 'failed' ? 'failed' : 'left'
}
