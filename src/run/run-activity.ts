/** Whether a run that the ledger calls running is really under way, or its process is gone. */
import { type LeaseRecord, type Ledger, processName, type RunRecord } from '../ledger/ledger.ts'
import { LEASE_MS } from './lease.ts'
import { readOutage, type WaitsForGateway } from './outage-watch.ts'

/** `owner` is `host:pid`; instants in ISO 8601, UTC. */
export type RunActivity =
  | {
      readonly kind: 'under-way'
      readonly owner: string
      readonly since: string
      /** Where nothing gets through to the gateway. */
      readonly waits?: WaitsForGateway
    }
  /** Killed, or its machine went down: it goes on with the next run of its job. `owner`: who had it, where that is known. */
  | { readonly kind: 'stopped'; readonly owner?: string; readonly lastSign: string }

/**
 * Undefined for a run that has ended, or was interrupted in an orderly way.
 * @param isDead whether the process is known to be gone
 */
export async function activityOf(
  ledger: Pick<Ledger, 'lastLease' | 'chunksOfRun'>,
  run: Pick<RunRecord, 'id' | 'job_id' | 'state' | 'started_at'>,
  now: number,
  isDead: (owner: string) => boolean,
): Promise<RunActivity | undefined> {
  if (run.state !== 'running') return undefined
  const last = await ledger.lastLease(run.job_id)
  // Where another run of the job has held it since, nothing more is known of who had this one.
  const lease = last?.run_id === run.id ? last : undefined
  if (lease !== undefined && lease.expires_at > now && !isDead(lease.owner)) return underWay(lease)
  const settled = (await ledger.chunksOfRun(run.id)).flatMap(({ settled_at }) => settled_at ?? [])
  const signs = [run.started_at, ...settled]
  // A lease that was let go has no such instant.
  if (lease !== undefined && lease.expires_at > 0) signs.push(lease.acquired_at, lease.expires_at - LEASE_MS)
  const owner = lease === undefined ? {} : { owner: processName(lease.owner) }
  return { kind: 'stopped', ...owner, lastSign: iso(Math.max(...signs)) }
}

/** As whoever holds the job tells it. */
export function underWay({ owner, acquired_at, outage }: LeaseRecord): RunActivity & { kind: 'under-way' } {
  const waits = readOutage(outage)
  const at = { owner: processName(owner), since: iso(acquired_at) }
  return { kind: 'under-way', ...at, ...(waits === undefined ? {} : { waits }) }
}

const iso = (at: number): string => new Date(at).toISOString()
