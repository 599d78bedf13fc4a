import { describe, expect, it } from 'vitest'
import { targetsOf } from '../../../src/reference-gateway/faults/fault-plan.ts'
import { ENDPOINT_NAMES } from '../../../src/reference-gateway/faults/fault-targets.ts'
import { WRITES } from './calls.ts'
import { type Ended, type FaultGiven, startStruck } from './struck-gateway.ts'

it('knows every write', () => {
  expect(WRITES.map(({ name }) => name).sort()).toEqual([...targetsOf('refuse', ['writes'])].sort())
  const reads = targetsOf('refuse', ['reads'])
  expect(ENDPOINT_NAMES.filter((name) => !reads.has(name)).sort()).toEqual(
    WRITES.map(({ name }) => name).sort(),
  )
})

type Kind = FaultGiven['do']
const on = ['writes'] as FaultGiven['on']

/** Each fault that says the same of every write: how the call ends, and how often it has taken effect then. */
const CASES: readonly {
  readonly fault: FaultGiven
  readonly effects: 0 | 1
  readonly ended: Partial<Ended>
}[] = [
  { fault: { do: 'refuse', on }, effects: 0, ended: { end: 'answered', status: 503 } },
  { fault: { do: 'refuse', on, status: 404 }, effects: 0, ended: { end: 'answered', status: 404 } },
  { fault: { do: 'reset', on }, effects: 0, ended: { end: 'broken' } },
  { fault: { do: 'hang', on }, effects: 0, ended: { end: 'no answer' } },
  {
    fault: { do: 'rate-limit', on, requests: 1, perMs: 1000, when: {} },
    effects: 1,
    ended: { end: 'answered' },
  },
  { fault: { do: 'outage', on, forMs: 1000 }, effects: 0, ended: { end: 'answered', status: 503 } },
  { fault: { do: 'outage', on, forMs: 1000, as: 'reset' }, effects: 0, ended: { end: 'broken' } },
  { fault: { do: 'outage', on, forMs: 1000, as: 'hang' }, effects: 0, ended: { end: 'no answer' } },
  { fault: { do: 'store-then-answer', on }, effects: 1, ended: { end: 'answered', status: 500 } },
  {
    fault: { do: 'store-then-answer', on, status: 400 },
    effects: 1,
    ended: { end: 'answered', status: 400 },
  },
  { fault: { do: 'store-then-reset', on }, effects: 1, ended: { end: 'broken' } },
  { fault: { do: 'store-then-hang', on }, effects: 1, ended: { end: 'no answer' } },
  { fault: { do: 'slow', on, ms: 1 }, effects: 1, ended: { end: 'answered' } },
  { fault: { do: 'slow', on, ms: [1, 2], before: 'storing' }, effects: 1, ended: { end: 'answered' } },
]

describe.each(WRITES)('$name', ({ name, prepare, effects }) => {
  it.each(CASES.map((one) => ({ ...one, as: 'as' in one.fault ? one.fault.as : '' })))(
    '$fault.do $as: stored $effects times, $ended',
    async ({ fault, effects: expected, ended }) => {
      const gateway = await startStruck()
      const sent = await prepare(gateway)
      await gateway.load(fault)
      const got = await (ended.end === 'no answer' ? gateway.sendInVain(sent) : gateway.send(sent))
      expect(got).toMatchObject(ended)
      expect((await gateway.report()).faults[0]?.struck).toBe(fault.do === 'rate-limit' ? 0 : 1)
      if (ended.status === undefined && ended.end === 'answered') expect(got.status).toBeLessThan(300)
      await gateway.clear()
      expect(await effects(gateway)).toBe(expected)
    },
  )

  const garbled = targetsOf('garble' satisfies Kind, ['writes'])
  it.runIf([...garbled].some((one) => one === name))(
    'garble: stored once, the answer cannot be used',
    async () => {
      const gateway = await startStruck()
      const sent = await prepare(gateway)
      await gateway.load({ do: 'garble', on, as: 'broken-json' })
      const { status, text = '' } = await gateway.send(sent)
      expect(status).toBeLessThan(300)
      expect(() => JSON.parse(text)).toThrow(SyntaxError)
      await gateway.clear()
      expect(await effects(gateway)).toBe(1)
    },
  )

  const bearing = targetsOf('expire-token' satisfies Kind, ['writes'])
  it.runIf([...bearing].some((one) => one === name))(
    'expire-token: 401 from now on, nothing stored',
    async () => {
      const gateway = await startStruck()
      const sent = await prepare(gateway)
      await gateway.load({ do: 'expire-token', on, when: { nth: 1 } })
      expect(await gateway.send(sent)).toMatchObject({ status: 401 })
      expect(await gateway.send(sent)).toMatchObject({ status: 401 })
      const fresh = { ...sent, headers: { ...sent.headers, authorization: 'Bearer t-2' } }
      await gateway.call('POST', '/_reference/tokens', {
        token: 't-2',
        account: { reference: 'p-1', type: 'partnerAccountId' },
      })
      expect((await gateway.send(fresh)).status).toBeLessThan(300)
    },
  )
})
