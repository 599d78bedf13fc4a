import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plan } from '../../packages/reference-gateway/test/struck-gateway.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { answer, type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import {
  BIOMETRICS,
  CARE_TEAMS,
  CONDITIONS,
  failureOf,
  idsOf,
  positionsOf,
  startLoading,
  tally,
} from './loading.ts'
import { biometric, careTeam, condition, DAY_MS, entryOf, OBSERVED_AT, people } from './made-up-entries.ts'

const KINDS = [
  { kind: 'biometric', make: biometric, path: BIOMETRICS },
  { kind: 'condition', make: condition, path: CONDITIONS },
  { kind: 'careTeam', make: careTeam, path: CARE_TEAMS },
] as const

/** Does this to the first create request of the path, and lets everything else pass. */
const first =
  (path: string, fault: Fault) =>
  (request: Passing): Fault =>
    request.method === 'POST' && request.path === path && request.earlier === 0 ? fault : PASS

const without = <T>(items: readonly T[], at: number): T[] => items.toSpliced(at, 1)
const trimmed = ({ transactionId: _, ...echo }: Record<string, unknown>) => ({
  ...echo,
  source: { name: 'x', meta: {} },
})

/** Faults after which every record must be stored exactly once, and known as accepted. */
const RECOVERABLE: Record<string, Fault> = {
  'reset before the gateway had it': { do: 'reset' },
  'reset after it was stored': { do: 'pass-then-reset' },
  '500 without storing': answer(500),
  '500 after storing': { do: 'pass-then-answer', status: 500 },
  '502 after storing': { do: 'pass-then-answer', status: 502 },
  '503 without Retry-After, after storing': { do: 'pass-then-answer', status: 503 },
  '504 without storing': answer(504),
  '503 with Retry-After': answer(503, { 'retry-after': '7' }),
  '429 with Retry-After in seconds': answer(429, { 'retry-after': '3' }),
  '429 with Retry-After as a date long past': answer(429, { 'retry-after': 'Tue, 01 Jan 2019 00:00:00 GMT' }),
  '429 without Retry-After': answer(429),
  '401 once': answer(401),
  'no answer, not stored': { do: 'hang' },
  'no answer, stored': { do: 'pass-then-hang' },
  'a truncated answer': { do: 'pass-then-garble', garble: (text) => text.slice(0, text.length / 2) },
  'an answer that is no JSON': { do: 'pass-then-garble', garble: () => '<html>welcome</html>' },
  'an empty answer': { do: 'pass-then-garble', garble: () => '' },
  'an envelope that tells of failure': {
    do: 'pass-then-edit',
    edit: (envelope) => ({ ...envelope, code: '500' }),
  },
  'one echo missing': {
    do: 'pass-then-edit',
    edit: (envelope) => ({ ...envelope, data: without(envelope.data, 0) }),
  },
  'no echoes at all': { do: 'pass-then-edit', edit: (envelope) => ({ ...envelope, data: [] }) },
  'doubled echoes': {
    do: 'pass-then-edit',
    edit: (envelope) => ({ ...envelope, data: [...envelope.data, ...envelope.data] }),
  },
  'echoes in another order': {
    do: 'pass-then-edit',
    edit: (envelope) => ({ ...envelope, data: envelope.data.toReversed() }),
  },
  'echoes without any id of ours': {
    do: 'pass-then-edit',
    edit: (envelope) => ({ ...envelope, data: envelope.data.map(trimmed) }),
  },
  'echoes of records that were never sent': {
    do: 'pass-then-edit',
    edit: (envelope) => ({
      ...envelope,
      data: envelope.data.map((echo) => ({
        ...echo,
        transactionId: 'ffffffffffffffff-000001-other-00000000',
      })),
    }),
  },
  'only half of it stored': { do: 'pass-part', keep: (_record, position) => position % 2 === 0 },
  'none of the first records stored': { do: 'pass-part', keep: (_record, position) => position === 4 },
}

