import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { expect, onTestFinished, test } from 'vitest'
import { MIGRATIONS, openLedgerDatabase } from '../../src/ledger/sqlite/database.ts'
import { inspectLedger } from '../../src/ledger/sqlite/inspect.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type Steps = Readonly<Record<string, Migration>>

async function newFile(): Promise<string> {
  const folder = await temporaryFolder()
  return join(folder, 'ledger.sqlite')
}

/** Takes the file to the shape that a program has that knows these steps. */
async function migrateTo(file: string, steps: Steps): Promise<void> {
  const { kysely: database } = openLedgerDatabase(file, 1000)
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ ...steps }) } })
  const { error } = await migrator.migrateToLatest()
  await database.destroy()
  expect(error).toBeUndefined()
}

/** One row for each table, every column filled in by its type. */
function fillEveryTable(database: DatabaseSync): void {
  for (const table of tablesOf(database)) {
    const columns = database.prepare(`pragma table_info("${table}")`).all()
    const values = columns.map(({ type }) =>
      /blob/i.test(String(type)) ? Buffer.alloc(16, 7) : /integer/i.test(String(type)) ? 1 : 'one',
    )
    database.prepare(`insert into "${table}" values (${values.map(() => '?').join(', ')})`).run(...values)
  }
}

const tablesOf = (database: DatabaseSync): string[] =>
  database
    .prepare("select name from sqlite_master where type = 'table' and name not like 'kysely%'")
    .all()
    .map(({ name }) => String(name))

const rowsOf = (database: DatabaseSync): Map<string, unknown[]> =>
  new Map(tablesOf(database).map((table) => [table, database.prepare(`select * from "${table}"`).all()]))

test('the step after a ledger was released finds a row of every table as it was', async () => {
  const file = await newFile()
  await (await openLedger(file)).close()
  const before = new DatabaseSync(file)
  fillEveryTable(before)
  const rows = rowsOf(before)
  before.close()
  expect(rows.size).toBeGreaterThan(15)

  const next: Migration = {
    async up(db: Kysely<unknown>) {
      await sql`alter table run add column note text`.execute(db)
      await sql`update run set note = 'from before'`.execute(db)
    },
  }
  await migrateTo(file, { ...MIGRATIONS, '9999-next': next })
  const after = new DatabaseSync(file)
  onTestFinished(() => after.close())
  for (const [table, [row]] of rows) expect(rowsOf(after).get(table), table).toMatchObject([row])
  expect(rowsOf(after).get('run')).toMatchObject([{ note: 'from before' }])
  expect(after.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(inspectLedger(file, 0)).toMatchObject({ damage: [], newer: ['9999-next'] })
  // The program of before refuses what the next one has changed.
  await expect(openLedger(file)).rejects.toMatchObject({ code: 'ledger-newer' })
})

test('a ledger of a state before the first release is refused, and left as it is', async () => {
  const file = await newFile()
  await migrateTo(file, {
    '2026-11-ledger': { up: (db) => sql`create table delivered (contents blob)`.execute(db).then() },
  })
  await expect(openLedger(file)).rejects.toMatchObject({ code: 'ledger-older', place: { file } })
  const database = new DatabaseSync(file, { readOnly: true })
  onTestFinished(() => database.close())
  expect(tablesOf(database)).toEqual(['delivered'])
})
