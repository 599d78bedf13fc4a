import { expect, test } from 'vitest'
import { unknownColumns, unreadColumns } from '../../src/mapping-tools/coverage.ts'
import { load } from '../transform/mapping-under-test.ts'
import { SMALL } from './cases-under-test.ts'

const { reads } = load(SMALL).compiled
const ALL = ['id', 'day', 'gone', 'pulse', 'weight', 'normal', 'weighed', 'asthma', 'state']

test('columns that the export lacks are told at every place that reads them, with what is written nearly so', () => {
  const there = ['ID', 'Day', ...ALL.slice(2).filter((column) => column !== 'asthma')]
  const found = unknownColumns(reads, there).map(({ place, message }) => ({
    at: `${place.line} ${place.key}`,
    message,
  }))
  expect(found.map(({ at }) => at)).toEqual([
    '5 row.key[0]',
    '6 row.account.reference',
    '7 row.observedAt.from',
    '14 conditions.asthma.when.asthma',
  ])
  expect(found[0]?.message).toContain('no column "id", but "ID"')
  expect(found[3]?.message).toContain(
    'no column "asthma"; a text that is the same in every row is written { constant: asthma }',
  )
})

test('columns that are read in values, dates, units, conditions or keys are read', () => {
  expect(unknownColumns(reads, ALL)).toEqual([])
  expect(unreadColumns(reads, [...ALL, 'remarks', '', 'Pulse'])).toEqual(['remarks', 'Pulse'])
})
