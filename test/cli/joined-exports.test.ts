/** A second export joined to the first, through the real command line. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BUCKET, startS3Server } from '../extract/sources/s3-server.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { type Clinic, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { writeMapping } from './left-behind.ts'

const MAPPING = `mapping: clinic
read: { format: csv }
row:
  key: [id]
  account: { reference: patient }
  observedAt: { constant: "2026-03-02T00:00:00Z" }
  source: { name: Clinic, type: screening }
joins:
  doctors: { export: "providers_{date:yyyyMMdd}.csv", read: { format: csv }, key: Id, on: doctor, missing: reject }
careTeams:
  seen: { npi: doctors.NPI, name: doctors.Name }
`
const VISITS = 'id,patient,doctor\n1,ann,d1\n2,ben,d2\n'
const PROVIDERS = 'Id,Name,NPI\nd1,Dr. Reed,1234567893\nd2,Dr. Lane,1245319599\n'
const SEEN = ['ann Dr. Reed', 'ben Dr. Lane']
const job = (from: string): string =>
  `exports: { from: ${from}, match: "visits_{date:yyyyMMdd}.csv", mapping: clinic }\naccounts: { register: never }\n`

const stored = async ({ store }: Clinic): Promise<string[]> =>
  (await store.records('careTeam')).map(({ _account, name }) => `${_account} ${name}`).sort()
const dayOf = async (clinic: Clinic, day: string, visits = VISITS, providers = PROVIDERS): Promise<void> => {
  await clinic.deliver(`visits_${day}.csv`, visits)
  await clinic.deliver(`providers_${day}.csv`, providers)
}

test('a run, a dry run, a named file, a preview and a check are joined; an export without its second one fails alone', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: job('../inbox') })
  await dayOf(clinic, '20260302')
  await clinic.deliver('visits_20260303.csv', 'id,patient,doctor\n3,cat,d1\n')
  const sample = join(clinic.workplace.folder, 'inbox/visits_20260302.csv')

  const dry = await clinic.run('--dry-run', '--file', sample)
  expect(dry.err).toBe('')
  expect(JSON.parse(dry.out)).toMatchObject({ records: { careTeam: { made: 2, pending: 2, rejected: 0 } } })
  const preview = await clinic.workplace.waybill('mapping', 'preview', 'clinic', sample, '--json')
  expect(preview.out).toContain('Dr. Reed')
  const check = await clinic.workplace.waybill('mapping', 'check', 'clinic', '--export', sample)
  expect([check.code, check.err]).toEqual([0, ''])

  const ended = await clinic.run()
  expect(summaryOf(ended).exports.map(({ name, error }) => [name, error])).toEqual([
    ['visits_20260302.csv', undefined],
    ['visits_20260303.csv', 'export-join-missing'],
  ])
  expect(await stored(clinic)).toEqual(SEEN)
  expect(ended.err).not.toMatch(/Reed|Lane|1234567893/)
})

test('a run that was interrupted goes on with what it was joined with, from a bucket too; nothing of it stays', async () => {
  const s3 = await startS3Server()
  onTestFinished(() => s3.stop())
  s3.put('in/visits_20260302.csv', Buffer.from(VISITS))
  s3.put('in/providers_20260302.csv', Buffer.from(PROVIDERS))
  let down = true
  const place = `{ s3: { endpoint: "${s3.endpoint}", region: test-1, bucket: ${BUCKET}, prefix: in } }`
  const clinic = await openClinic({
    ...{ mapping: MAPPING, job: job(place), faultOf: () => (down ? answer(403) : PASS) },
    environment: { AWS_ACCESS_KEY_ID: 'of-the-tests', AWS_SECRET_ACCESS_KEY: 'secret-of-the-tests' },
  })
  expect((await clinic.run()).code).toBe(3)
  const { home } = clinic.workplace
  expect(await readdir(join(home, 'spool/1/kept'))).toHaveLength(1)
  for (const name of (await readdir(home)).filter((one) => one.includes('ledger')))
    expect((await readFile(join(home, name))).includes('Dr. Reed'), name).toBe(false)

  down = false
  s3.put('in/providers_20260302.csv', Buffer.from(PROVIDERS.replaceAll('Dr.', 'Prof.')))
  const second = summaryOf(await clinic.run())
  expect([second.state, second.balanced]).toEqual(['finished', true])
  expect(await stored(clinic)).toEqual(SEEN)
  expect(await readdir(join(home, 'spool'))).toEqual([])
})

test('reconciling a finished backfill leaves what another one, which is unfinished, was joined with', async () => {
  let down = false
  const faultOf = () => (down ? answer(403) : PASS)
  const clinic = await openClinic({ mapping: MAPPING, job: job('../inbox'), faultOf })
  const { folder, waybill } = clinic.workplace
  const history = join(folder, 'history')
  await mkdir(history)
  const january = ['--from', '2026-01-01', '--to', '2026-01-31', '--in', 'history']
  const february = ['--from', '2026-02-01', '--to', '2026-02-28', '--in', 'history']
  await writeFile(join(history, 'visits_20260101.csv'), 'id,patient,doctor\n1,cat,d1\n')
  await writeFile(join(history, 'providers_20260101.csv'), PROVIDERS)
  const first = summaryOf(await waybill('backfill', 'clinic', ...january, '--json'))
  // Three chunks, of which two are begun: those the next run of the job settles, and leaves the third.
  const nobody = Array.from({ length: 4_999 }, (_, at) => `x${at},eve,nobody\n`).join('')
  await writeFile(join(history, 'visits_20260201.csv'), `id,patient,doctor\n1,ann,d1\n${nobody}2,ben,d2\n`)
  await writeFile(join(history, 'providers_20260201.csv'), PROVIDERS)
  down = true
  expect((await waybill('backfill', 'clinic', ...february)).code).toBe(3)
  down = false
  await dayOf(clinic, '20260302', 'id,patient,doctor\n1,dan,d1\n')
  expect((await clinic.run()).code).toBe(0)

  expect((await waybill('reconcile', first.run)).code).toBe(0)
  await writeFile(join(history, 'providers_20260201.csv'), PROVIDERS.replaceAll('Dr.', 'Prof.'))
  const second = summaryOf(await waybill('backfill', 'clinic', ...february, '--json'))
  expect(second).toMatchObject({ state: 'finished', rows: { read: 5_001 } })
  expect(await stored(clinic)).toEqual([SEEN[0], SEEN[1], 'cat Dr. Reed', 'dan Dr. Reed'])
})

test('a rerun joins an export that lay in another folder with what is of its day', async () => {
  const clinic = await openClinic({ mapping: MAPPING, job: job('../inbox') })
  const { folder, waybill } = clinic.workplace
  const history = join(folder, 'history')
  await mkdir(history)
  await writeFile(join(history, 'visits_20260101.csv'), 'id,patient,doctor\n1,ann,d1\n2,ben,(d2)\n')
  await writeFile(join(history, 'providers_20260101.csv'), PROVIDERS)
  await writeFile(join(history, 'providers_20260102.csv'), PROVIDERS.replaceAll('Dr.', 'Prof.'))
  const january = ['--from', '2026-01-01', '--to', '2026-01-31', '--in', 'history']
  const first = summaryOf(await waybill('backfill', 'clinic', ...january, '--json'))
  expect(first.rows).toMatchObject({ read: 2 })
  await writeMapping(clinic, MAPPING.replace('on: doctor', 'on: { from: doctor, extract: "([a-z0-9]+)" }'))
  expect((await waybill('rerun', first.run)).code).toBe(0)
  expect(await stored(clinic)).toEqual(SEEN)
})
