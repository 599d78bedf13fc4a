/**
 * Leases on jobs: the right to run, with a fencing token, greater after each change of owner.
 * Right of way: a backfill goes behind all runs. Only the order of runs depends on the right of way; the lease keeps two runs of a job apart.
 */
import { type Kysely, sql } from 'kysely'
import { WaybillError } from '../../model/errors.ts'
import type { Claimed, ClaimRequest, Lease, Ledger, PartOf, RunLedger } from '../ledger.ts'
import type { RunState } from '../states.ts'
import { type LeaseRecord, type LedgerTables, processName } from '../tables.ts'
import { jobName, noteAudit } from './audit.ts'
import { type Dialect, leaseTime } from './dialect.ts'
import type { Exclusive, MaybePromise, Statements, Writer } from './exclusive.ts'

export const leasesOf = (turns: Exclusive): Pick<Ledger, 'leases' | 'way'> => ({
  leases: { ...holding(turns), ...stopping(turns) },
  way: rightOfWay(turns),
})

type Stopping = Pick<Ledger['leases'], 'stop' | 'stopBy' | 'isStopping'>

const holding = ({ db, dialect, write }: Exclusive): Omit<Ledger['leases'], keyof Stopping> => ({
  lastsMs: dialect.leaseMs,
  acquire: ({ jobId, runId, owner, now: asked, ttlMs, givesWay = false, part, besideParts }, isDead) =>
    write(async (writer, statements) => {
      const now = await leaseTime(writer, dialect, asked)
      // A renewal under way is waited for.
      await statements.all(`select token from lease where job_id = ?${dialect.forUpdate}`, jobId)
      const known = await leasesOfJob(writer, jobId)
      const place = placeOf(part)
      const inTheWay = (one: LeaseRecord): boolean =>
        one.part === place || (place === 0 && besideParts !== true)
      const holder = known.find((one) => inTheWay(one) && isHeld(one, now, isDead))
      if (holder !== undefined) return { ok: false, holder }
      const token = Math.max(0, ...known.map((one) => one.token)) + 1
      const before = known.find((one) => one.part === place)
      const isTakeover = before !== undefined && before.expires_at > 0 && now < before.expires_at + ttlMs
      const lease = {
        // Until the successor of a dead process names the run to go on with.
        run_id: isTakeover ? before.run_id : runId,
        owner,
        token,
        acquired_at: now,
        expires_at: now + ttlMs,
        gives_way: Number(givesWay),
        outage: null,
      }
      await writer
        .insertInto('lease')
        .values({ job_id: jobId, part: place, ...lease })
        .onConflict((conflict) => conflict.columns(['job_id', 'part']).doUpdateSet(lease))
        .execute()
      if (part !== undefined) {
        const { exportRow, number } = part
        await statements.run(
          'update part set takes = takes + 1 where export_row = ? and number = ?',
          ...[exportRow, number],
        )
        return { ok: true, lease: { jobId, runId, token, part } }
      }
      await writer
        .deleteFrom('waiting')
        .where('job_id', '=', jobId)
        // A process killed while waiting withdraws nothing.
        .where(({ or, eb }) => or([eb('owner', '=', owner), eb('expires_at', '<=', now)]))
        .execute()
      // Claims are of the whole job: a worker on a part keeps them.
      const isWorkedOn = known.some((one) => one.part > 0 && isHeld(one, now, isDead))
      if (before !== undefined && !isWorkedOn) await abandonClaims(statements, before, now)
      // The time in between was no work. A stop reaches the successor of a dead process, and no later resumption.
      await statements.run(
        `update run set worked_at = null${isTakeover ? '' : ', stop_by = null'}
          where job_id = ? and (worked_at is not null or stop_by is not null)`,
        jobId,
      )
      return { ok: true, lease: { jobId, runId, token } }
    }),
  // The token stays: the next owner needs a greater token.
  async release({ jobId, token }) {
    const own = db.updateTable('lease').where('job_id', '=', jobId).where('token', '=', token)
    await own.set({ expires_at: 0 }).execute()
  },
  async holder(jobId, now, isDead) {
    const last = await lastLease(db, jobId)
    return last && isHeld(last, await leaseTime(db, dialect, now), isDead) ? last : undefined
  },
  last: (jobId, part) => lastLease(db, jobId, part),
  async hasParts(jobId, now, isDead) {
    const at = await leaseTime(db, dialect, now)
    return (await leasesOfJob(db, jobId)).some((one) => one.part > 0 && isHeld(one, at, isDead))
  },
})

