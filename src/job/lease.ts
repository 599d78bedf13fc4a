/** Holding a job: the lease is renewed as long as the process lives, and everything stops when it is lost. */
import { WaybillError } from '../errors.ts'
import type { Lease, Ledger, RunLedger } from '../ledger/ledger.ts'

/** A process that has not been heard of for so long is taken for dead. */
export const LEASE_MS = 60_000
const RENEW_EVERY_MS = LEASE_MS / 4

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
  const { owner, run_id, acquired_at } = answer.holder
  throw new WaybillError(
    'job-held',
    `the job ${request.job} is being run by ${owner} (run ${run_id}, since ${new Date(acquired_at).toISOString()})`,
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