describe.each(KINDS)('delivering $kind records', ({ kind, make, path }) => {
  it.each(Object.entries(RECOVERABLE))('stores each once: %s', async (_name, fault) => {
    const timeouts = fault.do.includes('hang') ? { response: 150 } : {}
    const loading = await startLoading({ faultOf: first(path, fault), timeouts })
    // Care teams go out by account, so five of one person make the batch.
    const entries =
      kind === 'careTeam'
        ? ['1234567893', '1003000126', '1013000124', '1023000122', '1033000120'].map((npi, at) =>
            entryOf(make, { row: at + 1, npi, primary: false }),
          )
        : people(5, make)
    const { outcomes } = await loading.load(entries)
    expect(tally(outcomes)).toEqual({ accepted: 5 })
    expect(await loading.storedIds(kind)).toEqual(idsOf(entries))
    expect(await loading.acceptedInLedger()).toEqual(positionsOf(entries))
    expect((await loading.batches()).map((batch) => batch.state)).not.toContain('sending')
    expect(await loading.exceptions()).toEqual([])
    // Whatever goes out after the first carries what was sent before; on a busy machine a registration may have no answer in time.
    const { sent, retried } = loading.tallies.requests
    const registeredAgain = loading.posts('/account/register') - (kind === 'careTeam' ? 1 : 5)
    expect(retried).toBe(loading.posts(path) - 1 + registeredAgain)
    expect(sent).toBe(loading.proxy.seen.filter(({ method }) => method !== 'GET').length)
  })

  it('cuts a refused batch in half until the bad record stands alone', async () => {
    const entries =
      kind === 'careTeam'
        ? ['1234567893', '1003000126', '1013000124', '1023000122', '1033000120'].map((npi, at) =>
            entryOf(make, { row: at + 1, npi, name: at === 3 ? 'POISON' : 'Test Practice', primary: false }),
          )
        : people(5, make).with(3, entryOf(make, { row: 4, person: 'person-4', name: 'POISON' }))
    const loading = await startLoading({
      faultOf: (request) =>
        request.body.includes('POISON') ? answer(400, {}, 'name "POISON" is not known') : PASS,
    })
    const { outcomes } = await loading.load(entries)
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      'accepted',
      'accepted',
      'accepted',
      'rejected',
      'accepted',
    ])
    expect(await loading.storedIds(kind)).toEqual(idsOf(without(entries, 3)))
    expect(await loading.acceptedInLedger()).toEqual(positionsOf(without(entries, 3)))
    const [exception, ...more] = await loading.exceptions()
    expect(more).toEqual([])
    expect(exception).toMatchObject({ row: 4, outcome: 'rejected', stage: 'submit', code: 'refused' })
    expect(exception?.message).not.toContain('POISON')
  })
})

const Bodies = z.array(z.looseObject({ transactionId: z.string(), value: z.number() }))
const isBad = ({ value }: { value: number }): boolean => value === 666

