/** A need, the facts to find needs in, and the form for programs. */
import type { OpenMatters, OpenPeople, OpenWork, RunRecord } from '../ledger/ledger.ts'
import type { Step } from '../story/next-steps.ts'
import type { RunStory, RunSummary } from '../story/run-story.ts'

import type { RefusedStart } from './refused-starts.ts'
import type { readWaitingExports } from './waiting-exports.ts'

/** A matter for a person. */
export interface Need {
  /** Source of the need: a row of the table in `src/needs/needs-of.ts`. */
  readonly cause: string
  readonly code?: string
  /** Sorted. Empty for the installation as a whole. */
  readonly jobs: readonly string[]
  /** One line; no health data. */
  readonly what: string
  /** Undefined if nobody knows. */
  readonly since: number | undefined
  readonly runs: readonly string[]
  /** Starts or runs with this cause, for `on 3 nights`. */
  readonly times: number
  readonly exports: readonly string[]
  /** Rows and records left behind by the newest run. */
  readonly rows?: number
  readonly records?: number
  /** Number of people concerned; undefined if none, or unknown. */
  readonly people?: number
  /** Steps to end the need, with commands to type. */
  readonly steps: readonly Step[]
}

/** A run with open work. */
export interface OpenRun extends Pick<RunRecord, 'id' | 'state' | 'reason' | 'started_at' | 'backfill'> {
  readonly job: string
  readonly gateway: string
  /** Work that is neither settled nor acknowledged. */
  readonly open: OpenMatters
}

/** A run that needs somebody. */
export interface RunInNeed extends OpenRun {
  /** Story, for steps; absent unless the run is the newest of a matter (`newestOfEach`). */
  readonly story?: RunStory
}

export interface NeedsFacts {
  readonly now: number
  readonly refused: readonly RefusedStart[]
  /** Runs that need somebody, without runs in progress, newest first. */
  readonly runs: readonly RunInNeed[]
  readonly people: readonly OpenPeople[]
  /** Newest finished run of each job that owes marks or deletions. */
  readonly owing: readonly { readonly summary: RunSummary; readonly people: number }[]
  /** Incomplete exports that the latest run of each job passed over. */
  readonly waitingExports: ReturnType<typeof readWaitingExports>
  readonly overdue: readonly OverdueExport[]
  readonly undelivered: readonly Pick<
    OpenWork['undelivered'][number],
    'job' | 'target' | 'count' | 'error' | 'since'
  >[]
  readonly missed: OpenWork['missed']
  readonly pauses: readonly Pick<OpenWork['pauses'][number], 'job' | 'by' | 'note' | 'at'>[]
  /** Scheduled jobs whose fire is long due: no schedule is running. */
  readonly unscheduled: readonly { readonly job: string; readonly due: number }[]
  readonly late: readonly LateJob[]
  /** A restored or copied ledger, and the jobs without a finished run since. */
  readonly copy: OpenWork['copy']
  readonly ledger: Trouble | undefined
  /** Free bytes of the home, and the least for a run; undefined without a home. */
  readonly room: { readonly free: number; readonly least: number; readonly home: string } | undefined
  readonly backup: { readonly latestAt: number | undefined; readonly firstRunAt: number | undefined }
}

interface OverdueExport {
  readonly job: string
  readonly source: string
  readonly due: number
  readonly expected: number
  readonly arrived: number
  readonly isUnreachable: boolean
}

interface LateJob {
  readonly job: string
  readonly by: number
  readonly fire: { readonly due: number; readonly state: string; readonly run_id: string | null }
}

interface Trouble {
  readonly code: string
  readonly message: string
  readonly remedy: string
}

/** Part of a need: parts of one cause are joined. */
export interface Part
  extends Omit<Need, 'what' | 'cause' | 'times' | 'runs' | 'exports'>,
    Partial<Pick<Need, 'times' | 'runs' | 'exports'>> {
  /** Parts of a cause with equal subjects are one need. */
  readonly subject: string
}

/** JSON for programs. Instants are ISO 8601, UTC. */
export const needJson = ({ since, ...need }: Need) => ({
  ...need,
  ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
})
