import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admit, adopt, beginFlow, type Ending, nextStart } from '../../src/load/flow.ts'
import { drawFrom, LIMITERS, type Observed, simulate } from './simulated-flow.ts'

const KINDS = Object.keys(LIMITERS) as (keyof typeof LIMITERS)[]
const FIVE_MINUTES_MS = 300_000

interface Limited {
  readonly kind: keyof typeof LIMITERS
  readonly perSecond: number
  readonly says: boolean
  /** Milliseconds that a request takes on average. */
  readonly latencyMs: number
  readonly seed: number
}

/** Five minutes against a gateway that permits so many requests a second. */
function send({
  kind,
  perSecond,
  says,
  latencyMs,
  seed,
}: Limited): Observed & { used: number; refused: number } {
  const random = drawFrom(seed)
  const limiter = LIMITERS[kind](perSecond)
  const offset = random() * 1000
  const observed = simulate({
    durationMs: FIVE_MINUTES_MS,
    ceiling: 8,
    random,
    latency: () => [latencyMs * (0.4 + random() * 0.2), latencyMs * (0.4 + random() * 0.2)],
    answer: (now) => {
      const { taken, retryAfterMs } = limiter(now + offset)
      return taken
        ? { kind: 'answered' }
        : { kind: 'not-taken', retryAfterMs: says ? retryAfterMs : undefined }
    },
  })
  const { answered, notTaken } = observed
  return {
    ...observed,
    used: answered / (perSecond * (FIVE_MINUTES_MS / 1000)),
    refused: notTaken / (answered + notTaken),
  }
}

const anyLatency = fc.integer({ min: 2, max: 60 })
const anySeed = fc.integer({ min: 0, max: 2 ** 31 })

describe.each([
  { says: false, how: 'without Retry-After' },
  { says: true, how: 'with Retry-After' },
])('the permitted rate, $how', ({ says }) => {
  it.each(KINDS)('of 20 a second: 90 % of it used, 3 % refused at most (%s)', (kind) => {
    fc.assert(
      fc.property(anyLatency, anySeed, (latencyMs, seed) => {
        const { used, refused } = send({ kind, perSecond: 20, says, latencyMs, seed })
        expect(used).toBeGreaterThanOrEqual(0.9)
        expect(refused).toBeLessThanOrEqual(0.03)
      }),
      { numRuns: 10 },
    )
  })

  it.each(KINDS)('of 5 and of 100 a second: most of it used, few refused (%s)', (kind) => {
    fc.assert(
      fc.property(
        fc.constantFrom(5, 100),
        fc.integer({ min: 2, max: 50 }),
        anySeed,
        (perSecond, latencyMs, seed) => {
          const { used, refused } = send({ kind, perSecond, says, latencyMs, seed })
          expect(used).toBeGreaterThanOrEqual(0.8)
          expect(refused).toBeLessThanOrEqual(0.05)
        },
      ),
      { numRuns: 8 },
    )
  })
})

describe('a sender that is by itself a little faster than what is permitted', () => {
  // Where the count of a second spans two windows of the gateway, the first rate is too high, and each step down costs a second.
  it.each(KINDS)('uses most of 20 a second (%s)', (kind) => {
    const runs = [24, 30, 36, 45, 70].flatMap((perSecond) =>
      [1, 2, 3, 4].map((seed) =>
        send({ kind, perSecond: 20, says: true, latencyMs: 8_000 / perSecond, seed: seed * perSecond }),
      ),
    )
    const mean = (figure: (run: (typeof runs)[number]) => number): number =>
      runs.reduce((sum, run) => sum + figure(run), 0) / runs.length
    expect(mean(({ used }) => used)).toBeGreaterThanOrEqual(0.85)
    expect(mean(({ refused }) => refused)).toBeLessThanOrEqual(0.008)
  })
})

const quick = { ceiling: 8, latency: () => [5, 5] as const }
const TAKEN: Ending = { kind: 'answered' }

describe('the pace', () => {
  it('costs nothing where nothing is refused', () => {
    const { sentAt } = simulate({
      ...quick,
      durationMs: 10_000,
      random: drawFrom(1),
      answer: () => TAKEN,
    })
    // Eight at once, ten milliseconds each.
    expect(sentAt.length).toBeGreaterThanOrEqual(7_900)
  })

  it('is not set by a lone refusal among many that were taken', () => {
    let requests = 0
    const { flow } = simulate({
      ...quick,
      durationMs: 10_000,
      random: drawFrom(1),
      answer: () => (++requests % 500 === 0 ? { kind: 'not-taken', retryAfterMs: undefined } : TAKEN),
    })
    expect(flow.pace.rate).toBe(Number.POSITIVE_INFINITY)
  })

  it('is given up where the gateway permits much more than before', () => {
    const limiter = LIMITERS['sliding window'](20)
    const { sentAt } = simulate({
      ...quick,
      durationMs: 240_000,
      random: drawFrom(1),
      answer: (now) =>
        now > 60_000 || limiter(now).taken ? TAKEN : { kind: 'not-taken', retryAfterMs: undefined },
    })
    expect(sentAt.filter((at) => at > 239_000).length).toBeGreaterThan(700)
  })
})