describe('bisection', () => {
  it('finds one poisoned record among 500 with at most 2·log2(500)+1 further requests', async () => {
    const entries = people(500).with(
      310,
      entryOf(biometric, { row: 311, person: 'person-311', value: '666' }),
    )
    const loading = await startLoading({
      gateway: { open: true },
      register: 'never',
      faultOf: (request) => (request.body.includes('"value":666,') ? answer(422) : PASS),
    })
    const { outcomes } = await loading.load(entries)
    expect(tally(outcomes)).toEqual({ accepted: 499, rejected: 1 })
    expect(loading.posts(BIOMETRICS) - 1).toBeLessThanOrEqual(2 * Math.log2(500) + 1)
    expect(await loading.storedIds('biometric')).toEqual(idsOf(without(entries, 310)))
    expect(await loading.acceptedInLedger()).toEqual(positionsOf(without(entries, 310)))
  })

  /** What a gateway says of the record at a place that it refuses, and the requests that it takes then. */
  const SAYS: Record<string, [(at: number, id: string) => object, number]> = {
    'by a path': [(at) => ({ message: `records[${at}].value: out of range` }), 3],
    'by a pointer': [(at) => ({ message: `body/${at}/value must be <= 500` }), 3],
    'by its transaction id': [(_at, id) => ({ errors: [{ message: `${id} refused` }] }), 3],
    'by its place from 0 or 1': [(at) => ({ errors: [{ position: at }] }), 4],
    'by a count from 1': [(at) => ({ message: `The value of record ${at + 1} of 64 is out of range` }), 4],
    'of another record': [(at) => ({ message: `records[${(at + 7) % 64}].value: out of range` }), 17],
    'of a record that was not sent': [() => ({ message: 'records[9999]: out of range' }), 13],
  }

  it.each(Object.entries(SAYS))('sends apart what a refusal names %s', async (_name, [says, requests]) => {
    const entries = people(64).with(40, entryOf(biometric, { row: 41, person: 'person-41', value: '666' }))
    const loading = await startLoading({
      gateway: { open: true },
      register: 'never',
      faultOf: ({ path, body }) => {
        const at = path === BIOMETRICS ? Bodies.parse(JSON.parse(body)).findIndex(isBad) : -1
        if (at < 0) return PASS
        const id = Bodies.parse(JSON.parse(body))[at]?.transactionId ?? ''
        return { do: 'answer', status: 422, body: { code: 422, data: [], ...says(at, id) } }
      },
    })
    const { outcomes } = await loading.load(entries)
    expect(tally(outcomes)).toEqual({ accepted: 63, rejected: 1 })
    expect(loading.posts(BIOMETRICS)).toBeLessThanOrEqual(requests)
    expect(await loading.storedIds('biometric')).toEqual(idsOf(without(entries, 40)))
  })

  it('halves what is too large, and rejects a record that is too large alone', async () => {
    const long = entryOf(biometric, { row: 6, person: 'person-6', name: 'x'.repeat(5000) })
    const loading = await startLoading({ gateway: { bodyLimit: 4096 } })
    const { outcomes } = await loading.load([...people(5), long])
    expect(tally(outcomes)).toEqual({ accepted: 5, rejected: 1 })
    expect(outcomes.at(-1)).toMatchObject({ outcome: 'rejected', reason: { code: 'too-large' } })
    expect(await loading.storedIds('biometric')).toEqual(idsOf(people(5)))
  })
})

describe('what the gateway cannot tell', () => {
  const newerIsStored = async (inDoubt: 'hold' | 'resend', fault: Fault) => {
    const loading = await startLoading({
      inDoubt,
      faultOf: (request) => (request.path === BIOMETRICS && request.earlier === 1 ? fault : PASS),
    })
    const [newer, older] = [
      entryOf(biometric, { row: 1, observedAt: OBSERVED_AT }),
      entryOf(biometric, { row: 2, observedAt: OBSERVED_AT - DAY_MS }),
    ]
    await loading.load([newer])
    const { outcomes } = await loading.load([older], false, 2)
    return { loading, newer, older, outcomes }
  }

  it.each([
    ['stored', { do: 'pass-then-reset' }, 2],
    ['not stored', { do: 'reset' }, 1],
  ] as const)('holds an older record, %s, in doubt', async (_name, fault, stored) => {
    const { loading, outcomes } = await newerIsStored('hold', fault)
    expect(outcomes).toMatchObject([
      { outcome: 'in-doubt', reason: { stage: 'read-back', code: 'in-doubt' } },
    ])
    expect(await loading.storedIds('biometric')).toHaveLength(stored)
    expect(await loading.acceptedInLedger(2)).toEqual([])
    expect(await loading.exceptions(2)).toMatchObject([{ row: 2, outcome: 'in-doubt' }])
  })

  it('sends it again where the job says so', async () => {
    const { loading, newer, older, outcomes } = await newerIsStored('resend', { do: 'reset' })
    expect(tally(outcomes)).toEqual({ accepted: 1 })
    expect(await loading.storedIds('biometric')).toEqual(idsOf([newer, older]))
  })

  it('holds what cannot be read back', async () => {
    const loading = await startLoading({
      faultOf: (request) => {
        if (request.method === 'GET') return answer(400)
        return first(BIOMETRICS, { do: 'pass-then-reset' })(request)
      },
    })
    expect(tally((await loading.load(people(3))).outcomes)).toEqual({ 'in-doubt': 3 })
    expect(loading.posts(BIOMETRICS)).toBe(1)
  })
})

