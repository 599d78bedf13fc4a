import { expect, it, test } from 'vitest'
import { judgePeople } from '../../src/run/judge-people.ts'
import { mappedRow } from '../load/made-up-entries.ts'

const DAY = 86_400_000
type Visit = readonly [person: string, born?: number]
const rows = (...people: readonly Visit[]) =>
  people.map(([person, born], at) => {
    const outcome = mappedRow([], {
      row: at + 1,
      person,
      ...(born === undefined ? {} : { born: born * DAY }),
    })
    return { source: outcome.source, outcome }
  })
const told = (...people: readonly Visit[]) => {
  const { judged, shared } = judgePeople(rows(...people))
  const outcomes = judged.map(({ outcome }) =>
    outcome.outcome === 'rejected' ? outcome.issue.code : outcome.outcome,
  )
  return { outcomes, shared: shared.map(({ reference }) => reference) }
}

it('rejects all rows of a reference that gives two birth dates, and those alone', () => {
  expect(told(['a', 1], ['b', 2], ['a'], ['b', 2], ['a', 3], ['c'], ['a', 1])).toEqual({
    outcomes: [
      'reference-shared',
      'mapped',
      'reference-shared',
      'mapped',
      'reference-shared',
      'mapped',
      'reference-shared',
    ],
    shared: ['a'],
  })
})

it('leaves rows as they are where nothing is wrong', () => {
  const all = rows(['a', 1], ['a'], ['a', 1], ['b'], ['1234567890123450', 4])
  expect(judgePeople(all)).toEqual({ judged: all, shared: [] })
  expect(judgePeople(all).judged).toBe(all)
})

it('rejects long numbers that a spreadsheet has rounded, and no others', () => {
  expect(told(['1234567890123450'], ['77'], ['1234567890123460'], ['1234567890123470'])).toEqual({
    outcomes: ['account-damaged', 'mapped', 'account-damaged', 'account-damaged'],
    shared: [],
  })
})

test('a row keeps its place, and whose it is', () => {
  const { judged } = judgePeople(rows(['a', 1], ['a', 2]))
  expect(judged[1]?.outcome).toMatchObject({ row: 2, line: 3, byteOffset: 200, account: { reference: 'a' } })
})
