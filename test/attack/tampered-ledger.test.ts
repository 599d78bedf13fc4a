/** A ledger in which somebody has emptied tables, added triggers, or damaged what is packed: the doctor says so, and no command ends as a defect. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { ANN, BEN, type Clinic, HEADER, openClinic } from '../cli/clinic.ts'

/** A run that has delivered six records and rejected some, in two chunks, and one that knew them again. */
async function delivered(): Promise<Clinic & { change(sql: string): void }> {
  const clinic = await openClinic({
    job: 'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\naccounts: { register: never }\n',
  })
  await clinic.deliver(
    'a.csv',
    `${HEADER}${ANN}${BEN}eve,2026-03-02,400,99,73.5,kg,fine\nzoe,never,61,5,70,kg,fine\n`,
  )
  for (let night = 0; night < 2; night += 1) expect((await clinic.run()).code).toBe(1)
  expect((await clinic.workplace.waybill('doctor')).out).toMatch(/^ok +ledger +intact/m)
  return {
    ...clinic,
    change(sql) {
      const ledger = new DatabaseSync(join(clinic.workplace.home, 'ledger.sqlite'))
      ledger.exec(sql)
      ledger.close()
    },
  }
}

const ALL_DELIVERED = ['', '_segment', '_block', '_filter', '_replaced']
  .map((table) => `delete from delivered${table};`)
  .join(' ')

test.each([
  ['delete from delivered', 'chunks of jobs without delivered rows: 1'],
  ['delete from delivered_block', 'segments without their parts: 1'],
  ['delete from delivered_filter', 'segments without their parts: 1'],
  [
    'delete from delivered_segment',
    'delivered_block without delivered_segment: 1; delivered_filter without delivered_segment: 1',
  ],
  [ALL_DELIVERED, 'chunks of jobs without delivered rows: 1'],
  ['delete from job', 'run without job: 2'],
  ['delete from run', 'export without run: 2'],
  ['delete from run; delete from export; delete from chunk; delete from batch', 'delivered without run: 1'],
  ['delete from export', 'chunk without export: 2'],
  ['delete from chunk', 'finished exports without their chunks: 2'],
  ['delete from exception', 'chunks without their reasons: 2'],
  ['delete from mapping', 'exports without their mapping: 2'],
  ['delete from installation', 'runs without the fingerprint of a key: 2'],
  ["update delivered set rows = x'05'", 'packs that cannot be read: 1'],
  ['update delivered set rows = substr(rows, 1, length(rows) - 3)', 'packs that cannot be read: 1'],
  ['update delivered set rows = zeroblob(0)', 'packs that cannot be read: 1'],
  ['update delivered set count = count + 1', 'packs that cannot be read: 1'],
  ["update batch_holds set holds = x'ffffffff'", 'batches that cannot be read: \\d'],
  [
    'create trigger forget after insert on delivered begin delete from delivered; end',
    "trigger forget is none of Waybill's",
  ],
  [
    'create trigger kysely_migration after insert on run begin select 1; end',
    'trigger kysely_migration is none of',
  ],
  ['create view seen as select * from run', "view seen is none of Waybill's"],
  ['drop index exception_in_doubt', 'index exception_in_doubt is missing'],
  ['alter table run add column more text', 'table run has another form'],
  ['drop table held', 'table held is missing'],
])('%s: the doctor finds it', async (sql, found) => {
  const clinic = await delivered()
  clinic.change(sql)
  const doctor = await clinic.workplace.waybill('doctor')
  expect(doctor.out).toMatch(new RegExp(`^problem +ledger +damaged: .*(${found})`, 'm'))
  expect(doctor.out).toContain('restore the latest backup')
  expect(doctor.code).toBe(2)
})

test.each(["x'05'", "x'ffffffffffff'", 'substr(rows, 1, 20)', "x'00' || zeroblob(16) || x'ffffffffff'"])(
  'packs that are %s now: the next run says so, sends nothing, and is no defect of Waybill',
  async (rows) => {
    const clinic = await delivered()
    const before = await clinic.stored()
    clinic.change(`update delivered set rows = ${rows}`)
    const run = await clinic.run()
    expect(run).toMatchObject({ code: 2, out: expect.stringContaining('"ledger-unusable"') })
    expect(run.out).toContain('waybill doctor')
    expect(await clinic.stored()).toEqual(before)
  },
)

test('packs that are gone: the next run says so', async () => {
  const clinic = await delivered()
  clinic.change('delete from delivered')
  expect(await clinic.run()).toMatchObject({ code: 2, out: expect.stringContaining('"ledger-unusable"') })
})
