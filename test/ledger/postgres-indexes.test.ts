import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'
import { asAdmin, emptySchema } from '../postgres/server.ts'

/** Rows of tables by person, where a planner no longer prefers a scan, and of the other tables. */
const PEOPLE = 60_000
const DETAILS = 20_000
/** Rows of a table that a run of one small export may read: far fewer than a scan of the table reads. */
const MOST_READ = DETAILS / 4
const GATEWAY = 'built-in'

/** Fills the tables of a run with the rows of other exports and people, as after years. */
const filled = (jobId: number): readonly string[] => {
  const bytes = (length: number, salt: string): string =>
    `substring(sha256(cast('${salt}' || n as bytea)) from 1 for ${length})`
  const other = 'n / 50 + 1000'
  const people = `from generate_series(1, ${PEOPLE}) as n`
  const from = `from generate_series(1, ${DETAILS}) as n`
  return [
    `insert into delivered select ${jobId}, ${bytes(16, 'd')}, '' ${people}`,
    `insert into account (gateway, reference, registered_at) select '${GATEWAY}', ${bytes(16, 'a')}, 0 ${people}`,
    `insert into held (job_id, row_key, content, rule, export_row)
      select ${jobId + 1}, ${bytes(16, 'h')}, ${bytes(8, 'c')}, '', ${other} ${people}`,
    `insert into care_team (gateway, account, npi, observed_at, stored_at, mark, heard_at, place)
      select '${GATEWAY}', ${bytes(16, 'a')}, ${bytes(8, 'n')}, 0, 0, 'set', 0, 0 ${people}`,
    `insert into chunk (export_row, number, first_row, first_line, byte_offset, rows, state)
      select ${other}, n % 50, 1, 1, 0, 1, 'settled' ${from}`,
    `insert into batch (id, batch_id, export_row, chunk, kind, records, state, attempts, begun_at)
      overriding system value
      select 1000000 + n, 'b' || n, ${other}, n % 50, 'biometric', 1, 'settled', 1, 0 ${from}`,
    `insert into batch_holds select 1000000 + n, '' ${from}`,
    `insert into exception (id, export_row, chunk, row, line, byte_offset, outcome, state, stage, code, message)
      overriding system value
      select 1000000 + n, ${other}, n % 50, n, n, n, 'rejected', 'rejected', 'map', 'no-number', '' ${from}`,
    `insert into decision (exception, event, at) select 1000000 + n, 'accept', 0 ${from}`,
    'analyze',
  ]
}

const HOT = [
  ...['delivered', 'account', 'held', 'care_team'],
  ...['chunk', 'batch', 'batch_holds', 'exception', 'decision'],
]

async function rowsRead(url: string): Promise<Record<string, number>> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; read: string }>(
      `select relname as name, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as read
        from pg_stat_user_tables where schemaname = current_schema()`,
    )
    return Object.fromEntries(rows.map(({ name, read }) => [name, Number(read)]))
  } finally {
    await client.end()
  }
}

test('a run reads no table of the ledger as a whole, and would be found without an index', async () => {
  const url = await emptySchema()
  const { folder, waybill } = await createWorkplace({ WAYBILL_LEDGER: url })
  await cp(join(PROJECT, 'jobs/nightly-screenings.yaml'), join(folder, 'jobs/nightly-screenings.yaml'))
  const ledger = await openPostgresLedger({ url })
  const jobId = await ledger.jobs.id('nightly-screenings', GATEWAY)
  await ledger.close()
  await asAdmin(url, ...filled(jobId))

  /** Runs the job over the first lines of a sample. @returns tables of which the run read more than a share */
  const readWhole = async (sample: string): Promise<string[]> => {
    const text = await readFile(join(PROJECT, 'samples/inbox', sample), 'utf8')
    const file = join(folder, sample)
    await writeFile(file, `${text.split('\n').slice(0, 300).join('\n')}\n`)
    const before = await rowsRead(url)
    const ended = await waybill('run', 'nightly-screenings', '--json', '--file', file)
    expect(JSON.parse(ended.out), ended.err).toMatchObject({ state: 'finished' })
    const after = await rowsRead(url)
    return HOT.filter((name) => (after[name] ?? 0) - (before[name] ?? 0) > MOST_READ)
  }
  expect(await readWhole('northlab_oru_20260302.ndjson')).toEqual([])
  await asAdmin(url, 'drop index batch_of_chunk')
  expect(await readWhole('acme_screening_20260302.csv')).toEqual(['batch'])
})
