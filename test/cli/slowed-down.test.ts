/** A gateway that says "slow down" to half of all requests: the reference gateway by a fault plan, and a job of little patience. */

import { expect, test } from 'vitest'
import { z } from 'zod'
import { HEADER } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { openNights } from './nights.ts'
import { scheduledNights } from './scheduled-nights.ts'

const Plan = z.object({ faults: z.array(z.object({ struck: z.number() })) })
const PEOPLE = 120
const rows = Array.from(
  { length: PEOPLE },
  (_, at) => `p${at},2026-03-02,${60 + (at % 9)},5.1,70.5,kg,fine\n`,
)

async function openNight(chance: number) {
  const nights = await openNights({
    job: 'submit: { readLag: 100ms, patience: 5s, batch: { records: 6 } }\n',
  })
  await nights.deliver('a.csv', HEADER + rows.join(''))
  const plan = { seed: 7, faults: [{ on: 'all', do: 'refuse', status: 429, when: { chance } }] }
  const taken = await fetch(`${nights.store.url}/_reference/faults`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(plan),
  })
  expect(taken.status).toBeLessThan(300)
  return { ...nights, ...scheduledNights(nights.workplace) }
}

test('the run goes on, slowly, and all arrives once', async () => {
  const night = await openNight(0.5)
  const ended = await night.command('2027-03-02T02:00Z', 'run', 'clinic', '--json')
  expect(ended.code, ended.err).toBe(0)
  expect(summaryOf(ended).records.biometric).toMatchObject({ made: 3 * PEOPLE, accepted: 3 * PEOPLE })
  const stored = await night.stored()
  expect([stored.length, new Set(stored).size]).toEqual([3 * PEOPLE, 3 * PEOPLE])
  const answer = await fetch(`${night.store.url}/_reference/faults`)
  const [fault] = Plan.parse(await answer.json()).faults
  expect(fault?.struck).toBeGreaterThan(PEOPLE / 3)
})

test('one that says so to every request is given up, as one that is away', async () => {
  const night = await openNight(1)
  const ended = await night.command('2027-03-02T02:00Z', 'run', 'clinic')
  expect(ended.code).toBe(3)
  expect(ended.err).toContain('gateway-failing')
})
