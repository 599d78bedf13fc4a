/**
 * Right of way: a backfill lets other runs go first. Who waits for a job whose holder gives way, and what else is under way at a
 * gateway. Nothing hangs on it but who goes first: what keeps two runs of a job apart is the lease.
 */

import type { Kysely } from 'kysely'
import type { RightOfWay } from '../concerns.ts'
import type { LedgerTables } from '../tables.ts'
import type { Exclusive } from './exclusive.ts'
import { isHeld } from './leases.ts'

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