describe('an answer of success that is not one', () => {
  it.each(KINDS.slice(0, 2))(
    'does not count as accepted what it lists among its errors and echoes, too: $kind',
    async ({ kind, make, path }) => {
      const entries = people(4, make)
      const loading = await startLoading({
        gateway: {
          faults: plan({
            on: kind === 'biometric' ? 'createBiometricsBulk' : 'createConditionsBulk',
            do: 'store-part',
            count: 2,
            say: 'both',
          }),
        },
      })
      const { outcomes } = await loading.load(entries)
      expect(tally(outcomes)).toEqual({ accepted: 2, rejected: 2 })
      const accepted = outcomes.filter(({ outcome }) => outcome === 'accepted').map(({ entry }) => entry)
      expect(await loading.storedIds(kind)).toEqual(idsOf(accepted))
      expect(await loading.acceptedInLedger()).toEqual(positionsOf(accepted))
      expect(outcomes.filter(({ outcome }) => outcome === 'rejected')).toMatchObject(
        Array.from({ length: 2 }, () => ({
          reason: { code: 'listed-as-error', message: expect.stringContaining('not stored') },
        })),
      )
      expect(loading.posts(path)).toBe(1)
    },
  )

  it.each([
    ['alone', 1, 1],
    ['beside another of the person', 2, 0],
  ])(
    'does not count where it names, by an id that nobody can compare, another account than has the record: %s',
    async (_how, records, told) => {
      const entries = Array.from({ length: records }, (_, at) =>
        entryOf(condition, { row: 1, rule: `rule-${at}`, code: `E1${at}.9`, person: 'ann' }),
      )
      // The first is not stored, and echoed as if it were, of somebody else.
      const loading = await startLoading({
        register: 'never',
        gateway: {
          open: true,
          faults: plan({
            on: 'createConditionsBulk',
            do: 'store-part',
            count: 1,
            say: 'other-account',
            when: { times: 1 },
          }),
        },
      })
      const others = entryOf(condition, { row: 9, person: 'ben' })
      expect(tally((await loading.load([...entries, others])).outcomes)).toEqual({ accepted: records + 1 })
      expect(await loading.storedIds('condition')).toEqual(idsOf([...entries, others]))
      expect(loading.tallies.requests.readBack).toBeGreaterThanOrEqual(told)
    },
  )

  it('looks into the profile for what is echoed with another value, and believes that', async () => {
    const loading = await startLoading({
      gateway: { faults: plan({ on: 'createBiometricsBulk', do: 'echo', as: 'altered', count: 2 }) },
    })
    expect(tally((await loading.load(people(4))).outcomes)).toEqual({ accepted: 4 })
    expect([loading.tallies.requests.readBack, loading.posts(BIOMETRICS)]).toEqual([2, 1])
  })

  it('rejects with the gateway’s words what it lists as errors and did not store', async () => {
    const loading = await startLoading({
      faultOf: (request) =>
        request.path === BIOMETRICS
          ? {
              do: 'answer',
              status: 201,
              body: { code: 201, data: [], errors: [{ message: 'unit not known' }] },
            }
          : PASS,
    })
    const { outcomes } = await loading.load(people(2))
    expect(outcomes).toMatchObject([
      { outcome: 'rejected', reason: { code: 'listed-as-error', message: 'unit not known' } },
      { outcome: 'rejected', reason: { code: 'listed-as-error' } },
    ])
    expect(await loading.stored('biometric')).toEqual([])
  })

  it('rejects what is not stored after two answers of success', async () => {
    const loading = await startLoading({
      faultOf: (request) =>
        request.path === BIOMETRICS ? { do: 'answer', status: 201, body: { code: 201, data: [] } } : PASS,
    })
    const { outcomes } = await loading.load(people(2))
    expect(outcomes).toMatchObject([
      { outcome: 'rejected', reason: { code: 'not-echoed' } },
      { outcome: 'rejected', reason: { code: 'not-echoed' } },
    ])
    expect(loading.posts(BIOMETRICS)).toBe(2)
  })
})

