import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BiometricSent, CareTeamSent, ConditionSent } from '../../src/gateway/contract/health-profile.ts'
import { batchBytes, recordText, writeBatch } from '../../src/load/batch-text.ts'
import { biometric, careTeam, condition, entriesOf, entryOf, type Made } from './made-up-entries.ts'

const BATCH_ID = '0123456789abcdef-00001-biometric-89abcdef'

describe.each([
  ['biometric', biometric, BiometricSent, true],
  ['condition', condition, ConditionSent, true],
  ['careTeam', careTeam, CareTeamSent, false],
] as const)('the text of %s records', (_kind, make, schema, hasTransactionId) => {
  it('is what the contract takes, with our ids in their places', () => {
    const entries = [
      entryOf(make, { row: 1, name: 'a "quoted" name' }),
      entryOf(make, { row: 2, person: 'ünïcode' }),
    ]
    const sent = JSON.parse(writeBatch(Buffer.alloc(batchBytes(entries)), entries, BATCH_ID).toString()) as {
      transactionId?: string
      source: { meta: object }
    }[]
    expect(sent).toHaveLength(2)
    expect(sent).toEqual(entries.map((entry) => JSON.parse(recordText(entry, BATCH_ID)) as object))
    for (const [at, record] of sent.entries()) {
      schema.parse(record)
      const id = entries[at]?.transactionId
      expect(record.transactionId).toBe(hasTransactionId ? id : undefined)
      expect(record.source.meta).toMatchObject({ batchId: BATCH_ID, persistentRecordId: id })
    }
  })
})

/** Of few lengths, so that most records differ from the one before in their bytes alone. */
const RowDrawn = fc.record(
  {
    row: fc.constantFrom(1, 2, 3, 999_999, 1_000_000, 12_345_678),
    person: fc.constantFrom('person-1', 'person-2', 'p', 'pérson-3', 'a "quoted" one'),
    key: fc.constantFrom('k|1', 'k|2', 'k|10', 'ключ'),
    observedAt: fc.constantFrom(
      Date.UTC(2024, 2, 1, 14, 5),
      Date.UTC(2025, 11, 31),
      Date.UTC(1999, 0, 1),
      Date.UTC(2300, 0, 1),
      0,
      Date.UTC(12_024, 0, 1),
    ),
  },
  { requiredKeys: ['row', 'person'] },
)
const MADE = {
  rule: fc.constantFrom('systolic-bp', 'hba1c-1', 'hba1c-2'),
  name: fc.constantFrom('One', 'Two', 'Zwölf'),
  value: fc.constantFrom('1', '2', '118', '118.5', '-0.25'),
}
const RecordDrawn = fc.record({
  make: fc.constantFrom(biometric, biometric, condition, careTeam),
  made: fc.oneof(
    fc.record(MADE),
    fc.record({ ...MADE, range: fc.constantFrom('', '"refRange":"1-2",', '"refRange":"3-4",') }),
  ),
})

it('is, byte for byte, what each record has for itself, whatever stands before it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(RowDrawn, fc.array(RecordDrawn, { minLength: 1, maxLength: 6 })), { maxLength: 12 }),
      (rows) => {
        const entries = rows.flatMap(([row, records]) => {
          const made = row as Made
          return entriesOf(
            records.map((record) => record.make({ ...row, ...record.made } as Made)),
            made,
          )
        })
        const written = writeBatch(Buffer.alloc(batchBytes(entries)), entries, BATCH_ID).toString()
        expect(written).toBe(`[${entries.map((entry) => recordText(entry, BATCH_ID)).join(',')}]`)
      },
    ),
    { numRuns: 500 },
  )
})
