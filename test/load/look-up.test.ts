import { expect, it } from 'vitest'
import { lookUp } from '../../src/load/delivery.ts'
import type { Verdict } from '../../src/model/outcome.ts'
import { type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import { BIOMETRICS, CARE_TEAMS, idsOf, startLoading, tally } from './loading.ts'
import { biometric, careTeam, entryOf, people } from './made-up-entries.ts'

/** As of startLoading. */
const READ_LAG_MS = 5_000

const READS: readonly string[] = ['/health-profile/biometrics', CARE_TEAMS]

/** The first create request is stored and gets no answer, and the first `late` reads do not show it yet. */
const unseen =
  (late: number) =>
  (request: Passing): Fault => {
    if (request.method === 'POST' && [BIOMETRICS, CARE_TEAMS].includes(request.path) && request.earlier === 0)
      return { do: 'pass-then-reset' }
    return request.method === 'GET' && READS.includes(request.path) && request.earlier < late
      ? { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: [] }) }
      : PASS
  }

it.each([
  ['biometric', people(3, biometric), 3],
  ['careTeam', [entryOf(careTeam, { primary: false })], 1],
] as const)('does not send a %s record again that the profile shows late', async (kind, entries, late) => {
  const loading = await startLoading({ faultOf: unseen(late) })
  const { outcomes } = await loading.load(entries)
  expect(tally(outcomes)).toEqual({ accepted: entries.length })
  expect(await loading.storedIds(kind)).toEqual(idsOf(entries))
  expect(loading.tallies.requests.readBack).toBe(2 * entries.length)
})

it('believes that a record is not there once the gateway cannot be late any more, and sends it', async () => {
  const loading = await startLoading({
    faultOf: (request) =>
      request.method === 'POST' && request.path === BIOMETRICS && request.earlier === 0
        ? { do: 'reset' }
        : PASS,
  })
  const began = loading.clock.now
  const entries = people(2, biometric)
  const { outcomes } = await loading.load(entries)
  expect(tally(outcomes)).toEqual({ accepted: 2 })
  expect(await loading.storedIds('biometric')).toEqual(idsOf(entries))
  expect(loading.tallies.requests.readBack).toBe(4)
  expect(loading.clock.now - began).toBeGreaterThanOrEqual(READ_LAG_MS)
})

it('asks once where the profile shows it', async () => {
  const loading = await startLoading({ faultOf: unseen(0) })
  await loading.load(people(2, biometric))
  expect(loading.tallies.requests.readBack).toBe(2)
  expect(loading.clock.now).toBeLessThan(1_700_000_000_000 + READ_LAG_MS)
})

it('believes no read that was begun too early, however long it takes', async () => {
  const entry = entryOf(biometric)
  const overAt = 1_700_000_000_000
  let now = overAt
  const verdicts: Verdict[] = ['absent', 'stored']
  const found = await lookUp(
    {
      reconciler: {
        async readBack() {
          now += READ_LAG_MS
          return new Map([[entry, verdicts.shift() ?? 'hidden']])
        },
      },
      readLagMs: READ_LAG_MS,
      pause: async (ms) => {
        now += ms
      },
      now: () => now,
    },
    [entry],
    () => undefined,
    overAt,
  )
  expect(found.get(entry)).toBe('stored')
})

it.each([
  ['back', -3_600_000, READ_LAG_MS],
  ['back by less than the gateway may be late', -1_000, READ_LAG_MS],
  ['ahead by less', 1_000, READ_LAG_MS - 1_000],
])('waits no longer than the gateway may be late where the clock is set %s', async (_, jump, expected) => {
  const overAt = 1_700_000_000_000
  const waits: number[] = []
  let now = overAt
  await lookUp(
    {
      reconciler: {
        async readBack(entries) {
          now = overAt + jump
          return new Map(entries.map((entry) => [entry, 'absent']))
        },
      },
      readLagMs: READ_LAG_MS,
      pause: async (ms) => void waits.push(ms),
      now: () => now,
    },
    [entryOf(biometric)],
    () => undefined,
    overAt,
  )
  expect(waits).toEqual([expected])
})
