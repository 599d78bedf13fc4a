/** What a run tells while it waits for its job, and while it settles what an unfinished run has under way, before its own work begins. */
import type { RunDependencies } from './run-dependencies.ts'

/**
 * @param isBackfill whether this run is one: then what it waits for goes first; another run waits for nothing but the backfill of its job
 * @returns what `whileHeld` is handed; the work itself goes on with `deps`
 */
export function beforeWork(deps: RunDependencies, isBackfill: boolean): RunDependencies {
  const { events } = deps
  return {
    ...deps,
    events: {
      ...events,
      runStarted: (run) => events.runStarted({ ...run, settledOnly: true }),
      waitingForRun: (other) => events.waitingForRun({ ...other, givesWay: !isBackfill }),
    },
  }
}
