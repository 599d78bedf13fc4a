import { describe, expect, test } from 'vitest'
import { throughputOf, throughputPicture } from '../../../src/story/report/throughput-section.ts'
import { made } from './sample-facts.ts'

/** What a character of the axis takes at most. */
const CHARACTER = 7

/** Where the marks of the time axis end, to the right. */
const endsOf = (picture: string, height: number): number[] =>
  [...picture.matchAll(/<text class="axis (\w*)" x="([\d.]+)" y="(\d+)">([^<]+)</g)]
    .filter(([, , , y]) => Number(y) === height - 6)
    .map(
      ([, anchor, x, , text = '']) =>
        Number(x) + (anchor === 'end' ? 0 : (text.length * CHARACTER) / (anchor === 'middle' ? 2 : 1)),
    )

describe.each([
  { width: 940, height: 230, ticks: 9 },
  { width: 350, height: 200, ticks: 4 },
])('a picture of throughput $width wide', (size) => {
  test('cuts no mark of its time axis, however long the run was', () => {
    for (let seconds = 1; seconds <= 900; seconds += 7) {
      const worked = seconds * 1000
      const records = made({ accepted: 100 })
      const span = { from: 0, to: worked, paused: 0, rows: 100, records }
      const picture = throughputPicture(throughputOf([span], worked, 60), ['accepted'], size)
      const ends = endsOf(picture, size.height)
      expect(ends.length, `${seconds} s`).toBeGreaterThan(1)
      expect(Math.max(...ends), `${seconds} s`).toBeLessThanOrEqual(size.width)
    }
  })
})
