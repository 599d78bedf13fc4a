/** A job that is not done by its deadline: one notice, and a need until a run is done. */

import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { type Fault, PASS } from '../faults/fault-proxy.ts'
import { ANN, HEADER } from './clinic.ts'
import { openNights } from './nights.ts'
import { scheduledNights, titlesOf } from './scheduled-nights.ts'

const Needs = z.object({
  needs: z.array(
    z.looseObject({ cause: z.string(), steps: z.array(z.looseObject({ commands: z.array(z.string()) })) }),
  ),
})

async function openNight(patience: string) {
  let fault: Fault = { do: 'reset' }
  const nights = await openNights({
    job: `schedule: { cron: "15 2 * * *", zone: America/New_York, done: "06:00" }\nsubmit: { readLag: 100ms, patience: ${patience} }\n`,
    faultOf: () => fault,
  })
  await nights.deliver('a.csv', HEADER + ANN)
  const scheduled = scheduledNights(nights.workplace)
  return {
    ...nights,
    ...scheduled,
    comesBack() {
      fault = PASS
    },
    async needs(now: string) {
      const { out } = await scheduled.beside(now, 'needs', '--json')
      return Needs.parse(JSON.parse(out)).needs
    },
  }
}

// 02:15 in New York is 07:15 UTC in winter, 06:00 is 11:00.
test('a job that another machine still holds at its deadline: one notice, and a need until it is done', async () => {
  const night = await openNight('1m')
  night.comesBack()
  const { home, environment } = night.workplace
  await night.keep('2027-03-02T06:00Z', '2027-03-02T07:00Z')
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('clinic', environment['WAYBILL_GATEWAY_URL'] ?? '')
  const now = Date.parse('2027-03-02T07:00Z')
  const asked = { jobId, runId: 'elsewhere', owner: 'there:7', now, ttlMs: 6 * 3_600_000 }
  expect(await ledger.leases.acquire(asked, () => false)).toMatchObject({ ok: true })

  await night.keep('2027-03-02T07:01Z', '2027-03-02T10:59:59Z')
  expect(await night.needs('2027-03-02T10:59:50Z')).toEqual([])
  await night.keep('2027-03-02T11:00Z', '2027-03-02T12:00Z')
  await night.keep('2027-03-02T12:01Z', '2027-03-02T12:59Z')
  const [need, ...others] = await night.needs('2027-03-02T12:59:00Z')
  expect(others).toEqual([])
  expect(need).toMatchObject({ cause: 'job-late', since: '2027-03-02T11:00:00.000Z' })
  expect(need?.steps.flatMap(({ commands }) => commands)).toEqual(['waybill run clinic'])
  expect(titlesOf(night.hook)).toEqual([
    'waybill.job-held Waybill: clinic was not run: another process is running it',
    'waybill.job-late Waybill: clinic was not done by 2027-03-02 11:00 UTC',
  ])
  // The lease of the other machine has run out.
  await night.keep('2027-03-02T13:00Z', '2027-03-02T13:10Z')
  expect(await night.needs('2027-03-02T13:10:00Z')).toEqual([])
  expect(titlesOf(night.hook).slice(2)).toEqual(['waybill.job-recovered Waybill: clinic has recovered'])
})

test('one that has stopped is a need already; its deadline is told beside its end, once for all processes', async () => {
  const night = await openNight('1m')
  await night.keep('2027-03-02T07:00Z', '2027-03-02T10:00Z')
  await night.keep('2027-03-02T10:30Z', '2027-03-02T11:30Z')
  await night.keep('2027-03-02T12:00Z', '2027-03-02T12:30Z')
  expect(titlesOf(night.hook)).toEqual([
    'waybill.run-stopped Waybill: clinic was stopped (gateway-unreachable)',
    'waybill.job-late Waybill: clinic was not done by 2027-03-02 11:00 UTC',
  ])
  expect(await night.needs('2027-03-02T13:00:00Z')).toMatchObject([{ cause: 'run-unfinished' }])
})
