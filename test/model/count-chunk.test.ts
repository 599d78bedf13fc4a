import { expect, it } from 'vitest'
import { countChunk, readCounts, warningCounts } from '../../src/model/balance.ts'
import type { RowOutcome } from '../../src/model/entry.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import type { Warning } from '../../src/model/record.ts'
import type { Row } from '../../src/model/row.ts'
import { biometric, condition, entryOf, mappedRow } from '../load/made-up-entries.ts'

const ORIGIN = { row: 1, line: 2, byteOffset: 10 }
const SOURCE: Row = { ...ORIGIN, kind: 'cells', cells: [] }
const warning = (code: string): Warning => ({
  kind: null,
  rule: null,
  issue: { stage: 'transform', code, message: 'm' },
})
const rows = (...outcomes: RowOutcome[]) => outcomes.map((outcome) => ({ source: SOURCE, outcome }))

it('warnings are counted by code, of rows that were mapped and of those left out', () => {
  const counts = countChunk(
    rows(
      { ...mappedRow([]), warnings: [warning('a'), warning('b'), warning('a')] },
      { ...ORIGIN, outcome: 'skipped', reason: 'nothing-kept', leftOut: [], warnings: [warning('a')] },
      mappedRow([]),
    ),
    [],
    0,
  )
  expect(counts.rows).toMatchObject({ read: 3, mapped: 2, skipped: 1 })
  expect(warningCounts(counts)).toEqual([
    { code: 'a', count: 3 },
    { code: 'b', count: 1 },
  ])
  expect(readCounts(JSON.stringify(counts))).toEqual(counts)
})

it('outcomes are counted by the kind of their record, also where kinds take turns', () => {
  const made = [entryOf(biometric), entryOf(condition), entryOf(biometric)]
  const outcomes = made.map((entry): EntryOutcome => ({ entry, outcome: 'unchanged' }))
  const { records } = countChunk(rows(mappedRow(made)), outcomes, 0)
  expect(records.biometric).toMatchObject({ made: 2, unchanged: 2, pending: 0 })
  expect(records.condition).toMatchObject({ made: 1, unchanged: 1, pending: 0 })
})