describe('the ceiling', () => {
  it('rises with that of a further job, and never falls', () => {
    expect(admit(beginFlow(4), 8).ceiling).toBe(8)
    expect(admit(beginFlow(8), 4).ceiling).toBe(8)
  })

  it('is kept, whatever the gateway answers', () => {
    const random = drawFrom(11)
    let most = 0
    simulate({
      durationMs: 20_000,
      ceiling: 3,
      random,
      latency: (_now, underWay) => {
        most = Math.max(most, underWay)
        return [5, 5]
      },
      answer: () => (random() < 0.1 ? { kind: 'failed' } : TAKEN),
    })
    expect(most).toBe(3)
  })
})

describe('a rate that was asked for', () => {
  it.each([0.5, 1, 7, 30])(
    'of %d a second is nearly reached, and never passed in any second',
    (perSecond) => {
      fc.assert(
        fc.property(anySeed, anyLatency, (seed, latencyMs) => {
          const random = drawFrom(seed)
          const { sentAt } = simulate({
            durationMs: 60_000,
            ceiling: 8,
            random,
            latency: () => [latencyMs * random(), latencyMs * random()],
            answer: () => TAKEN,
            flow: beginFlow(8, perSecond),
          })
          // Timers are up to two milliseconds late.
          expect(sentAt.length).toBeGreaterThanOrEqual(Math.floor(60_000 / (1_000 / perSecond + 2)))
          for (const [at, sent] of sentAt.entries()) {
            const before = sentAt[at - Math.ceil(perSecond)]
            if (before !== undefined) expect(sent - before).toBeGreaterThanOrEqual(999.999)
          }
        }),
        { numRuns: 5 },
      )
    },
  )

  it('holds beside what the gateway takes: the lower of the two', () => {
    const limiter = LIMITERS['sliding window'](5)
    const { sentAt, notTaken } = simulate({
      ...quick,
      durationMs: 60_000,
      random: drawFrom(1),
      answer: (now) => (limiter(now).taken ? TAKEN : { kind: 'not-taken', retryAfterMs: undefined }),
      flow: beginFlow(8, 4),
    })
    expect(notTaken).toBe(0)
    expect(sentAt.length).toBeGreaterThan(235)
  })

  it('is none where none was', () => {
    const { sentAt } = simulate({ ...quick, durationMs: 1_000, random: drawFrom(1), answer: () => TAKEN })
    expect(sentAt.length).toBeGreaterThan(700)
  })
})

describe('a Retry-After', () => {
  const gapsOf = (sentAt: readonly number[]): number[] =>
    sentAt.slice(1).map((at, place) => at - (sentAt[place] ?? 0))

  it('holds all requests, and one tries again before the others', () => {
    let refused = 0
    const { sentAt } = simulate({
      ...quick,
      durationMs: 20_000,
      random: drawFrom(1),
      answer: (now) => (now > 1_000 && ++refused === 1 ? { kind: 'not-taken', retryAfterMs: 7_000 } : TAKEN),
    })
    const [longest = 0] = gapsOf(sentAt).sort((a, b) => b - a)
    expect(longest).toBeGreaterThanOrEqual(6_990)
    expect(longest).toBeLessThan(7_600)
    const resumed = sentAt.findIndex((at, place) => at - (sentAt[place - 1] ?? at) > 5_000)
    expect((sentAt[resumed + 1] ?? 0) - (sentAt[resumed] ?? 0)).toBeGreaterThanOrEqual(10)
  })

  it('of a year is followed for a quarter of an hour', () => {
    const { flow } = simulate({
      ...quick,
      durationMs: 100,
      random: drawFrom(1),
      answer: () => ({ kind: 'not-taken', retryAfterMs: 31_536_000_000 }),
    })
    expect(nextStart(flow)).toBeGreaterThan(900_000)
    expect(nextStart(flow)).toBeLessThan(900_700)
  })
})

