import { expect, it } from 'vitest'
import { WaybillError } from '../../src/model/errors.ts'
import { refuseMissing } from '../../src/transform/scope.ts'

/** A row, in the place of a header. */
const COLUMNS = ['P17', 'Ann Rowan', '1961-02-03']

function refusal(found: readonly string[]): WaybillError {
  try {
    const sought = { missing: new Set(['id', 'dob']), found: new Set(found) }
    refuseMissing(sought, 'day.csv', COLUMNS, 'the mapping acme')
  } catch (error) {
    if (error instanceof WaybillError) return error
  }
  throw new Error('not refused')
}

it('what the export has is told where something of it is a column that is read', () => {
  expect(refusal(['P17'])).toMatchObject({
    code: 'columns-missing',
    message: 'day.csv has no column "id", "dob", which the mapping acme reads',
    remedy: expect.stringContaining('The export has: P17, Ann Rowan, 1961-02-03.'),
  })
})

it('where nothing is, the first line may be a row: nothing of it is told', () => {
  const { message, remedy } = refusal([])
  for (const cell of COLUMNS) expect(message + remedy).not.toContain(cell)
  expect(remedy).toContain('whether the first line of the file is its header')
})