const stopping = ({ db, dialect, write }: Exclusive): Stopping => ({
  stop: (runId, acting, isDead) =>
    write(async (writer) => {
      const run = await inProgress(writer, dialect, runId, acting.at, isDead)
      if (run === undefined || run.stop_by === acting.by) return run !== undefined
      await writer.updateTable('run').set({ stop_by: acting.by }).where('id', '=', runId).execute()
      const job = await jobName(writer, run.job_id)
      await noteAudit(writer, { ...acting, action: 'stop', job, run: runId, subject: null })
      return true
    }),
  async stopBy({ jobId, token }) {
    const run = db.selectFrom('lease').innerJoin('run', 'run.id', 'lease.run_id').select('run.stop_by')
    const own = run.where('lease.job_id', '=', jobId).where('lease.token', '=', token)
    return (await own.executeTakeFirst())?.stop_by ?? undefined
  },
  async isStopping(runId, at, isDead) {
    // Most looks find a held job: a look takes no turn from whoever writes.
    const seen = await toStop(db, dialect, runId, at, isDead)
    if (seen === undefined || seen.isHeld) return seen !== undefined
    return write(async (writer, statements) => {
      const run = await toStop(writer, dialect, runId, at, isDead)
      if (run === undefined || run.isHeld) return run !== undefined
      // A halted process that wakes writes nothing more; the next run settles its requests in flight.
      await endLeases(statements, run.job_id, 0)
      await writer
        .updateTable('run')
        .set({ state: 'interrupted', reason: 'asked-to-stop', detail: `${run.stop_by} has stopped it` })
        .set({ ended_at: at, worked_at: null })
        .where('id', '=', runId)
        .execute()
      return false
    })
  },
})

/** Finds a run in progress that is to stop. */
async function toStop(...looked: Parameters<typeof inProgress>) {
  const run = await inProgress(...looked)
  return run?.stop_by === null ? undefined : run
}

/** Finds a run in progress; undefined if the run is over, or if another run holds the job. */
async function inProgress(
  database: Kysely<LedgerTables>,
  dialect: Dialect,
  runId: string,
  at: number,
  isDead: (owner: string) => boolean,
) {
  const running = database.selectFrom('run').where('id', '=', runId).where('state', '=', 'running')
  const run = await running.select(['job_id', 'stop_by']).executeTakeFirst()
  if (run === undefined) return undefined
  const now = await leaseTime(database, dialect, at)
  const held = (await leasesOfJob(database, run.job_id)).filter((one) => isHeld(one, now, isDead))
  const isOthers = held.length > 0 && held.every((one) => one.run_id !== runId)
  return isOthers ? undefined : { ...run, isHeld: held.length > 0 }
}

/** Number of a lease within its job. */
const placeOf = (part: PartOf | undefined): number => (part === undefined ? 0 : part.number + 1)

const leasesOfJob = (database: Kysely<LedgerTables>, jobId: number): Promise<LeaseRecord[]> =>
  database.selectFrom('lease').selectAll().where('job_id', '=', jobId).orderBy('part').execute()

async function lastLease(
  database: Kysely<LedgerTables>,
  jobId: number,
  part?: PartOf,
): Promise<LeaseRecord | undefined> {
  const all = await leasesOfJob(database, jobId)
  const own = all.find((one) => one.part === placeOf(part))
  if (own === undefined || part !== undefined) return own
  // An outage of a part is an outage of the job.
  const met = all.find((one) => one.outage !== null && one.run_id === own.run_id && one.expires_at > 0)
  return { ...own, outage: met?.outage ?? null }
}

const isHeld = (lease: LeaseRecord, now: number, isDead: (owner: string) => boolean): boolean =>
  lease.expires_at > now && !isDead(lease.owner)

/** @throws `lease-lost` if a different process holds the job now */
export function assertHeld(statements: Statements, { jobId, token, runId, part }: Lease): MaybePromise<void> {
  return statements.assert(
    `select '1' from lease where job_id = ? and token = ?${statements.dialect.forShare}`,
    [jobId, token],
    async (looking) => {
      const lost = [jobId, placeOf(part)]
      const [holder] = await looking.all('select owner from lease where job_id = ? and part = ?', ...lost)
      const by = holder === undefined ? 'another process' : processName(String(holder['owner']))
      throw new WaybillError('lease-lost', `run ${runId} was taken over by ${by}`)
    },
  )
}

