/**
 * Reasons why rows and records of a run were left behind: exceptions, grouped for reading, each with the time since when the exception is known.
 * A reject that an earlier run had left behind is not new.
 */

import { type Kysely, type OrderByItemBuilder, sql } from 'kysely'
import type { Ledger, LeftExample } from '../ledger.ts'
import type { LedgerTables } from '../tables.ts'
import { slicesOf } from './dialect.ts'
import type { Exclusive, Writer } from './exclusive.ts'

export const reasonsOf = ({ db }: Exclusive): Ledger['reasons'] => ({
  async ofRun(runId) {
    const groups = await exceptionsOf(db, runId)
      .where('exception.state', '!=', 'accepted')
      .select([REMAINING.as('outcome'), 'stage', 'code', 'rule', 'field', 'message'])
      .select('export.name as exportName')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .select([SETTLED.as('settled'), FIRST_OPEN.as('first'), DECIDED.as('decided')])
      .select((eb) => [eb.fn.count<number>('known_since').as('known'), eb.fn.min('known_since').as('since')])
      .groupBy([REMAINING, 'stage', 'code', 'rule', 'field', 'message', 'export.name'])
      .orderBy('count', 'desc')
      .orderBy('code')
      .orderBy('rule', nullsFirst)
      .orderBy('field', nullsFirst)
      .orderBy('export.name')
      .execute()
    const examples = await readExamples(
      db,
      groups.flatMap(({ first }) => (first === null ? [] : idOf(first))),
    )
    const sent = groups.some(({ code }) => code === 'withdrawn') ? await sentAs(db, runId) : []
    return groups.map(({ first, since, decided, ...group }) => {
      const example = first === null ? undefined : examples.get(idOf(first))
      const ofGroup = sent.filter(({ rule, name }) => rule === group.rule && name === group.exportName)
      return {
        ...group,
        ...(group.code === 'withdrawn' ? { sentAs: ofGroup.flatMap((one) => one.id ?? []) } : {}),
        ...(since === null ? {} : { knownSince: new Date(since).toISOString() }),
        ...(decided === null ? {} : { decidedAt: new Date(decided).toISOString() }),
        ...(example === undefined ? {} : { example }),
      }
    })
  },
  mostFrequent: (runId) =>
    exceptionsOf(db, runId)
      .where('exception.state', 'not in', ['accepted', 'settled'])
      .select('code')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .groupBy('code')
      .orderBy('count', 'desc')
      .orderBy('code')
      .limit(1)
      .executeTakeFirst(),
  known: (runId) =>
    exceptionsOf(db, runId)
      .where('exception.state', '!=', 'accepted')
      .select((eb) => [eb.fn.count<number>('known_since').as('known'), eb.fn.min('known_since').as('since')])
      .executeTakeFirstOrThrow(),
})

const nullsFirst = (order: OrderByItemBuilder) => order.asc().nullsFirst()

/** Ids of withdrawn results in one summary; the rejects files hold all of them. */
const SENT_SHOWN = 20

const sentAs = (db: Kysely<LedgerTables>, runId: string) =>
  exceptionsOf(db, runId)
    .where('sent_as', 'is not', null)
    .where('exception.state', '!=', 'settled')
    .select(['sent_as as id', 'rule', 'name'])
    .orderBy('exception.id')
    .limit(SENT_SHOWN)
    .execute()

const exceptionsOf = (db: Kysely<LedgerTables>, runId: string) =>
  db
    .selectFrom('exception')
    .innerJoin('export', 'export.id', 'exception.export_row')
    .where('export.run_id', '=', runId)

/** Outcome of an exception for its own run: a reject stays a reject even if a later run has settled the record. */
const REMAINING = sql<string>`case exception.state when 'settled' then 'rejected' else exception.state end`
const SETTLED = sql<number>`sum(case exception.state when 'settled' then 1 else 0 end)`
const DECIDED = sql<
  number | null
>`max((select max(decision.at) from decision where decision.exception = exception.id))`
/** Sorts by row, then id: batches are settled in the order of their answers, and the order differs from run to run. */
const FIRST_OPEN = sql<
  string | null
>`min(case when exception.state != 'settled' and exception.content is not null then substr('000000000000000', length(cast(exception.row as text)) + 1) || exception.row || ' ' || exception.id end)`
const idOf = (first: string): number => Number(first.split(' ')[1])

async function readExamples(
  database: Kysely<LedgerTables>,
  ids: readonly number[],
): Promise<Map<number, LeftExample>> {
  const found = new Map<number, LeftExample>()
  for (const slice of slicesOf(ids)) {
    const rows = await database
      .selectFrom('exception')
      .innerJoin('export', 'export.id', 'exception.export_row')
      .select(['exception.id', 'export.export_id as exportId', 'exception.row', 'rule', 'content'])
      .where('exception.id', 'in', slice)
      .execute()
    for (const { id, exportId, row, rule, content } of rows)
      if (rule !== null && content !== null) found.set(id, { exportId, row, rule, content })
  }
  return found
}

/**
 * Sets `known_since` on the exceptions of a chunk. Two are alike if row and rule, content, code (not for doubts) and byte offset are equal: by now the
 * mapping may find another row under the number. In a rejects file the offset differs, and only the number is kept. Settled or decided ones count as
 * new.
 */
export async function noteKnown(
  writer: Writer,
  jobId: number,
  exportRow: number,
  chunk: number,
): Promise<void> {
  const readings = await readingsBefore(writer, jobId, exportRow)
  if (readings.length === 0) return
  await sql`update exception set known_since = (
      select min(coalesce(before.known_since, run.started_at)) from exception as before
      join export on export.id = before.export_row join run on run.id = export.run_id
      join export as own on own.id = exception.export_row
      where before.export_row in (${sql.join(readings)}) and before.row = exception.row
      and (before.byte_offset = exception.byte_offset or 'rejects' in (export.reading, own.reading))
      and before.rule is not distinct from exception.rule and before.content is not distinct from exception.content
      and before.outcome = exception.outcome and before.state = before.outcome
      and (before.code = exception.code or before.outcome = 'in-doubt'))
    where export_row = ${exportRow} and chunk = ${chunk}`.execute(writer)
}

/**
 * The latest reading of the export, by the mapping of the same name, that went through the whole file in a finished run, and later readings of
 * parts. Exceptions missing from the whole reading had been corrected by then.
 */
async function readingsBefore(writer: Writer, jobId: number, exportRow: number): Promise<number[]> {
  const { rows } = await sql<{ id: number; whole: number }>`
    select export.id, case when export.reading = 'whole' and export.state = 'finished'
      and run.part is distinct from 'limit' then 1 else 0 end as whole
    from export as own join mapping as with_it on with_it.digest = own.mapping_digest
    join export on export.export_id = own.export_id join run on run.id = export.run_id
    join mapping on mapping.digest = export.mapping_digest and mapping.name = with_it.name
    where own.id = ${exportRow} and run.job_id = ${jobId} and run.state = 'finished'
    order by export.id desc`.execute(writer)
  const whole = rows.findIndex((row) => row.whole === 1)
  return rows.slice(0, whole === -1 ? rows.length : whole + 1).map(({ id }) => id)
}
