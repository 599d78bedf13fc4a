import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { expect, onTestFinished, test } from 'vitest'
import { packHolds, unpackHolds } from '../../src/ledger/holds.ts'
import { inspectLedger } from '../../src/ledger/inspect.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { MIGRATIONS } from '../../src/ledger/migrations.ts'
import { openLedger } from '../../src/ledger/open-ledger.ts'
import { LedgerDialect, openSqlite } from '../../src/ledger/sqlite-database.ts'
import type { LedgerTables } from '../../src/ledger/tables.ts'

/** A ledger as the program wrote it that knew the steps up to `last`. */
async function openAsOf(file: string, last: string): Promise<Kysely<LedgerTables>> {
  const database = new Kysely<LedgerTables>({
    dialect: new LedgerDialect({ database: openSqlite(file, 1000) }),
  })
  const steps = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name <= last))
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => steps } })
  const { error } = await migrator.migrateToLatest()
  expect(error).toBeUndefined()
  return database
}

test('a ledger from before drift was looked at keeps what it has, and takes profiles', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'ledger.sqlite')
  const old = await openAsOf(file, '0001-ledger')
  await old.insertInto('job').values({ name: 'job', gateway: 'gateway' }).execute()
  const mapping_digest = 'd'
  const one = {
    export_id: '0123456789abcdef',
    name: 'a.csv',
    path: '/in/a.csv',
    sha256: 'aa',
    bytes: 7,
    mapping_digest,
  }
  await old
    .insertInto('export')
    .values({ ...one, run_id: 'run-1', ordinal: 1, state: 'finished', reason: null })
    .execute()
  await old.destroy()

  const ledger = await openLedger(file)
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobId('job', 'gateway')
  expect(await ledger.exportsOf('run-1')).toMatchObject([{ ...one, state: 'finished', drift: null }])
  const key = { job: 'job', mapping: 'm' }
  expect(await ledger.profiles(key, 20)).toEqual([])

  const lease = await ledger.acquireLease(
    { jobId, runId: 'run-2', owner: 'here:1', now: 0, ttlMs: 1000 },
    () => false,
  )
  if (!lease.ok) throw new Error('the lease is held')
  const run = await ledger.startRun(lease.lease, {
    id: 'run-2',
    jobId,
    startedAt: 0,
    rejectsPath: 'r',
    receiptsPath: 'r',
  })
  const { id } = await run.addExport({
    ordinal: 1,
    exportId: 'b',
    name: 'b.csv',
    path: '/in/b.csv',
    sha256: 'bb',
    bytes: 7,
    mapping: { name: 'm', digest: mapping_digest, content: '{}' },
  })
  await run.saveProfile(id, { ...key, sha256: 'bb', accepted: true, content: '{}' })
  await run.endExport(id, 'finished', null)
  expect(await ledger.profiles(key, 20)).toEqual([{ accepted: true, content: '{}' }])
})

test('a ledger from before anything could be taken up keeps what was left behind, and lets it be settled', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'ledger.sqlite')
  const old = await openAsOf(file, '0002-drift')
  await sql`insert into job (id, name, gateway) values (1, 'job', 'gateway')`.execute(old)
  await sql`insert into run (id, job_id, state, started_at, rejects_path, receipts_path, tallies)
    values ('run-1', 1, 'finished', 0, '', '', '{}')`.execute(old)
  await sql`insert into export (id, run_id, ordinal, export_id, name, path, sha256, bytes, mapping_digest, state)
    values (5, 'run-1', 1, '0123456789abcdef', 'a.csv', '/in/a.csv', 'aa', 7, 'd', 'finished')`.execute(old)
  await sql`insert into chunk (export_row, number, first_row, first_line, byte_offset, rows, state)
    values (5, 1, 1, 2, 50, 3, 'settled')`.execute(old)
  const columns = sql`export_row, chunk, row, line, byte_offset, kind, rule, content, outcome, stage, code, message, batch_id`
  for (const [row, outcome] of [
    [2, 'rejected'],
    [3, 'in-doubt'],
    [4, 'warning'],
  ] as const) {
    await sql`insert into exception (${columns}) values (5, 1, ${row}, 3, ${row}, 'biometric', 'hba1c',
      '00000000000000aa', ${outcome}, 'submit', 'c', 'm', 'b')`.execute(old)
  }
  await old.destroy()

  const ledger = await openLedger(file)
  onTestFinished(() => ledger.close())
  expect(await ledger.exportsOf('run-1')).toMatchObject([{ id: 5, reading: 'whole', origin_export: null }])
  expect(await ledger.run('run-1')).toMatchObject({ origin_run: null, selection: null })
  const rows = await ledger.left.rows({ exportRow: 5, selection: 'left-behind', runId: 'run-2' }, -1, 9)
  expect(rows.map(({ row }) => row)).toEqual([2, 3])
  const [doubt] = await ledger.left.inDoubt('run-1', 0, 9)
  const lease = await ledger.acquireLease(
    { jobId: 1, runId: 'run-1', owner: 'here:1', now: 0, ttlMs: 1000 },
    () => false,
  )
  if (!lease.ok) throw new Error('the lease is held')
  const decisions = [{ exception: doubt?.id ?? 0, event: 'accept' as const }]
  await ledger.amendRun(lease.lease).rule({ run: null, decisions, released: [] }, 9)
  expect(await ledger.left.moves('run-1')).toEqual([
    { exportRow: 5, kind: 'biometric', to: 'accepted', count: 1 },
  ])
})

