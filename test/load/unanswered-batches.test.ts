import { describe, expect, it } from 'vitest'
import { packEntries } from '../../src/ledger/packed-records.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import {
  BIOMETRICS,
  CARE_TEAMS,
  failureOf,
  idsOf,
  type LoadingOptions,
  startLoading,
  tally,
} from './loading.ts'
import { biometric, careTeam, condition, DAY_MS, entryOf, OBSERVED_AT, people } from './made-up-entries.ts'

describe.each([
  ['biometric', 'createBiometricsBulk', biometric],
  ['condition', 'createConditionsBulk', condition],
  ['careTeam', 'createCareTeams', careTeam],
] as const)('%s records that were stored and not answered, where reads lag', (kind, call, make) => {
  it('are not sent again while the lag is within what the job allows', async () => {
    const time = { now: (): number => 0 }
    const loading = await startLoading({ gateway: { clock: () => time.now() } })
    time.now = () => loading.clock.now
    const faults = [
      { on: call, do: 'store-then-reset', when: { nth: 1 } },
      { on: 'reads', do: 'lag', ms: 3_000 },
    ]
    const planned = await fetch(`${loading.reference.url}/_reference/faults`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ seed: 1, faults }),
    })
    expect(planned.ok).toBe(true)
    const entries = kind === 'careTeam' ? [entryOf(make)] : people(3, make)
    expect(tally((await loading.load(entries)).outcomes)).toEqual({ accepted: entries.length })
    expect(await loading.storedIds(kind)).toEqual(idsOf(entries))
    // Once too early and once in time, for each account.
    expect(loading.tallies.requests.readBack).toBe(2 * entries.length)
  })
})

/** A chunk of which an earlier process has left intents: one for each of the batches. */
async function leftOpen(
  batches: readonly (readonly ReturnType<typeof entryOf>[])[],
  options: LoadingOptions = {},
) {
  const loading = await startLoading({ register: 'never', gateway: { open: true }, ...options })
  for (const [at, entries] of batches.entries())
    await loading.runLedger.beginBatch({
      exportRow: loading.exportRow,
      chunk: 1,
      batchId: `batch-${at}`,
      kind: 'biometric',
      records: entries.length,
      holds: packEntries(entries),
      at: loading.clock.now,
    })
  return loading
}

const ofCode = (row: number, code: string) => entryOf(biometric, { row, code, rule: `rule-${row}` })

it('looks once at an account, and waits once, however many batches an earlier process left open', async () => {
  const batches = [[ofCode(1, '8480-6')], [ofCode(2, '8462-4')], [ofCode(3, '8867-4')]]
  const loading = await leftOpen(batches)
  const began = loading.clock.now
  const { outcomes } = await loading.load(batches.flat(), true)
  expect(tally(outcomes)).toEqual({ accepted: 3 })
  expect(await loading.storedIds('biometric')).toEqual(idsOf(batches.flat()))
  // Nothing is there: looked for at once, and when the gateway can be late no more.
  expect(loading.tallies.requests.readBack).toBe(2)
  expect(loading.clock.now - began).toBe(loading.context.readLagMs)
})

it('sends again the older of a series first, whatever batches an earlier process had them in', async () => {
  const at = (row: number, days: number) =>
    entryOf(biometric, { row, person: 'person-1', observedAt: OBSERVED_AT + days * DAY_MS })
  const [older, newer, newest] = [at(1, 0), at(2, 1), at(3, 2)]
  const loading = await leftOpen([[newest], [newer], [older]])
  const { outcomes } = await loading.load([older, newer, newest], true)
  expect(tally(outcomes)).toEqual({ accepted: 3 })
  expect((await loading.stored('biometric')).map(({ source }) => source.meta.persistentRecordId)).toEqual(
    [older, newer, newest].map(({ transactionId }) => transactionId),
  )
})

it('does not send again what a row further down corrects, though an earlier process had it in hand', async () => {
  const [first, second] = ['70', '71'].map((value, at) =>
    entryOf(biometric, { row: at + 1, person: 'person-1', key: 'visit', value }),
  )
  if (first === undefined || second === undefined) throw new Error('there are two')
  const loading = await leftOpen([[first]])
  expect(tally((await loading.load([first, second], true)).outcomes)).toEqual({ unchanged: 1, accepted: 1 })
  const stored = await loading.stored('biometric')
  expect(stored.map(({ source }) => source.meta.persistentRecordId)).toEqual([second.transactionId])
})

