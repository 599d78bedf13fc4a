/**
 * Right of way: a backfill lets other runs go first. Who waits for a job whose holder gives way, and what else is under way at a
 * gateway. Nothing hangs on it but who goes first: what keeps two runs of a job apart is the lease.
 */
import type { Kysely } from 'kysely'
import type { Exclusive } from './exclusive.ts'
import { isHeld } from './leases.ts'
import type { LeaseRecord, LedgerTables } from './tables.ts'

export interface Waiter {
  /** Of that process alone; `processName` of it is `host:pid`. */
  readonly owner: string
  readonly since: number
}

export interface RightOfWay {
  /**
   * Asks whoever holds the job, and gives way, to let it go. To be repeated within `ttlMs`: a process that is gone asks for
   * nothing. Over as soon as the one who asks has the lease.
   */
  ask(request: { jobId: number; owner: string; now: number; ttlMs: number }): Promise<void>
  withdraw(jobId: number, owner: string): Promise<void>
  /** The one that has waited longest for the job. */
  waiter(jobId: number, now: number, isDead: (owner: string) => boolean): Promise<Waiter | undefined>
  /** The lease of another job at the gateway whose holder does not give way itself, the longest held first. */
  busy(
    gateway: string,
    jobId: number,
    now: number,
    isDead: (owner: string) => boolean,
  ): Promise<(LeaseRecord & { readonly job: string }) | undefined>
}

export function rightOfWay({ read, write }: Pick<Exclusive, 'read' | 'write'>): RightOfWay {
  return {
    ask: ({ jobId, owner, now, ttlMs }) =>
      write(async (writer) => {
        await writer
          .insertInto('waiting')
          .values({ job_id: jobId, owner, since: now, expires_at: now + ttlMs })
          .onConflict((conflict) =>
            conflict.columns(['job_id', 'owner']).doUpdateSet({ expires_at: now + ttlMs }),
          )
          .execute()
      }),
    withdraw: (jobId, owner) =>
      write(async (writer) => {
        await writer.deleteFrom('waiting').where('job_id', '=', jobId).where('owner', '=', owner).execute()
      }),
    waiter: async (jobId, now, isDead) => {
      const waiting = await read((db) =>
        db
          .selectFrom('waiting')
          .select(['owner', 'since'])
          .where('job_id', '=', jobId)
          .where('expires_at', '>', now)
          .orderBy('since')
          .execute(),
      )
      return waiting.find(({ owner }) => !isDead(owner))
    },
    busy: async (gateway, jobId, now, isDead) => {
      const leases = await read((db) => leasesAt(db, gateway))
      return leases.find((lease) => lease.job_id !== jobId && isHeld(lease, now, isDead))
    },
  }
}

const leasesAt = (db: Kysely<LedgerTables>, gateway: string) =>
  db
    .selectFrom('lease')
    .innerJoin('job', 'job.id', 'lease.job_id')
    .selectAll('lease')
    .select('job.name as job')
    .where('job.gateway', '=', gateway)
    .where('lease.gives_way', '=', 0)
    .orderBy('lease.acquired_at')
    .execute()
