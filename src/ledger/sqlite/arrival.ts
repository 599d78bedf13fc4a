/** Arrival of an export among all exports that the job has read. */
import { type Kysely, sql } from 'kysely'
import type { ExportRecord, LedgerTables } from '../tables.ts'

export const exportsOfJob = (database: Kysely<LedgerTables>, jobId: number) =>
  database.selectFrom('export').innerJoin('run', 'run.id', 'export.run_id').where('run.job_id', '=', jobId)

type Read = Pick<ExportRecord, 'id' | 'name' | 'sha256' | 'reading'>

/** Implements `Exports.arrivalOf`. */
export async function arrivalOf(
  database: Kysely<LedgerTables>,
  jobId: number,
  { id, name, sha256, reading }: Read,
): Promise<number> {
  // An export that was not read to the end may have been sent in part.
  const named = await exportsOfJob(database, jobId)
    .where('export.name', '=', name)
    .where(
      sql<boolean>`(export.state = 'finished' or export.id = ${id}
        or exists (select 1 from chunk where chunk.export_row = export.id))`,
    )
    .select(['export.id', 'path', 'sha256', 'reading', 'export.state', 'run.backfill'])
    .orderBy('export.id')
    .execute()
  type Named = (typeof named)[number]
  const isSame = (one: Named): boolean => one.sha256 === sha256
  const isRead = (one: Named): boolean => isSame(one) && one.state === 'finished'
  // Retried rows take the arrival of the latest earlier reading of the whole file.
  const own = named.findLast((one) =>
    reading === 'selected' ? isSame(one) && one.reading !== 'selected' && one.id < id : one.id === id,
  )
  /** First reading since the last change of bytes, up to the given reading. */
  const shown = (among: readonly Named[], upTo: number): { since: number; other: Named | undefined } => {
    const before = among.filter((one) => one.id <= upTo)
    const other = before.findLast((one) => !isSame(one))
    const first = before.find((one) => isRead(one) && one.id > (other?.id ?? 0))
    return { since: first?.id ?? upTo, other }
  }
  if ((own?.backfill ?? null) === null) {
    const words = named.filter((one) => one.reading === 'whole' && one.backfill === null)
    // A file still at the old path counts as read again, even if a file of this name elsewhere has different bytes.
    const inPlace = words.filter(({ path }) => path === own?.path)
    const { since, other } = shown(words, shown(inPlace, own?.id ?? id).since)
    if (other !== undefined) return since
  }
  return named.find(isRead)?.id ?? id
}
