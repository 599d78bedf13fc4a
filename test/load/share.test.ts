import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Asked, divide, EMPTY_POT, leave, type Pot, RENEW_MS, SHARE_MS } from '../../src/load/share.ts'

const NOBODY_GONE = (): boolean => false
const ASKED: Asked = {
  ceiling: 8,
  underWay: 0,
  busy: true,
  rate: undefined,
  grantedRate: undefined,
  hold: undefined,
}

/** Renewals of several processes, one after the other, each by its own numbers. */
function sharing() {
  let pot: Pot = EMPTY_POT
  return {
    renew(
      owner: string,
      now: number,
      asked: Partial<Asked> = {},
      isGone: (name: string) => boolean = NOBODY_GONE,
    ) {
      const divided = divide(pot, owner, { ...ASKED, ...asked }, now, isGone)
      pot = divided.pot
      return divided.granted
    },
    leave(owner: string, now: number) {
      pot = leave(pot, owner, now)
    },
  }
}

describe('slots', () => {
  test('one process has the ceiling; a second gets its part once the first has renewed', () => {
    const { renew } = sharing()
    expect(renew('a', 0)).toMatchObject({ slots: 8, isUneven: false })
    expect(renew('b', 10)).toMatchObject({ slots: 0, isUneven: true })
    // Six requests are still under way: two slots are free.
    expect(renew('a', 1_000, { underWay: 6 })).toMatchObject({ slots: 4, isUneven: true })
    expect(renew('b', 1_010)).toMatchObject({ slots: 2, isUneven: true })
    expect(renew('a', 2_000, { underWay: 4 })).toMatchObject({ slots: 4, isUneven: false })
    expect(renew('b', 2_010)).toMatchObject({ slots: 4, isUneven: false })
  })

  test('a process without anything to send leaves the rest to the others', () => {
    const { renew } = sharing()
    expect(renew('a', 0, { busy: false }).slots).toBe(1)
    expect(renew('b', 10).slots).toBe(7)
  })

  test('what cannot be divided goes round, so that each process sends', () => {
    const { renew } = sharing()
    const had = new Set<string>()
    for (let now = 0; now < 20_000; now += 250)
      for (const name of ['a', 'b', 'c']) if (renew(name, now, { ceiling: 1 }).slots === 1) had.add(name)
    expect(had.size).toBe(3)
  })

  test('a process that renews no more keeps its slots for a while, unless it has surely ended or has left', () => {
    const { renew, leave: goes } = sharing()
    renew('a', 0)
    expect(renew('b', SHARE_MS).slots).toBe(0)
    expect(renew('b', SHARE_MS + 10_000 - 1).slots).toBe(0)
    expect(renew('b', SHARE_MS + 10_000).slots).toBe(8)
    goes('b', 16_000)
    expect(renew('c', 16_000).slots).toBe(8)
    expect(renew('d', 16_000, {}, (name) => name === 'c').slots).toBe(8)
  })

  test('whatever processes do, those with a share never have more requests under way than the ceiling', () => {
    const step = fc.record({
      owner: fc.constantFrom('a', 'b', 'c', 'd'),
      after: fc.integer({ min: 0, max: RENEW_MS }),
      uses: fc.double({ min: 0, max: 1, noNaN: true }),
      busy: fc.boolean(),
      leaves: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 60 }), (ceiling, steps) => {
        const { renew, leave: goes } = sharing()
        const underWay = new Map<string, number>()
        const renewedAt = new Map<string, number>()
        let now = 0
        for (const { owner, after, uses, busy, leaves } of steps) {
          now += after
          // Longer than its slots are kept: its requests have ended.
          for (const [name, at] of renewedAt) if (now - at > SHARE_MS) underWay.delete(name)
          renewedAt.set(owner, now)
          const own = underWay.get(owner) ?? 0
          if (leaves && own === 0) {
            goes(owner, now)
            continue
          }
          const { slots } = renew(owner, now, { ceiling, underWay: own, busy })
          // Requests under way end or not; new ones begin while there are slots.
          underWay.set(owner, Math.max(Math.floor(own * uses), Math.floor(slots * uses)))
          const all = [...underWay.values()].reduce((sum, count) => sum + count)
          expect(all).toBeLessThanOrEqual(ceiling)
        }
      }),
    )
  })
})

describe('rate', () => {
  test('a rate that one has learned is divided by slots, and four reports of one refusal make one cut', () => {
    const { renew } = sharing()
    const names = ['a', 'b', 'c', 'd']
    for (const now of [0, 1_000, 2_000]) for (const name of names) renew(name, now)
    expect(renew('a', 3_000, { rate: 10 }).rate).toBe(10)
    expect(renew('b', 3_010, { rate: 12 }).rate).toBe(10)
    for (const name of ['c', 'd']) expect(renew(name, 3_020).rate).toBe(10)
    const cut = { rate: 9, grantedRate: 10 }
    expect(names.map((name) => renew(name, 5_000, cut).rate)).toEqual([9, 9, 9, 9])
    expect(renew('a', 6_000, { rate: 9, grantedRate: 9 }).rate).toBe(9)
    // One that rises alone raises the sum by its own step.
    expect(renew('a', 7_000, { rate: 13, grantedRate: 9 }).rate).toBe(10)
  })
})

describe('holds', () => {
  const hold = { forMs: 5_000, askedForMs: 5_000, openings: 1 }

  test('what the gateway asks of one is kept by the others; the one that has heard tries first', () => {
    const { renew } = sharing()
    renew('b', 0)
    expect(renew('a', 100, { hold }).hold).toEqual(hold)
    const other = renew('b', 1_100).hold
    expect(other?.askedForMs).toBe(4_000)
    expect(other?.forMs).toBeGreaterThan(4_000 + RENEW_MS)
    expect(renew('a', 1_200, { hold: { ...hold, forMs: 3_900, askedForMs: 3_900 } }).hold?.forMs).toBe(3_900)
    expect(renew('b', 5_200).hold).toBeUndefined()
  })

  test('a hold outlives the process that has heard it', () => {
    const { renew, leave: goes } = sharing()
    renew('a', 0, { hold })
    goes('a', 10)
    expect(renew('b', 20).hold?.askedForMs).toBe(4_980)
  })
})
