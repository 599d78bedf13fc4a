import { expect, it } from 'vitest'
import { estimate } from '../../src/job/backfill-estimate.ts'

const run = (fields: Partial<Parameters<typeof estimate>[1][number]> = {}) => ({
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
  expect(estimate(rows, past, rate)).toMatchObject({ seconds, rowsPerSecond, limitedByRate })
})

it.each([
  ['no run', []],
  ['a run that sent nothing', [run({ unchanged: 5_000 })]],
  ['a run that made nothing', [run({ made: 0 })]],
  ['a run whose clock stood', [run({ durationMs: 0 })]],
])('is not made of %s', (_of, past) => {
  expect(estimate(6_000, past, 5)).toBeUndefined()
})
