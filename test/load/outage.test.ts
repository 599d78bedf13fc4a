import { describe, expect, test } from 'vitest'
import { type Cause, type ReportedOutage, watchOutage } from '../../src/load/outage.ts'

const REFUSED: Cause = {
  class: 'not-sent',
  status: undefined,
  what: 'create failed: ECONNREFUSED, at GATEWAY',
}
const BUSY: Cause = { class: 'not-taken', status: 503, what: 'create was answered 503' }

function watched(patienceMs = 60_000) {
  const clock = { now: 10_000 }
  const told: ReportedOutage[] = []
  const watch = watchOutage({
    patienceMs,
    now: () => clock.now,
    onOutage: (outage) => told.push(outage),
  })
  const fail = (cause: Cause, at: number, heldMs = 0, begunAt = at): void => {
    clock.now = at
    watch.failed(cause, begunAt, heldMs)
  }
  return { watch, clock, told, fail }
}

describe('a failure', () => {
  test.each([
    ['the first, held for half a second', [], { begunAt: 990, now: 1_000, heldMs: 500 }, false],
    ['the first, held for two', [], { begunAt: 1_000, now: 1_000, heldMs: 2_000 }, true],
    ['the first, of a request that hung', [], { begunAt: 1_000, now: 61_000, heldMs: 500 }, true],
    ['one that hung while others are tried', [], { begunAt: 1_000, now: 61_000, heldMs: 0 }, false],
    // The wait and the time since the first failure count together.
    ['a later one, not long after', [1_000], { begunAt: 1_500, now: 1_500, heldMs: 1_000 }, false],
    ['a later one', [1_000, 1_100], { begunAt: 2_500, now: 2_500, heldMs: 500 }, true],
    ['a later one, held for a moment', [1_000], { begunAt: 2_999, now: 2_999, heldMs: 1 }, true],
  ])('%s', (_name, before, { begunAt, now, heldMs }, isNotable) => {
    const { told, fail } = watched()
    for (const at of before) fail(BUSY, at)
    fail(BUSY, now, heldMs, begunAt)
    const outage = { ...BUSY, since: before[0] ?? now, failures: before.length + 1, ofBatch: false }
    expect(told).toMatchObject(isNotable ? [{ ...outage, isOver: false }] : [])
  })

  test.each([
    ['the same by another call', { ...REFUSED, what: 'x' }, 1],
    ['another class', { ...REFUSED, class: 'not-taken' } as const, 2],
    ['another status', { ...REFUSED, status: 429 }, 2],
  ])('after a notable one: %s', (_name, cause, times) => {
    const { told, fail } = watched()
    fail(REFUSED, 1_000, 2_000)
    // Notable even if other requests are tried meanwhile.
    fail(cause, 1_001)
    expect(told).toHaveLength(times)
  })
})

describe('a batch that waits', () => {
  test.each([
    ['not long yet', [], 400, []],
    ['two seconds by the next try', [], 500, [{ since: 1_000, failures: 1 }]],
    ['longer than any other', [2_000, 2_001], 500, [{ since: 1_000, failures: 2 }]],
    ['not the first that fails', [10], 500, [{ since: 10, failures: 1 }]],
  ])('%s', (_name, before, waitMs, expected) => {
    const { watch, clock, told, fail } = watched()
    for (const at of before) fail(BUSY, at)
    clock.now = 2_500
    watch.batchWaits(BUSY, 1_000, waitMs)
    expect(told).toMatchObject(expected.map((one) => ({ ...BUSY, ofBatch: true, isOver: false, ...one })))
  })

  test('keeps the outage one of a batch at the next failure of a request', () => {
    const { watch, clock, told, fail } = watched()
    clock.now = 2_500
    watch.batchWaits(BUSY, 1_000, 0)
    fail(REFUSED, 2_600, 1_000)
    expect(told).toMatchObject([{ ...REFUSED, since: 1_000, failures: 2, ofBatch: true }])
  })
})

describe('silence', () => {
  const SLOW: Cause = { class: 'not-taken', status: 429, what: 'create was answered 429' }
  const silent = (patienceMs?: number) => {
    let at = 1_000
    const { watch: outages, fail: failAt } = watched(patienceMs)
    const fail = (cause: Cause, times = 1): void => {
      for (let time = 0; time < times; time++) failAt(cause, ++at)
    }
    return { outages, fail }
  }

  test('begins with the first failure', () => {
    const { outages, fail } = silent()
    fail(REFUSED, 2)
    expect(outages.failingSince).toBe(1_001)
    outages.gotThrough('read')
    expect(outages.failingSince).toBeUndefined()
  })

  test.each([
    ['a shorter patience is five minutes', 60_000, 300_000],
    ['a longer patience stays', 600_000, 600_000],
  ])('with a gateway that asks for a slower pace alone, %s', (_, given, patienceMs) => {
    const { outages, fail } = silent(given)
    fail(SLOW, 3)
    expect([outages.failingSince, outages.patienceMs()]).toEqual([1_001, patienceMs])
    outages.gotThrough('batch')
    expect([outages.failingSince, outages.patienceMs()]).toEqual([undefined, given])
  })

  test('begins anew with the first other failure, and ends by the patience of the job', () => {
    const { outages, fail } = silent(60_000)
    fail(SLOW, 3)
    fail(BUSY)
    fail(SLOW, 3)
    expect([outages.failingSince, outages.patienceMs()]).toEqual([1_004, 60_000])
  })
})

describe('the watch over an outage', () => {
  const cause: Cause = { class: 'ambiguous', status: 502, what: 'the call answered 502' }
  test('is over for requests with any answer', () => {
    const { watch, clock, told } = watched()
    watch.failed(cause, 10_000, 2_000)
    expect(watch.failingSince).toBe(10_000)
    clock.now = 12_000
    watch.failed(cause, 12_000, 2_000)
    expect(watch.failingSince).toBe(10_000)
    watch.gotThrough('read')
    expect(watch.failingSince).toBeUndefined()
    const outage = { since: 10_000, ofBatch: false }
    expect(told).toMatchObject([
      { ...outage, isOver: false },
      { ...outage, isOver: true },
    ])
  })

  test('is over for a waiting batch with a batch, and with no read', () => {
    const { watch, told } = watched()
    watch.noneTakenSince = 9_000
    watch.batchWaits(cause, 9_000, 1_000)
    watch.gotThrough('read')
    expect(watch.noneTakenSince).toBe(9_000)
    const outage = { since: 9_000, ofBatch: true }
    expect(told).toMatchObject([{ ...outage, isOver: false }])
    watch.gotThrough('batch')
    expect(watch.noneTakenSince).toBeUndefined()
    expect(told.slice(1)).toMatchObject([{ ...outage, isOver: true }])
    // Another batch has succeeded since the first try of this one.
    watch.batchWaits(cause, 10_000, 5_000)
    expect(told).toHaveLength(2)
    watch.batchWaits(cause, 10_001, 5_000)
    expect(told).toHaveLength(3)
  })

  test('tells nothing of one that is short', () => {
    const { watch, told } = watched()
    watch.failed(cause, 10_000, 1_999)
    watch.end()
    expect(told).toEqual([])
  })
})
