/** Runs that are stopped in the middle, and then gone about in another way: each record is stored once all the same. */
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answer, PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { ANN, BEN, CLINIC, GOOD, HEADER, JOB, meetGateway, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { type FaultyClinic, openFaultyClinic, writeMapping } from './left-behind.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'
import { scheduledNights } from './scheduled-nights.ts'

/** The next batch is stored and never answered, and nothing gets through after that: the command ends as interrupted. */
const cutOff = (clinic: FaultyClinic): void =>
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-reset' } : answer(503)))

const restore = (clinic: FaultyClinic): void => clinic.strike(() => PASS)

const CAT = 'cat,2026-03-02,63,5.3,72.5,kg,fine\n'

test('a run that was interrupted goes on with --limit: what it had under way is settled as a whole', async () => {
  const clinic = await openFaultyClinic({ job: JOB, patience: '1s' })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  cutOff(clinic)
  expect((await clinic.run()).code).toBe(3)
  restore(clinic)
  await clinic.run('--limit', '1')
  await clinic.run()
  expect(await clinic.stored()).toEqual(GOOD)
})

test('stopWhen counts what was read before the run was interrupted', async () => {
  const job = `${JOB}stopWhen: { rejectedRows: 30%, after: 1 }\n`
  const clinic = await openFaultyClinic({ job, patience: '1s' })
  const nothing = Array.from({ length: 2_500 }, (_, at) => `p${at},2026-03-02,,,,,none\n`).join('')
  const bad = Array.from({ length: 50 }, (_, at) => `q${at},yesterday,61,5.1,70.5,kg,bad\n`).join('')
  await clinic.deliver('day.csv', `${HEADER}${CAT}${nothing}${ANN}${BEN}${bad}`)
  let batches = 0
  clinic.strike(({ method }) => {
    if (method === 'POST') batches++
    if (batches < 2) return PASS
    return method === 'POST' ? { do: 'pass-then-reset' } : answer(503)
  })
  expect((await clinic.run()).code).toBe(3)
  restore(clinic)
  const resumed = summaryOf(await clinic.run())
  expect(resumed.error).toBeUndefined()
  await clinic.run()
  expect(await clinic.store.allRecords()).toHaveLength(9)
})

test('stopWhen judges a run that was resumed by all that it has read', async () => {
  const job = `${JOB}stopWhen: { rejectedRows: 40%, after: 5001 }\n`
  const clinic = await openFaultyClinic({ job, patience: '1s' })
  const chunk = (row: (at: number) => string, rows: number): string =>
    Array.from({ length: rows }, (_, at) => row(at)).join('')
  const bad = chunk((at) => `q${at},yesterday,61,5.1,70.5,kg,bad\n`, 2_500)
  const nothing = chunk((at) => `p${at},2026-03-02,,,,,none\n`, 2_499)
  // The third chunk has the person of the second, and begins when that is settled.
  const last = ANN.replace('03-02', '03-03')
  await clinic.deliver('day.csv', `${HEADER}${bad}${ANN}${nothing}${last}`)
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'reset' } : answer(503)))
  const interrupted = summaryOf(await clinic.run())
  expect(interrupted).toMatchObject({ state: 'interrupted', rows: { read: 5_000, rejected: 2_500 } })
  restore(clinic)
  const resumed = await clinic.run()
  expect(resumed.code).toBe(4)
  expect(summaryOf(resumed).error?.message).toContain('2500 of 5001 rows were rejected (50.0 %)')
})

test('a run that was given up: a run over some of the rows does not end the looking', async () => {
  const clinic = await openFaultyClinic({ job: JOB, patience: '1s' })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  cutOff(clinic)
  const interrupted = await clinic.run()
  expect(interrupted.code).toBe(3)
  restore(clinic)
  await clinic.workplace.waybill('resolve', summaryOf(interrupted).run, '--give-up')
  await clinic.run('--limit', '1')
  await clinic.run()
  expect(await clinic.stored()).toEqual(GOOD)
})

test.each([
  ['some of the rows', ['--limit', '1']],
  ['a file that was named', ['--file', 'inbox/other.csv']],
])('a restored ledger: a run over %s does not end the looking', async (_what, options) => {
  const clinic = await openFaultyClinic({ job: JOB })
  const { workplace } = clinic
  await clinic.deliver('other.csv', `${HEADER}${CAT}`)
  await clinic.run()
  await workplace.waybill('backup', 'copy.sqlite')
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  await clinic.run()
  await copyFile(join(workplace.folder, 'copy.sqlite'), join(workplace.home, 'ledger.sqlite'))
  expect((await clinic.run(...options)).code).toBe(0)
  await clinic.run()
  expect(await clinic.store.allRecords()).toHaveLength(9)
})

test('a restored ledger: a run that was resumed has looked for what it had begun, and does not end the looking', async () => {
  const clinic = await openFaultyClinic({ job: JOB, patience: '1s' })
  const { workplace } = clinic
  await clinic.deliver('a.csv', `${HEADER}${CAT}`)
  await clinic.run()
  await workplace.waybill('backup', 'copy.sqlite')
  await clinic.deliver('b.csv', `${HEADER}${ANN}${BEN}`)
  await clinic.run()
  await copyFile(join(workplace.folder, 'copy.sqlite'), join(workplace.home, 'ledger.sqlite'))
  await clinic.deliver('a.csv', `${HEADER}${CAT.replace('cat', 'dan')}`)
  clinic.strike(() => answer(503))
  expect((await clinic.run()).code).toBe(3)
  restore(clinic)
  // It goes on with the first export, and another run takes the second.
  expect(summaryOf(await clinic.run())).toHaveProperty('resumed')
  expect(await clinic.store.allRecords()).toHaveLength(12)
})

