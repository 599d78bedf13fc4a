/** What a backfill asks before each chunk: whether another run is to go first. */
import { WaybillError } from '../errors.ts'
import { aheadOf, LOOK_EVERY_MS } from './lease.ts'
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
): (signal: AbortSignal) => Promise<void> {
  const { ledger, now, isDead, gatewayName } = deps
  let waitsFor: string | undefined
  return async (signal) => {
    for (;;) {
      const waiter = await ledger.way.waiter(jobId, now(), isDead)
      if (waiter !== undefined) throw gaveWay(`the backfill lets a run of ${job} by ${waiter.owner} go first`)
      const busy = await ledger.way.busy(gatewayName, jobId, now(), isDead)
      if (busy === undefined) return
      if (waitsFor !== busy.run_id) deps.events.waitingForRun(aheadOf(busy.job, busy))
      waitsFor = busy.run_id
      await deps.sleep(LOOK_EVERY_MS, signal)
    }
  }
}

export const gaveWay = (message: string): WaybillError => new WaybillError('gave-way', message)
