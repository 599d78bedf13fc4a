/** What a monitor hears of a job: from a command, and from a schedule on a clock that jumps. */
import { expect, test } from 'vitest'
import { type Fault, PASS } from '../faults/fault-proxy.ts'
import { serve } from '../gateway/loopback.ts'
import { ANN, HEADER } from './clinic.ts'
import { openNights } from './nights.ts'
import { scheduledNights } from './scheduled-nights.ts'

const REJECTED = 'cid,2026-03-02,61,5.1,70.5,parsec,fine\n'
const SCHEDULE = 'schedule: { cron: "15 2 * * *", zone: Etc/UTC, retry: { every: 15m, until: "06:00" } }\n'

async function openNight({ rest = '', service = '', status = 200, exports = HEADER + ANN } = {}) {
  let fault: Fault = PASS
  const monitor = await serve(() => ({ status }))
  const form = service === '' ? '' : `, service: ${service}`
  const nights = await openNights({
    job: `${rest}heartbeat: { url: "${monitor.url}/secret-key"${form} }\nsubmit: { readLag: 100ms, patience: 1m }\n`,
    faultOf: () => fault,
  })
  if (exports !== '') await nights.deliver('a.csv', exports)
  return {
    ...nights,
    ...scheduledNights(nights.workplace),
    /** Paths that the monitor has heard, without the key. */
    heard: () => monitor.seen.map(({ url }) => url.replace('/secret-key', '')),
    strike(next: Fault) {
      fault = next
    },
  }
}

test.each([
  ['all goes well', HEADER + ANN, 0],
  ['a record is rejected', HEADER + ANN + REJECTED, 1],
  ['nothing can be run', '', 2],
])('where %s, it hears begin and exit status', async (_, exports, exit) => {
  const night = await openNight({ exports })
  expect((await night.run()).code).toBe(exit)
  expect(night.heard()).toEqual(['/start', `/${exit}`])
})

test('in the form of Cronitor', async () => {
  const night = await openNight({ service: 'cronitor' })
  await night.run()
  expect(night.heard()).toEqual(['?state=run', '?state=complete&status_code=0'])
})

test('a part of the exports, and a dry run, say nothing about the night', async () => {
  const night = await openNight()
  await night.run('--limit', '1')
  await night.run('--dry-run')
  await night.run('--file', `${night.workplace.folder}/inbox/a.csv`)
  expect(night.heard()).toEqual([])
})

test('a monitor that takes nothing fails no run, and its key is told nowhere', async () => {
  const night = await openNight({ status: 500 })
  const ended = await night.run()
  expect(ended.code).toBe(0)
  expect(ended.err).toContain('the heartbeat was not taken: the monitor answered 500')
  const explained = await night.look('schedule', '--explain', 'clinic', '--json')
  for (const said of [ended.out, ended.err, explained.out]) expect(said).not.toContain('secret-key')
  expect(night.heard()).toEqual(['/start', '/0', '/0'])
})

test('each minute of the schedule it hears whether the job needs somebody', async () => {
  const night = await openNight({ rest: SCHEDULE, exports: HEADER + ANN + REJECTED })
  // Long enough for a run on a slow machine: the clock jumps while it works.
  await night.keep('2027-03-02T02:10Z', '2027-03-02T02:40Z')
  const heard = night.heard()
  const before = heard.slice(0, heard.indexOf('/start'))
  expect(before.length).toBeGreaterThanOrEqual(5)
  expect(before.length).toBeLessThanOrEqual(7)
  expect(new Set(before)).toEqual(new Set(['']))
  const after = heard.slice(heard.indexOf('/1') + 1)
  expect(after.length).toBeGreaterThanOrEqual(3)
  expect(new Set(after)).toEqual(new Set(['/fail']))
})

test('while a run is tried again it hears of no failure, and of one exit', async () => {
  const night = await openNight({ rest: SCHEDULE })
  night.strike({ do: 'reset' })
  await night.keep('2027-03-02T02:10Z', '2027-03-02T04:00Z', (now) => {
    if (now >= '2027-03-02T03:00') night.strike(PASS)
  })
  const heard = new Set(night.heard())
  expect(heard).toEqual(new Set(['', '/start', '/0']))
})