const DATED = `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
`
const RANGE = ['backfill', 'clinic', '--from', '2026-01-01', '--to', '2026-03-31', '--in', 'history'] as const

const history = async ({ workplace }: FaultyClinic, name: string, content: string): Promise<void> => {
  await mkdir(join(workplace.folder, 'history'), { recursive: true })
  await writeFile(join(workplace.folder, 'history', name), content)
}

test('a restored ledger: that a nightly run has finished does not end the looking of a backfill', async () => {
  const clinic = await openFaultyClinic({ job: DATED })
  const { workplace } = clinic
  await clinic.deliver('clinic_20260401.csv', `${HEADER}${CAT}`)
  await clinic.run()
  await workplace.waybill('backup', 'copy.sqlite')
  await history(clinic, 'clinic_20260302.csv', `${HEADER}${ANN}${BEN}`)
  expect((await workplace.waybill(...RANGE)).code).toBe(0)
  await copyFile(join(workplace.folder, 'copy.sqlite'), join(workplace.home, 'ledger.sqlite'))
  await clinic.run()
  await workplace.waybill(...RANGE)
  expect(await clinic.store.allRecords()).toHaveLength(9)
})

test('a run that was given up: that an export of the name was read before does not end the looking', async () => {
  const clinic = await openFaultyClinic({ job: DATED, patience: '1s' })
  const { workplace } = clinic
  await history(clinic, 'clinic_20260301.csv', `${HEADER}${CAT}`)
  await history(clinic, 'clinic_20260302.csv', `${HEADER}${ANN}${BEN}`)
  clinic.strike(() => answer(503))
  expect((await workplace.waybill(...RANGE)).code).toBe(3)
  restore(clinic)
  await clinic.deliver('clinic_20260302.csv', `${HEADER}${CAT.replace('cat', 'dan')}`)
  expect((await clinic.run()).code).toBe(0)
  cutOff(clinic)
  const filled = await workplace.waybill(...RANGE, '--json')
  expect(filled.code).toBe(3)
  restore(clinic)
  await workplace.waybill('resolve', summaryOf(filled).run, '--give-up')
  await clinic.deliver('clinic_20260403.csv', `${HEADER}${ANN}${BEN}`)
  await clinic.run()
  expect(await clinic.store.allRecords()).toHaveLength(12)
})

test('a restored ledger: what was taken up after it was copied is looked for, however many runs have finished since', async () => {
  const clinic = await openFaultyClinic({ job: JOB })
  const { workplace } = clinic
  const file = await clinic.deliver('day.csv', `${HEADER}${ANN.replace('61', 'many')}`)
  const first = summaryOf(await clinic.run())
  expect(first.records.biometric).toMatchObject({ accepted: 2, rejected: 1 })
  await workplace.waybill('backup', 'copy.sqlite')
  await writeMapping(clinic, CLINIC.replace('heart-rate: "pulse"', 'heart-rate: "weight"'))
  expect((await workplace.waybill('rerun', first.run)).code).toBe(0)
  expect(await clinic.stored()).toHaveLength(3)

  await copyFile(join(workplace.folder, 'copy.sqlite'), join(workplace.home, 'ledger.sqlite'))
  const content = await readFile(file)
  await rm(file)
  await clinic.deliver('next.csv', `${HEADER}${CAT}`)
  expect((await clinic.run()).code).toBe(0)
  await writeFile(file, content)
  expect((await workplace.waybill('rerun', first.run)).code).toBe(0)
  expect(await clinic.store.allRecords()).toHaveLength(6)
})

test('a run that was given up at once: what the gateway may still be at work on is waited for', async () => {
  const store = await startReferenceStore({ open: true })
  let cut = true
  const proxy = await startFaultProxy(store.url, ({ method }) => {
    if (!cut) return PASS
    return method === 'POST' ? { do: 'reset' } : answer(503)
  })
  const environment = gatewaySettings(proxy.url)
  const job = `${JOB}submit: { readLag: 3s, patience: 1s }\n`
  const clinic = await openClinic({ store, job, environment })
  await meetGateway(clinic.workplace)
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  const { command, commandWhile } = scheduledNights(clinic.workplace)
  const interrupted = await command('2027-03-02T02:00:00Z', 'run', 'clinic', '--json')
  expect(interrupted.code).toBe(3)
  const [batch] = proxy.seen
  cut = false
  await command('2027-03-02T02:00:02Z', 'resolve', summaryOf(interrupted).run, '--give-up')
  let isThere = false
  const arrive = async (): Promise<void> => {
    if (isThere) return
    isThere = true
    // It was on its way all the while.
    await fetch(`${store.url}${batch?.path}`, {
      method: 'POST',
      body: batch?.body ?? '',
      headers: {
        'x-api-key': 'test-key',
        authorization: 'Bearer test-token',
        'content-type': 'application/json',
      },
    })
  }
  const run = await commandWhile('2027-03-02T02:00:02Z', arrive, 'run', 'clinic', '--json')
  expect([isThere, run.code]).toEqual([true, 0])
  expect(await clinic.stored()).toEqual(GOOD)
})