/** Claims accounts. A claim lasts as long as the lease of the job: no heartbeat, no fence, no end. */
async function claimAccounts(
  writer: Writer,
  statements: Statements,
  lease: Lease,
  request: ClaimRequest,
  isDead: (owner: string) => boolean,
): Promise<Claimed> {
  const { gateway, accounts } = request
  const { hashes, hex } = statements.dialect
  const claim = () =>
    statements.all(
      // In a fixed order: no deadlock of two jobs.
      `insert into claim (gateway, account, job_id)
        select cast(? as text), hash, cast(? as bigint) from (${hashes}) as asked where true order by hash
        on conflict (gateway, account) do update set job_id = excluded.job_id where claim.job_id = excluded.job_id
        returning ${hex('account')} as account, (select max(at) from abandoned_claim as abandoned
          where abandoned.gateway = claim.gateway and abandoned.account = claim.account and run_id != ?) as abandoned_at`,
      ...[gateway, lease.jobId, JSON.stringify(accounts), lease.runId],
    )
  const time = () => leaseTime(writer, statements.dialect, request.now)
  let claimed = await claim()
  if (claimed.length < accounts.length) {
    await endClaims(statements, lease, { ...request, now: await time() }, isDead)
    claimed = await claim()
  }
  const abandoned = claimed.filter((one) => one['abandoned_at'] !== null)
  const now = abandoned.length === 0 ? 0 : await time()
  return {
    accounts: new Set(claimed.map(({ account }) => String(account))),
    abandoned: new Map(abandoned.map(({ account, abandoned_at: at }) => [String(account), now - Number(at)])),
  }
}

/** Ends the claims of jobs without a live process on any of the accounts. */
async function endClaims(
  statements: Statements,
  { jobId, token }: Lease,
  { gateway, accounts, now }: ClaimRequest,
  isDead: (owner: string) => boolean,
): Promise<void> {
  const others = await statements.all(
    `select lease.job_id, lease.part, lease.token, lease.run_id, lease.owner, lease.expires_at, own.owner as own
      from lease join lease own on own.job_id = ? and own.token = ?
      where lease.job_id != own.job_id and lease.job_id in (select job_id from claim where gateway = ?
        and account in (${statements.dialect.hashes})) order by lease.job_id, lease.part`,
    ...[jobId, token, gateway, JSON.stringify(accounts)],
  )
  const isHeldBy = ({ owner, expires_at }: (typeof others)[number]): boolean =>
    Number(expires_at) > now && !isDead(String(owner))
  for (const leases of Map.groupBy(others, ({ job_id }) => Number(job_id)).values()) {
    // A job lasts while somebody works on a part.
    const [first] = leases
    if (first === undefined || leases.some(isHeldBy)) continue
    const job = Number(first['job_id'])
    // First: if two jobs end equal claims, the second waits, and finds none.
    for (const { part, own } of leases)
      await statements.run(
        `update lease set token = ${NEXT_TOKEN}, owner = ?, expires_at = 0 where job_id = ? and part = ?`,
        ...[String(own), job, Number(part)],
      )
    await abandonClaims(statements, { job_id: job, run_id: String(first['run_id']) }, now)
  }
}

/** Ends the claims of a job without a process. The run may have sent something for each account, unknown to later runs. */
async function abandonClaims(
  statements: Statements,
  { job_id: jobId, run_id: runId }: Pick<LeaseRecord, 'job_id' | 'run_id'>,
  now: number,
): Promise<void> {
  await statements.run(
    `insert into abandoned_claim (gateway, account, run_id, job_id, at)
      select gateway, account, cast(? as text), job_id, cast(? as bigint) from claim where job_id = ? order by gateway, account
      on conflict (gateway, account, run_id) do update set at = excluded.at`,
    ...[runId, now, jobId],
  )
  await statements.run('delete from claim where job_id = ?', jobId)
}

/**
 * Ends the work of a run: refuses all further writes of workers on its parts, unless the run is interrupted, and releases all claims of a finished
 * run. An unfinished run of the job keeps abandoned claims, and so does a run that was given up: the gateway may have entries that no care team of
 * the ledger shows.
 */
export async function endHolds(statements: Statements, { jobId }: Lease, state: RunState): Promise<void> {
  if (state !== 'interrupted') await endLeases(statements, jobId, 1)
  if (state !== 'finished') return
  await statements.run('delete from claim where job_id = ?', jobId)
  await statements.run(
    `delete from abandoned_claim where job_id = ?
      and run_id not in (select id from run where job_id = ? and (state in ('running', 'interrupted') or reason = 'given-up'))`,
    ...[jobId, jobId],
  )
}

const NEXT_TOKEN = '(select max(token) + 1 from lease other where other.job_id = lease.job_id)'

/** @param from least number of a lease */
async function endLeases(statements: Statements, jobId: number, from: number): Promise<void> {
  const ended = await statements.all('select part from lease where job_id = ? and part >= ?', jobId, from)
  for (const { part } of ended)
    await statements.run(
      `update lease set token = ${NEXT_TOKEN}, expires_at = 0 where job_id = ? and part = ?`,
      ...[jobId, Number(part)],
    )
}

