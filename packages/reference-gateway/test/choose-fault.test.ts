import { describe, expect, it } from 'vitest'
import { secondsToNextWindow } from '../src/fault-kinds.ts'
import { chooseFaults, FaultPlan, loadPlan } from '../src/fault-plan.ts'
import { type FaultGiven, plan } from './struck-gateway.ts'

type RequestFacts = Parameters<typeof chooseFaults>[1]

const request = (facts: Partial<RequestFacts> = {}): RequestFacts => ({
  endpoint: 'createBiometrics',
  method: 'POST',
  url: '/health-profile/biometrics',
  body: [{ transactionId: 't-1' }],
  nowMs: 0,
  ...facts,
})

/** The ordinals of the requests that a plan strikes, of so many alike. */
function struck(given: FaultPlan, requests: readonly RequestFacts[]): number[] {
  const loaded = loadPlan(given, 0)
  return requests.flatMap((facts, at) => (chooseFaults(loaded, facts).length > 0 ? [at + 1] : []))
}
const alike = (count: number) => Array.from({ length: count }, () => request())

describe('when', () => {
  it.each([
    [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    [{ nth: 3 }, [3]],
    [{ nth: [1, 3, 99] }, [1, 3]],
    [{ every: 5 }, [5, 10]],
    [{ after: 9 }, [10, 11, 12]],
    [{ first: 2 }, [1, 2]],
    [{ after: 3, first: 5 }, [4, 5]],
    [{ times: 2 }, [1, 2]],
    [{ after: 9, times: 2 }, [10, 11]],
    [{ every: 3, times: 2 }, [3, 6]],
    [{ every: 2, nth: [2, 3, 4] }, [2, 4]],
    [{ chance: 0 }, []],
    [{ chance: 1, first: 1 }, [1]],
    [{ perBody: 2 }, [1, 2]],
    [{ perBody: 1, after: 4 }, [5]],
  ])('%j strikes %j', (when, expected) => {
    expect(struck(plan({ on: 'writes', do: 'refuse', when }), alike(12))).toEqual(expected)
  })

  it('perBody counts each body by itself, and each URL where there is none', () => {
    const body = (id: string) => request({ body: [{ transactionId: id }] })
    const url = (query: string) =>
      request({ endpoint: 'readBiometrics', method: 'GET', url: query, body: undefined })
    const requests = [body('a'), body('b'), body('a'), url('/x?1'), url('/x?2'), url('/x?1'), body('b')]
    expect(struck(plan({ on: 'all', do: 'reset', when: { perBody: 1 } }), requests)).toEqual([1, 2, 4, 5])
  })

  it('having numbers those alone that are about it: by body, by a record of it, by query', () => {
    const person = (reference: string) => ({ account: { reference } })
    const read = (reference: string) =>
      request({
        endpoint: 'readBiometrics',
        method: 'GET',
        url: `/x?accountReference=${reference}`,
        body: undefined,
      })
    const requests = ['p-2', 'p-1', 'p-2'].flatMap((one) => [
      request({ body: [person('p-3'), person(one)] }),
      request({ endpoint: 'setPrimaryCare', body: person(one) }),
      read(one),
    ])
    const having = { 'account.reference': 'p-2' }
    expect(struck(plan({ on: 'all', do: 'reset', when: { having } }), requests)).toEqual([1, 2, 7, 8])
    expect(struck(plan({ on: 'all', do: 'reset', when: { having, nth: 3 } }), requests)).toEqual([7])
    const asked = { having: { accountReference: 'p-1' } }
    expect(struck(plan({ on: 'all', do: 'reset', when: asked }), requests)).toEqual([6])
  })

  it('chance strikes about so many, and not by a rhythm', () => {
    const ordinals = struck(plan({ on: 'all', do: 'reset', when: { chance: 0.1 } }), alike(10_000))
    expect(ordinals.length).toBeGreaterThan(850)
    expect(ordinals.length).toBeLessThan(1150)
    expect(new Set(ordinals.map((ordinal, at) => ordinal - (ordinals[at - 1] ?? 0))).size).toBeGreaterThan(20)
  })
})

describe('the seed', () => {
  const given = (seed: number, ...more: FaultGiven[]): FaultPlan => {
    const chance: FaultGiven = { on: 'all', do: 'reset', when: { chance: 0.3 } }
    return FaultPlan.parse({ seed, faults: [...more, chance] })
  }

  it('decides: the same gives the same, another gives another', () => {
    expect(struck(given(7), alike(200))).toEqual(struck(given(7), alike(200)))
    expect(struck(given(7), alike(200))).not.toEqual(struck(given(8), alike(200)))
  })

  it('requests that do not match move nothing', () => {
    const read = request({ endpoint: 'readBiometrics', method: 'GET', body: undefined })
    const writes = plan({ on: 'writes', do: 'reset', when: { chance: 0.3 } })
    const mixed = struck(
      writes,
      alike(100).flatMap((one) => [read, one]),
    )
    expect(mixed.map((ordinal) => ordinal / 2)).toEqual(struck(writes, alike(100)))
  })
})

describe('several faults', () => {
  const kinds = (...faults: FaultGiven[]) => {
    const loaded = loadPlan(plan(...faults), 0)
    const chosen = [request(), request()].map((facts) =>
      chooseFaults(loaded, facts).map(({ fault }) => fault.do),
    )
    return { chosen, matched: loaded.faults.map(({ matched }) => matched) }
  }

  it('slow goes on; the first other one ends the walk, and those behind it do not see the request', () => {
    const slow: FaultGiven = { on: 'all', do: 'slow', ms: 1 }
    const reset: FaultGiven = { on: 'all', do: 'reset', when: { nth: 1 } }
    const { chosen, matched } = kinds(slow, reset, { on: 'all', do: 'hang' }, slow)
    expect(chosen).toEqual([
      ['slow', 'reset'],
      ['slow', 'hang'],
    ])
    expect(matched).toEqual([2, 2, 1, 0])
  })

  it('two alike draw by themselves', () => {
    const chance: FaultGiven = { on: 'all', do: 'slow', ms: 1, when: { chance: 0.5 } }
    const loaded = loadPlan(plan(chance, chance), 0)
    const counts = new Set(alike(50).map((facts) => chooseFaults(loaded, facts).length))
    expect(counts).toEqual(new Set([0, 1, 2]))
  })
})

describe('what the kind asks', () => {
  const at = (...times: number[]) => times.map((nowMs) => request({ nowMs }))

  it('outage: from its beginning to its end', () => {
    const outage = plan({ on: 'all', do: 'outage', fromMs: 100, forMs: 50 })
    expect(struck(outage, at(0, 99, 100, 149, 150))).toEqual([3, 4])
  })

  it('rate-limit: what is beyond the number in a window of the clock', () => {
    const limit = plan({ on: 'all', do: 'rate-limit', requests: 2, perMs: 1000 })
    expect(struck(limit, at(0, 10, 20, 999, 1000, 1001, 1002, 5000))).toEqual([3, 4, 7])
  })

  it('rate-limit: tells the whole seconds to the next window', () => {
    const [fault] = plan({ on: 'all', do: 'rate-limit', requests: 1, perMs: 2500 }).faults
    if (fault?.do !== 'rate-limit') throw new Error('another fault')
    expect([0, 500, 1500, 2499, 2500].map((nowMs) => secondsToNextWindow(fault, 0, nowMs))).toEqual([
      3, 2, 1, 1, 3,
    ])
  })

  it('poison: batches that hold such a record, which are then what `when` counts', () => {
    const poison = plan({
      on: 'all',
      do: 'poison',
      record: { 'codes.0.code': 'x', value: 1 },
      when: { nth: 2 },
    })
    const good = request({ body: [{ codes: [{ code: 'x' }], value: 2 }] })
    const bad = request({ body: [{ value: 3 }, { codes: [{ code: 'x' }], value: 1 }] })
    expect(struck(poison, [bad, good, good, bad, bad])).toEqual([4])
  })

  it('poison by share: about so many records, whatever else is in the batch and wherever they stand', () => {
    const poison = plan({ on: 'all', do: 'poison', share: 0.05 })
    const record = (at: number) => ({ transactionId: `t-${at}`, source: { meta: { batchId: 'b-1' } } })
    const records = Array.from({ length: 2000 }, (_, at) => record(at))
    const alone = struck(
      poison,
      records.map((one) => request({ body: [one] })),
    )
    expect(alone.length).toBeGreaterThan(60)
    expect(alone.length).toBeLessThan(145)
    const moved = records.map((one) => request({ body: [{ ...one, source: { meta: { batchId: 'b-2' } } }] }))
    expect(struck(poison, moved)).toEqual(alone)
  })
})