describe('when the run must stop', () => {
  it.each([
    ['403', answer(403), 1],
    ['401 twice', answer(401), 2],
  ])('stops at %s; the ledger says that the batch was being sent', async (_name, fault, requests) => {
    const loading = await startLoading({ faultOf: (request) => (request.path === BIOMETRICS ? fault : PASS) })
    const error = await failureOf(loading.load(people(3)))
    expect(error).toBeInstanceOf(WaybillError)
    expect(error).toMatchObject({ code: 'gateway-refused-credentials' })
    expect(loading.posts(BIOMETRICS)).toBe(requests)
    expect((await loading.batches()).map((batch) => batch.state)).toEqual(['sending'])
    expect(await loading.stored('biometric')).toEqual([])
  })

  it.each([
    ['answers 500 to everything', answer(500), 'gateway-failing', true],
    ['resets every connection', { do: 'reset' } as const, 'gateway-unreachable', false],
    ['answers 429 to everything', answer(429, { 'retry-after': '31536000' }), 'gateway-failing', false],
  ])('ends by its patience where the gateway %s', async (_name, fault, code, toReads) => {
    const loading = await startLoading({
      faultOf: ({ path, method }) => (path === BIOMETRICS || (toReads && method === 'GET') ? fault : PASS),
    })
    const begun = loading.clock.now
    expect(await failureOf(loading.load(people(3)))).toMatchObject({ code })
    expect(loading.clock.now - begun).toBeLessThanOrEqual(30 * 60_000)
    expect(await loading.stored('biometric')).toEqual([])
  })

  it('ends by its patience where every new batch is answered 500, and what reads are answered tells nothing', async () => {
    const loading = await startLoading({
      faultOf: ({ path, method }) =>
        path !== BIOMETRICS ? PASS : method === 'GET' ? answer(404) : { do: 'pass-then-answer', status: 500 },
      limits: { records: 1 },
      concurrency: 1,
      patienceMs: 60_000,
    })
    const begun = loading.clock.now
    const entries = people(200)
    expect(await failureOf(loading.load(entries))).toMatchObject({ code: 'gateway-failing' })
    // What is left of it, and the wait of the batch that is in hand by then.
    expect(loading.clock.now - begun).toBeLessThanOrEqual(60_000 + 1_000)
    // What was sent is open: it is looked for when the run goes on.
    expect(loading.posts(BIOMETRICS)).toBeLessThan(20)
  })

  it('does not count time without any request as the gateway’s silence', async () => {
    const loading = await startLoading({ faultOf: first(BIOMETRICS, answer(429)) })
    loading.clock.now += 24 * 3_600_000
    expect(tally((await loading.load(people(3))).outcomes)).toEqual({ accepted: 3 })
  })

  it('does not send anything once it is stopped', async () => {
    const loading = await startLoading({ register: 'never', gateway: { open: true } })
    loading.stop.abort(new WaybillError('interrupted', 'stopped'))
    expect(await failureOf(loading.load(people(3)))).toMatchObject({ code: 'interrupted' })
    expect(loading.proxy.seen).toEqual([])
    expect(await loading.batches()).toMatchObject([{ state: 'planned' }])
  })
})

