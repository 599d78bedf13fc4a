/** What a run counts beside rows and records. */

/** Counts that belong to a run as a whole. */
export interface Tallies {
  accounts: { registered: number; known: number; refused: number }
  requests: { sent: number; retried: number; readBack: number }
  /** `owed`: accounts whose mark could not be set or taken away; the next run does it. */
  primaryCare: { marked: number; unmarked: number; owed: number }
  /** `notReplaced`: the new entry is stored, and the old one could not be deleted. */
  careTeams: { replaced: number; notReplaced: number }
}

export const noTallies = (): Tallies => ({
  accounts: { registered: 0, known: 0, refused: 0 },
  requests: { sent: 0, retried: 0, readBack: 0 },
  primaryCare: { marked: 0, unmarked: 0, owed: 0 },
  careTeams: { replaced: 0, notReplaced: 0 },
})
