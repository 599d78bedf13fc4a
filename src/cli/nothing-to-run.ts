/** A fire of the schedule that finds no exports: an outcome of its own, and not always something that a person should look at. */
import type { Job } from '../definitions/definition-files.ts'
import type { FireRecord, Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'

/** Runs and fires of the job that are looked at. */
const LOOKED_AT = 50

export const isNothingFound = (error: unknown): boolean =>
  error instanceof WaybillError && error.code === 'exports-none'

/**
 * Whether it is known why nothing was there, or told by another way: a source has `expect`, which tells what is missing; or a run has
 * taken what had come since the fire before, like one that was taken up again after this fire was due, or that somebody has begun by hand.
 */
export async function isNothingExplained(
  ledger: Pick<Ledger, 'runs' | 'fires'>,
  gateway: string,
  { sources, definition: { job } }: Pick<Job, 'sources' | 'definition'>,
  { job_id, due }: Pick<FireRecord, 'job_id' | 'due'>,
): Promise<boolean> {
  if (sources.some(({ expect }) => expect !== undefined)) return true
  const fires = await ledger.fires.latest(job_id, LOOKED_AT)
  const before = fires.find((one) => one.due < due)?.due ?? due
  const ofFires = new Set(fires.map(({ run_id }) => run_id))
  return (await ledger.runs(LOOKED_AT, { job })).some(
    (run) =>
      run.gateway === gateway &&
      run.state === 'finished' &&
      run.backfill === null &&
      run.origin_run === null &&
      // The run of the fire before has taken what had come by then alone, unless it went on until this one.
      ((run.ended_at ?? 0) >= due || (run.started_at > before && !ofFires.has(run.id))),
  )
}
