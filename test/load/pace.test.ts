import { describe, expect, it } from 'vitest'
import { beginPace, paceAccepted, paceBegun, paceRefused } from './flow-parts.ts'

type Pace = ReturnType<typeof beginPace>

/** Sends as soon as the pace lets it, from one moment to another; each is taken at once. */
function send(pace: Pace, fromMs: number, toMs: number): { pace: Pace; sent: number } {
  let current = pace
  let sent = 0
  for (let now = fromMs; now < toMs; now = Math.max(now, current.nextAt)) {
    current = paceAccepted(paceBegun(current, now), now, false)
    sent++
  }
  return { pace: current, sent }
}

/** So many taken, evenly spread over so many milliseconds. */
function taken(count: number, overMs: number): Pace {
  let pace = beginPace()
  for (let at = 0; at < count; at++) pace = paceAccepted(pace, (at * overMs) / count, false)
  return pace
}

const NONE = Number.POSITIVE_INFINITY

describe('the pace', () => {
  it('is what got through in the last second, less a margin', () => {
    expect(paceRefused(taken(20, 100), 100).rate).toBeCloseTo(19.6)
    expect(paceRefused(taken(100, 4_000), 4_000).rate).toBeCloseTo(25 * 0.98, 0)
  })

  it('is none where nothing got through to measure', () => {
    expect(paceRefused(beginPace(), 100).rate).toBe(NONE)
    expect(paceRefused(taken(5, 100), 9_000).rate).toBe(NONE)
  })

  it('counts, into its first estimate, what was under way with the refused one and taken', () => {
    const first = paceRefused(taken(18, 100), 100)
    expect(paceAccepted(paceAccepted(first, 100, true), 100, true).rate).toBeCloseTo(19.6)
    const cut = paceRefused(first, 200)
    expect(paceAccepted(cut, 200, true).rate).toBe(cut.rate)
  })

  it('is none after one refusal in hundreds', () => {
    expect(paceRefused(taken(300, 1_000), 1_000).rate).toBe(NONE)
  })

  it('is kept', () => {
    const { sent } = send(paceRefused(taken(20, 100), 100), 100, 4_100)
    expect(sent).toBeGreaterThanOrEqual(78)
    expect(sent).toBeLessThanOrEqual(79)
  })

  it('catches up on a late timer, and on no more than a quarter of a second', () => {
    const paced = paceRefused(taken(20, 100), 100)
    expect(paceBegun(paced, 110).nextAt).toBeCloseTo(100 + 1_000 / 19.6)
    expect(paceBegun(paced, 1_000).nextAt).toBeCloseTo(750 + 1_000 / 19.6)
  })

  it('is raised after a time of quiet, in steps that double', () => {
    const first = paceRefused(taken(30, 100), 100)
    const rates = [45_000, 45_600, 46_600, 47_600].map((until) => send(first, 100, until).pace.rate)
    expect(rates.map((rate) => (rate / 29.4).toFixed(2))).toEqual(['1.00', '1.02', '1.06', '1.15'])
  })

  it('is raised sooner the fewer it was measured by, and later each time that it is refused again', () => {
    const few = paceRefused(taken(5, 100), 100)
    expect(send(few, 100, 10_000).pace.rate).toBeCloseTo(4.9)
    const raised = send(few, 100, 10_400).pace
    expect(raised.rate).toBeCloseTo(4.9 * 1.02)
    const again = paceRefused(raised, 10_400)
    expect(send(again, 10_400, 30_300).pace.rate).toBeCloseTo(again.rate)
    expect(send(again, 10_400, 30_800).pace.rate).toBeCloseTo(again.rate * 1.02)
  })

  it('is not raised where it held nothing back', () => {
    let pace = paceRefused(taken(20, 100), 100)
    for (let now = 2_000; now < 90_000; now += 2_000) pace = paceAccepted(paceBegun(pace, now), now, false)
    expect(pace.rate).toBeCloseTo(19.6)
    // What is refused then is measured anew.
    expect(paceRefused(pace, 88_000).rate).toBeLessThan(2)
  })

  it('goes back behind a step too far', () => {
    const raised = send(paceRefused(taken(30, 100), 100), 100, 45_600).pace
    const back = paceRefused(raised, 45_600)
    expect(back.rate).toBeCloseTo(29.4 * 0.98)
    expect(send(back, 45_600, 90_500).pace.rate).toBeCloseTo(29.4 * 0.98)
  })

  it('falls by a tenth where it is refused', () => {
    const first = paceRefused(taken(40, 900), 900)
    expect(paceRefused(send(first, 900, 2_000).pace, 2_000).rate / first.rate).toBeCloseTo(0.9)
  })

  it('falls to what got through, where that was less than a second of it', () => {
    const first = paceRefused(taken(40, 900), 900)
    expect(paceRefused(send(first, 900, 1_400).pace, 1_400).rate).toBeCloseTo(20 * 0.98)
    expect(paceRefused(send(first, 900, 1_000).pace, 1_000).rate).toBeCloseTo(first.rate / 2)
  })
})
