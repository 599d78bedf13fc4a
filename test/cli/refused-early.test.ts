/** What is refused before anything is begun, in words that help. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, HEADER, JOB, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { gatewaySettings } from './reference-store.ts'

test('runs, dry run, rerun and resolve of what is not there', async () => {
  const clinic = await openClinic()
  const { waybill, job } = clinic.workplace
  const dry = await clinic.run('--dry-run')
  const wet = await clinic.run()
  expect([dry.code, wet.code]).toEqual([2, 2])
  for (const { out } of [dry, wet]) expect(JSON.parse(out)).toMatchObject({ error: { code: 'exports-none' } })

  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  summaryOf(await clinic.run())
  const none = await waybill('runs', '--limit', '0')
  expect([none.code, none.out]).toEqual([2, ''])
  expect(none.err).toContain('from 1 on')
  const unknown = await waybill('runs', '--job', 'nope')
  expect([unknown.code, unknown.out]).toEqual([2, ''])
  expect(unknown.err).toContain('job-not-found')
  await job('later', JOB)
  expect((await waybill('runs', '--job', 'later')).out).toContain('waybill run later')

  const run = '20260302T071500Z-4f2a9c'
  for (const typed of [
    ['rerun', run],
    ['resolve', run, '--resend'],
  ]) {
    const { code, err } = await waybill(...typed)
    expect([code, err.includes('run-not-found'), err.includes('Records go to')]).toEqual([2, true, false])
  }
})

test('a rejects file of a rejects file bears the name of the export', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}dan,2026-03-02,900,5.3,72.5,kg,fine\n`)
  const [first] = summaryOf(await clinic.run()).exports
  const [second] = summaryOf(await clinic.run('--file', first?.rejects ?? '')).exports
  const [third] = summaryOf(await clinic.run('--file', second?.rejects ?? '')).exports
  for (const one of [first, second, third]) expect(one?.rejects).toMatch(/\/1-day\.rejects\.csv$/)
})

test('a zone that is missing, and a setting that a target needs, are told with place and example', async () => {
  const clinic = await openClinic({ environment: gatewaySettings('http://127.0.0.1:9') })
  const { waybill, job, folder } = clinic.workplace
  await job('zoneless', `${JOB}schedule: { cron: "15 2 * * *" }\n`)
  expect((await waybill('run', 'zoneless')).err).toMatch(/schedule\.zone.*like America\/New_York/)
  await writeFile(
    join(folder, 'jobs', 'mailed.yaml'),
    `job: mailed\n${JOB}notify: [{ email: a@hospital.example }]\n`,
  )
  // Behind the name, the exports and the accounts.
  expect((await waybill('run', 'mailed')).err).toMatch(/mailed\.yaml:6:\d+ notify/)
})
