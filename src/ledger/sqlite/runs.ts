/** Begins and lists runs. Keeps the decisions of people on runs and jobs: pauses of jobs, and acknowledgements of rejects that stay as they are. */
import { type Insertable, type RawBuilder, sql } from 'kysely'
import {
  type BackfillRange,
  type Lease,
  type Ledger,
  noTallies,
  type Pause,
  type RunFilter,
  type RunLedger,
  readTallies,
  type Tallies,
} from '../ledger.ts'
import { advance } from '../states.ts'
import type { LedgerTables } from '../tables.ts'
import { jobName, noteAudit } from './audit.ts'
import type { Exclusive, Writer } from './exclusive.ts'
import { assertHeld } from './leases.ts'

type Condition = RawBuilder<boolean>

/** @param begun creates the writer of a run */
export const runsOf = (
  turns: Exclusive,
  assertKey: (writer: Writer) => Promise<void>,
  begun: (lease: Lease, tallies?: Tallies) => RunLedger,
): Pick<Ledger, 'runs' | 'acknowledgements' | 'pauses'> => ({
  runs: { ...beginnings(turns, assertKey, begun), ...knownRuns(turns), ...openRuns(turns) },
  acknowledgements: acknowledgementsOf(turns),
  pauses: pausesOf(turns),
})

const beginnings = (
  { write }: Exclusive,
  assertKey: (writer: Writer) => Promise<void>,
  begun: (lease: Lease, tallies?: Tallies) => RunLedger,
): Pick<Ledger['runs'], 'start' | 'resume' | 'ofPart' | 'amend'> => ({
  async start(lease, start) {
    await write(async (writer, statements) => {
      await assertHeld(statements, lease)
      await assertKey(writer)
      await nameRun(writer, lease)
      await writer
        .insertInto('run')
        .values({
          id: start.id,
          job_id: start.jobId,
          state: 'running',
          started_at: start.startedAt,
          worked_at: start.startedAt,
          rejects_path: start.rejectsPath,
          receipts_path: start.receiptsPath,
          tallies: JSON.stringify(noTallies()),
          origin_run: start.origin?.run,
          selection: start.origin?.selection,
          backfill: start.backfill && backfillText(start.backfill),
          backfill_folder: start.backfill?.in,
          part: start.part,
        })
        .execute()
    })
    return begun(lease, noTallies())
  },
  async resume(lease, run, at, part) {
    await write(async (writer, statements) => {
      await assertHeld(statements, lease)
      await assertKey(writer)
      const state = advance('run', run.state, 'resume')
      await nameRun(writer, lease)
      await writer
        .updateTable('run')
        .set({
          state,
          reason: null,
          detail: null,
          ended_at: null,
          worked_at: at,
          resumed_at: at,
          ...(part === undefined ? {} : { part }),
        })
        .where('id', '=', run.id)
        .execute()
    })
    return begun(lease, readTallies(run.tallies))
  },
  ofPart: (lease, tallies) => begun(lease, tallies),
  amend: (lease) => begun(lease),
})

function knownRuns({ db }: Exclusive): Pick<Ledger['runs'], 'unfinished' | 'find' | 'list' | 'count'> {
  const filtered = (only: RunFilter) =>
    db
      .selectFrom('run')
      .innerJoin('job', 'job.id', 'run.job_id')
      .$if(only.job !== undefined, (query) => query.where('job.name', '=', only.job ?? ''))
      .$if(only.since !== undefined, (query) => query.where('run.started_at', '>=', only.since ?? 0))
      .$if(only.states !== undefined, (query) => query.where('run.state', 'in', [...(only.states ?? [])]))
      .$if(only.except !== undefined, (query) => query.where('run.id', 'not in', [...(only.except ?? [])]))
      .$if(only.among !== undefined, (query) => query.where('run.id', 'in', [...(only.among ?? [])]))
      .$if(only.named !== undefined, (query) => query.where(isNamed(only.named ?? '')))
      .$if(only.failed === true, (query) => query.where(NEEDS_SOMEBODY))
      .$if(only.export !== undefined, (query) => query.where(hasExport(only.export ?? '')))
      .$if(only.reason !== undefined, (query) => query.where(hasReason(only.reason ?? '')))
  return {
    unfinished: (jobId, kind) =>
      db
        .selectFrom('run')
        .selectAll()
        .where('job_id', '=', jobId)
        .where('state', 'in', ['running', 'interrupted'])
        .where('backfill', kind === 'backfill' ? 'is not' : 'is', null)
        .orderBy('started_at')
        .executeTakeFirst(),
    find: (id) =>
      db
        .selectFrom('run')
        .innerJoin('job', 'job.id', 'run.job_id')
        .selectAll('run')
        .select(['job.name as job', 'job.gateway'])
        .where('run.id', '=', id)
        .executeTakeFirst(),
    list: (limit, only = {}, after = 0) =>
      filtered(only)
        .selectAll('run')
        .select(['job.name as job', 'job.gateway'])
        .orderBy('run.started_at', 'desc')
        .orderBy('run.id', 'desc')
        .limit(limit)
        .offset(after)
        .execute(),
    async count(only) {
      const counted = filtered(only).select((eb) => eb.fn.countAll<number>().as('count'))
      return (await counted.executeTakeFirstOrThrow()).count
    },
  }
}

