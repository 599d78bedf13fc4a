/** Parts of a schedule: ledger, clock, jobs, the function to run a job; and events. */
import type { FireRecord, Ledger } from '../ledger/ledger.ts'
import type { WaybillError } from '../model/errors.ts'
import type { MissedPolicy, Timetable } from './fires.ts'

export interface JobSchedule extends Timetable {
  readonly missed: MissedPolicy
  /** Further tries while the gateway is away: interval in milliseconds, and the time of day of the last. */
  readonly retry?: { readonly every: number; readonly until?: string | undefined } | undefined
  /** Time of day by which the run of a fire has to be done. */
  readonly done?: string | undefined
  readonly digest?: string | undefined
}

/** A file of the jobs folder: a job with its schedule, if any, or a problem; `job` with a problem: the problem is in a file of the job. */
export type ListedJob<Job> =
  | { readonly name: string; readonly job: Job; readonly schedule: JobSchedule | undefined }
  | { readonly name: string; readonly job?: Job; readonly problem: WaybillError }

/** Result of a fire's run; `nothing`: there was nothing to run, for a known or reported reason. */
export type FireEnd = FireRunEnd | 'nothing'

export interface FireRunEnd {
  readonly run: string
  readonly exit: number
  readonly error?: string
}

/** Gives one answer for the end of a run: who notifies and who stores the fire agree. @param at default: now */
export type RetryDecision = (code: string | undefined, at?: number) => number | undefined

/** Plan of the checks for expected exports of a job. */
export interface LookPlan {
  readonly next: number | undefined
  /** Checks and notifies; undefined if nothing is to be checked now. */
  readonly look: (() => Promise<void>) | undefined
}

export interface ScheduleParts<Job> {
  readonly ledger: Pick<Ledger, 'fires' | 'pauses'> & {
    readonly jobs: Pick<Ledger['jobs'], 'id'>
    readonly runs: Pick<Ledger['runs'], 'find'>
    readonly leases: Pick<Ledger['leases'], 'holder'>
    readonly way: Pick<Ledger['way'], 'waiter'>
  }
  /** Name of a job's gateway in the ledger; for a removed or unreadable job, the last known one. */
  readonly gatewayOf: (job: string) => string
  readonly now: () => number
  /** Rejects at an abort of the signal. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Aborts to end the schedule; runs under way have the same signal. */
  readonly interrupt: AbortSignal
  readonly owner: string
  readonly isDead: (owner: string) => boolean
  /** Longest time between two reads of the jobs, which every wake-up reads. */
  readonly rereadMs: number
  readonly readJobs: () => Promise<readonly ListedJob<Job>[]>
  /**
   * Runs a job to its end.
   * @param onRun receives the id of each run that starts or resumes
   * @param retryAt decides about another try after an error code: instant of the next try; undefined for none
   * @param isContinued true if the process of the fire has ended without a result
   * @throws `job-held`, or an error that kept the job from running
   */
  readonly run: (
    job: Job,
    onRun: (id: string) => void,
    fire: FireRecord,
    retryAt: RetryDecision,
    isContinued: boolean,
  ) => Promise<FireEnd>
  /** True while a worker is to run the job for the fire. */
  readonly isAwaited?: (job: string, due: number) => Promise<boolean>
  readonly planLook: (job: Job) => Promise<LookPlan>
  readonly events: ScheduleEvents
}

type Arguments = { readonly [Name in keyof ScheduleEvents]: Parameters<ScheduleEvents[Name]> }

/** Calls all listeners, in their order. */
export function createScheduleEvents(...listeners: readonly Partial<ScheduleEvents>[]): ScheduleEvents {
  const all =
    <Name extends keyof Arguments>(name: Name) =>
    (...given: Arguments[Name]): void => {
      for (const listener of listeners)
        (listener[name] as ((...given: Arguments[Name]) => void) | undefined)?.(...given)
    }
  return {
    scheduled: all('scheduled'),
    unscheduled: all('unscheduled'),
    broken: all('broken'),
    begun: all('begun'),
    abandoned: all('abandoned'),
    ended: all('ended'),
    gaveUp: all('gaveUp'),
    missed: all('missed'),
    skipped: all('skipped'),
    trouble: all('trouble'),
    recovered: all('recovered'),
  }
}

/** Events of a schedule. Names, instants, counts and codes; no health data. */
export interface ScheduleEvents {
  /** @param next instant of the job's next fire */
  scheduled(job: string, timetable: Timetable, next: number): void
  unscheduled(job: string): void
  /** The job is invalid. Once, until the problem changes. */
  broken(job: string, problem: WaybillError): void
  /**
   * @param isNews true for a fire that could not run at its time, without a `missed` event
   * @param again true for an interrupted run that resumes
   */
  begun(job: string, fire: FireRecord, isNews: boolean, again: boolean): void
  /** The process of the fire has ended without a result: it was killed, or its machine is gone. */
  abandoned(job: string, fire: FireRecord): void
  /** The run of the fire has ended with any result, was interrupted, or is tried again. */
  ended(job: string, fire: FireRecord): void
  /** The tries of the fire are over without another one: their time has passed, or a person has ended the run. */
  gaveUp(job: string, fire: FireRecord): void
  /** The fire could not run at its time; the job's `missed` decides about a late run. */
  missed(job: string, fire: FireRecord): void
  /** @param isNews true for a fire that could not run at its time, without a `missed` event */
  skipped(job: string, fire: FireRecord, isNews: boolean): void
  /** An error in the schedule itself, which tries again. `job` undefined: the folder of jobs, once until it can be read. */
  trouble(job: string | undefined, error: unknown): void
  /** The folder of jobs can be read again. */
  recovered(): void
}
