/** Health data goes to the gateway that somebody has named, and to no other: not where a setting is missing, nor where two contradict. */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, BEN, type Clinic, GOOD, HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { summaryOf } from '../cli/command-line.ts'
import { startReferenceStore } from '../cli/reference-store.ts'

const ARCHIVING = JOB.replaceAll('match:', 'archive: ../done, match:')
const CREDENTIALS = { WAYBILL_API_KEY: 'test-key', WAYBILL_ACCESS_TOKEN: 'test-token' }

/** Its job names that gateway, its settings that one; where undefined, they name none. */
async function clinicAt(
  ofJob: string | undefined,
  ofSettings: string | undefined,
  more = {},
): Promise<Clinic> {
  const clinic = await openClinic({
    job: `${ofJob === undefined ? '' : `gateway: ${ofJob}\n`}${ARCHIVING}`,
    environment: { WAYBILL_GATEWAY_URL: ofSettings ?? '', ...more },
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  return clinic
}

/** Nothing was read, sent, moved or made. */
async function expectNothingBegun({ workplace, store }: Clinic): Promise<void> {
  expect(await store.allRecords()).toEqual([])
  expect(existsSync(workplace.home)).toBe(false)
  expect(await readdir(join(workplace.folder, 'inbox'))).toEqual(['day.csv'])
  expect(existsSync(join(workplace.folder, 'done'))).toBe(false)
}

test.each([
  ['with key and token, as if the address had been forgotten', CREDENTIALS],
  ['with nothing else either', { WAYBILL_API_KEY: '', WAYBILL_ACCESS_TOKEN: '' }],
])('no gateway is set, %s: the run ends before anything', async (_, credentials) => {
  const clinic = await clinicAt(undefined, undefined, credentials)
  const { code, out, err } = await clinic.workplace.waybill('run', 'clinic', '--quiet')
  expect({ code, out }).toEqual({ code: 2, out: '' })
  for (const word of ['gateway-not-set', 'clinic', 'WAYBILL_GATEWAY_URL', '`gateway: https://', 'built-in'])
    expect(err).toContain(word)
  await expectNothingBegun(clinic)
  // The doctor tells beforehand, and so does the schedule.
  const doctor = await clinic.workplace.waybill('doctor')
  expect(doctor.code).toBe(2)
  expect(doctor.out).toMatch(
    /problem +settings +none is set: neither WAYBILL_GATEWAY_URL nor a job names one/,
  )
  expect(doctor.out).toMatch(/problem +job +clinic: gateway-not-set/)
  const explained = await clinic.workplace.waybill('schedule', '--explain', '--json')
  expect(explained.code).toBe(2)
  expect(explained.err).toContain('gateway-not-set')
})

const THERE = 'https://gateway.example/api'

test.each([
  ['built-in', THERE],
  [THERE, 'built-in'],
  [THERE, 'https://gateway.example/test'],
])('the job names %s, the settings %s: neither is taken', async (ofJob, ofSettings) => {
  const clinic = await clinicAt(ofJob, ofSettings)
  const { code, err } = await clinic.run('--quiet')
  expect(code).toBe(2)
  expect(err).toContain(
    `gateway-differs: the job clinic names the gateway ${ofJob}, and WAYBILL_GATEWAY_URL names ${ofSettings}`,
  )
  await expectNothingBegun(clinic)
})

test('what a run has left goes nowhere else either', async () => {
  const store = await startReferenceStore({ open: true })
  const clinic = await clinicAt(undefined, store.url)
  const { run } = summaryOf(await clinic.run())
  clinic.workplace.environment['WAYBILL_GATEWAY_URL'] = ''
  for (const args of [
    ['rerun', run],
    ['reconcile', run],
    ['resolve', run, '--resend'],
  ]) {
    const { code, err } = await clinic.workplace.waybill(...args)
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(err).toContain('gateway-not-set')
  }
})

test('the job alone names it: it goes there, with the credentials of the settings, and not without', async () => {
  const store = await startReferenceStore({ open: true })
  const clinic = await openClinic({
    store,
    job: `gateway: ${store.url}/\n${JOB}`,
    environment: { WAYBILL_GATEWAY_URL: '', WAYBILL_ACCESS_TOKEN: '' },
  })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const without = await clinic.run()
  expect(without.code).toBe(2)
  expect(without.err).toContain('WAYBILL_ACCESS_TOKEN')
  expect(await store.allRecords()).toEqual([])
  clinic.workplace.environment['WAYBILL_ACCESS_TOKEN'] = 'test-token'
  const ended = await clinic.run()
  expect(ended.code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
  // The same text in the settings, with or without a slash at its end, is the same gateway.
  clinic.workplace.environment['WAYBILL_GATEWAY_URL'] = `${store.url}//`
  expect(summaryOf(await clinic.run()).records.biometric).toMatchObject({ unchanged: 6, accepted: 0 })
})

test.each([
  ['http://gateway.example', /plain http/],
  ['https://user:secret@gateway.example', /user name or a password/],
  ['gateway.example', /Write built-in, or an address/],
])('a job cannot name %s', async (gateway, words) => {
  const clinic = await clinicAt(gateway, undefined)
  const { code, err } = await clinic.run()
  expect(code).toBe(2)
  expect(err).toMatch(words)
  expect(err).not.toContain('secret')
  await expectNothingBegun(clinic)
})

test.each([
  ['built-in', undefined],
  [undefined, 'built-in'],
])(
  'the built-in gateway is asked for (job %s, settings %s): the run says so, and archives nothing',
  async (ofJob, ofSettings) => {
    const clinic = await clinicAt(ofJob, ofSettings)
    // It does not know these people, and takes nothing of them: such an export is archived elsewhere.
    const { out, err } = await clinic.workplace.waybill('run', 'clinic')
    expect(out).toContain('Balanced: ')
    expect(err).toContain('Records go to the built-in gateway')
    expect(out).toContain('nothing was delivered, and no export is archived')
    expect(await readdir(join(clinic.workplace.folder, 'inbox'))).toEqual(['day.csv'])
    expect(existsSync(join(clinic.workplace.folder, 'done'))).toBe(false)
    expect(await clinic.store.allRecords()).toEqual([])
    // What the stand-in has was delivered to nobody: the gateway gets it all, and the export is done with then.
    Object.assign(clinic.workplace.environment, clinic.store.environment)
    await clinic.workplace.job('clinic', ARCHIVING)
    await clinic.run()
    expect(await clinic.stored()).toEqual(GOOD)
    expect(await readdir(join(clinic.workplace.folder, 'done'))).toEqual(['day.csv'])
  },
)