const openRuns = ({ db }: Exclusive): Pick<Ledger['runs'], 'openMatters' | 'openPeople'> => ({
  async openMatters() {
    const failed = await db.selectFrom('run').select('run.id').where(FAILED_STILL).execute()
    const exports = await db
      .selectFrom('run')
      .innerJoin('export', 'export.run_id', 'run.id')
      .select(['run.id', 'export.name', 'export.reason'])
      .where(UNREAD_STILL)
      .where(sql<boolean>`not ${FOLLOWED}`)
      .orderBy('export.ordinal')
      .execute()
    const unarchived = await db
      .selectFrom('run')
      .innerJoin('export', 'export.run_id', 'run.id')
      .select(['run.id', 'export.name', 'export.detail', 'export.remedy'])
      .where(UNARCHIVED_STILL)
      .where(sql<boolean>`not ${FOLLOWED}`)
      .orderBy('export.ordinal')
      .execute()
    const left = await db
      .selectFrom('exception')
      .innerJoin('export', 'export.id', 'exception.export_row')
      .innerJoin('run', 'run.id', 'export.run_id')
      .select(['run.id', 'exception.state as outcome', 'exception.code', 'export.name'])
      .select((eb) => [
        eb.fn.countAll<number>().as('all'),
        eb.fn.count<number>('exception.rule').as('records'),
        eb.fn.min('exception.known_since').as('since'),
      ])
      .where(LEFT_STILL)
      .groupBy(['run.id', 'exception.state', 'exception.code', 'export.name'])
      .orderBy('all', 'desc')
      .orderBy('exception.code')
      .orderBy('export.name')
      .execute()
    const exportsOf = Map.groupBy(exports, ({ id }) => id)
    const unarchivedOf = Map.groupBy(unarchived, ({ id }) => id)
    const leftOf = Map.groupBy(left, ({ id }) => id)
    const isFailed = new Set(failed.map(({ id }) => id))
    const ids = new Set([...isFailed, ...exportsOf.keys(), ...unarchivedOf.keys(), ...leftOf.keys()])
    return new Map(
      [...ids].map((id) => [
        id,
        {
          isFailed: isFailed.has(id),
          exports: (exportsOf.get(id) ?? []).map(({ name, reason }) => ({ name, reason: reason ?? '' })),
          unarchived: (unarchivedOf.get(id) ?? []).map(({ name, detail, remedy }) => ({
            name,
            message: detail ?? '',
            remedy: remedy ?? '',
          })),
          left: (leftOf.get(id) ?? []).map(({ all, records, outcome, code, name, since }) => ({
            outcome: outcomeOf(outcome),
            code,
            export: name,
            rows: all - records,
            records,
            since,
          })),
        },
      ]),
    )
  },
  async openPeople() {
    const found = await db
      .selectFrom('exception')
      .innerJoin('export', 'export.id', 'exception.export_row')
      .innerJoin('run', 'run.id', 'export.run_id')
      .innerJoin('job', 'job.id', 'run.job_id')
      .select(['job.name as job', 'exception.state as outcome', 'exception.code'])
      .select((eb) => eb.fn.count<number>('exception.person').distinct().as('people'))
      .where(LEFT_STILL)
      .groupBy(['job.name', 'exception.state', 'exception.code'])
      .execute()
    return found.map(({ outcome, ...one }) => ({ ...one, outcome: outcomeOf(outcome) }))
  },
})

const outcomeOf = (state: string): 'rejected' | 'in-doubt' => (state === 'in-doubt' ? 'in-doubt' : 'rejected')

/** Matches the beginning of the id, or the part behind the hyphen. */
const isNamed = (text: string): Condition =>
  sql`(substr(run.id, 1, ${text.length}) = ${text} or substr(run.id, length(run.id) - ${sql.lit(text.length)}) = ${`-${text}`})`

/** Text in the ledger, without the folder: range, then options, as in `2026-01-01/2026-03-31/rate=5/accept-drift`. */
export const backfillText = ({ from, to, rate, acceptDrift, acceptEnd }: BackfillRange): string =>
  [
    ...[from, to],
    ...(rate === undefined ? [] : [`rate=${rate}`]),
    ...(acceptDrift === true ? ['accept-drift'] : []),
    ...(acceptEnd === true ? ['accept-end'] : []),
  ].join('/')