export async function letGo(
  statements: Statements,
  { jobId, runId }: Lease,
  gateway: string,
  accounts: readonly string[],
): Promise<void> {
  const release = (from: string, by: number | string) =>
    statements.run(
      `delete from ${from} = ? and gateway = ? and account in (${statements.dialect.hashes})`,
      ...[by, gateway, JSON.stringify(accounts)],
    )
  await release('claim where job_id', jobId)
  await release('abandoned_claim where run_id', runId)
}

/** Writes of a run on its lease and on the claims of accounts. */
export const leaseWrites = ({
  dialect,
  lease,
  writeHot,
  writeShared,
}: Pick<Exclusive, 'dialect' | 'writeHot' | 'writeShared'> & { readonly lease: Lease }): Pick<
  RunLedger,
  'renew' | 'assertHeld' | 'noteOutage' | 'pauseWork' | 'goOnWorking' | 'claimAccounts'
> => {
  const own = (writer: Writer) =>
    writer.updateTable('lease').where('job_id', '=', lease.jobId).where('token', '=', lease.token)
  return {
    renew: (now, ttlMs) =>
      writeShared(async (writer) => {
        const { run_id: runId } = await own(writer)
          .set({ expires_at: (await leaseTime(writer, dialect, now)) + ttlMs })
          .returning('run_id')
          .executeTakeFirstOrThrow()
        if (lease.part === undefined) await countWork(writer, runId, now, 'goes-on')
      }),
    assertHeld: () => writeHot(() => undefined, 'for-nothing'),
    noteOutage: (outage) =>
      writeShared(async (writer) => {
        await own(writer).set({ outage }).execute()
      }),
    pauseWork: (at) => writeShared((writer) => countWork(writer, lease.runId, at, 'pauses')),
    goOnWorking: (at) =>
      writeShared(async (writer) => {
        await writer.updateTable('run').set({ worked_at: at }).where('id', '=', lease.runId).execute()
      }),
    claimAccounts: (request, isDead) =>
      writeShared(
        (writer, statements) => claimAccounts(writer, statements, lease, request, isDead),
        'for-nothing',
      ),
  }
}

/** A lease is renewed several times a minute: after a longer gap the process was stopped, or the machine slept. */
const STOOD_STILL_MS = 60_000

/** @param at nothing is counted if the clock was set back */
export async function countWork(
  writer: Writer,
  runId: string,
  at: number,
  goesOn: 'goes-on' | 'pauses',
): Promise<void> {
  await writer
    .updateTable('run')
    .set({
      worked_ms: sql<number>`worked_ms + case when ${at} - worked_at between 0 and ${STOOD_STILL_MS}
        then ${at} - worked_at else 0 end`,
      worked_at: goesOn === 'goes-on' ? at : null,
    })
    .where('id', '=', runId)
    .where('worked_at', 'is not', null)
    .execute()
}

/** Owners waiting for a job, and leases keeping a gateway busy. */
const rightOfWay = ({ db, dialect }: Exclusive): Ledger['way'] => ({
  async ask({ jobId, owner, now: asked, ttlMs }) {
    const now = await leaseTime(db, dialect, asked)
    const expires_at = now + ttlMs
    await db
      .insertInto('waiting')
      .values({ job_id: jobId, owner, since: now, expires_at })
      .onConflict((conflict) => conflict.columns(['job_id', 'owner']).doUpdateSet({ expires_at }))
      .execute()
  },
  async withdraw(jobId, owner) {
    await db.deleteFrom('waiting').where('job_id', '=', jobId).where('owner', '=', owner).execute()
  },
  async waiter(jobId, now, isDead) {
    const waiting = await db
      .selectFrom('waiting')
      .select(['owner', 'since'])
      .where('job_id', '=', jobId)
      .where('expires_at', '>', await leaseTime(db, dialect, now))
      .orderBy('since')
      .execute()
    return waiting.find(({ owner }) => !isDead(owner))
  },
  async busy(gateway, jobId, now, isDead) {
    const leases = await db
      .selectFrom('lease')
      .innerJoin('job', 'job.id', 'lease.job_id')
      .selectAll('lease')
      .select('job.name as job')
      .where('job.gateway', '=', gateway)
      .where('lease.gives_way', '=', 0)
      .orderBy('lease.acquired_at')
      .execute()
    const at = await leaseTime(db, dialect, now)
    return leases.find((lease) => lease.job_id !== jobId && isHeld(lease, at, isDead))
  },
})
