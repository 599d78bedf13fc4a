/** API for programs: the actions of the command line, with run events as they occur. */
import type { Selection } from '../ledger/ledger.ts'
import type { CheckFinding } from '../operate/finding.ts'
import type { RunEvent } from '../run/events.ts'
import { nextSteps, type Step } from '../story/next-steps.ts'
import type { JobEnd, ListedRun, RunStory } from '../story/run-story.ts'
import {
  abandon,
  accept,
  beginBackfill,
  beginRerun,
  beginRun,
  type DecidedOn,
  type ReconciledRun,
  reconcile,
  resend,
  trace,
} from './actions.ts'
import type { Application } from './application.ts'
import type { BeginWatch } from './begin.ts'
import { type Backup, backUp, type PrunedInstallation, pruneRuns, reportOf } from './installation.ts'
import { listRuns, showRun } from './listed-runs.ts'
import { lookOver } from './look-over.ts'
import type { SampleSize } from './reconcile.ts'
import { type Acknowledged, type Acknowledging, acknowledge, type Person } from './resolve.ts'
import { type Restored, restoreBackup } from './restore.ts'
import type { RunOptions } from './run-job.ts'
import type { Trace } from './trace.ts'

/** A run in progress. Reading the events is optional. */
export interface Running extends AsyncIterable<RunEvent> {
  /** End of the run. @throws WaybillError the reason why the run did not start */
  readonly ended: Promise<JobEnd>
}

export interface Waybill {
  /** Resumes the unfinished run of the job, then delivers the exports that have arrived since. @param job name, or file */
  run(job: string, options?: Partial<RunOptions>): Running
  /** Delivers the exports of a range of days, oldest first. @param days ISO dates, both included */
  backfill(job: string, days: { readonly from: string; readonly to: string }): Running
  /** Maps the rows that a run left behind again, with the current mapping, and sends them as a new run. */
  rerun(run: string, only?: Exclude<Selection, 'decided'>): Running
  /** Lists runs, newest first. */
  runs(only?: { readonly limit?: number; readonly job?: string }): Promise<readonly ListedRun[]>
  /** A run with its next steps. @param run undefined: the latest */
  show(run?: string): Promise<RunStory & { readonly next: readonly Step[] }>
  /** Traces a record. @throws `transaction-not-found` */
  trace(transactionId: string): Promise<Trace>
  /** Settles open batches and records in doubt of a run by reading profiles; sends nothing. @param verify also compares accepted records */
  reconcile(run: string, verify?: { readonly sample: SampleSize }): Promise<ReconciledRun>
  /** Marks records in doubt as delivered. @param transactions ids of the records; empty: all */
  accept(run: string, person: Person, transactions?: readonly string[]): Promise<DecidedOn>
  /** Sends records in doubt again, except records that a last look finds in the profiles. */
  resend(run: string, person: Person, transactions?: readonly string[]): Promise<DecidedOn>
  /** Accepts the leftovers of runs as final: the runs need no further action. */
  acknowledge(which: Acknowledging, person: Person): Promise<Acknowledged>
  /** Gives a run up: it will not be finished. */
  giveUp(run: string, person: Person): Promise<RunStory>
  /** Report of a run as a single page of HTML without health data. @param run undefined: the latest */
  report(run?: string): Promise<{ readonly run: string; readonly page: string }>
  /** Removes receipts, rejects and detail of runs that ended before an instant (milliseconds since the epoch). Delivered records stay known. */
  prune(before: number, options?: { readonly dryRun: boolean }): Promise<PrunedInstallation>
  /** Copies the ledger without the key, even during a run. @param file is never overwritten */
  backUp(file: string): Promise<Backup>
  /** Replaces a lost or damaged ledger with a backup. @throws as `restoreBackup` */
  restore(file: string): Promise<Restored>
  /** Checks home, ledger, clock, gateways, jobs and mappings; changes nothing. @param options `servers`: also contact the servers of sources */
  lookOver(options?: { readonly servers: boolean }): Promise<readonly CheckFinding[]>
}

const UNWATCHED = { listener: {} }
const RUNS_LISTED = 20

export function createWaybill(application: Application): Waybill {
  return {
    run: (job, options = {}) =>
      running((watch) =>
        beginRun(application, watch, job, {
          files: [],
          limit: Number.POSITIVE_INFINITY,
          acceptDrift: false,
          ...options,
        }),
      ),
    backfill: (job, { from, to }) => running((watch) => beginBackfill(application, watch, job, { from, to })),
    rerun: (run, only) => running((watch) => beginRerun(application, watch, run, only)),
    runs: async ({ limit = RUNS_LISTED, job } = {}) => (await listRuns(application, { limit, job })).runs,
    acknowledge: (which, person) => acknowledge(application, which, person),
    async show(run) {
      const shown = await showRun(application, run)
      return { ...shown, next: nextSteps(shown.summary, shown.reasons) }
    },
    trace: (transactionId) => trace(application, transactionId),
    reconcile: (run, verify) => reconcile(application, UNWATCHED, run, verify),
    accept: (run, person, transactions) => accept(application, {}, run, person, transactions),
    resend: (run, person, transactions) => resend(application, UNWATCHED, run, person, transactions),
    giveUp: (run, person) => abandon(application, {}, run, person),
    report: (run) => reportOf(application, run),
    prune: (before, { dryRun } = { dryRun: false }) => pruneRuns(application, { before, dryRun }),
    backUp: (file) => backUp(application, file),
    restore: (file) => restoreBackup(application, file),
    lookOver: ({ servers } = { servers: false }) =>
      lookOver(application, { settingsFindings: [], servers, countCases: async () => undefined }),
  }
}

/** Starts the run at once, even if nobody reads the events. */
function running(begun: (watch: BeginWatch) => Promise<JobEnd>): Running {
  const events: RunEvent[] = []
  let wake: (() => void) | undefined
  let isOver = false
  const listener = (event: RunEvent): void => {
    events.push(event)
    wake?.()
  }
  const ended = begun({ listener }).finally(() => {
    isOver = true
    wake?.()
  })
  // A caller that only reads the events gets the failure from the iterator.
  ended.catch(() => {})
  return {
    ended,
    async *[Symbol.asyncIterator]() {
      while (!isOver || events.length > 0) {
        const event = events.shift()
        if (event !== undefined) yield event
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
      await ended
    },
  }
}