describe('an outage of a minute', () => {
  const kinds: Record<string, Ending> = {
    'connection refused': { kind: 'failed' },
    '429 without Retry-After': { kind: 'not-taken', retryAfterMs: undefined },
    '503, come back in a second': { kind: 'not-taken', retryAfterMs: 1_000 },
  }

  it.each(Object.entries(kinds))('costs fewer than 20 requests, and ends by itself: %s', (_name, ending) => {
    fc.assert(
      fc.property(anySeed, fc.integer({ min: 20, max: 200 }), (seed, latencyMs) => {
        const random = drawFrom(seed)
        const isOut = (now: number): boolean => now >= 10_000 && now < 70_000
        const { sentAt, answered } = simulate({
          durationMs: 95_000,
          ceiling: 8,
          random,
          latency: () => [latencyMs * random(), latencyMs * random()],
          answer: (now) => (isOut(now) ? ending : TAKEN),
        })
        expect(sentAt.filter(isOut).length).toBeLessThan(20)
        const back = sentAt.filter((at) => at >= 70_000)
        // The longest wait of the breaker is 18 s.
        expect(back[0]).toBeLessThan(88_500)
        expect(answered).toBeGreaterThan(300)
      }),
      { numRuns: 10 },
    )
  })

  it('does not wait for requests that hang', () => {
    const random = drawFrom(3)
    let requests = 0
    const { sentAt } = simulate({
      durationMs: 100_000,
      ceiling: 8,
      random,
      // Of the first eight two hang for a minute and a half, and the others fail at once.
      latency: () => (++requests <= 2 ? [1, 90_000] : [1, 1]),
      answer: (now) => (now < 10_000 ? { kind: 'failed' } : TAKEN),
    })
    expect(sentAt.filter((at) => at > 20_000 && at < 30_000).length).toBeGreaterThan(1_000)
  })
})

describe('a gateway that refuses at random', () => {
  it.each([0.3, 0.5])('%s of all requests: they go through all the same, slowly', (share) => {
    const random = drawFrom(5)
    const hour = simulate({
      durationMs: 3_600_000,
      ceiling: 8,
      random,
      latency: () => [20, 20],
      answer: () =>
        random() < share ? { kind: 'not-taken', retryAfterMs: undefined } : { kind: 'answered' },
    })
    // One a second leaves; a refused one is followed by waits of half a second on, doubled while it goes on.
    expect(hour.answered).toBeGreaterThan(900)
    expect(hour.flow.pace.rate).toBeGreaterThanOrEqual(1)
  })
})

describe('what a process is granted of a share', () => {
  const NOW = 50_000
  const grant = { slots: 3, rate: undefined, hold: undefined, isUneven: false }
  const hold = { forMs: 2_000, askedForMs: 700, openings: 4 }

  it('has slots, and a rate that counts from where it is first known', () => {
    const flow = beginFlow(8, 20)
    const learned = (rate: number | undefined, now: number, before = flow) =>
      adopt(before, { ...grant, rate }, now)
    expect(learned(undefined, NOW)).toEqual({ ...flow, slots: 3 })
    const first = learned(7, NOW)
    expect(first).toEqual({ ...flow, slots: 3, pace: { ...flow.pace, rate: 7, changedAt: NOW, nextAt: NOW } })
    expect(learned(5, NOW + 1_000, first)).toEqual({ ...first, pace: { ...first.pace, rate: 5 } })
    expect(learned(undefined, NOW + 1_000, first)).toEqual(first)
  })

  it('begins nothing without a slot, and no more than its slots', () => {
    const startOf = (slots: number, underWay: number) =>
      nextStart({ ...adopt(beginFlow(8), { ...grant, slots }, NOW), underWay })
    expect([startOf(0, 0), startOf(3, 3)]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
    expect(startOf(3, 2)).toBeLessThanOrEqual(NOW)
  })

  it('is held as long as the others are: the longer of two holds counts, and none that is over', () => {
    const held = adopt(beginFlow(8), { ...grant, hold }, NOW)
    const open = { state: 'open', until: NOW + 2_000, notBefore: NOW + 700, openings: 4 }
    expect(held.breaker).toMatchObject(open)
    const again = (more: Partial<typeof hold>) =>
      adopt(held, { ...grant, hold: { ...hold, ...more } }, NOW).breaker
    expect(again({ forMs: 1_000, askedForMs: 900, openings: 9 })).toMatchObject({
      ...open,
      notBefore: NOW + 900,
    })
    expect(again({ forMs: 3_000, askedForMs: 100 })).toMatchObject({ ...open, until: NOW + 3_000 })
    expect(again({ forMs: 0, askedForMs: 9_000 })).toEqual(held.breaker)
    expect(adopt(beginFlow(8), { ...grant, hold: { ...hold, forMs: 0 } }, NOW).breaker.state).toBe('closed')
  })
})
