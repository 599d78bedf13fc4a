/** Counts as the ledger keeps them: JSON, checked when read. */
import { z } from 'zod'
import type { Tallies } from '../ledger/ledger.ts'
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
const TalliesText = z.object({
  accounts: z.object({ registered: count, known: count, refused: count }),
  requests: z.object({ sent: count, retried: count, readBack: count }),
  primaryCare: z.object({ marked: count, unmarked: count, owed: count }),
  // Tallies of earlier versions have none.
  careTeams: z.object({ replaced: count, notReplaced: count }).default({ replaced: 0, notReplaced: 0 }),
})

export const readCounts = (text: string | null): Counts =>
  text === null ? noCounts() : CountsText.parse(JSON.parse(text))

export const readTallies = (text: string): Tallies => TalliesText.parse(JSON.parse(text))
