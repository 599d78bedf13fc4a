/** Deadlines of a job: the time of day by which the run of a fire has to be done (`schedule.done`). Pure. */
import type { FireRecord, RunRecord } from '../ledger/ledger.ts'
import { timeOfDayAfter } from './fires.ts'
import type { JobSchedule } from './schedule-parts.ts'

/** A fire whose run was not done by its deadline. */
export interface LateFire {
  readonly fire: FireRecord
  readonly by: number
}

/** Finished runs of the job, each with all of its exports. */
type WholeRun = Pick<RunRecord, 'ended_at'>

/** Deadline of a fire: the next time of day `done`, in the zone of the schedule. Undefined without `done`. */
const deadlineOf = ({ done, zone }: JobSchedule, due: number): number | undefined =>
  done === undefined ? undefined : timeOfDayAfter(done, zone, due)

/**
 * @param fires newest first
 * @returns the newest fire with a passed deadline, if no run is done since
 */
export function lateFire(
  schedule: JobSchedule,
  fires: readonly FireRecord[],
  finished: readonly WholeRun[],
  now: number,
): LateFire | undefined {
  for (const fire of fires) {
    const by = deadlineOf(schedule, fire.due)
    if (by === undefined) return undefined
    if (by <= now) return isDone(fire, fires, finished) ? undefined : { fire, by }
  }
  return undefined
}

/** Earliest deadline ahead, of fires that were due; undefined for none. */
export function nextDeadline(
  schedule: JobSchedule,
  fires: readonly Pick<FireRecord, 'due'>[],
  now: number,
): number | undefined {
  const ahead = fires.flatMap(({ due }) => deadlineOf(schedule, due) ?? []).filter((by) => by > now)
  return ahead.length === 0 ? undefined : Math.min(...ahead)
}

/** Also true for a fire without an expected run: skipped by a pause, or by `missed: skip`, which is another need. */
function isDone(fire: FireRecord, fires: readonly FireRecord[], finished: readonly WholeRun[]): boolean {
  switch (fire.state) {
    case 'ended':
      return (
        fire.exit === 0 || fire.exit === 1 || fire.error === 'exports-none' || isDoneSince(fire, finished)
      )
    case 'skipped': {
      const by = fires.find(({ due }) => due === fire.made_up_by)
      return by === undefined || by === fire || isDone(by, fires, finished)
    }
    case 'missed':
      return fire.reason === 'paused'
    default:
      return false
  }
}

/** True if a person has run the job since. */
const isDoneSince = ({ due }: FireRecord, finished: readonly WholeRun[]): boolean =>
  finished.some(({ ended_at }) => ended_at !== null && ended_at > due)
