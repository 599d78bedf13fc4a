import { describe, expect, test } from 'vitest'
import {
  throughputOf,
  throughputPicture,
  throughputSection,
} from '../../../src/story/report/throughput-section.ts'
import { factsWith, made, summaryWith } from './sample-facts.ts'

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

test('of many pauses, the twelve longest are named, in their order', () => {
  const records = made({ accepted: 100 })
  // The first pauses are the shortest: a second, two seconds, and so on.
  const work = Array.from({ length: 14 }, (_, at) => {
    return { from: at * 10_000, to: (at + 1) * 10_000, paused: (at + 1) * 1_000, rows: 100, records }
  })
  const summary = { ...summaryWith({}), durationMs: 140_000 }
  const text = throughputSection({ ...factsWith({}), work, summary })
  const [, sentence = ''] = /<p>(14 pauses are left out[^<]+)<\/p>/.exec(text) ?? []
  expect(sentence).toContain('together 1 min 45 s')
  const lengths = [...sentence.matchAll(/(\d+) s after/g)].map(([, length]) => Number(length))
  expect(lengths).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
})
