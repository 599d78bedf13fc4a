/** A job file that nobody can read any more: the targets that it last named are notified. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, HEADER, JOB } from './clinic.ts'
import { openNights } from './nights.ts'
import { scheduledNights, titlesOf } from './scheduled-nights.ts'

const BROKEN = 'notify: ['
const REFUSED = 'waybill.run-refused Waybill: clinic was not run (job-invalid)'

async function openNight(more = '') {
  const nights = await openNights({ job: more })
  await nights.deliver('a.csv', HEADER + ANN)
  expect((await nights.run()).code).toBe(0)
  return nights
}

test('it is notified once, by a start that knows the file as broken alone', async () => {
  const night = await openNight()
  await night.workplace.job('clinic', BROKEN)
  for (const _ of ['first', 'second']) expect((await night.run()).code).toBe(2)
  expect(night.hook.titles()).toEqual([REFUSED])
})

test('a target that was away gets it later, though the file is still broken', async () => {
  const night = await openNight()
  await night.workplace.job('clinic', BROKEN)
  night.hook.answer(404)
  await night.run()
  night.hook.answer(204)
  await night.workplace.waybillAt(new Date(Date.now() + 3_600_000).toISOString(), 'run', 'clinic')
  expect(titlesOf(night.hook)).toEqual([REFUSED, REFUSED])
  expect(new Set(night.hook.seen.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

test('a job that named nobody last notifies nobody', async () => {
  const night = await openNight()
  await night.workplace.job('clinic', JOB)
  expect((await night.run()).code).toBe(0)
  await night.workplace.job('clinic', BROKEN)
  expect((await night.run()).code).toBe(2)
  expect(night.hook.titles()).toEqual([])
})

test('a name without a file notifies nobody', async () => {
  const night = await openNight()
  await rm(join(night.workplace.folder, 'jobs/clinic.yaml'))
  expect((await night.run()).code).toBe(2)
  expect(night.hook.titles()).toEqual([])
})

test('the ledger has no address as text', async () => {
  const { workplace, hook } = await openNight()
  const files = (await readdir(workplace.home)).filter((name) => name.startsWith('ledger'))
  expect(files.length).toBeGreaterThan(0)
  for (const name of files) {
    const bytes = await readFile(join(workplace.home, name))
    expect(bytes.includes(hook.url), name).toBe(false)
    expect(bytes.includes('/hook"'), name).toBe(false)
  }
})

test('a schedule that starts with the broken file notifies them, too', async () => {
  const night = await openNight('schedule: { cron: "15 2 * * *", zone: Etc/UTC }\n')
  await night.workplace.job('clinic', BROKEN)
  await scheduledNights(night.workplace).keep('2027-03-02T02:00Z', '2027-03-02T02:03Z')
  expect(titlesOf(night.hook)).toEqual([
    'waybill.job-broken Waybill: clinic is not run until its file is corrected (job-invalid)',
  ])
})
