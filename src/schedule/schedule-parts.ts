/** What a schedule is handed: ledger, clock, jobs, and what runs them; and what it tells. */
import type { FireRecord, Ledger } from '../ledger/ledger.ts'
import type { WaybillError } from '../model/errors.ts'
import type { MissedPolicy, Timetable } from './fires.ts'

export interface JobSchedule extends Timetable {
  readonly missed: MissedPolicy
}

/** A file of the jobs folder: a job with its schedule, if it has one, or what is wrong with it; `job` then: with what it refers to. */
export type ListedJob<Job> =
  | { readonly name: string; readonly job: Job; readonly schedule: JobSchedule | undefined }
  | { readonly name: string; readonly job?: Job; readonly problem: WaybillError }

/** What the run of a fire came to; `nothing`: there was nothing to run, and that is as it should be, or told by another way. */
export type FireEnd = FireRunEnd | 'nothing'

export interface FireRunEnd {
  readonly run: string
  readonly exit: number
  /** Code of the error that ended it before its time. */
  readonly error?: string
}

/** Whether the exports of a job have arrived that must have by now. */
export interface LookPlan {
  /** When that is to be asked again; undefined where nothing is expected. */
  readonly next: number | undefined
  /** Looks, and tells what it has found; undefined where there is nothing to look at now. */
  readonly look: (() => Promise<void>) | undefined
}

export interface ScheduleParts<Job> {
  readonly ledger: Pick<Ledger, 'fires' | 'holder' | 'jobId' | 'pauses'> & {
    readonly way: Pick<Ledger['way'], 'waiter'>
  }
  /** Names the gateway of a job in the ledger; of one that is gone, or cannot be read, the one that it had. */
  readonly gatewayOf: (job: string) => string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Rejects when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Aborted when the schedule is to end; runs that are under way are told by the same signal. */
  readonly interrupt: AbortSignal
  /** Of this process alone; `processName` of it is `host:pid`. */
  readonly owner: string
  /** Whether nobody is at work any more on what that process holds, as far as that is known. */
  readonly isDead: (owner: string) => boolean
  /** Jobs are read again at each wake-up, and so often at least. */
  readonly rereadMs: number
  readonly readJobs: () => Promise<readonly ListedJob<Job>[]>
  /**
   * Runs a job to its end.
   * @param onRun told the id of each run that is begun or taken up
   * @throws WaybillError `job-held`, or what kept it from being run
   */
  readonly run: (job: Job, onRun: (id: string) => void, fire: FireRecord) => Promise<FireEnd>
  readonly planLook: (job: Job) => Promise<LookPlan>
  readonly events: ScheduleEvents
}

type Told = { readonly [Name in keyof ScheduleEvents]: Parameters<ScheduleEvents[Name]> }

/** Tells all who listen, in the order in which they are named. */
export function createScheduleEvents(...listeners: readonly Partial<ScheduleEvents>[]): ScheduleEvents {
  const all =
    <Name extends keyof Told>(name: Name) =>
    (...told: Told[Name]): void => {
      for (const listener of listeners)
        (listener[name] as ((...told: Told[Name]) => void) | undefined)?.(...told)
    }
  return {
    ...{ scheduled: all('scheduled'), unscheduled: all('unscheduled'), broken: all('broken') },
    ...{ begun: all('begun'), abandoned: all('abandoned'), ended: all('ended'), missed: all('missed') },
    ...{ skipped: all('skipped'), trouble: all('trouble'), recovered: all('recovered') },
  }
}

/** What a schedule tells those who watch it. Names, instants, counts and codes; no health data. */
export interface ScheduleEvents {
  /** @param next instant of the job's next fire */
  scheduled(job: string, timetable: Timetable, next: number): void
  unscheduled(job: string): void
  /** Once, until it is another problem. */
  broken(job: string, problem: WaybillError): void
  /**
   * @param isNews whether it could not run at its time, and was not told as missed
   * @param again whether its run was interrupted, and is taken up again
   */
  begun(job: string, fire: FireRecord, isNews: boolean, again: boolean): void
  /** The process that had begun it is gone, and has said nothing: it was killed, or its machine is gone. */
  abandoned(job: string, fire: FireRecord): void
  /** Its run has come to an end, whatever it was, or was interrupted. */
  ended(job: string, fire: FireRecord): void
  /** It could not run at its time; the job says whether it is made up for. */
  missed(job: string, fire: FireRecord): void
  /** @param isNews whether it could not run at its time, and was not told as missed */
  skipped(job: string, fire: FireRecord, isNews: boolean): void
  /** Something went wrong in the schedule itself; it is tried again. `job` undefined: with the folder of jobs, told once until it can be read. */
  trouble(job: string | undefined, error: unknown): void
  /** The folder of jobs can be read again. */
  recovered(): void
}
