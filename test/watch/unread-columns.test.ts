import { describe, expect, it } from 'vitest'
import { SMALL } from '../../packages/mapping-tools/test/cases-under-test.ts'
import { unreadColumns, unreadUnits } from '../../src/watch/unread-columns.ts'
import { load } from '../transform/mapping-under-test.ts'

it('lists the columns that the mapping does not read; a column without a name cannot be read', () => {
  const { reads } = load(SMALL).compiled
  const columns = reads.map(({ name }) => name)
  expect(unreadColumns(reads, [...columns, 'remarks', '', 'Pulse'])).toEqual(['remarks', 'Pulse'])
})

describe('columns of units that nobody reads', () => {
  it.each([
    ['Gewicht', 'Gewichtseinheit'],
    ['Puls', 'Pulseinheit'],
    ['weight', 'weight_unit'],
    ['weight', 'Unit of weight'],
  ])('%s: %s', (from, column) => {
    const { definition } = load(
      SMALL.replace(/^biometrics:[\s\S]*$/m, `biometrics: { body-weight: ${from} }`),
    )
    expect(unreadUnits(definition, [column, 'Bemerkung'])).toEqual([{ rule: 'body-weight', column }])
  })

  it.each([
    ['is not ignored', '', '', true],
    ['the row ignores', '  ignore: [weight_unit]\n', '', false],
    ['the rule ignores', '', ', ignore: [weight_unit]', false],
    ['are in another column that the row ignores', '  ignore: [unit]\n', '', true],
  ])('a unit that %s', (_, ofRow, ofRule, isFound) => {
    const { definition } = load(
      SMALL.replace(
        /^biometrics:[\s\S]*$/m,
        `biometrics: { body-weight: { from: weight${ofRule} } }`,
      ).replace(/^row:\n/m, `row:\n${ofRow}`),
    )
    expect(unreadUnits(definition, ['weight_unit'])).toHaveLength(isFound ? 1 : 0)
  })
})
