/** What a run has left behind, told apart: what is new, and what an earlier run had left so. Pure. */
import type { Tallies } from '../ledger/ledger.ts'
import { knownWords } from '../ledger/reasons.ts'
import { allRecords, type Counts } from '../reconcile/balance.ts'

/** Together they are all that the run has left behind: rows and records rejected or in doubt, and follow-ups that were refused. */
export interface LeftBehind {
  readonly new: number
  readonly known: number
  /** When the run began in which the earliest of the known was met first: ISO 8601, UTC. */
  readonly since?: string
}

/** What is not known is new. @param since milliseconds since the epoch */
export function newAndKnown(
  summary: Pick<Counts, 'rows' | 'records'> & Pick<Tallies, 'primaryCare' | 'careTeams'>,
  { known, since }: { readonly known: number; readonly since: number | null },
): LeftBehind {
  const { rejected, inDoubt } = allRecords(summary)
  const followUps = summary.primaryCare.refused + summary.careTeams.notReplaced
  const all = summary.rows.rejected + rejected + inDoubt + followUps
  return {
    new: all - known,
    known,
    ...(since === null ? {} : { since: new Date(since).toISOString() }),
  }
}

interface WithLeftBehind {
  readonly leftBehind?: LeftBehind
}

/** `none new`, `2 new`; nothing where all is. */
export const newWords = ({ leftBehind }: WithLeftBehind): string[] => {
  if (leftBehind === undefined || leftBehind.known === 0) return []
  return [leftBehind.new === 0 ? 'none new' : `${n(leftBehind.new)} new`]
}

/** `2 of 24 left behind; 22 known since 2026-11-19`; nothing where all is new. */
export const leftBehindWords = ({ leftBehind }: WithLeftBehind): string[] => {
  if (leftBehind === undefined || leftBehind.known === 0) return []
  const { new: added, known, since } = leftBehind
  return [
    `${added === 0 ? 'none' : n(added)} of ${n(added + known)} left behind; ${knownWords(known, since)}`,
  ]
}

/** Whether the run came to its end, and has left nothing behind that an earlier one had not left so. */
export const isAllKnown = ({
  state,
  exports,
  leftBehind,
}: WithLeftBehind & {
  readonly state: string
  readonly exports: readonly { readonly error?: string }[]
}): boolean =>
  state === 'finished' && exports.every(({ error }) => error === undefined) && leftBehind?.new === 0

const n = (count: number): string => count.toLocaleString('en-US')
