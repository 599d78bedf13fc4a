/** Actions of people: the table `audit`, and the decisions on runs in `resolution`, which are not stored twice. */
import { sql } from 'kysely'
import type { AuditRecord } from '../audit.ts'
import type { Ledger } from '../ledger.ts'
import type { Exclusive, Writer } from './exclusive.ts'

/** Writes a record in the transaction of the action. */
export async function noteAudit(writer: Writer, { by, run, ...record }: AuditRecord): Promise<void> {
  await writer
    .insertInto('audit')
    .values({ ...record, person: by, run_id: run })
    .execute()
}

export const auditOf = ({ db, write }: Exclusive): Ledger['audit'] => ({
  note: (record) => write((writer) => noteAudit(writer, record)),
  async read({ job, since = 0 }) {
    const { rows } = await sql<AuditRecord>`
      select at, person as "by", action, job, run, subject, note from (
        select at, person, decision as action, job.name as job, run_id as run, code as subject, note, resolution.id as place
          from resolution left join run on run.id = run_id left join job on job.id = run.job_id
        union all
        select at, person, action, job, run_id as run, subject, note, id as place from audit) as actions
      where at >= ${since} and (cast(${job ?? null} as text) is null or job = ${job ?? null}) order by at, place`.execute(
      db,
    )
    return rows
  },
})

export async function jobName(writer: Writer, jobId: number): Promise<string> {
  const found = writer.selectFrom('job').select('name').where('id', '=', jobId)
  return (await found.executeTakeFirstOrThrow()).name
}
