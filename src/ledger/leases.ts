/** Leases on jobs: who may run, with a fencing token that grows with each change of hands. */
import type { Kysely, Transaction } from 'kysely'
import { WaybillError } from '../errors.ts'
import type { Lease, LeaseAnswer } from './ledger.ts'
import type { LeaseRecord, LedgerTables } from './tables.ts'

export async function acquireLease(
  transaction: Transaction<LedgerTables>,
  request: { jobId: number; runId: string; owner: string; now: number; ttlMs: number },
  isDead: (owner: string) => boolean,
): Promise<LeaseAnswer> {
  const { jobId, runId, owner, now, ttlMs } = request
  const last = await lastLease(transaction, jobId)
  if (last && isHeld(last, now, isDead)) return { ok: false, holder: last }
  const token = (last?.token ?? 0) + 1
  const lease = { run_id: runId, owner, token, acquired_at: now, expires_at: now + ttlMs }
  await transaction
    .insertInto('lease')
    .values({ job_id: jobId, ...lease })
    .onConflict((conflict) => conflict.column('job_id').doUpdateSet(lease))
    .execute()
  return { ok: true, lease: { jobId, runId, token } }
}

/** The lease of whoever holds the job. */
export async function readHolder(
  database: Kysely<LedgerTables>,
  jobId: number,
  now: number,
  isDead: (owner: string) => boolean,
): Promise<LeaseRecord | undefined> {
  const last = await lastLease(database, jobId)
  return last && isHeld(last, now, isDead) ? last : undefined
}

const lastLease = (database: Kysely<LedgerTables>, jobId: number): Promise<LeaseRecord | undefined> =>
  database.selectFrom('lease').selectAll().where('job_id', '=', jobId).executeTakeFirst()

const isHeld = (lease: LeaseRecord, now: number, isDead: (owner: string) => boolean): boolean =>
  lease.expires_at > now && !isDead(lease.owner)

/** The token stays, so that the next holder's is greater. */
export async function releaseLease(transaction: Transaction<LedgerTables>, lease: Lease): Promise<void> {
  await transaction
    .updateTable('lease')
    .set({ expires_at: 0 })
    .where('job_id', '=', lease.jobId)
    .where('token', '=', lease.token)
    .execute()
}

/** @throws WaybillError `lease-lost` where another process holds the job by now */
export async function assertLease(database: Kysely<LedgerTables>, lease: Lease): Promise<void> {
  const holder = await database
    .selectFrom('lease')
    .select(['token', 'owner'])
    .where('job_id', '=', lease.jobId)
    .executeTakeFirst()
  if (holder?.token !== lease.token) {
    throw new WaybillError(
      'lease-lost',
      `run ${lease.runId} was taken over by ${holder?.owner ?? 'another process'}`,
    )
  }
}

export async function renewLease(
  transaction: Transaction<LedgerTables>,
  lease: Lease,
  expiresAt: number,
): Promise<void> {
  await transaction
    .updateTable('lease')
    .set({ expires_at: expiresAt })
    .where('job_id', '=', lease.jobId)
    .execute()
}