/** Characters of the range in `backfillText`. */
const RANGE_LENGTH = '2026-01-01/2026-03-31'.length

/** Days and folder of a backfill, without rate and other options. */
const range = (run: string): RawBuilder<unknown> =>
  sql`(substr(${sql.ref(`${run}.backfill`)}, 1, ${sql.lit(RANGE_LENGTH)}), ${sql.ref(`${run}.backfill_folder`)})`

/** True where a person has acknowledged the run's failure or rejects of this reason. */
const acknowledged = (
  run: string,
  code: string,
  more: Condition = sql`true`,
): Condition => sql`exists (select 1 from resolution
  where resolution.run_id = ${sql.ref(run)} and resolution.decision = 'acknowledge' and resolution.undone_at is null
  and (resolution.code is null or resolution.code = ${sql.ref(code)}) and ${more})`

/** False for a record that was in doubt when the person acknowledged the rejects of its run. */
const NOT_DECIDED_SINCE: Condition = sql`not exists (select 1 from decision
  where decision.exception = exception.id and decision.at > resolution.at)`

/** A later run over all exports of the job reads again every export that a failed run had read, and every export that this run could not read. */
const FOLLOWED: Condition = sql`exists (select 1 from run later where later.job_id = run.job_id
  and later.started_at > run.started_at and later.state = 'finished' and later.origin_run is null
  and later.part is null and ${range('later')} is not distinct from ${range('run')})`

/**
 * An export of this name, or a file packed in an archive of this name, was read to the end later. Or a reading of equal bytes failed for an equal
 * reason, and a person acknowledged the failure.
 */
const PUT_RIGHT: Condition = sql`exists (select 1 from export other join run reader on reader.id = other.run_id
  where reader.job_id = run.job_id
  and (other.name = export.name or (other.name >= export.name || '!' and other.name < export.name || '"'))
  and ((reader.started_at > run.started_at and other.state = 'finished' and other.reading = 'whole')
    or (other.sha256 = export.sha256 and other.reason = export.reason and ${acknowledged('reader.id', 'other.reason')})))`

const PUT_ASIDE: Condition = sql`exists (select 1 from put_aside aside
  where aside.job_id = run.job_id and aside.path = export.path and export.id <= aside.export_row)`

/**
 * A later reading of this export (a corrected rejects file, a retry of selected rows, or the whole file) has left the row or record behind again,
 * and now accounts for the row. Or another reading left the row behind, and a person acknowledged the other reject.
 */
const TAKEN_OVER: Condition = sql`exists (select 1 from export other join run reader on reader.id = other.run_id
  join exception same on same.export_row = other.id
  where other.export_id = export.export_id and other.id != export.id and reader.job_id = run.job_id
  and reader.state = 'finished' and same.row = exception.row
  and ((other.id > export.id and same.state in ('rejected', 'in-doubt')
      and (same.rule is not distinct from exception.rule or same.rule is null or exception.rule is null))
    or (same.rule is not distinct from exception.rule and same.code = exception.code and same.outcome = 'rejected'
      and ${acknowledged('reader.id', 'same.code')})))`

const left = (which: Condition): Condition => sql`exists (select 1 from export
  join exception on exception.export_row = export.id where export.run_id = run.id and ${which})`

const FAILED_STILL: Condition = sql`(run.state = 'failed' and not ${acknowledged('run.id', 'run.reason')} and not ${FOLLOWED})`

const UNREAD_STILL: Condition = sql`(export.state = 'failed'
  and not ${acknowledged('run.id', 'export.reason')} and not ${PUT_RIGHT} and not ${PUT_ASIDE})`

/** An acknowledgement of the whole run settles this: there is no reason code. */
const UNARCHIVED_STILL: Condition = sql`(export.state = 'finished' and export.archived is null and export.detail is not null
  and not ${acknowledged('run.id', 'run.reason')})`

const REJECTED_STILL: Condition = sql`(exception.state = 'rejected'
  and not ${acknowledged('run.id', 'exception.code', NOT_DECIDED_SINCE)} and not ${TAKEN_OVER})`

const IN_DOUBT_STILL: Condition = sql`(exception.state = 'in-doubt')`

const LEFT_STILL: Condition = sql`((run.state != 'failed' and ${REJECTED_STILL}) or ${IN_DOUBT_STILL})`

