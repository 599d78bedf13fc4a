import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSizeLimits, fits, taken, tooLarge } from '../../src/load/batches.ts'

type SizeLessons = ReturnType<typeof taken>

/** Lessons of a gateway that has answered nothing. */
const UNTAUGHT = createSizeLimits().of('biometric')
const size = (records: number, bytes: number) => ({ records, bytes })

describe('what 413 teaches', () => {
  it.each<[string, SizeLessons, ReturnType<typeof size>]>([
    ['half of what was refused', tooLarge(UNTAUGHT, size(500, 400_000)), size(250, 200_000)],
    ['one record of two', tooLarge(UNTAUGHT, size(2, 101)), size(1, 51)],
    ['the greater half', tooLarge(UNTAUGHT, size(3, 7)), size(2, 4)],
    [
      'never less than what was taken',
      tooLarge(taken(UNTAUGHT, size(300, 90_000)), size(500, 400_000)),
      size(300, 200_000),
    ],
    [
      'no more than before',
      tooLarge(tooLarge(UNTAUGHT, size(100, 90_000)), size(500, 400_000)),
      size(50, 45_000),
    ],
    [
      'nothing of a record that is too large alone',
      tooLarge(UNTAUGHT, size(1, 400_000)),
      size(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    ],
  ])('%s', (_what, lessons, limits) => {
    expect(lessons.limits).toEqual(limits)
  })

  it('lets a single record go whatever its size', () => {
    const lessons = tooLarge(UNTAUGHT, size(10, 1_000))
    expect(
      [size(1, 9_999), size(5, 500), size(6, 400), size(5, 501)].map((one) => fits(lessons, one)),
    ).toEqual([true, true, false, false])
  })

  it('is kept by kind', () => {
    const sizes = createSizeLimits()
    sizes.learn('biometric', tooLarge, size(10, 1_000))
    expect([fits(sizes.of('biometric'), size(10, 10)), fits(sizes.of('condition'), size(10, 10))]).toEqual([
      false,
      true,
    ])
  })

  it('never raises a limit, whatever follows', () => {
    const lesson = fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 1e6 }))
    fc.assert(
      fc.property(fc.array(lesson), (lessons) => {
        let known = UNTAUGHT
        for (const [wasTaken, records, bytes] of lessons) {
          const next = (wasTaken ? taken : tooLarge)(known, size(records, bytes))
          expect(next.limits.records).toBeLessThanOrEqual(known.limits.records)
          expect(next.limits.bytes).toBeLessThanOrEqual(known.limits.bytes)
          known = next
        }
      }),
    )
  })
})
