import { describe, expect, it } from 'vitest'
import { EACH } from '../../src/transform/scope.ts'
import {
  hasText,
  nothing,
  type Reading,
  readingsOf,
  textsOf,
  unreadIn,
} from '../../src/transform/whole-value.ts'
import { csvRules, findings, jsonRules, mapped, NESTED } from './mapping-under-test.ts'

const leaf = (): Reading => ({ ...nothing(), isRead: true })
const reads = (...below: (readonly [string | number | typeof EACH, Reading])[]): Reading => ({
  ...nothing(),
  below: new Map(below),
})

describe('a text that nobody reads', () => {
  it.each([
    ['nothing is there', undefined, [], undefined],
    ['null', null, [], undefined],
    ['a text that is read', 'a', [leaf()], undefined],
    ['a text that is not', 'a', [], 'part'],
    ['a blank text', ' ', [], undefined],
    ['a member that is read', { a: 'x' }, [reads(['a', leaf()])], undefined],
    ['a second member', { a: 'x', b: 'y' }, [reads(['a', leaf()])], 'part'],
    ['the first of two, read as the first', ['x', 'y'], [reads([0, leaf()])], 'repeated'],
    ['the last of two, read as the last', ['x', 'y'], [reads([-1, leaf()])], 'repeated'],
    ['both of two, the first and the last', ['x', 'y'], [reads([0, leaf()], [-1, leaf()])], undefined],
    ['each of three', ['x', 'y', 'z'], [reads([EACH, leaf()])], undefined],
    // A path without an index leads to none of several elements, and to the only one of a list.
    ['two, without an index', ['x', 'y'], [leaf()], 'repeated'],
    ['one, without an index', ['x'], [], 'part'],
    ['one, read as the first', ['x'], [reads([0, leaf()])], undefined],
    ['a text read as a list of one', 'x', [reads([0, leaf()])], undefined],
    ['a text read as the last of a list', 'x', [reads([-1, leaf()])], undefined],
    ['a text read as each of a list', 'x', [reads([EACH, leaf()])], undefined],
    ['a text read as a second', 'x', [reads([1, leaf()])], 'part'],
    [
      'a part of the second',
      [{ a: 'x' }, { a: 'y', b: 'z' }],
      [reads([EACH, reads(['a', leaf()])])],
      'repeated',
    ],
    ['a part of the first', [{ a: 'x', b: 'z' }, { a: 'y' }], [reads([EACH, reads(['a', leaf()])])], 'part'],
    ['an object read as a list of one', { a: 'x' }, [reads([0, reads(['a', leaf()])])], undefined],
  ] as const)('%s', (_, value, readings, unread) => {
    expect(unreadIn(value, readings)).toBe(unread)
  })

  it('is looked for in elements by their place from both ends', () => {
    const [first, last, each] = [leaf(), leaf(), leaf()]
    const reading = reads([0, first], [-1, last], [EACH, each])
    expect(readingsOf(reading, ['a', 'b', 'c'], 0, 3)).toEqual([first, each])
    expect(readingsOf(reading, ['a', 'b', 'c'], 1, 3)).toEqual([each])
    expect(readingsOf(reading, ['a', 'b', 'c'], 2, 3)).toEqual([last, each])
    expect(readingsOf(reading, ['a'], 0, 1)).toHaveLength(3)
  })

  it('may lie anywhere', () => {
    expect([[[]], [[' ', null]], [{ a: [{ b: '' }] }]].map(hasText)).toEqual([false, false, false])
    expect([['', 'x'], { a: [{ b: 'x' }] }, 'x'].map(hasText)).toEqual([true, true, true])
    expect(textsOf([{ a: 'x', b: [' ', 'y'] }, null, true])).toEqual(['x', 'y', 'true'])
  })
})

it('a time of issue before 1970 counts as none', () => {
  const issued = (at: string): number | undefined => {
    const map = csvRules(
      ['id', 'b', 'at'],
      'biometrics: { bmi: b }',
      '  issuedAt: { from: at, format: ISO, zone: UTC, since: "1950-01-01" }',
    )
    return mapped(map({ id: '1', b: '22', at })).records[0]?.issued
  }
  expect(issued('1969-12-31T23:59:59Z')).toBe(0)
  expect(issued('1970-01-01T00:00:00Z')).toBe(0)
  expect(issued('2026-03-02T07:15:00Z')).toBe(Date.UTC(2026, 2, 2, 7, 15))
})

it.each([
  ['P', 0],
  ['r', 0],
  ['preliminary', 0],
  ['F', 1],
  ['final', 1],
  ['C', 2],
  ['amended', 2],
])('a result in state %s has rank %d', (state, rank) => {
  const rules = `biometrics:
  - { code: { from: c, table: { A: bmi } }, value: v, unit: u, status: { from: s, keep: [P, r, preliminary, F, final, C, amended] } }`
  const map = csvRules(['id', 'c', 'v', 'u', 's'], rules)
  expect(mapped(map({ id: '1', c: 'A', v: '22', u: 'kg/m2', s: state })).records[0]?.rank).toBe(rank)
})

it('answers are read from the row: those of a level are refused, of the first level and of the second', () => {
  const head = NESTED.replace('"$.obx[*]"', '"$.obx[*]", nte: "$.nte[*]"')
  for (const path of ['obx.v', 'nte.v'])
    expect(findings(`${head}assessment: { answers: { one: $.a, two: ${path} } }`)).toEqual([
      expect.stringContaining('assessment: answers are read from the row, not from a level'),
    ])
})

it('a FHIR quantity whose unit and code differ says so', () => {
  const rule = (more: string) =>
    jsonRules(
      '{ o: "$.o[*]" }',
      `biometrics:\n  - { catalog: body-weight, value: o.valueQuantity.value, unit: o.valueQuantity.code${more} }`,
    )
  const faultsOf = (quantity: object, more = ''): string[] =>
    mapped(
      rule(more)({
        id: '1',
        o: [{ resourceType: 'Observation', valueQuantity: { value: '80', ...quantity } }],
      } as never),
    ).rejected.map(({ issue }) => issue.code)
  expect(faultsOf({ unit: 'kg', code: 'kg' })).toEqual([])
  expect(faultsOf({ unit: 'lb', code: 'kg' })).toEqual(['unit-mismatch'])
  expect(faultsOf({ unit: 'kilogram', code: 'kg' })).toEqual([])
})
