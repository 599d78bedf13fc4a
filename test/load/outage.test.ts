import { describe, expect, test } from 'vitest'
import {
  batchWaits,
  type Cause,
  failedAgain,
  isNews,
  type ReportedOutage,
  watchOutage,
} from '../../src/load/outage.ts'

type Outage = ReturnType<typeof failedAgain>

const REFUSED: Cause = {
  class: 'not-sent',
  status: undefined,
  what: 'create failed: ECONNREFUSED, at GATEWAY',
}
const BUSY: Cause = { class: 'not-taken', status: 503, what: 'create was answered 503' }
const BEFORE: Outage = { ...REFUSED, since: 1_000, failures: 3, ofBatch: false, isNotable: false }

describe('a failure', () => {
  test.each([
    // Held, silent for, notable: the wait and what has passed since the first failure count together.
    ['the first, held for half a second', undefined, { begunAt: 990, now: 1_000, heldMs: 500 }, false],
    ['the first, held for two', undefined, { begunAt: 1_000, now: 1_000, heldMs: 2_000 }, true],
    ['the first, of a request that hung', undefined, { begunAt: 1_000, now: 61_000, heldMs: 500 }, true],
    ['one that hung while others are tried', undefined, { begunAt: 1_000, now: 61_000, heldMs: 0 }, false],
    ['a later one, not long after', BEFORE, { begunAt: 1_500, now: 1_500, heldMs: 1_000 }, false],
    ['a later one', BEFORE, { begunAt: 2_500, now: 2_500, heldMs: 500 }, true],
    ['one after it was told', { ...BEFORE, isNotable: true }, { begunAt: 9, now: 1_100, heldMs: 0 }, true],
    ['a later one, held for a moment', BEFORE, { begunAt: 2_999, now: 2_999, heldMs: 1 }, true],
    [
      'one while a batch waits',
      { ...BEFORE, ofBatch: true },
      { begunAt: 1_500, now: 1_500, heldMs: 1 },
      false,
    ],
  ])('%s', (_name, before, times, isNotable) => {
    const outage = failedAgain(before, BUSY, times)
    expect(outage).toEqual({
      ...BUSY,
      ...{ since: before?.since ?? times.now, failures: (before?.failures ?? 0) + 1 },
      ...{ ofBatch: before?.ofBatch ?? false, isNotable },
    })
  })
})

describe('a batch that waits', () => {
  const wait = { since: 1_000, now: 2_500, waitMs: 400, takenAt: 500 }
  test.each([
    ['not long yet', undefined, wait, { since: 1_000, isNotable: false }],
    ['two seconds by the next try', undefined, { ...wait, waitMs: 500 }, { since: 1_000, isNotable: true }],
    ['for longer than any other', { ...BEFORE, since: 2_000 }, wait, { since: 1_000, failures: 3 }],
    ['not the first that fails', { ...BEFORE, since: 10 }, wait, { since: 10, ofBatch: true }],
    ['not long yet, in an outage that was told', { ...BEFORE, isNotable: true }, wait, { isNotable: true }],
  ])('%s', (_name, before, times, expected) => {
    expect(batchWaits(before, BUSY, times)).toMatchObject({ ...BUSY, ofBatch: true, ...expected })
  })

  test('fails by itself where another one has got through since', () => {
    expect(batchWaits(undefined, BUSY, { ...wait, takenAt: 1_000 })).toBeUndefined()
    expect(batchWaits(BEFORE, BUSY, { ...wait, takenAt: 1_001 })).toBe(BEFORE)
  })
})

test.each([
  ['nothing notable', undefined, BEFORE, false],
  ['a first failure that is notable', undefined, { ...BEFORE, isNotable: true }, true],
  ['what was not notable before', BEFORE, { ...BEFORE, isNotable: true }, true],
  [
    'the same by another call',
    { ...BEFORE, isNotable: true },
    { ...BEFORE, isNotable: true, what: 'x' },
    false,
  ],
  ['another class', { ...BEFORE, isNotable: true }, { ...BEFORE, ...BUSY, isNotable: true }, true],
  [
    'another status',
    { ...BEFORE, ...BUSY, isNotable: true },
    { ...BEFORE, ...BUSY, status: 429, isNotable: true },
    true,
  ],
])('what is news: %s', (_name, before, outage, expected) => {
  expect(isNews(before, outage)).toBe(expected)
})

describe('silence', () => {
  const SLOW: Cause = { class: 'not-taken', status: 429, what: 'create was answered 429' }
  const watch = (patienceMs = 60_000) => {
    const clock = { at: 1_000 }
    const outages = watchOutage({ patienceMs, now: () => clock.at, onOutage: () => {} })
    const fail = (cause: Cause, times = 1): void => {
      for (let time = 0; time < times; time++) outages.failed(cause, ++clock.at, 0)
    }
    return { clock, outages, fail }
  }

  test('begins with the first failure', () => {
    const { outages, fail } = watch()
    fail(REFUSED, 2)
    expect(outages.failingSince).toBe(1_001)
    outages.gotThrough('read')
    expect(outages.failingSince).toBeUndefined()
  })

  test.each([
    ['a shorter patience is five minutes', 60_000, 300_000],
    ['a longer patience stays', 600_000, 600_000],
  ])('with a gateway that asks for a slower pace alone, %s', (_, given, patienceMs) => {
    const { outages, fail } = watch(given)
    fail(SLOW, 3)
    expect([outages.failingSince, outages.patienceMs()]).toEqual([1_001, patienceMs])
    outages.gotThrough('batch')
    expect([outages.failingSince, outages.patienceMs()]).toEqual([undefined, given])
  })

  test('begins anew with the first other failure, and ends by the patience of the job', () => {
    const { outages, fail } = watch(60_000)
    fail(SLOW, 3)
    fail(BUSY)
    fail(SLOW, 3)
    expect([outages.failingSince, outages.patienceMs()]).toEqual([1_004, 60_000])
  })
})

describe('the watch over an outage', () => {
  const cause: Cause = { class: 'ambiguous', status: 502, what: 'the call answered 502' }
  function watched() {
    const clock = { now: 10_000 }
    const told: Pick<ReportedOutage, 'isOver' | 'since' | 'ofBatch'>[] = []
    const watch = watchOutage({
      patienceMs: 60_000,
      now: () => clock.now,
      onOutage: ({ isOver, since, ofBatch }) => told.push({ isOver, since, ofBatch }),
    })
    return { watch, clock, told }
  }

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
    expect(told).toEqual([
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
    expect(told).toEqual([{ ...outage, isOver: false }])
    watch.gotThrough('batch')
    expect(watch.noneTakenSince).toBeUndefined()
    expect(told.slice(1)).toEqual([{ ...outage, isOver: true }])
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
