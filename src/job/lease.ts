/** Holding a job: the lease is renewed as long as the process lives, and everything stops when it is lost. */
import { WaybillError } from '../errors.ts'
import type { Lease, LeaseRecord, Ledger, RunLedger, Waiter } from '../ledger/ledger.ts'
import type { RunDependencies } from './run-dependencies.ts'

/** A process that has not been heard of for so long is taken for dead. */
export const LEASE_MS = 60_000
const RENEW_EVERY_MS = LEASE_MS / 4
/** How often who waits for another run looks whether it is over. */
export const LOOK_EVERY_MS = 1_000

export interface LeaseRequest {
  readonly jobId: number
  readonly job: string
  readonly runId: string
  /** `host:pid` */
  readonly owner: string
  readonly now: number
}

/** @throws WaybillError `job-held`, saying by whom and since when */
export async function takeLease(
  ledger: Ledger,
  request: LeaseRequest,
  isDead: (owner: string) => boolean,
): Promise<Lease> {
  const answer = await ledger.acquireLease({ ...request, ttlMs: LEASE_MS }, isDead)
  if (answer.ok) return answer.lease
  throw jobHeld(request.job, answer.holder)
}

export interface Turn {
  readonly jobId: number
  readonly job: string
  readonly runId: string
  /** Whether it is a backfill, which gives way to all other runs of the job. */
  readonly givesWay: boolean
}

/** A job that this process holds. */
export interface HeldJob {
  readonly lease: Lease
  /** Aborted, with the reason, when the lease is lost. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

/**
 * As `takeLease`, kept until it is released; but waits where one of two is a backfill: the other one asks it to let the job go, and it waits until those that have
 * asked are done.
 * @throws WaybillError `job-held` where both are backfills, or none is; `interrupted`
 */
export async function holdJob(deps: WaitingDependencies, turn: Turn): Promise<HeldJob> {
  const { ledger, now } = deps
  const lease = await awaitLease(deps, turn)
  const losing = new AbortController()
  const kept = keepLease(ledger.amendRun(lease), now, (reason) => losing.abort(reason))
  return {
    lease,
    lost: losing.signal,
    async release() {
      kept.stop()
      await ledger.releaseLease(lease)
    },
  }
}

type WaitingDependencies = Pick<
  RunDependencies,
  'ledger' | 'now' | 'sleep' | 'owner' | 'isDead' | 'events' | 'interrupt'
>

async function awaitLease(deps: WaitingDependencies, turn: Turn): Promise<Lease> {
  const { ledger, now, owner, isDead, interrupt } = deps
  const { jobId, job, givesWay } = turn
  let waitsFor: string | undefined
  try {
    for (;;) {
      const first = givesWay ? await ledger.way.waiter(jobId, now(), isDead) : undefined
      const request = { ...turn, owner, now: now(), ttlMs: LEASE_MS }
      const answer = first === undefined ? await ledger.acquireLease(request, isDead) : undefined
      if (answer?.ok) return answer.lease
      const ahead = answer === undefined ? first : answer.holder
      if (answer !== undefined && (answer.holder.gives_way !== 0) === givesWay)
        throw jobHeld(job, answer.holder)
      if (ahead !== undefined && waitsFor !== ahead.owner) deps.events.waitingForRun(aheadOf(job, ahead))
      waitsFor = ahead?.owner
      if (!givesWay) await ledger.way.ask(request)
      await deps.sleep(LOOK_EVERY_MS, interrupt)
    }
  } catch (error) {
    if (waitsFor !== undefined && !givesWay) await ledger.way.withdraw(jobId, owner)
    if (interrupt.aborted)
      throw new WaybillError('interrupted', `interrupted while it waited for another run of the job ${job}`)
    throw error
  }
}

/** What `waitingForRun` tells of who goes first. */
export function aheadOf(
  job: string,
  ahead: LeaseRecord | Waiter,
): { job: string; run?: string; owner: string; since: number } {
  if ('since' in ahead) return { job, owner: ahead.owner, since: ahead.since }
  return { job, run: ahead.run_id, owner: ahead.owner, since: ahead.acquired_at }
}

function jobHeld(job: string, { owner, run_id, acquired_at }: LeaseRecord): WaybillError {
  return new WaybillError(
    'job-held',
    `the job ${job} is being run by ${owner} (run ${run_id}, since ${new Date(acquired_at).toISOString()})`,
  )
}

/** Renews until stopped; a renewal that fails ends in `onLost`. */
export function keepLease(
  runLedger: RunLedger,
  now: () => number,
  onLost: (error: unknown) => void,
): { stop(): void } {
  const timer = setInterval(() => {
    runLedger.renew(now(), LEASE_MS).catch(onLost)
  }, RENEW_EVERY_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
