import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  addCounts,
  allRecords,
  assertBalanced,
  byKind,
  type Counts,
  isBalanced,
  noCounts,
  type RecordCounts,
} from '../../src/model/balance.ts'

const n = fc.nat(10_000)
const records: fc.Arbitrary<RecordCounts> = fc
  .record({ accepted: n, rejected: n, unchanged: n, inDoubt: n, pending: n })
  .map((parts) => ({
    ...parts,
    made: parts.accepted + parts.rejected + parts.unchanged + parts.inDoubt + parts.pending,
  }))
const balanced: fc.Arbitrary<Counts> = fc.record({
  rows: fc
    .record({ mapped: n, skipped: n, rejected: n, corrected: n })
    .map((rows) => ({ ...rows, read: rows.mapped + rows.skipped + rows.rejected })),
  records: fc.record(byKind(() => records)),
  warnings: fc.dictionary(fc.constantFrom('value-out-of-range', 'npi-invalid'), n),
  leftOut: fc.dictionary(fc.constantFrom('skipWhen', 'code 99999-5'), n),
})

it('balanced counts balance, and so do their sums', () => {
  fc.assert(
    fc.property(balanced, balanced, (one, other) => {
      const total = noCounts()
      addCounts(total, one)
      expect(total).toEqual(one)
      addCounts(total, other)
      expect(isBalanced(total)).toBe(true)
      expect(total.rows.read).toBe(one.rows.read + other.rows.read)
      for (const code of Object.keys(total.warnings))
        expect(total.warnings[code]).toBe((one.warnings[code] ?? 0) + (other.warnings[code] ?? 0))
      expect(allRecords(total).made).toBe(allRecords(one).made + allRecords(other).made)
    }),
  )
})

it.each(['read', 'mapped', 'skipped', 'rejected'] as const)(
  'one row more under %s does not balance',
  (key) => {
    const counts = noCounts()
    counts.rows[key]++
    expect(() => assertBalanced(counts, 'it')).toThrow(expect.objectContaining({ code: 'not-balanced' }))
  },
)

it.each(['made', 'accepted', 'rejected', 'unchanged', 'inDoubt', 'pending'] as const)(
  'one record more under %s does not balance',
  (key) => {
    for (const kind of ['biometric', 'condition', 'careTeam'] as const) {
      const counts = noCounts()
      counts.records[kind][key]++
      expect(isBalanced(counts)).toBe(false)
    }
  },
)

it('a record with two outcomes does not balance', () => {
  for (const kind of ['biometric', 'condition', 'careTeam'] as const) {
    const counts = noCounts()
    Object.assign(counts.records[kind], { made: 1, accepted: 1, rejected: 1, pending: -1 })
    expect(isBalanced(counts)).toBe(false)
  }
})
