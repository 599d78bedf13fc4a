/** Copies of a ledger: whole and marked as a copy from the moment that they have their name. */
import fs from 'node:fs'
import { readdir } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { backUpLedger, restoreLedger } from '../../src/ledger/sqlite/backup.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function made(): Promise<{ folder: string; file: string; change: (sql: string) => void }> {
  const folder = await temporaryFolder()
  const file = join(folder, 'ledger.sqlite')
  const ledger = await openLedger(file)
  await ledger.jobs.id('nightly', 'gateway')
  await ledger.close()
  const change = (sql: string): void => {
    const database = new DatabaseSync(file, { defensive: false })
    database.exec(sql)
    database.close()
  }
  return { folder, file, change }
}

function copiedAt(file: string): number | undefined {
  const database = new DatabaseSync(file, { readOnly: true })
  const [last] = database.prepare('select taken_at, used_at from copy order by number').all()
  database.close()
  expect(last?.['used_at'] ?? null).toBeNull()
  return last === undefined ? undefined : Number(last['taken_at'])
}

test('a copy says that it is one and of when, whatever its ledger was', async () => {
  const { folder, file } = await made()
  const [once, twice] = [join(folder, 'once.sqlite'), join(folder, 'twice.sqlite')]
  backUpLedger(file, once, 1_000)
  backUpLedger(once, twice, 2_000)
  for (const [copy, at] of [
    [once, 1_000],
    [twice, 2_000],
  ] as const)
    expect(copiedAt(copy)).toBe(at)
})

/** From the first file that gets its name on, nothing more is done, as where the process is killed at that moment. */
function stopAfterRename(): void {
  const rename = fs.renameSync
  onTestFinished(() => {
    fs.renameSync = rename
    syncBuiltinESMExports()
  })
  fs.renameSync = (from, to) => {
    rename(from, to)
    throw new Error('killed')
  }
  syncBuiltinESMExports()
}

test('what has the name of a copy is marked as one, wherever the process is killed', async () => {
  const { folder, file } = await made()
  stopAfterRename()
  const copy = join(folder, 'copy.sqlite')
  expect(() => backUpLedger(file, copy, 1_000)).toThrow('killed')
  expect(copiedAt(copy)).toBe(1_000)
})

test.each([
  ['cannot be marked as one', 'drop table copy'],
  [
    'is damaged',
    `create table x (a); insert into x values (null); pragma writable_schema = on;
    update sqlite_schema set sql = 'CREATE TABLE x (a not null)' where name = 'x'`,
  ],
])('a copy that %s never has its name', async (_what, harm) => {
  const { folder, file, change } = await made()
  change(harm)
  expect(() => backUpLedger(file, join(folder, 'copy.sqlite'), 1_000)).toThrow(
    expect.objectContaining({ code: 'ledger-unusable' }),
  )
  expect(() => restoreLedger(file, join(folder, 'other.sqlite'), 1_000)).toThrow(
    expect.objectContaining({ code: 'backup-unusable' }),
  )
  expect((await readdir(folder)).filter((name) => !name.startsWith('ledger.sqlite'))).toEqual([])
})
