/** Rows of joined exports in a case file, and columns that an export lacks. */
import { expect, test } from 'vitest'
import type { ExportJoin } from '../../../src/transform/compile-context.ts'
import { unknownColumns } from '../src/coverage.ts'
import { keepGiven } from '../src/run-cases.ts'

test('of several rows with one key the first is kept, and rows without a key are none', () => {
  const join: ExportJoin = {
    ...{ name: 'people', export: 'p*.csv', fields: ['.name'] },
    bind: (columns) => (row) => {
      if (row.kind !== 'cells') return undefined
      const [key = '', name = ''] = ['id', 'name'].map((one) => row.cells[columns?.indexOf(one) ?? -1])
      return key === '' ? undefined : { key, cells: [name] }
    },
  }
  const people = [
    { id: '1', name: 'first' },
    { name: 'nobody' },
    { name: 'second', id: '1' },
    { id: '2', name: 'other' },
  ]
  expect([...(keepGiven([join], { people }, 'm.cases.yaml').get('people')?.rows ?? [])]).toEqual([
    ['1', ['first']],
    ['2', ['other']],
  ])
})

test('a header of one column is taken for another delimiter only where the mapping lacks that column', () => {
  const read = (name: string) => [{ name, place: { key: 'row.key' } }]
  expect(unknownColumns(read('id;day'), ['id;day'])).toEqual([])
  expect(unknownColumns(read('id'), ['id;day'])).toMatchObject([
    { message: expect.stringContaining('write `delimiter: ";"` into `read`') },
  ])
  expect(unknownColumns(read('id'), ['id;day', 'x'])).toMatchObject([
    { message: expect.not.stringContaining('delimiter') },
  ])
})