/** What stands in columns that are read as more than numbers and texts. */
const VALUES: Readonly<Record<string, string | Uint8Array>> = {
  state: 'finished',
  outcome: 'rejected',
  reading: 'whole',
  tallies: JSON.stringify(noTallies()),
  holds: packHolds([{ row: 1, rule: 'hba1c', content: '00000000000000aa' }]),
  row_key: Buffer.alloc(16, 1),
  contents: Buffer.alloc(8, 2),
  content: '00000000000000aa',
}

/** Every table with its rows; those that keep the steps themselves aside. */
function rowsByTable(database: DatabaseSync): Map<string, Record<string, unknown>[]> {
  const tables = database
    .prepare(`select name from sqlite_schema where type = 'table' and name not like 'kysely%'`)
    .all()
  return new Map(
    tables.map(({ name }) => [
      String(name),
      database
        .prepare(`select * from "${name}"`)
        .all()
        .map((row) => ({ ...row })),
    ]),
  )
}

/** Puts a row into every table, by its columns and their types. */
function fillEveryTable(database: DatabaseSync): void {
  for (const table of rowsByTable(database).keys()) {
    const columns = database.prepare(`pragma table_info("${table}")`).all()
    const values = columns.map(({ name, type }) => {
      const blob = String(type).toLowerCase() === 'blob'
      const known = VALUES[String(name)]
      if (known !== undefined && blob === known instanceof Uint8Array) return known
      if (blob) return Buffer.alloc(8, 7)
      return String(type).toLowerCase() === 'integer' ? 1 : 'one'
    })
    database.prepare(`insert into "${table}" values (${values.map(() => '?').join(', ')})`).run(...values)
  }
}

test.each(Object.keys(MIGRATIONS).sort())(
  'a ledger of the shape %s, with a row in every table, keeps them all and can be used',
  async (step) => {
    const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'ledger.sqlite')
    await (await openAsOf(file, step)).destroy()
    const old = new DatabaseSync(file)
    fillEveryTable(old)
    const before = rowsByTable(old)
    old.close()
    expect(before.size).toBeGreaterThan(10)

    const ledger = await openLedger(file)
    onTestFinished(() => ledger.close())
    const now = new DatabaseSync(file, { readOnly: true })
    onTestFinished(() => now.close())
    const after = rowsByTable(now)
    for (const [table, rows] of before) {
      expect(rows).toHaveLength(1)
      expect(after.get(table), table).toMatchObject(rows)
    }
    expect(now.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(
      now
        .prepare('select name from kysely_migration order by name')
        .all()
        .map(({ name }) => name),
    ).toEqual(Object.keys(MIGRATIONS).sort())
    expect(inspectLedger(file, 0)).toMatchObject({ damage: [], newer: [], older: false })

    const [run] = await ledger.runs(5)
    expect(run).toMatchObject({ id: 'one', job: 'one', gateway: 'one', state: 'finished' })
    expect(await ledger.exportsOf('one')).toHaveLength(1)
    const key = { exportRow: 1, chunk: 1 }
    expect((await ledger.batchesOf(key)).flatMap(({ holds }) => unpackHolds(holds))).toHaveLength(1)
    expect(await ledger.exceptionsOf(key)).toHaveLength(1)
    expect(await ledger.delivered(1, ['01'.repeat(16)])).toEqual(
      new Map([['01'.repeat(16), new Set(['02'.repeat(8)])]]),
    )
    expect(await ledger.held(1, ['01'.repeat(16)])).toEqual(
      new Map([['01'.repeat(16), new Set(['07'.repeat(8)])]]),
    )
    expect(await ledger.accounts('one', ['07'.repeat(8)])).toEqual(new Map([['07'.repeat(8), 'one']]))
  },
)