describe('a batch that is known to be stored whole or not at all', () => {
  const series = { row: 9, person: 'person-1', key: 'newer', observedAt: OBSERVED_AT + DAY_MS }
  /** Of the first person nobody can tell: a newer record hides the one that was sent. */
  const load = async (batchesAreAtomic: boolean, fault: Fault) => {
    const loading = await startLoading({
      batchesAreAtomic,
      register: 'never',
      gateway: { open: true },
      faultOf: ({ method, path, earlier }: Passing) =>
        method === 'POST' && path === BIOMETRICS && earlier === 1 ? fault : PASS,
    })
    await loading.load([entryOf(biometric, series)])
    const entries = people(2)
    const { outcomes } = await loading.load(entries, false, 2)
    return { outcomes: outcomes.map(({ outcome }) => outcome), stored: await loading.stored('biometric') }
  }
  it.each([
    [true, 'stored', { do: 'pass-then-reset' }, ['accepted', 'accepted']],
    [true, 'not stored', { do: 'reset' }, ['accepted', 'accepted']],
    [false, 'stored', { do: 'pass-then-reset' }, ['in-doubt', 'accepted']],
    [false, 'not stored', { do: 'reset' }, ['in-doubt', 'accepted']],
  ] as const)('%s: %s', async (atomic, what, fault, expected) => {
    const { outcomes, stored } = await load(atomic, fault)
    expect(outcomes).toEqual(expected)
    expect(stored).toHaveLength(atomic || what === 'stored' ? 3 : 2)
  })

  it.each([
    [2, ['accepted', 'accepted']],
    [3, ['in-doubt', 'accepted']],
  ] as const)(
    'says of two records what the profile shows of one where they are all that an earlier process sent: of %i',
    async (records, expected) => {
      const entries = people(2)
      const loading = await leftOpen([], { batchesAreAtomic: true })
      await loading.load([entryOf(biometric, series)])
      await loading.runLedger.beginBatch({
        ...{ exportRow: loading.exportRow, chunk: 2, batchId: 'left', kind: 'biometric', records },
        ...{ holds: packEntries(entries), at: loading.clock.now },
      })
      const { outcomes } = await loading.load(entries, true, 2)
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(expected)
    },
  )

  it('says nothing for a batch that was answered in part', async () => {
    const loading = await startLoading({
      batchesAreAtomic: true,
      register: 'never',
      gateway: { open: true },
      faultOf: ({ method, path, earlier }: Passing) =>
        method === 'POST' && path === BIOMETRICS && earlier === 1
          ? { do: 'answer', status: 201, body: { code: 201, data: [], errors: [] } }
          : PASS,
    })
    await loading.load([entryOf(biometric, series)])
    const { outcomes } = await loading.load(people(2), false, 2)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['in-doubt', 'accepted'])
  })
})

it('takes what cannot be read for unknown, also where reads lag', async () => {
  const loading = await startLoading({
    faultOf: ({ method, path, earlier }) => {
      if (method === 'GET') return answer(400)
      return path === CARE_TEAMS && earlier === 0 ? { do: 'pass-then-reset' } : PASS
    },
  })
  expect(tally((await loading.load([entryOf(careTeam)])).outcomes)).toEqual({ 'in-doubt': 1 })
  expect(await loading.stored('careTeam')).toHaveLength(1)
})

it.each([
  ['was not taken', answer(429, { 'retry-after': '600' })],
  ['had its connection refused', { do: 'reset' }],
] as const)(
  'is not sent again by a process that slept while another took its run over: a batch that %s',
  async (_, fault) => {
    let slept = false
    const loading = await startLoading({
      register: 'never',
      gateway: { open: true },
      faultOf: ({ method, earlier }) => (method === 'POST' && earlier === 0 ? fault : PASS),
      // Its timers fire all at once when it goes on, that of its lease not first.
      async meanwhile() {
        if (slept) return
        slept = true
        const jobId = await loading.ledger.jobs.id('test-job', loading.reference.url)
        const now = loading.clock.now + 600_000
        await loading.ledger.leases.acquire(
          { jobId, runId: 'run-1', owner: 'there:2', now, ttlMs: 60_000 },
          () => false,
        )
      },
    })
    expect(await failureOf(loading.load([entryOf(biometric)]))).toMatchObject({ code: 'lease-lost' })
    expect([loading.posts(BIOMETRICS), await loading.stored('biometric')]).toEqual([1, []])
  },
)

it('sends once what two rows say, where an earlier process had the first one in hand', async () => {
  const [first, second] = [1, 2].map((row) => entryOf(biometric, { row, person: 'person-1', key: 'visit' }))
  if (first === undefined || second === undefined) throw new Error('there are two')
  // The first is stored, and the process ends before it has written that down.
  const strike: { fault: Fault } = { fault: { do: 'pass-then-answer', status: 403 } }
  const loading = await leftOpen([], { faultOf: ({ path }) => (path === BIOMETRICS ? strike.fault : PASS) })
  expect(await failureOf(loading.load([first]))).toMatchObject({ code: 'gateway-refused-credentials' })
  strike.fault = PASS
  const { outcomes } = await loading.load([first, second], true)
  expect(tally(outcomes)).toEqual({ accepted: 1, unchanged: 1 })
  expect(await loading.storedIds('biometric')).toEqual(idsOf([first]))
})
