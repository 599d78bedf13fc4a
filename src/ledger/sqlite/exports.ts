/** Jobs, and the exports that their runs have read: profiles, chunks, parts, batches, exceptions. */
import type { Kysely } from 'kysely'
import type { Ledger, ProfileKey } from '../ledger.ts'
import { readTallies } from '../run-ledger.ts'
import type { ExportRecord, LedgerTables } from '../tables.ts'
import { arrivalOf, exportsOfJob } from './arrival.ts'
import type { Exclusive } from './exclusive.ts'
import { isPerhapsSent } from './left-behind.ts'

export const readingsOf = (
  turns: Exclusive,
  place: string | undefined,
): Pick<Ledger, 'jobs' | 'exports' | 'profiles' | 'chunks' | 'parts'> => ({
  jobs: jobsOf(turns),
  exports: exportsOf(turns),
  profiles: profilesOf(turns),
  chunks: chunksOf(turns, place),
  parts: partsOf(turns),
})

const jobsOf = ({ db, write }: Exclusive): Ledger['jobs'] => ({
  id: (name, gateway) =>
    write(async (writer) => {
      await writer
        .insertInto('job')
        .values({ name, gateway })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const row = await writer
        .selectFrom('job')
        .select('id')
        .where('name', '=', name)
        .where('gateway', '=', gateway)
        .executeTakeFirstOrThrow()
      return row.id
    }),
  async known(name, gateway) {
    const own = db.selectFrom('job').select('id').where('name', '=', name).where('gateway', '=', gateway)
    return (await own.executeTakeFirst())?.id
  },
})

const exportsOf = ({ db }: Exclusive): Ledger['exports'] => ({
  ofRun: (runId) =>
    db
      .selectFrom('export')
      .leftJoin('mapping', 'mapping.digest', 'export.mapping_digest')
      .selectAll('export')
      .select('mapping.name as mapping')
      .where('run_id', '=', runId)
      .orderBy('ordinal')
      .execute(),
  find: (exportRow) => db.selectFrom('export').selectAll().where('id', '=', exportRow).executeTakeFirst(),
  withContent: (exportId) =>
    db.selectFrom('export').selectAll().where('export_id', '=', exportId).orderBy('id', 'desc').execute(),
  named: (name) =>
    db.selectFrom('export').selectAll().where('name', '=', name).orderBy('id', 'desc').execute(),
  arrivalOf: (jobId, record) => arrivalOf(db, jobId, record),
  async mapping(digest) {
    const kept = db.selectFrom('mapping').select('content').where('digest', '=', digest)
    return (await kept.executeTakeFirst())?.content
  },
  open: (job) =>
    db
      .selectFrom('export')
      .innerJoin('run', 'run.id', 'export.run_id')
      .innerJoin('job', 'job.id', 'run.job_id')
      .select(['run.id as run', 'job.gateway', 'export.path'])
      .where('job.name', '=', job)
      .where('run.state', 'in', ['running', 'interrupted'])
      .where('export.state', '=', 'open')
      .execute(),
  async lastEnd({ job, mapping }, sha256) {
    const finished = db
      .selectFrom('export')
      .innerJoin('run', 'run.id', 'export.run_id')
      .innerJoin('job', 'job.id', 'run.job_id')
      .innerJoin('mapping', 'mapping.digest', 'export.mapping_digest')
      .where('job.name', '=', job)
      .where('mapping.name', '=', mapping)
      .where('export.state', '=', 'finished')
      .where('export.is_ended', 'is not', null)
      .select((eb) => eb.fn.max('export.is_ended').as('is_ended'))
      // Reading a file again does not make the file later.
      .select((eb) => eb.fn.min('export.id').as('first'))
      .groupBy('export.sha256')
      .orderBy('first', 'desc')
      .limit(1)
    if ((await finished.where('export.sha256', '=', sha256).executeTakeFirst()) !== undefined) return 'read'
    const last = await finished.executeTakeFirst()
    return last === undefined ? undefined : last.is_ended === 1 ? 'ended' : 'open'
  },
  async lastReading(jobId, record, reading) {
    const found = await readings(db, jobId, record)
      .select('export.id')
      .where('export.id', '!=', record.id)
      .$if(reading !== undefined, (query) => query.where('export.reading', '=', reading ?? 'whole'))
      .orderBy('export.id', 'desc')
      .executeTakeFirst()
    return found?.id
  },
  async orders(jobId) {
    const rows = await exportsOfJob(db, jobId)
      .where('anchor', 'is not', null)
      .select(['export.id', 'anchor', 'day'])
      .execute()
    return new Map(rows.map(({ id, anchor, day }) => [id, { anchor: anchor ?? 0, day: day ?? 0 }]))
  },
})

