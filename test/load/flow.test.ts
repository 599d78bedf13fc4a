import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beginFlow, type Ending, nextStart } from '../../src/load/flow.ts'
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

const quick = { ceiling: 8, latency: () => [5, 5] as const }
const TAKEN: Ending = { kind: 'answered' }

describe('the pace', () => {
  it('costs nothing where nothing is refused', () => {
    const { flow, sentAt } = simulate({
      ...quick,
      durationMs: 10_000,
      random: drawFrom(1),
      answer: () => TAKEN,
    })
    // Eight at once, ten milliseconds each.
    expect(sentAt.length).toBeGreaterThanOrEqual(7_900)
    expect([flow.pace.rate, flow.concurrency.allowed]).toEqual([undefined, 8])
  })

  it('is not set by a lone refusal among many that were taken', () => {
    let requests = 0
    const { flow } = simulate({
      ...quick,
      durationMs: 10_000,
      random: drawFrom(1),
      answer: () => (++requests % 500 === 0 ? { kind: 'not-taken', retryAfterMs: undefined } : TAKEN),
    })
    expect(flow.pace.rate).toBeUndefined()
  })

  it('is given up where the gateway permits much more than before', () => {
    const limiter = LIMITERS['sliding window'](20)
    const { flow, sentAt } = simulate({
      ...quick,
      durationMs: 240_000,
      random: drawFrom(1),
      answer: (now) =>
        now > 60_000 || limiter(now).taken ? TAKEN : { kind: 'not-taken', retryAfterMs: undefined },
    })
    expect(flow.pace.rate).toBeUndefined()
    expect(sentAt.filter((at) => at > 239_000).length).toBeGreaterThan(700)
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
    expect(nextStart(flow, 100)).toBeGreaterThan(900_000)
    expect(nextStart(flow, 100)).toBeLessThan(900_700)
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
        expect(new Set(back.slice(0, 8)).size).toBeGreaterThan(2)
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

describe('latency', () => {
  it('does not lower the concurrency where it is only noise', () => {
    fc.assert(
      fc.property(anySeed, (seed) => {
        const random = drawFrom(seed)
        const { allowed } = simulate({
          durationMs: 120_000,
          ceiling: 8,
          random,
          // One in ten takes up to twenty times as long; every half a minute all do for two seconds' worth of doubling.
          latency: (now) => {
            const busy = now % 30_000 < 2_000 ? 2 : 1
            return [1, busy * 100 * (random() < 0.1 ? 1 + 19 * random() : 0.5 + random())]
          },
          answer: () => TAKEN,
        })
        expect(Math.min(...allowed.map(([, count]) => count))).toBe(8)
      }),
      { numRuns: 10 },
    )
  })

  it('lowers it where all take ten times as long, and lets it grow when that is over', () => {
    const random = drawFrom(7)
    const { allowed } = simulate({
      durationMs: 600_000,
      ceiling: 8,
      random,
      latency: (now) => [1, (now > 60_000 && now < 120_000 ? 1_500 : 150) * (0.8 + 0.4 * random())],
      answer: () => TAKEN,
    })
    const least = Math.min(...allowed.filter(([at]) => at > 60_000 && at < 122_000).map(([, count]) => count))
    expect(least).toBeLessThanOrEqual(5)
    expect(allowed.at(-1)?.[1]).toBe(8)
  })
})
