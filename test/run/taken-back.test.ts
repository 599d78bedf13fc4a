/** Withdrawn results that the gateway has, moved from what is left out to what is rejected: the second row, the second result, a skipped row. */
import { expect, test } from 'vitest'
import { createWithdrawn, type MappedRow, type RowOutcome, WithdrawnEntry } from '../../src/model/entry.ts'
import type { RejectedRecord } from '../../src/model/record.ts'
import { WITHDRAWN, withTakenBack } from '../../src/run/taken-back.ts'
import { biometric, EXPORT_ID, entryOf, IDENTITY, mappedRow } from '../load/made-up-entries.ts'

type Withdrawn = readonly (readonly [rule: string, leftOut: string])[]

/** A row with withdrawn results of rules, and others left out. */
function rowWith(row: number, withdrawn: Withdrawn, leftOut: readonly string[]): MappedRow {
  const { frame, facts, observed } = entryOf(biometric)
  const entries = withdrawn.map(([rule, why]) => new WithdrawnEntry(frame, rule, facts, observed, why))
  return { ...mappedRow([], { row }), withdrawn: entries, leftOut }
}

/** Withdrawn results as a chunk has them. */
function withdrawnIn(...outcomes: readonly RowOutcome[]): readonly WithdrawnEntry[] {
  const found: WithdrawnEntry[] = []
  for (const outcome of outcomes) createWithdrawn(IDENTITY, EXPORT_ID, outcome, found)
  return found
}

const SOURCE = mappedRow([]).source
const chunkRow = (outcome: RowOutcome) => ({ source: SOURCE, outcome })
const rejected = (rule: string, sentAs: string | undefined): RejectedRecord => ({
  ...{ kind: 'biometric', rule, sentAs, issue: WITHDRAWN },
})

test('each result is rejected in its own row, once, behind what was rejected before; the rest stays left out', () => {
  const invalid: RejectedRecord = {
    ...{ kind: 'biometric', rule: 'pulse', issue: { ...WITHDRAWN, code: 'date-invalid' } },
  }
  const results: Withdrawn = [
    ['weight', 'deleted'],
    ['glucose', 'deleted'],
  ]
  const first = { ...rowWith(1, results, ['deleted', 'empty', 'deleted']), rejected: [invalid] }
  const second = rowWith(2, [['height', 'cancelled']], ['empty', 'cancelled'])
  const third = rowWith(3, [['weight', 'deleted']], ['deleted'])
  const rows = [first, second, third].map(chunkRow)
  const taken = withdrawnIn(first, second).map((entry) => ({
    entry,
    sentAs: entry.rule === 'height' ? undefined : `id of ${entry.rule}`,
  }))
  expect(withTakenBack(rows, taken)).toEqual([
    chunkRow({
      ...first,
      leftOut: ['empty'],
      rejected: [invalid, rejected('weight', 'id of weight'), rejected('glucose', 'id of glucose')],
    }),
    chunkRow({ ...second, leftOut: ['empty'], rejected: [rejected('height', undefined)] }),
    chunkRow(third),
  ])
  expect(withTakenBack(rows, [])).toBe(rows)
})

test('a row that is skipped but for a withdrawn result is rejected', () => {
  const mapped = rowWith(2, [['height', 'cancelled']], ['cancelled'])
  const { row, line, byteOffset, warnings } = mapped
  const skipped = { row, line, byteOffset, warnings, leftOut: ['cancelled'], reason: 'is empty', mapped }
  const outcome: RowOutcome = { outcome: 'skipped', ...skipped }
  const taken = withdrawnIn(outcome).map((entry) => ({ entry, sentAs: 'id' }))
  expect(withTakenBack([chunkRow(outcome)], taken)).toEqual([
    chunkRow({ ...mapped, leftOut: [], rejected: [rejected('height', 'id')] }),
  ])
})