const NEEDS_SOMEBODY: Condition = sql`(run.state in ('running', 'interrupted')
  or ${FAILED_STILL}
  or (exists (select 1 from export where export.run_id = run.id and (${UNREAD_STILL} or ${UNARCHIVED_STILL}))
    and not ${FOLLOWED})
  or (run.state != 'failed' and ${left(REJECTED_STILL)})
  or ${left(IN_DOUBT_STILL)})`

const hasExport = (name: string): Condition =>
  sql`exists (select 1 from export where export.run_id = run.id and export.name = ${name})`

const hasReason = (code: string): Condition => sql`(run.reason = ${code}
  or exists (select 1 from export where export.run_id = run.id and export.state = 'failed' and export.reason = ${code})
  or ${left(sql`exception.state in ('rejected', 'in-doubt') and exception.code = ${code}`)})`

const acknowledgementsOf = ({ db, write }: Exclusive): Ledger['acknowledgements'] => ({
  of: (runId) =>
    db
      .selectFrom('resolution')
      .select(['run_id as run', 'code', 'person as by', 'note', 'at'])
      .where('run_id', '=', runId)
      .where('decision', '=', 'acknowledge')
      .where('undone_at', 'is', null)
      .orderBy('id')
      .execute(),
  add: (runs, { by, ...acknowledgement }) =>
    write(async (writer) => {
      for (const run of runs)
        await decide(writer, { run_id: run, decision: 'acknowledge', person: by, ...acknowledgement })
    }),
  undo: ({ run, job, code }, { by, note, at }) =>
    write(async (writer) => {
      const undone = await writer
        .updateTable('resolution')
        .set({ undone_at: at })
        .where('decision', '=', 'acknowledge')
        .where('undone_at', 'is', null)
        .$if(run !== undefined, (query) => query.where('run_id', '=', run ?? ''))
        .$if(job !== undefined, (query) =>
          query.where('run_id', 'in', (of) =>
            of
              .selectFrom('run')
              .innerJoin('job', 'job.id', 'run.job_id')
              .select('run.id')
              .where('job.name', '=', job ?? ''),
          ),
        )
        .$if(code !== undefined, (query) => query.where('code', '=', code ?? ''))
        .returning(['run_id', 'code'])
        .execute()
      const runs = [...new Set(undone.map(({ run_id }) => run_id))]
      for (const run_id of runs)
        await decide(writer, {
          run_id,
          decision: 'undo-acknowledge',
          person: by,
          note,
          at,
          code: code ?? null,
        })
      return runs
    }),
})

/** Stores a decision. Two of a run within a millisecond are two. */
async function decide(writer: Writer, decision: Insertable<LedgerTables['resolution']>): Promise<void> {
  const insert = writer
    .insertInto('resolution')
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
  for (let { at } = decision; ; at++)
    if ((await insert.values({ ...decision, at }).executeTakeFirst()) !== undefined) return
}

const pausesOf = ({ db, write }: Exclusive): Ledger['pauses'] => ({
  of: (jobId, now) => activePause(db, jobId, now),
  begin: (jobId, { by, note, at, until }) =>
    write(async (writer) => {
      const known = await activePause(writer, jobId, at)
      if (known !== undefined && until === null) return false
      const values = { person: by, note, at: known?.at ?? at, until }
      await writer
        .insertInto('pause')
        .values({ job_id: jobId, ...values })
        .onConflict((conflict) => conflict.column('job_id').doUpdateSet(values))
        .execute()
      const job = await jobName(writer, jobId)
      const subject = until === null ? null : `until ${new Date(until).toISOString()}`
      await noteAudit(writer, { by, note, at, action: 'pause', job, run: null, subject })
      return true
    }),
  end: (jobId, acting) =>
    write(async (writer) => {
      const known = await activePause(writer, jobId, acting.at)
      await writer.deleteFrom('pause').where('job_id', '=', jobId).execute()
      if (known === undefined) return false
      const job = await jobName(writer, jobId)
      await noteAudit(writer, { ...acting, action: 'unpause', job, run: null, subject: null })
      return true
    }),
})

/** A pause ends by itself: its row stays until the next pause. */
const activePause = (db: Writer | Exclusive['db'], jobId: number, now: number): Promise<Pause | undefined> =>
  db
    .selectFrom('pause')
    .select(['person as by', 'note', 'at', 'until'])
    .where('job_id', '=', jobId)
    .where(({ or, eb }) => or([eb('until', 'is', null), eb('until', '>', now)]))
    .executeTakeFirst()

/** Stores the run of a held lease. A lease may serve several runs in turn. */
async function nameRun(transaction: Writer, lease: Lease): Promise<void> {
  await transaction
    .updateTable('lease')
    .set({ run_id: lease.runId, outage: null })
    .where('job_id', '=', lease.jobId)
    .where('token', '=', lease.token)
    .execute()
}
