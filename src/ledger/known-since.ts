/**
 * What of a run is new, and what was left behind before: `known_since` of an exception is when the run began in which the same one was
 * met first, in an unbroken line of readings of the same export. It is handed on from reading to reading, so that it is known also
 * when the first ones are pruned; where the latest one was, nothing is known.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import type { LedgerTables } from './tables.ts'

/** Rows, records and follow-ups that a run has left behind, of which the ledger knows that an earlier run had left them so. */
export interface KnownCount {
  readonly known: number
  /** When the earliest of these was met first: milliseconds since the epoch. Null where there are none. */
  readonly since: number | null
}

/**
 * Says of the exceptions of a chunk, which all stand in the ledger, since when they are known. The same is what has the same row and
 * rule, as a record the same content, and the same code; a record that is in doubt is so whatever the code says of how it came to that.
 * A row is known by its place, too: by its number alone a mapping may find another one in the file by now. In a rejects file it lies
 * elsewhere, and its number is all that it keeps. What was settled or decided meanwhile is met anew.
 */
export async function noteKnown(
  writer: Transaction<LedgerTables>,
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
      and before.rule is exception.rule and before.content is exception.content
      and before.outcome = exception.outcome and before.state = before.outcome
      and (before.code = exception.code or before.outcome = 'in-doubt'))
    where export_row = ${exportRow} and chunk = ${chunk}`.execute(writer)
}

/**
 * The latest reading of the same export, by the same mapping, that went through all of it in a run that has finished, and later ones
 * of parts of it. What that one has not met had been put right by then.
 */
async function readingsBefore(
  writer: Transaction<LedgerTables>,
  jobId: number,
  exportRow: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number; whole: number }>`
    select export.id, export.reading = 'whole' and export.state = 'finished' and run.part is not 'limit' as whole
    from export as own join mapping as with_it on with_it.digest = own.mapping_digest
    join export on export.export_id = own.export_id join run on run.id = export.run_id
    join mapping on mapping.digest = export.mapping_digest and mapping.name = with_it.name
    where own.id = ${exportRow} and run.job_id = ${jobId} and run.state = 'finished'
    order by export.id desc`.execute(writer)
  const whole = rows.findIndex((row) => row.whole === 1)
  return rows.slice(0, whole === -1 ? rows.length : whole + 1).map(({ id }) => id)
}

/** Of those that the run has left behind, as it stands now. */
export async function countKnown(db: Kysely<LedgerTables>, runId: string): Promise<KnownCount> {
  const { rows } = await sql<KnownCount>`select count(known_since) as known, min(known_since) as since
    from exception join export on export.id = exception.export_row
    where export.run_id = ${runId} and exception.state != 'accepted'`.execute(db)
  return rows[0] ?? { known: 0, since: null }
}
