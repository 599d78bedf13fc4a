/** Every table of the ledger is pruned, or says why it is not: docs/ledger.md. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { prune } from '../../src/operate/prune.ts'
import { ANN, between, HEADER, openClinic } from '../cli/clinic.ts'
import { page, sections, tableRows } from '../docs/pages.ts'

const NIGHT = 24 * 60 * 60_000

/** What bounds each table, as the page says: tables of one bound share a row, each with its content in brackets. */
const bounds = new Map(
  tableRows(sections(page('docs/ledger.md'), 2).get('Tables') ?? '').flatMap(([tables = '', bound = '']) => {
    const names = tables.replaceAll(/\]\([^)]*\)/g, ']').replaceAll(/\([^)]*\)/g, '')
    return [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, bound] as const)
  }),
)

/** Rows by table; of profiles those that say what an export looked like. */
function rowsOf(database: DatabaseSync): Map<string, number> {
  const tables = database
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like 'kysely%' and name not like 'sqlite%'`,
    )
    .all()
    .map(({ name }) => String(name))
  const count = (table: string): number => {
    const wanted = table === 'profile' ? `where content != ''` : ''
    return Number(database.prepare(`select count(*) as count from "${table}" ${wanted}`).get()?.['count'])
  }
  return new Map(tables.map((table) => [table, count(table)]))
}

test('each table that grows with the nights is pruned, or says what bounds it', async () => {
  const clinic = await openClinic()
  const { home } = clinic.workplace
  await clinic.deliver('day.csv', between('cid,2026-03-02,630,,,,\n'))
  await clinic.run()
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const database = new DatabaseSync(join(home, 'ledger.sqlite'))
  onTestFinished(() => database.close())
  database.exec(`
    insert into decision (exception, event, at) select id, 'reject', 1 from exception;
    insert into resolution (run_id, decision, person, at) select id, 'accept', 'Night desk', 1 from run;
    insert into held (job_id, row_key, content, rule, export_row) values (1, x'01', x'02', x'03', 99);
    insert into waiting values (1, 'gone:1#b1.5', 1, 2);
    insert into account (gateway, reference, registered_at) values ('gateway', x'01', 1);
    insert into care_team (gateway, account, npi, observed_at, stored_at, heard_at, place, mark) values ('gateway', x'01', x'02', 1, 1, 1, 1, 'none');
    insert into claim (gateway, account, job_id) values ('gateway', x'01', 1);
    insert into abandoned_claim values ('gateway', x'01', 'r', 1, 1);
    insert into part (export_row, number, state, tallies) values (99, 0, 'open', '{}');
    insert into forgotten values ('gateway', x'01', 1);
    insert into shared_reference values ('gateway', x'01');
    insert into care_team_listed values (1, x'01', x'02', 1, 1);
    insert into medical_request values ('gateway', x'01', x'02', 'complete', 1, null);
    insert into timetable values (1, '0 2 * * *', 'Etc/UTC', 1);
    insert into pause values (1, 'ann', null, 1, null);
    insert into put_aside values (1, 'p', 'n', 'c', 1, 'ann', null, 1);
    insert into audit (at, person, action) values (1, 'ann', 'stop');
    insert into fire (job_id, due, state) values (1, 1, 'ended');
    insert into notification (message_id, job_id, kind, subject, target, address, notice, state, next_at, created_at)
      values ('m', 1, 'run-ended', 's', 't', 'a', '{}', 'delivered', 1, 1);
    insert into copy (taken_at) values (1);
    insert into collected (job_id, person, content, run_id) select 1, x'01', x'02', id from run;
    insert into delivered_replaced (pack, job_id, count, replaced) values (99, 1, 3, 1);
    insert into deadline values ('clinic', 'clinic', 's', 't', 1, 1, 'arrived', 1, 1, 0, '[]');
    with recursive night (at) as (select 1 union all select at + 1 from night where at < 1000)
      insert into delivery (job, mapping, address, modified_at, bytes, name, taken_at, seen_at)
      select 'clinic', 'clinic', 'in/' || at, at, 1, at, at, at from night;
    with recursive night (at) as (select 1 union all select at + 1 from night where at < 20)
      insert into profile select 'clinic', 'clinic', 'sha-' || at, -at, 0, '{}' from night;
  `)
  const before = rowsOf(database)
  expect([...bounds.keys()].sort()).toEqual([...before.keys()].sort())
  for (const [table, bound] of bounds) {
    expect(bound, table).not.toBe('')
    expect(before.get(table), table).toBeGreaterThan(0)
  }

  const deps = { ledger, home, now: Date.now, interrupt: new AbortController().signal }
  const dry = await prune(deps, { before: Date.now() + NIGHT, auditSince: Date.now(), dryRun: true })
  expect(rowsOf(database)).toEqual(before)
  const pruned = await prune(deps, {
    before: Date.now() + NIGHT,
    auditSince: Date.now(),
    dryRun: false,
  })
  expect(pruned.detail).toEqual(dry.detail)
  const after = rowsOf(database)
  const shrunk = [...before].flatMap(([table, rows]) => ((after.get(table) ?? 0) < rows ? [table] : []))
  const told = [...bounds].flatMap(([table, bound]) => (bound.startsWith('pruned ') ? [table] : []))
  expect(shrunk.sort()).toEqual(told.sort())
  // Nothing grows unseen: what is counted is what has gone.
  const { bytes: _, ...counts } = pruned.detail
  expect(Object.values(counts).every((count) => count > 0)).toBe(true)
})

test('a file that runs still find is known, however long it has lain there; one of long ago goes when a thousand stand before it', async () => {
  const clinic = await openClinic()
  const { home } = clinic.workplace
  await clinic.deliver('lies-there.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const database = new DatabaseSync(join(home, 'ledger.sqlite'))
  onTestFinished(() => database.close())
  // The file was taken long ago, as were others that are gone; a thousand have come since.
  database.exec(`
    update delivery set taken_at = 1, seen_at = 1;
    insert into delivery select job, mapping, 'in/gone.csv', 1, 1, 'gone.csv', 2, 2 from delivery;
    with recursive night (at) as (select 1 union all select at + 1 from night where at < 999)
      insert into delivery (job, mapping, address, modified_at, bytes, name, taken_at, seen_at)
      select 'clinic', 'clinic', 'in/' || at, at, 1, 'later', at + 2, at + 2 from night;
  `)
  const asked = (await ledger.expectations.taken('clinic', 'clinic', 1_000)).map(({ name }) => name)
  await clinic.run()
  const deps = { ledger, home, now: Date.now, interrupt: new AbortController().signal }
  const known = async (): Promise<string[]> =>
    (await ledger.expectations.taken('clinic', 'clinic', 2_000)).map(({ name }) => name)
  expect(await known()).toHaveLength(1_001)
  // Of the newest thousand none goes, of the others none that a run has found since.
  expect((await prune(deps, { before: Date.now() - NIGHT, dryRun: false })).detail.deliveries).toBe(0)
  database.exec(
    `insert into delivery select job, mapping, 'in/one-more.csv', 1, 1, 'one-more.csv', 5000, 5000 from delivery limit 1`,
  )
  expect((await prune(deps, { before: Date.now() - NIGHT, dryRun: false })).detail.deliveries).toBe(1)
  const left = await known()
  expect(left).toContain('lies-there.csv')
  expect(left).not.toContain('gone.csv')
  expect(left.slice(1, 1_000)).toEqual(asked.slice(0, 999))
  // Taken the first time when it was, not when it was found again.
  const [{ taken_at: first } = { taken_at: 0 }] = (
    await ledger.expectations.taken('clinic', 'clinic', 2_000)
  ).filter(({ name }) => name === 'lies-there.csv')
  expect(first).toBe(1)
})
