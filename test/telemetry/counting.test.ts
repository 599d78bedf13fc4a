import { expect, test } from 'vitest'
import { createCounting } from '../../src/telemetry/progress.ts'

/** Counts to 739, one each 40 ms. */
function counted(columns: number | undefined): string {
  let text = ''
  let ms = 0
  const counting = createCounting({
    columns: columns !== undefined && (() => columns),
    now: () => ms,
    write: (more) => {
      text += more
    },
  })
  for (let at = 1; at <= 739; at++) {
    counting.at(`${at} of 739: counting acme_screening_20240101.csv`)
    ms += 40
  }
  counting.end()
  return text
}

test('in a terminal: one line in its place, taken away at the end', () => {
  const text = counted(30)
  expect(text).not.toContain('\n')
  const drawn = text.split('\r\x1b[2K')
  expect(drawn.at(-1)).toBe('')
  expect(drawn[1]).toBe('1 of 739: counting acme_scree')
  expect(Math.max(...drawn.map((line) => line.length))).toBeLessThan(30)
})

test('without a terminal: a line every five seconds', () => {
  // 739 in 29.6 s: at 0, 5, 10, 15, 20 and 25 s.
  const lines = counted(undefined).trimEnd().split('\n')
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['1', '126', '251', '376', '501', '626'])
})

test('in a terminal, nothing is taken away where nothing was shown', () => {
  let text = ''
  const write = (more: string): void => {
    text += more
  }
  createCounting({ columns: () => 30, now: () => 0, write }).end()
  expect(text).toBe('')
})