describe('a record on which the gateway fails', () => {
  const POISONED = entryOf(biometric, { row: 21, person: 'person-21', name: 'POISON' })
  const failing = (request: Passing): Fault => (request.body.includes('POISON') ? answer(500) : PASS)

  it('is found and rejected where the gateway takes the others, as it fails by itself', async () => {
    const loading = await startLoading({ faultOf: failing, limits: { records: 32 }, concurrency: 1 })
    const entries = people(64, biometric).with(20, POISONED)
    const { outcomes } = await loading.load(entries)
    expect(tally(outcomes)).toEqual({ accepted: 63, rejected: 1 })
    expect(outcomes[20]).toMatchObject({ outcome: 'rejected', reason: { code: 'refused' } })
    expect(await loading.storedIds('biometric')).toEqual(idsOf(without(entries, 20)))
    // The two batches, two more tries of the one, and two halves for each of the five times that 32 can be halved.
    expect(loading.posts(BIOMETRICS)).toBeLessThanOrEqual(2 + 2 + 2 * 5)
  })

  it.each([
    ['alone', [POISONED]],
    ['in the only batch', people(20, biometric).with(7, POISONED)],
  ])('is waited for, %s, as long as the job is patient, and rejected then', async (_, entries) => {
    const loading = await startLoading({ faultOf: failing, patienceMs: 60_000 })
    const began = loading.clock.now
    const { outcomes } = await loading.load(entries)
    expect(outcomes.filter(({ outcome }) => outcome !== 'accepted')).toMatchObject([
      { entry: { transactionId: POISONED.transactionId }, outcome: 'rejected', reason: { code: 'refused' } },
    ])
    expect(loading.clock.now - began).toBeGreaterThan(30_000)
    expect(await loading.stored('biometric')).toHaveLength(entries.length - 1)
  })

  it('is rejected then, though only its first try was answered', async () => {
    let tries = 0
    const loading = await startLoading({
      faultOf: (request) => {
        const fault = failing(request)
        return fault === PASS || ++tries === 1 ? fault : { do: 'reset' }
      },
      patienceMs: 10_000,
    })
    const { outcomes } = await loading.load([POISONED])
    expect(outcomes).toMatchObject([{ outcome: 'rejected', reason: { code: 'refused' } }])
  })

  it.each([1, 100])(
    'is rejected, as are all others of that person, at the end of the patience, which is waited for once: batches of %i',
    async (records) => {
      const loading = await startLoading({
        ...{ faultOf: failing, patienceMs: 60_000, limits: { records }, concurrency: 1 },
      })
      const began = loading.clock.now
      const ofOne = Array.from({ length: 12 }, (_, at) =>
        entryOf(biometric, { row: 30 + at, person: 'person-21', key: `visit-${at}`, name: 'POISON' }),
      )
      const { outcomes } = await loading.load([...people(3), ...ofOne])
      expect(tally(outcomes)).toEqual({ accepted: 3, rejected: 12 })
      // Of the others halves and three tries each, a few seconds apart.
      expect(loading.clock.now - began).toBeLessThan(2 * 60_000 + 12 * 15_000)
    },
  )

  it('is not looked for where nothing can be written: that is an outage', async () => {
    const loading = await startLoading({
      faultOf: ({ path }) => (path === BIOMETRICS ? answer(500) : PASS),
      patienceMs: 5_000,
      limits: { records: 6 },
    })
    expect(await failureOf(loading.load(people(30, biometric)))).toMatchObject({ code: 'gateway-failing' })
    expect((await loading.exceptions()).length).toBeLessThanOrEqual(3)
    expect(loading.posts(BIOMETRICS)).toBeLessThan(100)
  })
})
