/** Exports that a person has put aside: later runs pass over each, until its content changes. */
import { sql } from 'kysely'
import { asideContent } from '../audit.ts'
import type { Ledger } from '../ledger.ts'
import { noteAudit } from './audit.ts'
import type { Exclusive, Writer } from './exclusive.ts'

interface Unread {
  readonly jobId: number
  readonly job: string
  readonly path: string
  readonly id: number
  readonly state: string
  /** Place among the readings of the file, from the latest. */
  readonly place: number
  readonly sha256: string
}

export const putAsideOf = ({ db, write }: Exclusive): Ledger['putAside'] => ({
  async contents(jobId) {
    const rows = await db
      .selectFrom('put_aside')
      .select(['path', 'content'])
      .where('job_id', '=', jobId)
      .execute()
    return new Map(rows.map(({ path, content }) => [path, content]))
  },
  list: () =>
    db
      .selectFrom('put_aside')
      .innerJoin('job', 'job.id', 'put_aside.job_id')
      .select([
        'job.name as job',
        'put_aside.name as export',
        'export_row as exportRow',
        'person as by',
        'note',
        'at',
      ])
      .orderBy('at')
      .orderBy('put_aside.name')
      .execute(),
  async jobsOf(name) {
    return [...new Set((await unreadOf(db, name)).map(({ job }) => job))]
  },
  begin: (name, job, { by, note, at }) =>
    write(async (writer) => {
      const found = (await unreadOf(writer, name)).filter((one) => one.job === job)
      for (const { jobId, path, id, sha256 } of found) {
        const content = sha256 === '' ? await asListed(writer, job, path) : sha256
        await writer
          .insertInto('put_aside')
          .values({ job_id: jobId, path, name, content, export_row: id, person: by, note, at })
          .onConflict((conflict) =>
            conflict
              .columns(['job_id', 'path'])
              .doUpdateSet({ content, export_row: id, person: by, note, at }),
          )
          .execute()
      }
      if (found.length > 0)
        await noteAudit(writer, { by, note, at, action: 'put-aside', job, run: null, subject: name })
      return found.length > 0
    }),
  end: (name, job, acting) =>
    write(async (writer) => {
      const ended = await writer
        .deleteFrom('put_aside')
        .where('name', '=', name)
        .where('job_id', 'in', (of) => of.selectFrom('job').select('id').where('name', '=', job))
        .returning('path')
        .execute()
      if (ended.length > 0)
        await noteAudit(writer, { ...acting, action: 'undo-put-aside', job, run: null, subject: name })
      return ended.length > 0
    }),
})

/** Exports of this name whose latest reading failed. */
async function unreadOf(db: Writer, name: string): Promise<Unread[]> {
  const { rows } =
    await sql<Unread>`select run.job_id as "jobId", job.name as job, export.path, export.id, export.state, export.sha256,
    row_number() over (partition by run.job_id, export.path order by export.id desc) as place
    from export join run on run.id = export.run_id join job on job.id = run.job_id
    where export.name = ${name} and export.reading = 'whole' order by job.name`.execute(db)
  return rows.filter(({ place, state }) => place === 1 && state === 'failed')
}

/** Content of a file that no run could fetch or unpack: as the source listed the file. */
async function asListed(writer: Writer, job: string, path: string): Promise<string> {
  const listed = await writer
    .selectFrom('delivery')
    .select(['modified_at as modifiedAt', 'bytes'])
    .where('job', '=', job)
    .where('address', '=', path)
    .orderBy('seen_at', 'desc')
    .orderBy('modified_at', 'desc')
    .executeTakeFirst()
  return asideContent({ sha256: '', delivered: listed })
}
