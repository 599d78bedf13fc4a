/** What a backfill asks before each chunk: whether another run is to go first. */
import { WaybillError } from '../errors.ts'
import { aheadOf, LOOK_EVERY_MS } from './lease.ts'
import type { Pausing } from './open-run.ts'
import type { RunDependencies } from './run-dependencies.ts'

/**
 * Waits while another job is being run at the gateway; backfills do not wait for each other.
 * @param signal aborted when the run is to stop
 * @throws WaybillError `gave-way` where a run of the same job waits for it
 */
export function createGiveWay(
  deps: Pick<RunDependencies, 'ledger' | 'now' | 'sleep' | 'isDead' | 'events' | 'gatewayName'>,
  job: string,
  jobId: number,
): (signal: AbortSignal, chunk: number, pausing: Pausing) => Promise<void> {
  const { ledger, now, isDead, gatewayName } = deps
  let waitsFor: string | undefined
  const look = async () => {
    const waiter = await ledger.way.waiter(jobId, now(), isDead)
    if (waiter !== undefined) throw gaveWay(`the backfill lets a run of ${job} by ${waiter.owner} go first`)
    return ledger.way.busy(gatewayName, jobId, now(), isDead)
  }
  return async (signal, _chunk, pausing) => {
    const first = await look()
    if (first === undefined) return
    await pausing(async () => {
      for (let busy: typeof first | undefined = first; busy !== undefined; busy = await look()) {
        if (waitsFor !== busy.run_id) deps.events.waitingForRun(aheadOf(busy.job, busy))
        waitsFor = busy.run_id
        await deps.sleep(LOOK_EVERY_MS, signal)
      }
    })
  }
}

export const gaveWay = (message: string): WaybillError => new WaybillError('gave-way', message)