test('a ledger from before there was a schedule takes fires', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'ledger.sqlite')
  const old = await openAsOf(file, '0004-care-teams')
  await old.insertInto('job').values({ name: 'job', gateway: 'gateway' }).execute()
  await old.destroy()

  const ledger = await openLedger(file)
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobId('job', 'gateway')
  expect(await ledger.fires.timetable(jobId)).toBeUndefined()
  const timetable = { cron: '0 * * * *', zone: 'Etc/UTC', seenUntil: 7 }
  expect(await ledger.fires.comeDue(jobId, undefined, timetable, [5, 7])).toBe(true)
  expect((await ledger.fires.open(jobId)).map(({ due, state }) => [due, state])).toEqual([
    [5, 'due'],
    [7, 'due'],
  ])
})

test('a ledger from before sessions that were killed counted as work takes their chunks for it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'ledger.sqlite')
  const old = await openAsOf(file, '0010-part-of-a-run')
  await sql`insert into job (id, name, gateway) values (1, 'job', 'gateway')`.execute(old)
  // Of the first nothing but the last second was counted, of the second all.
  for (const [run, worked] of [
    ['killed', 1_000],
    ['whole', 90_000],
  ]) {
    await sql`insert into run (id, job_id, state, started_at, worked_ms, rejects_path, receipts_path, tallies)
      values (${run}, 1, 'finished', 10000, ${worked}, '', '', '{}')`.execute(old)
    for (const ordinal of [1, 2])
      await sql`insert into export (run_id, ordinal, export_id, name, path, sha256, bytes, mapping_digest, state)
        values (${run}, ${ordinal}, 'e', 'a.csv', '/in/a.csv', 'aa', 7, 'd', 'finished')`.execute(old)
    const settlements = [
      [1, 1, 30_000],
      [1, 2, 50_000],
      [2, 1, 3_650_000],
      [2, 2, 3_655_000],
    ]
    for (const [ordinal, number, at] of settlements)
      await sql`insert into chunk (export_row, number, first_row, first_line, byte_offset, rows, state, settled_at)
        select id, ${number}, 1, 2, 50, 3, 'settled', ${at} from export where run_id = ${run} and ordinal = ${ordinal}`.execute(
        old,
      )
  }
  await old.destroy()

  const ledger = await openLedger(file)
  onTestFinished(() => ledger.close())
  for (const [run, worked] of [
    ['killed', 45_000],
    ['whole', 90_000],
  ] as const) {
    expect((await ledger.chunksOfRun(run)).map(({ worked_ms }) => worked_ms)).toEqual([
      ...[20_000, 40_000],
      // An hour lies between.
      ...[40_000, 45_000],
    ])
    expect(await ledger.run(run)).toMatchObject({ worked_ms: worked, worked_at: null })
  }
})

test('a ledger from before it was known which files runs still find takes all for found by the newest run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-ledger-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'ledger.sqlite')
  const old = await openAsOf(file, '0012-archived')
  for (const at of [10, 20])
    await sql`insert into delivery values ('job', 'm', ${`/in/${at}`}, 1, 1, 'a', ${at})`.execute(old)
  await old.destroy()

  const ledger = await openLedger(file)
  onTestFinished(() => ledger.close())
  const known = await ledger.expectations.taken('job', 'm', 9)
  expect(known.map(({ taken_at, seen_at }) => [taken_at, seen_at])).toEqual([
    [20, 20],
    [10, 20],
  ])
})
