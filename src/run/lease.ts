/** Holds a job: renews the lease while the process lives, and stops everything when the lease is lost. */

import { type Lease, type LeaseRecord, type PartOf, processName, type Waiter } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { iso } from '../system/shown-text.ts'
import type { OtherRun, RunDependencies } from './events.ts'

/** Renewals in the time of a lease. */
const RENEWALS = 4
/** Times of a lease for which a worker waits for a part. */
const PART_WAITS = 1.5
/** Interval at which a waiting run checks whether the other run is over. */
export const LOOK_EVERY_MS = 1_000

export interface Turn {
  readonly jobId: number
  readonly job: string
  readonly runId: string
  /** True for a backfill, which gives way to all other runs of the job. */
  readonly givesWay: boolean
  /** Error thrown at once if the job is held for this very run: nobody is then asked to release the job. */
  readonly notWhileItRuns?: ((held: string) => WaybillError) | undefined
  /** True if this run is the unfinished backfill of the job. A holder that gives way is about to resume it, even if not yet taken up. */
  readonly isBackfill?: boolean | undefined
  /** Part of an export to work on; undefined: the job. */
  readonly part?: PartOf | undefined
  /** True to take the job while others work on its parts. */
  readonly besideParts?: boolean | undefined
}

/** Awaits without counting the time as work of the run. */
export type Pausing = (wait: () => Promise<void>) => Promise<void>

/** Job held by this process. */
export interface HeldJob {
  readonly lease: Lease
  /** Aborted, with the reason, when the lease is lost. */
  readonly lost: AbortSignal
  /** Aborted, with the reason, when somebody asks to stop the run. */
  readonly stopped: AbortSignal
  release(): Promise<void>
}

/**
 * Holds the job until release. If one of two runs is a backfill, the second waits: an ordinary run asks the backfill to release the job, and a
 * backfill waits until all runs that asked are done. A waiting run keeps its request even if another waiting run goes first.
 * @throws WaybillError `job-held`, with the holder and the start, if both are backfills or neither is; `interrupted`
 */
export async function holdJob(deps: WaitingDependencies, turn: Turn): Promise<HeldJob> {
  const { ledger, now } = deps
  const lease = await awaitLease(deps, turn)
  const { lastsMs } = ledger.leases
  const runLedger = ledger.runs.amend(lease)
  const losing = new AbortController()
  const renewing = every(lastsMs / RENEWALS, () =>
    runLedger.renew(now(), lastsMs).catch((reason) => losing.abort(reason)),
  )
  const stopping = new AbortController()
  const hearStop = async (): Promise<void> => {
    const by = await ledger.leases.stopBy(lease)
    if (by !== undefined) stopping.abort(new WaybillError('asked-to-stop', `${by} has stopped it`))
  }
  // The run reads the ledger too, and reports an unreadable ledger.
  const hearing = every(LOOK_EVERY_MS, () => hearStop().catch(() => {}))
  return {
    lease,
    lost: losing.signal,
    stopped: stopping.signal,
    async release() {
      // A later renewal would hold the job for another minute.
      await Promise.all([renewing.stop(), hearing.stop()])
      await ledger.leases.release(lease)
    },
  }
}

export type WaitingDependencies = Pick<
  RunDependencies,
  'ledger' | 'now' | 'sleep' | 'owner' | 'isDead' | 'interrupt' | 'events'
>

async function awaitLease(deps: WaitingDependencies, turn: Turn): Promise<Lease> {
  const { ledger, now, owner, isDead, interrupt } = deps
  const { jobId, job, runId, givesWay, part, besideParts } = turn
  const since = now()
  let waitsFor: string | undefined
  try {
    for (;;) {
      const first = givesWay ? await ledger.way.waiter(jobId, now(), isDead) : undefined
      const ttlMs = ledger.leases.lastsMs
      const request = { jobId, runId, givesWay, owner, now: now(), ttlMs, part, besideParts }
      const answer = first === undefined ? await ledger.leases.acquire(request, isDead) : undefined
      if (answer?.ok) return answer.lease
      const ahead = answer === undefined ? first : answer.holder
      // The lease of a dead worker on a part is waited for.
      const isDue = part === undefined || now() - since > PART_WAITS * ttlMs
      const hasAsked = part === undefined && waitsFor !== undefined
      if (answer !== undefined && isDue) refuseBeside(turn, answer.holder, hasAsked)
      if (part === undefined && ahead !== undefined && waitsFor !== ahead.owner)
        deps.events.emit({ type: 'waitingForRun', ...aheadOf(job, ahead) })
      waitsFor = ahead?.owner
      if (!givesWay && part === undefined) await ledger.way.ask(request)
      await deps.sleep(LOOK_EVERY_MS, interrupt)
    }
  } catch (error) {
    if (waitsFor !== undefined && !givesWay && part === undefined) await ledger.way.withdraw(jobId, owner)
    if (interrupt.aborted)
      throw new WaybillError('interrupted', `interrupted while waiting for another run of the job ${job}`, {
        remedy: 'Nothing was changed. Repeat the command.',
      })
    throw error
  }
}

/** Content of `waitingForRun`: the run that goes first. */
function aheadOf(job: string, ahead: LeaseRecord | Waiter): OtherRun {
  const owner = processName(ahead.owner)
  if ('since' in ahead) return { job, owner, since: ahead.since, givesWay: false }
  return { job, run: ahead.run_id, owner, since: ahead.acquired_at, givesWay: ahead.gives_way !== 0 }
}

/**
 * Throws if the run must not wait for the holder. @param hasAsked true if the run already waits for a backfill, and so for any run given the job
 * before it
 */
function refuseBeside(
  { job, runId, givesWay, notWhileItRuns, isBackfill = false }: Turn,
  holder: LeaseRecord,
  hasAsked: boolean,
): void {
  const { owner, run_id: heldFor, acquired_at: since, gives_way: holderGivesWay } = holder
  const held = `${processName(owner)} runs the job ${job} (run ${heldFor}, since ${iso(since)})`
  const isIt = heldFor === runId || (isBackfill && holderGivesWay !== 0)
  if (notWhileItRuns !== undefined && isIt) throw notWhileItRuns(held)
  if ((holderGivesWay !== 0) === givesWay && (givesWay || !hasAsked))
    throw new WaybillError('job-held', held, {
      remedy: `To follow the run: \`waybill watch ${heldFor}\`. To stop it: \`waybill stop ${heldFor}\`; the next run of the job continues it.`,
    })
}

/** Repeats an action, one call after another, until stopped; a call in progress is awaited. @param act never rejects */
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
 * Waits while another job runs at the gateway; backfills do not wait for each other.
 * @returns takes a signal, aborted when the run is to stop, and whether a run of the same job is to wait for one chunk more, unless this run would
 *   have to wait itself; throws `gave-way` if a run of the job waits
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

interface Asked {
  /** Aborted with `gave-way` once somebody has asked for the job. */
  readonly signal: AbortSignal
  /** Call and await before closing the ledger. */
  stop(): Promise<void>
}

/**
 * Watches for requests during long work that begins no chunk: fetching, unpacking, fingerprinting or reading ahead an export.
 * @param mayGiveWay true if nothing in flight must be settled first, and the run has not just given way in vain
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
  // The run reads the ledger too, and reports an unreadable ledger.
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
  gaveWay(`the backfill gives way to ${processName(owner)}, which asked for the job ${job}`)

export const settledOnly = (): WaybillError =>
  gaveWay('the requests in flight are settled; the run gives way to another run of its job')

const gaveWay = (message: string): WaybillError => new WaybillError('gave-way', message)
