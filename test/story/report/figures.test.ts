import { expect, test } from 'vitest'
import { durationText, px } from '../../../src/story/report/figures.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

test.each([
  [0, '0 s'],
  [49, '0 s'],
  [50, '0.1 s'],
  [9_949, '9.9 s'],
  [9_999, '10 s'],
  [10_499, '10 s'],
  [10_500, '11 s'],
  [MINUTE - 501, '59 s'],
  [MINUTE - 500, '1 min'],
  [MINUTE + SECOND, '1 min 1 s'],
  [HOUR - SECOND, '59 min 59 s'],
  [HOUR, '1 h'],
  [HOUR + 59 * SECOND, '1 h'],
  [HOUR + MINUTE + SECOND, '1 h 1 min'],
  [DAY - MINUTE, '23 h 59 min'],
  [DAY, '1 d'],
  [DAY + 59 * MINUTE, '1 d'],
  [10 * DAY + HOUR, '10 d 1 h'],
])('%i ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

test.each([
  [1.04, '1'],
  [1.05, '1.1'],
  [-0.26, '-0.3'],
  [12, '12'],
])('%d is %s to a tenth of a pixel', (value, text) => {
  expect(px(value)).toBe(text)
})
