import { describe, expect, it } from 'vitest'
import { NO_PACE, type Pace, paceAccepted, paceBegun, paceRefused } from '../../src/load/pace.ts'

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
  let pace = NO_PACE
  for (let at = 0; at < count; at++) pace = paceAccepted(pace, (at * overMs) / count, false)
  return pace
}

describe('the pace', () => {
  it('is what got through in the last second, less a margin', () => {
    expect(paceRefused(taken(20, 100), 100).rate).toBeCloseTo(19.6)
    expect(paceRefused(taken(100, 4_000), 4_000).rate).toBeCloseTo(25 * 0.98, 0)
  })

  it('is two a second where too little got through to tell', () => {
    expect(paceRefused(NO_PACE, 100).rate).toBeCloseTo(1.96)
    expect(paceRefused(taken(1, 100), 8_000).rate).toBeCloseTo(1.96)
    // What can be told counts, however little it is.
    expect(paceRefused(taken(10, 9_000), 9_000).rate).toBeCloseTo(0.98, 1)
  })

  it('counts, into its first estimate, what was under way with the refused one and taken', () => {
    const first = paceRefused(taken(18, 100), 100)
    expect(paceAccepted(paceAccepted(first, 100, true), 100, true).rate).toBeCloseTo(19.6)
    expect(paceAccepted(paceAccepted(first, 100, false), 100, true).rate).toBeCloseTo(18 * 0.98)
  })

  it('is none after one refusal in hundreds', () => {
    expect(paceRefused(taken(300, 1_000), 1_000).rate).toBeUndefined()
  })

  it('is kept', () => {
    const { sent } = send(paceRefused(taken(20, 100), 100), 100, 4_100)
    expect(sent).toBeGreaterThanOrEqual(78)
    expect(sent).toBeLessThanOrEqual(79)
  })

  it('is raised after a time of quiet, in steps that double', () => {
    const first = paceRefused(taken(20, 100), 100)
    const rates = [9_000, 10_600, 12_800, 15_000].map((until) => send(first, 100, until).pace.rate ?? 0)
    expect(rates.map((rate) => (rate / 19.6).toFixed(2))).toEqual(['1.00', '1.02', '1.06', '1.15'])
  })

  it('goes back behind a step too far, and is quiet for twice as long', () => {
    const raised = send(paceRefused(taken(20, 100), 100), 100, 10_600).pace
    const back = paceRefused(raised, 10_600)
    expect(back.rate).toBeCloseTo(19.6)
    expect(send(back, 10_600, 30_000).pace.rate).toBeCloseTo(19.6)
    expect(send(back, 10_600, 31_000).pace.rate).toBeGreaterThan(19.7)
  })

  it('is lowered where it was a guess too high', () => {
    const first = paceRefused(taken(40, 900), 900)
    const next = paceRefused(send(first, 900, 2_000).pace, 2_000)
    expect((next.rate ?? 0) / (first.rate ?? 0)).toBeCloseTo(0.75)
  })

  it('is given up where it held nothing back for a minute', () => {
    const first = paceRefused(taken(20, 100), 100)
    const slow = [20_000, 40_000, 60_000].reduce(
      (pace, now) => paceAccepted(paceBegun(pace, now), now, false),
      first,
    )
    expect(slow.rate).toBeCloseTo(19.6)
    expect(paceAccepted(paceBegun(slow, 61_000), 61_000, false).rate).toBeUndefined()
  })
})
