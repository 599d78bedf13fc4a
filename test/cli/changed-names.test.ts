/** Another name under a known reference: over chunks' rows, exports and nights; told once, and never with the name. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'

const ROSTER = REGISTERED_ROW.split('\n')
  .filter((line) => !/^ {2}(observedAt|source):/.test(line))
  .join('\n')

interface Visit {
  readonly born?: string
  readonly first?: string
  readonly last?: string
}
let day = 1
const row = (id: string, { born = '1980-02-03', first = 'Ann', last = 'Lee' }: Visit = {}): string =>
  `${id},${new Date(Date.UTC(2026, 1, ++day)).toISOString().slice(0, 10)},${first},${last},${born},FEMALE,04884,61`

const open = (mapping = `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\n`) =>
  openClinic({ mapping, job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n' })

let night = 0
async function run(clinic: Clinic, ...rows: readonly string[]) {
  const header = 'id,day,first,last,born,gender,zip,pulse\n'
  await clinic.deliver(`${++night}.csv`, `${header}${rows.join('\n')}\n`)
  const { code, out, err } = await clinic.run()
  const told = err.split('\n').filter((line) => line.includes('a new name'))
  expect(err).not.toMatch(/Ann|Lee|Moor|Zoë/)
  return { code, warnings: JSON.parse(out).warnings, told }
}
const NONE = { code: 0, warnings: [], told: [] }
const changed = (count: number, place: string) => ({
  code: 0,
  warnings: [{ code: 'name-changed', count }],
  told: [expect.stringContaining(place)],
})

it('is a warning once: the new name is kept', async () => {
  const clinic = await open()
  expect(await run(clinic, row('p-1'), row('p-2'))).toEqual(NONE)
  expect(await run(clinic, row('p-2'), row('p-1'))).toEqual(NONE)
  expect(await run(clinic, row('p-9'), row('p-1', { last: 'Moor' }))).toEqual(changed(1, 'row 2 (line 3)'))
  expect(await run(clinic, row('p-1', { last: 'Moor' }))).toEqual(NONE)
  expect(await run(clinic, row('p-1', { first: 'Anna', last: 'Moor' }))).toEqual(changed(1, 'row 1 (line 2)'))
  expect(await run(clinic, row('p-1', { first: 'Anna', last: 'Moor' }))).toEqual(NONE)
})

it('is none where case, accents and blanks alone differ', async () => {
  const clinic = await open()
  expect(await run(clinic, row('p-2', { first: 'Zoë', last: 'de la Cruz' }))).toEqual(NONE)
  expect(await run(clinic, row('p-2', { first: 'ZOE', last: 'Delacruz' }))).toEqual(NONE)
  expect(await run(clinic, row('p-2', { first: 'Zoe\u0308 ', last: 'DE LA CRUZ' }))).toEqual(NONE)
})

it('within one chunk is told once for each person, with the first row', async () => {
  const clinic = await open()
  const rows = [
    row('p-3'),
    row('p-4'),
    row('p-3', { last: 'Moor' }),
    row('p-4', { first: 'Ben' }),
    row('p-3'),
  ]
  expect(await run(clinic, ...rows)).toEqual(changed(2, 'row 3 (line 4)'))
  expect(await run(clinic, row('p-3'), row('p-4', { first: 'Ben' }))).toEqual(NONE)
})

it('with another birth date is another person, and changes no name', async () => {
  const clinic = await open()
  expect(await run(clinic, row('p-5'))).toEqual(NONE)
  expect(await run(clinic, row('p-5', { last: 'Moor', born: '1981-02-03' }))).toEqual({ ...NONE, code: 1 })
  await writeFile(join(clinic.workplace.folder, 'who.csv'), 'partnerAccountId,dateOfBirth\np-5,1981-02-03\n')
  await clinic.workplace.waybill('accounts', 'confirm', '--file', 'who.csv', '--job', 'clinic')
  expect(await run(clinic, row('p-5', { last: 'Moor', born: '1981-02-03' }))).toEqual(NONE)
  expect(await run(clinic, row('p-5', { born: '1981-02-03' }))).toEqual(changed(1, 'row 1 (line 2)'))
})

it('is no name where one half is empty', async () => {
  const clinic = await open()
  expect(await run(clinic, row('p-6'))).toEqual(NONE)
  expect((await run(clinic, row('p-6', { first: '' }))).warnings).toEqual([])
  expect(await run(clinic, row('p-6'))).toEqual(NONE)
})

it('of a roster is told as well', async () => {
  const roster = await open(`mapping: clinic\n${ROSTER}`)
  expect(await run(roster, row('p-1'), row('p-2'))).toEqual(NONE)
  expect(await run(roster, row('p-1'), row('p-2', { last: 'Moor' }))).toEqual(changed(1, 'row 2 (line 3)'))
  expect(await run(roster, row('p-2', { last: 'Moor' }))).toEqual(NONE)
})

const warned = (out: string): unknown => JSON.parse(out).warnings
const CHANGED = [{ code: 'name-changed', count: 1 }]

it('is told by a dry run, which keeps nothing', async () => {
  const clinic = await open()
  expect(await run(clinic, row('p-1'), row('p-2'))).toEqual(NONE)
  const header = 'id,day,first,last,born,gender,zip,pulse\n'
  const rows = [
    row('p-1', { last: 'Moor' }),
    row('p-1', { last: 'Moor' }),
    row('p-2', { last: 'Moor', born: '1990-02-03' }),
  ]
  await clinic.deliver('next.csv', `${header}${rows.join('\n')}\n`)
  const dry = async () => warned((await clinic.run('--dry-run')).out)
  expect([await dry(), await dry()]).toEqual([CHANGED, CHANGED])
  expect(warned((await clinic.run()).out)).toEqual(CHANGED)
  expect(await dry()).toEqual([])
})

it('is told where an export is read again, and by a backfill, and an older name is not kept', async () => {
  const clinic = await openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\n`,
    job: 'exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv" }\nmapping: clinic\n',
  })
  const deliver = (date: string, ...rows: readonly string[]) =>
    clinic.deliver(`day_${date}.csv`, `id,day,first,last,born,gender,zip,pulse\n${rows.join('\n')}\n`)
  await deliver('20260310', row('p-1', { last: 'Moor' }))
  expect(warned((await clinic.run()).out)).toEqual([])
  await deliver('20260301', row('p-1'))
  const backfill = ['backfill', 'clinic', '--from', '2026-03-01', '--to', '2026-03-01', '--json']
  const { out, err } = await clinic.workplace.waybill(...backfill)
  expect([warned(out), err.match(/a new name/g)?.length]).toEqual([CHANGED, 1])
  // All of its records are known by now.
  expect(warned((await clinic.workplace.waybill(...backfill)).out)).toEqual([])
  await deliver('20260311', row('p-1', { last: 'Moor' }))
  expect(warned((await clinic.run()).out)).toEqual([])
})

it('is told by a rerun of what was rejected', async () => {
  const clinic = await open()
  expect(await run(clinic, row('p-1'))).toEqual(NONE)
  const wrong = row('p-1', { last: 'Moor' }).replace(/61$/, '61x')
  const { code, warnings } = await run(clinic, wrong)
  expect([code, warnings]).toEqual([1, []])
  await writeFile(
    join(clinic.workplace.folder, 'mappings/clinic.yaml'),
    `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: { from: pulse, extract: "^(61)x" } }\n`,
  )
  const rerun = await clinic.workplace.waybill('rerun', 'latest', '--only', 'rejected', '--json')
  expect([rerun.code, warned(rerun.out)]).toEqual([0, CHANGED])
})
