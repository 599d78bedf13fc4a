/** One reference, two people: over rows, chunks, exports and nights; and what a person says of it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openClinic, REGISTERED_ROW } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { showOf } from './left-behind.ts'

const csv = (...rows: readonly string[]): string =>
  `id,day,first,last,born,gender,zip,pulse\n${rows.join('\n')}\n`
const row = (id: string, day: string, born: string, last = 'B'): string =>
  `${id},2026-03-${day},A,${last},${born},FEMALE,04884,61`

const openShared = () =>
  openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\n`,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
  })

it('another birth date under a known reference is rejected until somebody says whose it is', async () => {
  const clinic = await openShared()
  const { waybill, folder } = clinic.workplace
  await clinic.deliver('a.csv', csv(row('p-1', '02', '1980-02-03'), row('p-2', '02', '1990-01-01')))
  expect((await clinic.run()).code).toBe(0)
  // A name that changes alone is no sign: people marry.
  await clinic.deliver('b.csv', csv(row('p-1', '03', '1980-02-03', 'Moor'), row('p-2', '03', '1991-01-01')))
  const night = await clinic.run()
  expect(night.code).toBe(1)
  const { run } = summaryOf(night)
  const { reasons } = await showOf(clinic, run)
  expect(reasons.map(({ code, count }) => `${code} ${count}`)).toEqual(['reference-shared 1'])
  const shown = await waybill('show', run)
  expect(shown.out).toContain('find out whose rows they are')
  expect(shown.out).not.toContain('p-2')
  // And whatever comes later, of whichever birth date.
  await clinic.deliver('c.csv', csv(row('p-2', '04', '1990-01-01')))
  expect((await clinic.run()).code).toBe(1)

  await writeFile(join(folder, 'who.csv'), 'partnerAccountId,dateOfBirth\np-2,1991-01-01\n')
  const confirmed = await waybill('accounts', 'confirm', '--file', 'who.csv', '--job', 'clinic')
  expect([confirmed.code, confirmed.out]).toEqual([
    0,
    expect.stringContaining('1 of them had been taken for several people'),
  ])
  expect((await waybill('rerun', run)).code).toBe(0)
  expect((await clinic.stored()).length).toBe(4)
})

it('two birth dates in one export send nothing of that reference, however few its rows are', async () => {
  const clinic = await openShared()
  const rows = [
    row('p-1', '02', '1980-02-03'),
    row('p-2', '02', '1985-05-05'),
    row('p-1', '03', '1981-02-03'),
  ]
  await clinic.deliver('a.csv', csv(...rows))
  const dry = await clinic.run('--dry-run')
  expect(JSON.parse(dry.out)).toMatchObject({ rows: { read: 3, mapped: 1, rejected: 2 } })
  expect((await clinic.run()).code).toBe(1)
  expect(await clinic.stored()).toHaveLength(1)
  await clinic.deliver('b.csv', csv(row('p-1', '04', '1980-02-03')))
  expect((await clinic.run()).code).toBe(1)
  expect(await clinic.stored()).toHaveLength(1)
})

it('a file of people that has a date of another form is refused, with its line', async () => {
  const clinic = await openShared()
  const { waybill, folder } = clinic.workplace
  await clinic.deliver('a.csv', csv(row('p-1', '02', '1980-02-03')))
  await clinic.run()
  await writeFile(join(folder, 'who.csv'), 'partnerAccountId,dateOfBirth\np-2,\np-1,03.02.1980\n')
  const refused = await waybill('accounts', 'confirm', '--file', 'who.csv', '--job', 'clinic')
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('who.csv:3')])
  expect(refused.err).not.toContain('1980')
})
