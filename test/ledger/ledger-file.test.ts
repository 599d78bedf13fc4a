/** The file of a ledger: its keys among processes, its facts by version and damage, its room, and what stands beside it when a backup takes its place. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { backUpLedger, restoreLedger } from '../../src/ledger/sqlite/backup.ts'
import { MIGRATIONS, openLedgerDatabase } from '../../src/ledger/sqlite/database.ts'
import { inspectLedger } from '../../src/ledger/sqlite/inspect.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { compactLedger } from '../../src/ledger/sqlite/pruning.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { beginExport, beginRun, openChunk, settleChunk } from './begun-run.ts'

async function inFile(): Promise<{ file: string; open: () => Promise<Ledger> }> {
  const file = join(await temporaryFolder(), 'ledger.sqlite')
  const open = async (): Promise<Ledger> => {
    const ledger = await openLedger(file)
    onTestFinished(() => ledger.close())
    return ledger
  }
  return { file, open }
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

test('a process whose key was changed by another begins no run, and goes on with none', async () => {
  const { open } = await inFile()
  const [ours, theirs] = [await open(), await open()]
  await ours.installation.useKey('one', undefined)
  const run = await beginRun(ours, 'run-1')
  await run.endRun({ state: 'interrupted', endedAt: 0, reason: 'interrupted' })
  const left = (await ours.runs.find('run-1')) ?? expect.fail('the run is gone')
  await run.endRun({ state: 'failed', endedAt: 0, reason: 'given-up' })
  await theirs.installation.useKey('two', 5)
  const differs = { code: 'key-differs' }
  await expect(ours.runs.resume(run.lease, left, 1)).rejects.toMatchObject(differs)
  await expect(beginRun(ours, 'run-2')).rejects.toMatchObject(differs)
  expect((await ours.runs.list(9)).map(({ id, state }) => `${id} ${state}`)).toEqual(['run-1 failed'])
  await beginRun(theirs, 'run-3')
})

test('its facts tell an older and a newer program apart, and one that is both', async () => {
  const { file, open } = await inFile()
  await (await open()).jobs.id('nightly', 'gateway')
  const facts = () => {
    const { newer, older, shape, gateways } = inspectLedger(file, 0) ?? expect.fail('there is no file')
    return { newer, older, shape, gateways }
  }
  const latest = Object.keys(MIGRATIONS).sort().at(-1) ?? ''
  expect(facts()).toEqual({ newer: [], older: false, shape: latest, gateways: ['gateway'] })
  change(file, `insert into kysely_migration (name, timestamp) values ('9999-later', '')`)
  expect(facts()).toEqual({ newer: ['9999-later'], older: false, shape: '9999-later', gateways: ['gateway'] })
  change(file, `delete from kysely_migration where name = '${latest}'`)
  expect(facts()).toMatchObject({ newer: ['9999-later'], older: true })
  change(file, `delete from kysely_migration where name = '9999-later'`)
  expect(facts()).toMatchObject({ newer: [], older: true })
})

test.each([
  ['nothing', '', false],
  ['a gateway that it has met', `insert into gateway_met values ('g', 0)`, true],
  ['a run that is over', `update run set state = 'failed'`, true],
  ['a run that is interrupted', `update run set state = 'interrupted'`, false],
  ['a run', '', false],
])('a ledger is of use by %s: %s', async (what, sql, isOfUse) => {
  const { file, open } = await inFile()
  const ledger = await open()
  if (what.includes('run')) await beginRun(ledger, 'run-1', { startedAt: 7 })
  if (sql !== '') change(file, sql)
  const latestRunAt = what.includes('run') ? 7 : undefined
  expect(inspectLedger(file, 0)).toMatchObject({ isOfUse, latestRunAt, copiedAt: undefined })
})

test('its facts name the leases that last, the longest held first', async () => {
  const { file, open } = await inFile()
  const ledger = await open()
  for (const [at, job] of ['second', 'first', 'over'].entries()) {
    const request = { jobId: await ledger.jobs.id(job, 'gateway'), runId: `run of ${job}`, owner: 'here:1' }
    const now = job === 'first' ? 1 : 5 + at
    await ledger.leases.acquire({ ...request, now, ttlMs: job === 'over' ? 3 : 100 }, () => false)
  }
  const { leases } = inspectLedger(file, 10) ?? expect.fail('there is no file')
  expect(leases).toEqual([
    { job: 'first', run: 'run of first', owner: 'here:1', since: 1, until: 101 },
    { job: 'second', run: 'run of second', owner: 'here:1', since: 5, until: 105 },
  ])
})

test('gives back the room of what was removed, and says how much', async () => {
  const { file, open } = await inFile()
  const ledger = await open()
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run)
  await openChunk(run, exportRow, 1)
  const counts = JSON.stringify('x'.repeat(200_000))
  await settleChunk(run, exportRow, 1, { counts })
  await run.endRun({ state: 'failed', endedAt: 0, reason: null })
  await ledger.leases.release(run.lease)
  const pages = (): number => {
    const database = new DatabaseSync(file)
    const [{ page_count: count } = {}] = database.prepare('pragma page_count').all()
    database.close()
    return Number(count)
  }
  await ledger.pruning.mark('run-1', new Map(), 1)
  await ledger.pruning.removeSome('run-1', 1)
  const before = pages()
  const { freed, empty } = compactLedger(file, 1)
  // At most a page is not empty.
  expect(freed).toBeGreaterThanOrEqual(counts.length - 4_096)
  expect(freed % (before - pages())).toBe(0)
  expect(empty).toBe(0)
  expect(compactLedger(file, 1)).toEqual({ freed: 0, empty: 0 })
})

test('what stands beside a ledger goes aside with it when a backup takes its place', async () => {
  const folder = await temporaryFolder()
  const [file, backup] = [join(folder, 'ledger.sqlite'), join(folder, 'backup.sqlite')]
  const ledger = await openLedger(file)
  await ledger.jobs.id('nightly', 'gateway')
  backUpLedger(file, backup, 1_000)
  await ledger.close()
  // As an older process that was killed has left them.
  for (const ending of ['-wal', '-shm']) await writeFile(file + ending, `old ${ending}`)
  const aside = restoreLedger(backup, file, Date.UTC(2026, 2, 2))
  expect(aside).toBe(`${file}.before-20260302T000000Z`)
  const there = (await readdir(folder)).filter((name) => !name.startsWith('backup')).sort()
  const [name, old] = ['ledger.sqlite', 'ledger.sqlite.before-20260302T000000Z']
  expect(there).toEqual([name, old, `${old}-shm`, `${old}-wal`])
  expect(await readFile(`${aside}-wal`, 'utf8')).toBe('old -wal')
  expect(inspectLedger(file, 0)?.copiedAt).toBe(Date.UTC(2026, 2, 2))
})

test('a ledger that is not there is made by a backup, and nothing is put aside', async () => {
  const folder = await temporaryFolder()
  const [file, backup] = [join(folder, 'ledger.sqlite'), join(folder, 'backup.sqlite')]
  const ledger = await openLedger(backup)
  await ledger.close()
  expect(restoreLedger(backup, file, 5)).toBeUndefined()
  expect(inspectLedger(file, 0)?.copiedAt).toBe(5)
})

test('a statement is compiled once, however often it is asked for, unless it is one of many rows', () => {
  const { statements, kysely } = openLedgerDatabase(':memory:', 0)
  onTestFinished(() => kysely.destroy())
  const [few, many] = ['select 1', `select 1 where 1 in (${'1, '.repeat(1_000)}1)`]
  const compiled = vi.spyOn(DatabaseSync.prototype, 'prepare')
  onTestFinished(() => compiled.mockRestore())
  for (const text of [few, few, 'select 2', many, many]) statements.all(text)
  expect(compiled.mock.calls.flat()).toEqual([few, 'select 2', many, many])
})
