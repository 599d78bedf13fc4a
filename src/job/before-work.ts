/** What a run tells while it settles what an unfinished run has under way, before its own work begins. */
import type { RunDependencies } from './run-dependencies.ts'

/** @returns what `whileHeld` is handed; the work itself goes on with `deps` */
export function beforeWork(deps: RunDependencies): RunDependencies {
  const { events } = deps
  return {
    ...deps,
    events: { ...events, runStarted: (run) => events.runStarted({ ...run, settledOnly: true }) },
  }
}
