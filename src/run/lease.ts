/** Holding a job: the lease is renewed as long as the process lives, and everything stops when it is lost. */

import { type Lease, type LeaseRecord, processName, type Waiter } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { OtherRun, RunDependencies } from './events.ts'

/** A process that has not been heard of for so long is taken for dead. */
export const LEASE_MS = 60_000
const RENEW_EVERY_MS = LEASE_MS / 4
/** How often who waits for another run looks whether it is over. */
export const LOOK_EVERY_MS = 1_000

export interface Turn {
  readonly jobId: number
  readonly job: string
  readonly runId: string
  /** Whether it is a backfill, which gives way to all other runs of the job. */
  readonly givesWay: boolean
  /** Thrown at once where the job is held for this very run: nobody is then asked to let it go. */
  readonly notWhileItRuns?: ((held: string) => WaybillError) | undefined
  /** Whether that is the job's unfinished backfill, which a holder that gives way is about to go on with, where it has not taken it up yet. */
  readonly isBackfill?: boolean | undefined
}

/** What is awaited within does not count as work of the run. */
export type Pausing = (wait: () => Promise<void>) => Promise<void>

/** A job that this process holds. */
export interface HeldJob {
  readonly lease: Lease
  /** Aborted, with the reason, when the lease is lost. */
  readonly lost: AbortSignal
  /** Aborted, with the reason, when somebody has asked to stop the run that it is held for. */
  readonly stopped: AbortSignal
  release(): Promise<void>
}

/**
 * Kept until it is released. Waits where one of two is a backfill: the other one asks it to let the job go, and it waits until those that
 * have asked are done. Who has asked keeps asking, also where another one that has gets it first.
 * @throws WaybillError `job-held`, saying by whom and since when, where both are backfills, or none is; `interrupted`
 */
export async function holdJob(deps: WaitingDependencies, turn: Turn): Promise<HeldJob> {
  const { ledger, now } = deps
  const lease = await awaitLease(deps, turn)
  const runLedger = ledger.amendRun(lease)
  const losing = new AbortController()
  const renewing = every(RENEW_EVERY_MS, () =>
    runLedger.renew(now(), LEASE_MS).catch((reason) => losing.abort(reason)),
  )
  const stopping = new AbortController()
  const hearStop = async (): Promise<void> => {
    const last = await ledger.lastLease(lease.jobId)
    if (last?.token === lease.token && last.stop_by !== null)
      stopping.abort(new WaybillError('asked-to-stop', `${last.stop_by} has stopped it`))
  }
  // That the ledger cannot be read is said by the run, which reads it, too.
  const hearing = every(LOOK_EVERY_MS, () => hearStop().catch(() => {}))
  return {
    lease,
    lost: losing.signal,
    stopped: stopping.signal,
    async release() {
      // A renewal that comes after it would hold the job for another minute.
      await Promise.all([renewing.stop(), hearing.stop()])
      await ledger.releaseLease(lease)
    },
  }
}

export type WaitingDependencies = Pick<
  RunDependencies,
  'ledger' | 'now' | 'sleep' | 'owner' | 'isDead' | 'interrupt' | 'events'
>

async function awaitLease(deps: WaitingDependencies, turn: Turn): Promise<Lease> {
  const { ledger, now, owner, isDead, interrupt } = deps
  const { jobId, job, runId, givesWay } = turn
  let waitsFor: string | undefined
  try {
    for (;;) {
      const first = givesWay ? await ledger.way.waiter(jobId, now(), isDead) : undefined
      const request = { jobId, runId, givesWay, owner, now: now(), ttlMs: LEASE_MS }
      const answer = first === undefined ? await ledger.acquireLease(request, isDead) : undefined
      if (answer?.ok) return answer.lease
      const ahead = answer === undefined ? first : answer.holder
      if (answer !== undefined) refuseBeside(turn, answer.holder, waitsFor !== undefined)
      if (ahead !== undefined && waitsFor !== ahead.owner)
        deps.events.emit({ type: 'waitingForRun', ...aheadOf(job, ahead) })
      waitsFor = ahead?.owner
      if (!givesWay) await ledger.way.ask(request)
      await deps.sleep(LOOK_EVERY_MS, interrupt)
    }
  } catch (error) {
    if (waitsFor !== undefined && !givesWay) await ledger.way.withdraw(jobId, owner)
    if (interrupt.aborted)
      throw new WaybillError('interrupted', `interrupted while it waited for another run of the job ${job}`, {
        remedy: 'Nothing was done. Type the same command again.',
      })
    throw error
  }
}

/** What `waitingForRun` tells of who goes first. */
function aheadOf(job: string, ahead: LeaseRecord | Waiter): OtherRun {
  const owner = processName(ahead.owner)
  if ('since' in ahead) return { job, owner, since: ahead.since, givesWay: false }
  return { job, run: ahead.run_id, owner, since: ahead.acquired_at, givesWay: ahead.gives_way !== 0 }
}

/** @param hasAsked whether it waits already for a backfill, and so for whoever was given the job before it */
function refuseBeside(
  { job, runId, givesWay, notWhileItRuns, isBackfill = false }: Turn,
  holder: LeaseRecord,
  hasAsked: boolean,
): void {
  const { owner, run_id: heldFor, acquired_at: since, gives_way: holderGivesWay } = holder
  const held = `the job ${job} is being run by ${processName(owner)} (run ${heldFor}, since ${new Date(since).toISOString()})`
  const isIt = heldFor === runId || (isBackfill && holderGivesWay !== 0)
  if (notWhileItRuns !== undefined && isIt) throw notWhileItRuns(held)
  if ((holderGivesWay !== 0) === givesWay && (givesWay || !hasAsked))
    throw new WaybillError('job-held', held, {
      remedy: `Wait for it: \`waybill watch ${heldFor}\` shows how far it is. Or stop it: \`waybill stop ${heldFor}\`; the next run of the job goes on with it.`,
    })
}

/** Does it again and again, one after the other, until stopped; what is under way then comes to its end. @param act never rejects */
function every(ms: number, act: () => Promise<void>): { stop(): Promise<void> } {
  let last = Promise.resolve()
  const timer = setInterval(() => {
    last = last.then(act)
  }, ms)
  timer.unref()
  return {
    stop: () => {
      clearInterval(timer)
      return last
    },
  }
}

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

export const settledOnly = (): WaybillError =>
  gaveWay('what the run had under way is settled; it lets another run of its job go first')

const gaveWay = (message: string): WaybillError => new WaybillError('gave-way', message)
