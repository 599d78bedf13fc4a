/** Jobs that collect: what the gateway has of people, as files. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

const MAPPING = `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\n`
const HEAD = 'id,day,first,last,born,gender,zip,pulse\n'
const row = (id: string, pulse: string): string => `${id},2026-03-02,A,B,1980-02-03,FEMALE,04884,${pulse}\n`

const ROSTER =
  'mapping: roster\nread: { format: csv }\nrow: { key: [id], account: { reference: id, register: { firstName: f, lastName: l, dateOfBirth: { from: b, format: yyyy-MM-dd }, gender: g, postalCode: z } } }\n'
const PEOPLE =
  'people: { exports: { from: ../rosters, match: "roster_{date:yyyyMMdd}.csv" }, mapping: roster }\n'
const roster = (...ids: string[]): string =>
  `id,f,l,b,g,z\n${ids.map((id) => `${id},A,B,1980-02-03,FEMALE,04884\n`).join('')}`

/** Ann and Ben have a heart rate; Cat is registered and has nothing. */
async function openCollecting(job: string): Promise<Clinic> {
  const clinic = await openClinic({
    mapping: MAPPING,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    store: await startReferenceStore(),
  })
  const { folder } = clinic.workplace
  await mkdir(join(folder, 'rosters'))
  await writeFile(join(folder, 'mappings/roster.yaml'), ROSTER)
  await clinic.deliver('day.csv', `${HEAD}${row('ann', '61')}${row('ben', '62')}`)
  expect((await clinic.run()).code).toBe(0)
  await clinic.workplace.job('register', 'exports: { from: ../rosters, match: "*.csv" }\nmapping: roster\n')
  await writeFile(join(folder, 'rosters/cat.csv'), roster('cat'))
  expect((await clinic.workplace.waybill('run', 'register')).code).toBe(0)
  await clinic.workplace.job('collecting', job)
  return clinic
}

const collect = async ({ workplace }: Clinic) => {
  const { code, out } = await workplace.waybill('run', 'collecting', '--json')
  return { code, ...JSON.parse(out) }
}

it('collects of the newest roster, tells who has nothing from who is not there, and puts whole files in place', async () => {
  const clinic = await openCollecting(
    `${PEOPLE}collect: { what: [biometrics, ageResult] }\nto: { folder: ../out, only: changed }\n`,
  )
  const at = (...path: string[]): string => join(clinic.workplace.folder, ...path)
  await writeFile(at('rosters/roster_20260301.csv'), roster('dan', 'eve'))
  await writeFile(at('rosters/roster_20260302.csv'), roster('ann', 'cat', 'ann', 'dan', 'ben'))
  const first = await collect(clinic)
  expect(first).toMatchObject({
    code: 1,
    balanced: true,
    rows: { read: 5, mapped: 5 },
    people: { asked: 4, collected: 2, unchanged: 0, none: 1, refused: 1, pending: 0 },
    records: { account: { made: 0 } },
    accounts: { registered: 0 },
    collection: { isWhole: true, folder: at('out', first.run) },
  })
  expect(readdirSync(at('out'))).toEqual([first.run])
  const text = readFileSync(at('out', first.run, 'people.ndjson'))
  const lines = text
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ account, biometrics, ageResult }) => [account, biometrics.length, ageResult])).toEqual(
    ['ann', 'ben'].map((reference) => [{ reference, type: 'partnerAccountId' }, 1, []]),
  )
  expect(lines[0].biometrics[0]).toMatchObject({ value: 61 })
  const manifest = JSON.parse(readFileSync(at('out', first.run, 'manifest.json'), 'utf8'))
  expect(manifest).toMatchObject({
    run: first.run,
    people: first.people,
    files: [
      {
        ...{ name: 'people.ndjson', lines: 2, bytes: text.length },
        sha256: createHash('sha256').update(text).digest('hex'),
      },
    ],
  })
  for (const name of ['people.ndjson', 'manifest.json'])
    expect(statSync(at('out', first.run, name)).mode & 0o777).toBe(0o600)
  const shown = (await clinic.workplace.waybill('show', 'latest')).out
  expect(shown).toContain('asked 4 = collected 2 + unchanged 0 + none 1 + refused 1 + pending 0')
  expect(shown).toContain('account-not-there')

  // What has changed alone: one value, and nobody else.
  await clinic.deliver('day2.csv', HEAD + row('ben', '70').replace('03-02', '03-03'))
  expect((await clinic.run()).code).toBe(0)
  const second = await collect(clinic)
  expect(second.people).toEqual({ asked: 4, collected: 1, unchanged: 1, none: 1, refused: 1, pending: 0 })
  const line = JSON.parse(readFileSync(at('out', second.run, 'people.ndjson'), 'utf8'))
  expect([line.account.reference, line.biometrics[0].value]).toEqual(['ben', 70])

  // Who was refused is asked again in a run of its own.
  const again = await clinic.workplace.waybill('rerun', second.run, '--json')
  expect(JSON.parse(again.out)).toMatchObject({ people: { asked: 1, refused: 1 } })
})

