/** What a backfill asks before each chunk, and each second while it reads: whether another run is to go first. */
import { processName, type Waiter } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { aheadOf, LOOK_EVERY_MS } from './lease.ts'
import type { Pausing } from './open-run.ts'
import type { RunDependencies } from './run-dependencies.ts'

/**
 * Waits while another job is being run at the gateway; backfills do not wait for each other.
 * @returns given what is aborted when the run is to stop, and whether a run of the same job is to wait for one chunk more, unless this one
 *   would have to wait itself; throws `gave-way` where one waits
 */
export function createGiveWay(
  deps: Pick<RunDependencies, 'ledger' | 'now' | 'sleep' | 'isDead' | 'events' | 'gatewayName'>,
  job: string,
  jobId: number,
): (signal: AbortSignal, pausing: Pausing, insists: boolean) => Promise<void> {
  const { ledger, now, isDead, gatewayName } = deps
  let waitsFor: string | undefined
  const look = async (insists: boolean) => {
    const busy = await ledger.way.busy(gatewayName, jobId, now(), isDead)
    if (insists && busy === undefined) return undefined
    const waiter = await ledger.way.waiter(jobId, now(), isDead)
    if (waiter !== undefined) throw letGoFirst(job, waiter)
    return busy
  }
  return async (signal, pausing, insists) => {
    const first = await look(insists)
    if (first === undefined) return
    await pausing(async () => {
      for (let busy: typeof first | undefined = first; busy !== undefined; busy = await look(false)) {
        if (waitsFor !== busy.run_id) deps.events.emit({ type: 'waitingForRun', ...aheadOf(busy.job, busy) })
        waitsFor = busy.run_id
        await deps.sleep(LOOK_EVERY_MS, signal)
      }
    })
  }
}

export interface Asked {
  /** Aborted with `gave-way` once somebody has asked for the job. */
  readonly signal: AbortSignal
  /** To be called, and awaited, before the ledger is closed. */
  stop(): Promise<void>
}

/**
 * For what takes long and begins no chunk: to fetch, unpack, fingerprint or read ahead an export.
 * @param mayGiveWay whether nothing is under way that is to be settled first, and it has not given way just before in vain
 */
export function watchAsked(
  { ledger, now, sleep, isDead }: Pick<RunDependencies, 'ledger' | 'now' | 'sleep' | 'isDead'>,
  job: string,
  jobId: number,
  mayGiveWay: () => boolean,
): Asked {
  const stopping = new AbortController()
  const asked = new AbortController()
  const watch = async (): Promise<void> => {
    for (;;) {
      await sleep(LOOK_EVERY_MS, stopping.signal)
      const waiter = mayGiveWay() ? await ledger.way.waiter(jobId, now(), isDead) : undefined
      if (waiter !== undefined) return asked.abort(letGoFirst(job, waiter))
    }
  }
  // That the ledger cannot be read is said by the run, which reads it, too.
  const over = watch().catch(() => {})
  return {
    signal: asked.signal,
    async stop() {
      stopping.abort()
      await over
    },
  }
}

const letGoFirst = (job: string, { owner }: Waiter): WaybillError =>
  gaveWay(`the backfill lets ${processName(owner)} go first, which has asked for the job ${job}`)

export const gaveWay = (message: string): WaybillError => new WaybillError('gave-way', message)
