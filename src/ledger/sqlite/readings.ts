/** Readings of an export by its job: when it was first read, when last. */
import { type Kysely, sql } from 'kysely'
import type { Ledger } from '../ledger.ts'
import type { ExportRecord, LedgerTables } from '../tables.ts'

type Database = Kysely<LedgerTables>
type Read = Pick<ExportRecord, 'id' | 'name' | 'sha256'>

/** Exports of that name, of all its contents. */
const named = (database: Database, jobId: number, { name }: Pick<Read, 'name'>) =>
  database
    .selectFrom('export')
    .innerJoin('run', 'run.id', 'export.run_id')
    .where('run.job_id', '=', jobId)
    .where('export.name', '=', name)

/** Those of that name and content that the job has read to their end. */
const readings = (database: Database, jobId: number, record: Read) =>
  named(database, jobId, record)
    .where('export.sha256', '=', record.sha256)
    .where('export.state', '=', 'finished')

const FIRST = sql<number | null>`min(export.id)`
const LAST = sql<number | null>`max(export.id)`

/** One that was not read to its end may have been sent in part. */
const IS_READ = sql<boolean>`(export.state = 'finished'
  or exists (select 1 from chunk where chunk.export_row = export.id))`

/**
 * The reading from which on the name, at its place or at any, has shown the content without another one in between. Backfills and what takes up
 * rows say nothing new.
 * @returns undefined where it has shown no other before
 */
async function shownSince(
  database: Database,
  jobId: number,
  record: Read,
  placed: 'here' | 'anywhere',
): Promise<number | undefined> {
  const whole = named(database, jobId, record)
    .where('export.reading', '=', 'whole')
    .where('run.backfill', 'is', null)
    .where('export.id', '<=', record.id)
    .$if(placed === 'here', (query) =>
      query.where(sql<boolean>`export.path = (select path from export where id = ${record.id})`),
    )
  const others = whole.where('export.sha256', '!=', record.sha256).where(IS_READ)
  const other = (await others.select(LAST.as('id')).executeTakeFirstOrThrow()).id
  if (other === null && placed === 'anywhere') return undefined
  const same = whole
    .where('export.sha256', '=', record.sha256)
    .where('export.state', '=', 'finished')
    .where('export.id', '>', other ?? 0)
  return (await same.select(FIRST.as('id')).executeTakeFirstOrThrow()).id ?? record.id
}

/** `Ledger.arrivalOf`. */
export async function arrivalOf(
  database: Database,
  jobId: number,
  record: Read & Pick<ExportRecord, 'reading'>,
): Promise<number> {
  const { id, sha256, reading } = record
  const own = named(database, jobId, record).where('export.id', '=', id)
  // Rows that are taken up speak as the last reading of the whole file did.
  const last = named(database, jobId, record)
    .where('export.sha256', '=', sha256)
    .where('export.reading', '!=', 'selected')
    .where('export.id', '<', id)
    .where(IS_READ)
  const speaks = await (reading === 'selected' ? last : own)
    .select(['export.id', 'run.backfill'])
    .orderBy('export.id', 'desc')
    .executeTakeFirst()
  if ((speaks?.backfill ?? null) === null) {
    const here = await shownSince(database, jobId, { ...record, id: speaks?.id ?? id }, 'here')
    const since = await shownSince(database, jobId, { ...record, id: here ?? id }, 'anywhere')
    if (since !== undefined) return since
  }
  const first = await readings(database, jobId, record).select(FIRST.as('id')).executeTakeFirstOrThrow()
  return first.id ?? id
}

export const readingsOf = (database: Database): Pick<Ledger, 'arrivalOf' | 'lastReading'> => ({
  arrivalOf: (jobId, record) => arrivalOf(database, jobId, record),
  async lastReading(jobId, record, reading) {
    const found = await readings(database, jobId, record)
      .select('export.id')
      .where('export.id', '!=', record.id)
      .$if(reading !== undefined, (query) => query.where('export.reading', '=', reading ?? 'whole'))
      .orderBy('export.id', 'desc')
      .executeTakeFirst()
    return found?.id
  },
})
