import { describe, expect, it } from 'vitest'
import { BiometricSent, CareTeamSent, ConditionSent } from '../../src/gateway/contract/health-profile.ts'
import { batchBytes, recordText, writeBatch } from '../../src/load/batches.ts'
import { biometric, careTeam, condition, entryOf } from './made-up-entries.ts'

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
