/** What a run counts beside rows and records; each commit of the run takes the counts along (run-ledger.ts). */
import { z } from 'zod'

const count = z.int()
const TalliesText = z.object({
  accounts: z.object({ registered: count, known: count, refused: count }),
  requests: z.object({ sent: count, retried: count, readBack: count }),
  /** `owed`: accounts whose mark could not be set or taken away; the next run does it. */
  primaryCare: z.object({ marked: count, unmarked: count, owed: count }),
  /** `owed`: marks, and providers of an account whose replaced entries could not be deleted; the next run does both. */
  careTeams: z.object({ replaced: count, owed: count }),
})

/** Counts that belong to a run as a whole. */
export type Tallies = z.infer<typeof TalliesText>

/** What of them is known once a chunk is settled, and is counted with it; all else is counted as it happens. */
export type ChunkTallies = { readonly [Part in keyof Tallies]?: Readonly<Partial<Tallies[Part]>> }

export const noTallies = (): Tallies => ({
  accounts: { registered: 0, known: 0, refused: 0 },
  requests: { sent: 0, retried: 0, readBack: 0 },
  primaryCare: { marked: 0, unmarked: 0, owed: 0 },
  careTeams: { replaced: 0, owed: 0 },
})

/** @param text JSON, as the ledger keeps it */
export const readTallies = (text: string): Tallies => TalliesText.parse(JSON.parse(text))

/** Adds the second to the first, or takes it away. */
export function addTallies(total: Tallies, more: ChunkTallies, sign: 1 | -1 = 1): void {
  for (const [part, counts] of Object.entries(more) as [keyof Tallies, Record<string, number>][]) {
    const own: Record<string, number> = total[part]
    for (const [name, count] of Object.entries(counts)) own[name] = (own[name] ?? 0) + sign * count
  }
}