const profilesOf = ({ db }: Exclusive): Ledger['profiles'] => ({
  async latest(key, limit) {
    const rows = await finishedProfiles(db, key)
      .select(['profile.accepted', 'profile.content'])
      .where('profile.content', '!=', '')
      .orderBy('profile.export_row', 'desc')
      .limit(limit)
      .execute()
    return rows.map(({ accepted, content }) => ({ accepted: accepted !== 0, content }))
  },
  async ofRun(runId) {
    const rows = await db
      .selectFrom('profile')
      .innerJoin('export', 'export.id', 'profile.export_row')
      .select(['profile.export_row', 'profile.content'])
      .where('export.run_id', '=', runId)
      .where('profile.content', '!=', '')
      .execute()
    return new Map(rows.map(({ export_row, content }) => [export_row, content]))
  },
  async has(key, sha256) {
    const same = finishedProfiles(db, key).select('profile.sha256').where('profile.sha256', '=', sha256)
    return (await same.executeTakeFirst()) !== undefined
  },
})

const chunksOf = ({ db }: Exclusive, place: string | undefined): Ledger['chunks'] => ({
  ofExport: (exportRow) =>
    db.selectFrom('chunk').selectAll().where('export_row', '=', exportRow).orderBy('number').execute(),
  ofRun: (runId) =>
    db
      .selectFrom('chunk')
      .innerJoin('export', 'export.id', 'chunk.export_row')
      .selectAll('chunk')
      .where('export.run_id', '=', runId)
      .orderBy('export.ordinal')
      .orderBy('chunk.number')
      .execute(),
  async batches({ exportRow, chunk }) {
    const batches = await db
      .selectFrom('batch')
      .innerJoin('batch_holds', 'batch_holds.batch', 'batch.id')
      .selectAll('batch')
      .select('holds')
      .where('export_row', '=', exportRow)
      .where('chunk', '=', chunk)
      .orderBy('id')
      .execute()
    return batches.map((batch) =>
      isPerhapsSent(batch, place) ? { ...batch, state: 'sending' as const } : batch,
    )
  },
  exceptions: ({ exportRow, chunk }) =>
    db
      .selectFrom('exception')
      .selectAll()
      .where('export_row', '=', exportRow)
      .where('chunk', '=', chunk)
      .orderBy('id')
      .execute(),
})

const partsOf = ({ db }: Exclusive): Ledger['parts'] => ({
  async ofExport(exportRow) {
    const rows = db.selectFrom('part').selectAll().where('export_row', '=', exportRow).orderBy('number')
    return (await rows.execute()).map(
      ({
        number,
        state,
        fault,
        tallies,
        receipts_length,
        rows_read,
        rows_rejected,
        rows_skipped,
        takes,
      }) => ({
        number,
        state,
        fault,
        tallies: readTallies(tallies),
        receiptsLength: receipts_length,
        rows: { read: rows_read, rejected: rows_rejected, skipped: rows_skipped },
        takes,
      }),
    )
  },
})

/** Exports of this name and content that the job has read to the end. */
const readings = (
  database: Kysely<LedgerTables>,
  jobId: number,
  { name, sha256 }: Pick<ExportRecord, 'name' | 'sha256'>,
) =>
  exportsOfJob(database, jobId)
    .where('export.sha256', '=', sha256)
    .where('export.name', '=', name)
    .where('export.state', '=', 'finished')

const finishedProfiles = (database: Kysely<LedgerTables>, { job, mapping }: ProfileKey) =>
  database
    .selectFrom('profile')
    .innerJoin('export', 'export.id', 'profile.export_row')
    .where('profile.job', '=', job)
    .where('profile.mapping', '=', mapping)
    .where('export.state', '=', 'finished')
