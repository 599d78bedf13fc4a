import { describe, expect, it } from 'vitest'
import { languageFor, recommend, score } from '../src/age-assessment.ts'

const rule = {
  ageWithoutDateOfBirth: { year: 33, month: 3 },
  bounds: { younger: 24, older: 18 },
  months: { worse: 14, better: -14, '7': 1 },
}
const JULY = Date.UTC(2024, 6, 1)
const scored = (chosen: (string | number)[], dateOfBirth?: string, onMs = JULY) =>
  score(rule, chosen, dateOfBirth, onMs)

describe('score', () => {
  it.each<[(string | number)[], number, number, number, number]>([
    [[], 0, 0, 54, 0],
    [['worse'], 1, 2, 55, 2],
    [['better'], -1, -2, 52, 10],
    [['worse', 'better', 'not scored'], 0, 0, 54, 0],
    [[7], 0, 1, 54, 1],
    [['better', 7, 7], -1, 0, 53, 0],
    [['worse', 'worse'], 1, 6, 55, 6],
    [['better', 'better'], -2, 0, 52, 0],
  ])('of %j: %i years %i months', (chosen, year, month, bioYear, bioMonth) => {
    expect(scored(chosen, '1970-07-01')).toEqual({
      calendarAge: { year: 54, month: 0 },
      bioAgeDelta: { year, month },
      bioAge: { year: bioYear, month: bioMonth },
    })
  })

  it.each([
    ['1970-07-01', 54, 0],
    ['1970-07-02', 53, 11],
    ['1970-06-30', 54, 0],
    ['2000-02-29', 24, 4],
    ['2024-07-01', 0, 0],
  ])('counts whole months since %s', (dateOfBirth, year, month) => {
    expect(scored([], dateOfBirth).calendarAge).toEqual({ year, month })
  })

  it('counts days in UTC, whatever the hour', () => {
    const lastMs = Date.UTC(2024, 6, 1) - 1
    expect(scored([], '1970-07-01', lastMs).calendarAge).toEqual({ year: 53, month: 11 })
  })

  it('gives no age below 0', () => {
    expect(scored(['better'], '2024-02-01')).toEqual({
      calendarAge: { year: 0, month: 5 },
      bioAgeDelta: { year: 0, month: -5 },
      bioAge: { year: 0, month: 0 },
    })
  })

  it("takes the rule's age where there is no date of birth", () => {
    expect(scored(['worse']).calendarAge).toEqual({ year: 33, month: 3 })
  })
})

it.each([
  [undefined, 'en'],
  ['', 'en'],
  ['es', 'es'],
  ['ES-419', 'es'],
  ['en-GB', 'en'],
  ['en;q=0.5, es;q=0.6', 'es'],
  ['en;q=0.5,es;q=0.500', 'en'],
  ['es;q=0, pt-br', 'pt-BR'],
  ['pt', 'en'],
  ['pt-BR-x-odd', 'pt-BR'],
  ['*', 'en'],
  ['fr, *;q=0.1, es;q=0.05', 'es'],
  ['es;q=2, ,;;, \u00e9', 'en'],
  [`es-${'a-'.repeat(5_000)}`, 'en'],
])('Accept-Language %j gets %s', (header, language) => {
  expect(languageFor(header, ['en', 'es', 'pt-BR'])).toBe(language)
})

it('recommends, in the order of the file, what one of the chosen answers asks for', () => {
  const of = (when: (string | number)[], teaser: string) => ({
    when,
    benefitCost: 'cost' as const,
    texts: { en: { teaser, body: 'b' } },
  })
  const definitions = [of(['a', 'b'], 'first'), of(['c'], 'second'), of([1], 'third')]
  expect(recommend(definitions, [1, 'b'], 'en')).toEqual([
    { teaser: 'first', body: 'b', benefitCost: 'cost' },
    { teaser: 'third', body: 'b', benefitCost: 'cost' },
  ])
})
