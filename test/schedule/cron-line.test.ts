import { describe, expect, it } from 'vitest'
import { readCronLine } from '../../src/schedule/fires.ts'

const all = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

describe('a cron line', () => {
  it('is minutes, hours, days, months and weekdays', () => {
    expect(readCronLine('15,45 2-4 * * MON-FRI')).toEqual({
      minutes: [15, 45],
      hours: [2, 3, 4],
      days: new Set(all(1, 31)),
      months: new Set(all(1, 12)),
      weekdays: new Set([1, 2, 3, 4, 5]),
    })

    expect(readCronLine('*/20 * 1 */6 *')).toMatchObject({
      minutes: [0, 20, 40],
      hours: undefined,
      days: new Set([1]),
      months: new Set([1, 7]),
    })
    expect(readCronLine('@daily')).toMatchObject({ minutes: [0], hours: [0] })
  })

  it.each([
    ['', /^is not a cron line/],
    ['at night', /^is not a cron line/],
    ['15 2 * *', /^is not a cron line/],
    ['15 25 * * *', /its hour cannot be "25"/],
    ['60 2 * * *', /its minute cannot be "60"/],
    ['15 2 30 2 *', /its day cannot be "30"/],
    ['0 15 2 * * *', /seconds are not supported/],
    ['15 2 L * *', /L, W or #/],
    ['15 2 * * 5#2', /L, W or #/],
    ['15 2 1 * 1', /two ways/],
  ])('"%s" is refused, with an example', (text, why) => {
    const line = readCronLine(text)
    expect(line).toMatchObject({ problem: expect.stringMatching(why) })
    expect(line).toMatchObject({ problem: expect.stringContaining('write it like "15 2 * * *"') })
  })
})