it('collects as CSV of those whom the ledger knows', async () => {
  const clinic = await openCollecting(
    'people: known\ncollect: { what: [biometrics, conditions] }\nto: { folder: ../out, format: csv }\n',
  )
  const { code, run, people } = await collect(clinic)
  expect([code, people]).toEqual([
    0,
    { asked: 3, collected: 2, unchanged: 0, none: 1, refused: 0, pending: 0 },
  ])
  const at = join(clinic.workplace.folder, 'out', run)
  const [head, ...rows] = readFileSync(join(at, 'biometrics.csv'), 'utf8').trim().split('\n')
  expect(head).toMatch(/^reference,type,accountId,id,name,observationDate,value,unit,/)
  expect(rows.map((one) => one.split(',')[6]).sort()).toEqual(['61', '62'])
  // They are known by their account ids, and named by these.
  for (const [reference, type, accountId] of rows.map((one) => one.split(',')))
    expect([type, accountId]).toEqual(['accountId', reference])
  expect(readFileSync(join(at, 'conditions.csv'), 'utf8').trim().split('\n')).toHaveLength(1)
  expect(readdirSync(join(clinic.workplace.home, 'spool'))).toEqual([])
})

it.each([
  ['collect: { what: [biometrics] }\nto: { folder: x }\n', 'people'],
  ['people: known\ncollect: { what: [biometrics] }\n', 'to'],
  ['people: known\ncollect: { what: [requestStatus] }\nto: { folder: x }\n', 'requests'],
  ['exports: { from: x, match: y }\nmapping: m\nto: { folder: x }\n', 'to'],
  ['mapping: m\n', 'exports'],
])('refuses a job of which something is missing: %#', async (job, key) => {
  const clinic = await openClinic()
  await clinic.workplace.job('wrong', job)
  const { code, err } = await clinic.workplace.waybill('run', 'wrong')
  expect([code, err]).toEqual([2, expect.stringContaining(key)])
})

it('goes on after SIGKILL: nobody is asked twice of settled chunks, and the files are whole', async () => {
  const clinic = await openCollecting(`${PEOPLE}collect: { what: [biometrics] }\nto: { folder: ../out }\n`)
  const { workplace, store } = clinic
  const people = Array.from({ length: 700 }, (_, n) => `p${n}`)
  await clinic.deliver('many.csv', HEAD + people.map((id, n) => row(id, String(50 + (n % 50)))).join(''))
  expect((await clinic.run()).code).toBe(0)
  await writeFile(join(workplace.folder, 'rosters/roster_20260303.csv'), roster(...people))
  let reads = 0
  let full = (): void => {}
  const seen = new Promise<void>((resolve) => {
    full = resolve
  })
  const proxy = await startFaultProxy(store.url, ({ method }) => {
    // The first chunk is settled when the second is under way.
    if (method === 'GET' && ++reads === 600) full()
    return PASS
  })
  Object.assign(workplace.environment, gatewaySettings(proxy.url))
  // Another address is another gateway: it registers nobody, and asks by the references.
  const child = workplace.start('run', 'collecting', '--json')
  await seen
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(readdirSync(join(workplace.folder, 'out')).every((name) => name.endsWith('.part'))).toBe(true)
  const before = reads
  const end = await collect(clinic)
  expect(end).toMatchObject({
    ...{ code: 0, balanced: true },
    people: { asked: 700, collected: 700, unchanged: 0, none: 0, refused: 0, pending: 0 },
  })
  expect(reads - before).toBeLessThanOrEqual(700 - 500)
  expect(readdirSync(join(workplace.folder, 'out'))).toEqual([end.run])
  const lines = readFileSync(join(workplace.folder, 'out', end.run, 'people.ndjson'), 'utf8')
    .trim()
    .split('\n')
  const references = lines.map((line) => JSON.parse(line).account.reference)
  expect(references.toSorted()).toEqual(people.toSorted())
})
