import { expect, test } from 'vitest'
import { largestFirst } from '../../src/story/reasons.ts'
import type { RunSummary } from '../../src/story/run-story.ts'
import { codeCountWords, driftCounts } from '../../src/story/words.ts'

type Drift = RunSummary['drift'][number]

const drifted = (measure: Drift['measure'], change?: number, level: Drift['level'] = 'warn'): Drift => ({
  ...{ export: 'day.csv', measure, level, message: 'differs' },
  ...(change === undefined ? {} : { change }),
})

test('of many reasons twenty are named, and the others are a sum', () => {
  const counts = Array.from({ length: 23 }, (_, at) => ({ code: `c${at}`, count: 100 - at }))
  expect(codeCountWords(counts.slice(0, 20))).not.toContain('other')
  // 80 + 79 + 78
  expect(codeCountWords(counts)).toMatch(/^c0 100, .*, c19 81, other reasons 237$/)
})

test('differences are counted by measure, most frequent first', () => {
  expect(driftCounts([drifted('rows'), drifted('empty'), drifted('empty')])).toBe(
    '3 differences in one export: empty 2, rows 1',
  )
})

test('differences that stop come first, then the largest; what has no measure is as large as can be', () => {
  const all = [
    drifted('rows', 0.2),
    drifted('columns'),
    drifted('empty', 0.5),
    drifted('mix', 0.1, 'stop'),
    drifted('fit', 0.9, 'accepted'),
  ]
  expect(largestFirst(all).map(({ measure }) => measure)).toEqual(['mix', 'fit', 'columns', 'empty', 'rows'])
})
