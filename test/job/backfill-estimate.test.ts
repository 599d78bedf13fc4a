import { expect, it } from 'vitest'
import { estimate, type PastRun } from '../../src/job/backfill-estimate.ts'

const run = (fields: Partial<PastRun> = {}): PastRun => ({
  ...{ rows: 1_000, made: 5_000, unchanged: 0, requests: 200, durationMs: 10_000 },
  ...fields,
})

it.each([
  ['the rows of a run by its time', [run()], undefined, 6_000, 60, 100, false],
  ['two runs together', [run(), run({ durationMs: 30_000 })], undefined, 6_000, 120, 50, false],
  // Half of its rows took no time to speak of.
  ['without what was delivered before', [run({ unchanged: 2_500 })], undefined, 6_000, 120, 50, false],
  [
    'leaving out runs that sent nothing',
    [run(), run({ unchanged: 5_000 })],
    undefined,
    6_000,
    60,
    100,
    false,
  ],
  // A fifth of a request each, at 4 a second.
  ['a rate below what it would need', [run()], 4, 6_000, 300, 100, true],
  ['a rate above it', [run()], 40, 6_000, 60, 100, false],
  ['nothing to send', [run()], 4, 0, 0, 100, false],
] as const)('is made of %s', (_of, past, rate, rows, seconds, rowsPerSecond, limitedByRate) => {
  expect(estimate({ fresh: rows, known: 0 }, past, rate)).toMatchObject({
    seconds,
    rowsPerSecond,
    limitedByRate,
  })
})

it.each([
  ['no run', []],
  ['a run that sent nothing', [run({ unchanged: 5_000 })]],
  ['a run that made nothing', [run({ made: 0 })]],
  ['a run whose clock stood', [run({ durationMs: 0 })]],
])('is not made of %s', (_of, past) => {
  expect(estimate({ fresh: 6_000, known: 0 }, past, 5)).toBeUndefined()
})

/** A thousand rows in two seconds, of which nothing was sent. */
const again = run({ unchanged: 5_000, requests: 0, durationMs: 2_000 })

it.each([
  ['as fast as a run that sent nothing', { fresh: 0, known: 10_000 }, [run(), again], undefined, 20],
  ['where nothing was ever sent', { fresh: 0, known: 10_000 }, [again], undefined, 20],
  ['in addition to new ones', { fresh: 6_000, known: 10_000 }, [run(), again], undefined, 60 + 20],
  ['in addition to the requests of new ones', { fresh: 6_000, known: 10_000 }, [run(), again], 4, 300 + 20],
  ['no slower than rows of runs that sent', { fresh: 0, known: 10_000 }, [run()], undefined, 100],
  // Half of its rows in one second, so the others in nine.
  [
    'apart from the new ones of the same run',
    { fresh: 5_000, known: 0 },
    [run({ unchanged: 2_500 }), again],
    undefined,
    90,
  ],
] as const)('of known rows is told: %s', (_what, rows, past, rate, seconds) => {
  expect(estimate(rows, past, rate)?.seconds).toBeCloseTo(seconds, 6)
})
