/** Scheduled runs that end because the gateway is away, and are tried again: real job files, requests and notices, on a clock that jumps. */
import { expect, test } from 'vitest'
import { answer, type Fault, PASS } from '../faults/fault-proxy.ts'
import { ANN, GOOD, HEADER, JOB } from './clinic.ts'
import { openNights, runIds } from './nights.ts'
import { scheduledNights, titlesOf } from './scheduled-nights.ts'

const RESET: Fault = { do: 'reset' }
const SCHEDULE = 'schedule: { cron: "15 2 * * *", zone: Etc/UTC, retry: { every: 15m, until: "06:00" } }\n'

async function openNight({ schedule = SCHEDULE, struck = RESET, on = 'failure' } = {}) {
  let fault = struck
  const rest = `drift: { fit: off }\n${schedule}submit: { readLag: 100ms, patience: 1m }\n`
  const nights = await openNights({ faultOf: () => fault })
  await nights.deliver('a.csv', HEADER + ANN)
  const target = `{ webhook: "${nights.hook.url}/hook", on: ${on} }`
  await nights.workplace.job('clinic', `${JOB}${rest}notify: ${target}\n`)
  return {
    ...nights,
    ...scheduledNights(nights.workplace),
    strike(next: Fault) {
      fault = next
    },
  }
}

const tries = (err: string): number => err.split('is resumed').length - 1

test('one run goes on once the gateway is back, and its end is the only notice', async () => {
  const night = await openNight({ on: 'always' })
  const { err } = await night.keep('2027-03-02T02:00Z', '2027-03-02T05:00Z', (now) => {
    if (now >= '2027-03-02T04:00') night.strike(PASS)
  })
  expect(tries(err)).toBeGreaterThan(3)
  expect(await night.stored()).toEqual(GOOD.filter((one) => one.startsWith('ann')))
  expect(runIds(await night.look('runs', '--json'))).toHaveLength(1)
  expect(titlesOf(night.hook)).toEqual(['waybill.run-ended Waybill: clinic finished: all accounted for'])
})

test('a gateway that stays away past `until` is one notice, and a need until the next fire ends it', async () => {
  const night = await openNight()
  const first = await night.keep('2027-03-02T02:00Z', '2027-03-02T08:00Z')
  // From 02:15 to 06:00 each sixteen minutes: a try takes a minute, as the patience is.
  expect(tries(first.err)).toBeGreaterThan(10)
  expect(tries(first.err)).toBeLessThan(15)
  expect(titlesOf(night.hook)).toEqual([
    'waybill.run-stopped Waybill: clinic was stopped (gateway-unreachable)',
  ])
  expect((await night.look('needs', '--exit-code')).code).toBe(1)
  night.strike(PASS)
  await night.keep('2027-03-03T02:00Z', '2027-03-03T02:30Z')
  expect(runIds(await night.look('runs', '--json'))).toHaveLength(1)
  expect((await night.look('needs', '--exit-code')).out).toBe('Nothing needs somebody.\n')
})

test('a try whose time passes while the schedule is down is told by the next start', async () => {
  const night = await openNight()
  await night.keep('2027-03-02T02:00Z', '2027-03-02T02:20Z')
  expect(titlesOf(night.hook)).toEqual([])
  const shown = await night.workplace.waybillAt('2027-03-02T02:25Z', 'schedule', '--explain', 'clinic')
  expect(shown.out).toContain('missed: once, retry every 15 min until 06:00')
  // Fifteen minutes after the end of the first try, which takes a minute and its last wait, on a busy machine another one.
  expect(shown.out).toMatch(
    /retrying +gateway-unreachable \(exit 3\), run \S+, tried again at 2027-03-02 02:3[1-5]/,
  )
  await night.keep('2027-03-02T07:00Z', '2027-03-02T07:10Z')
  await night.keep('2027-03-02T08:00Z', '2027-03-02T08:10Z')
  expect(titlesOf(night.hook)).toEqual([
    'waybill.run-stopped Waybill: clinic was stopped (gateway-unreachable)',
  ])
})

test('a run that a person has finished by hand is not tried again, and nobody is called', async () => {
  const night = await openNight()
  await night.keep('2027-03-02T02:00Z', '2027-03-02T02:20Z')
  night.strike(PASS)
  expect((await night.workplace.waybillAt('2027-03-02T02:25Z', 'run', 'clinic')).code).toBe(0)
  const { err } = await night.keep('2027-03-02T02:26Z', '2027-03-02T04:00Z')
  expect(tries(err)).toBe(0)
  expect(runIds(await night.look('runs', '--json'))).toHaveLength(1)
  expect(titlesOf(night.hook)).toEqual([])
})

test('refused credentials are for a person: no other try, one notice', async () => {
  const night = await openNight({ struck: answer(403) })
  const { err } = await night.keep('2027-03-02T02:00Z', '2027-03-02T05:00Z')
  expect(tries(err)).toBe(0)
  expect(titlesOf(night.hook)).toEqual([
    'waybill.run-stopped Waybill: clinic was stopped (gateway-refused-credentials)',
  ])
})
