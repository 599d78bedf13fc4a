/** What a program does with runs: the actions of the command line, with the events of a run as they come. */
import type { Selection } from '../ledger/ledger.ts'
import type { CheckFinding } from '../operate/finding.ts'
import { readRange } from '../run/backfill-range.ts'
import { createRunEvents, type RunEvent } from '../run/events.ts'
import type { JobEnd } from '../run/execute.ts'
import { nextSteps, type Step } from '../run/next-steps.ts'
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
import { type Backup, backUp, type PrunedInstallation, pruneRuns, reportOf } from './installation.ts'
import { type ListedRun, listRuns, type ShownRun, showRun } from './listed-runs.ts'
import { lookOver } from './look-over.ts'
import { type Acknowledged, type Acknowledging, acknowledge, type Person } from './resolve.ts'
import { type Restored, restoreBackup } from './restore.ts'
import type { BeginWatch, RunOptions } from './run-job.ts'
import type { Trace } from './trace.ts'
import type { SampleSize } from './verify.ts'

/** A run that is on: its events as they come. They need not be read. */
export interface Running extends AsyncIterable<RunEvent> {
  /** How it ended. @throws WaybillError what kept it from being run */
  readonly ended: Promise<JobEnd>
}

export interface Waybill {
  /** Goes on with what the job has left unfinished, then takes what has arrived since. @param job its name, or its file */
  run(job: string, options?: Partial<RunOptions>): Running
  /** The exports of a range of days, oldest first. @param days ISO dates, both included */
  backfill(job: string, days: { readonly from: string; readonly to: string }): Running
  /** Maps again what a run has left behind, with today's mapping, and sends it in a run of its own. */
  rerun(run: string, only?: Exclude<Selection, 'decided'>): Running
  /** Newest first. */
  runs(only?: { readonly limit?: number; readonly job?: string }): Promise<readonly ListedRun[]>
  /** With what to do next. @param run undefined: the latest */
  show(run?: string): Promise<ShownRun & { readonly next: readonly Step[] }>
  /** What became of one record. @throws WaybillError `transaction-not-found` */
  trace(transactionId: string): Promise<Trace>
  /** Settles by reading profiles what a run has open or in doubt; sends nothing. @param verify compares what was accepted, too */
  reconcile(run: string, verify?: { readonly sample: SampleSize }): Promise<ReconciledRun>
  /** What is in doubt counts as delivered. @param transactions those that are meant; none: all */
  accept(run: string, person: Person, transactions?: readonly string[]): Promise<DecidedOn>
  /** What is in doubt is sent again, but for what a last look into the profiles finds. */
  resend(run: string, person: Person, transactions?: readonly string[]): Promise<DecidedOn>
  /** What runs have left behind stays as it is, and needs nobody any more. */
  acknowledge(which: Acknowledging, person: Person): Promise<Acknowledged>
  /** The run will not be finished. */
  giveUp(run: string, person: Person): Promise<ShownRun>
  /** A run as one page of HTML without health data. @param run undefined: the latest */
  report(run?: string): Promise<{ readonly run: string; readonly page: string }>
  /** Removes receipts, rejects and detail of runs that ended before an instant (milliseconds since the epoch). What was delivered stays known. */
  prune(before: number, options?: { readonly dryRun: boolean }): Promise<PrunedInstallation>
  /** Copies the ledger, also while a run is on; the key is not in it. @param file is never overwritten */
  backUp(file: string): Promise<Backup>
  /** Puts a backup in the place of a ledger that is lost or damaged. @throws WaybillError as `restoreBackup` */
  restore(file: string): Promise<Restored>
  /** Looks over home, ledger, clock, gateways, jobs and mappings; changes nothing. @param servers whether those are asked from which exports come */
  lookOver(options?: { readonly servers: boolean }): Promise<readonly CheckFinding[]>
}

const NO_EVENTS = createRunEvents()
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
    backfill: (job, { from, to }) =>
      running(async (watch) =>
        beginBackfill(application, watch, job, readRange(from, to, `waybill backfill ${job}`)),
      ),
    rerun: (run, only) => running((watch) => beginRerun(application, watch, run, only)),
    runs: async ({ limit = RUNS_LISTED, job } = {}) => (await listRuns(application, { limit, job })).runs,
    acknowledge: (which, person) => acknowledge(application, which, person),
    async show(run) {
      const shown = await showRun(application, run)
      return { ...shown, next: nextSteps(shown.summary, shown.reasons) }
    },
    trace: (transactionId) => trace(application, transactionId),
    reconcile: (run, verify) => reconcile(application, UNWATCHED, run, verify),
    accept: (run, person, transactions) => accept(application, NO_EVENTS, run, person, transactions),
    resend: (run, person, transactions) => resend(application, UNWATCHED, run, person, transactions),
    giveUp: (run, person) => abandon(application, NO_EVENTS, run, person),
    report: (run) => reportOf(application, run),
    prune: (before, { dryRun } = { dryRun: false }) => pruneRuns(application, { before, dryRun }),
    backUp: (file) => backUp(application, file),
    restore: (file) => restoreBackup(application, file),
    lookOver: ({ servers } = { servers: false }) =>
      lookOver(application, { settingsFindings: [], servers, countCases: async () => undefined }),
  }
}

/** Begun at once, whether or not its events are read. */
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
  // Whoever reads the events alone learns of the failure there.
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
