/** Counts as the ledger keeps them: JSON, checked when read. */
import { z } from 'zod'
import { type Counts, noCounts } from '../reconcile/balance.ts'

const count = z.int()
const RecordCounts = z.object({
  made: count,
  accepted: count,
  rejected: count,
  unchanged: count,
  inDoubt: count,
  pending: count,
})
const CountsText = z.object({
  rows: z.object({ read: count, mapped: count, skipped: count, rejected: count, corrected: count }),
  records: z.object({ biometric: RecordCounts, condition: RecordCounts, careTeam: RecordCounts }),
  // Counts of earlier versions have none.
  warnings: z.record(z.string(), count).default({}),
})

export const readCounts = (text: string | null): Counts =>
  text === null ? noCounts() : CountsText.parse(JSON.parse(text))
