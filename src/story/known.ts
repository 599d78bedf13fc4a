/** Splits the problems of a run into new problems and problems known from an earlier run. Pure. */

import { allRecords, type Counts } from '../model/balance.ts'
import { counted, n } from '../system/shown-text.ts'

/** The sum is all open problems of a run: rows and records rejected or in doubt, and actions owed on care teams. */
export interface LeftBehind {
  readonly new: number
  readonly known: number
  /** Start of the run that first met the earliest known problem: ISO 8601, UTC. */
  readonly since?: string
}

/** Every problem that is not known is new. @param since milliseconds since the epoch */
export function newAndKnown(
  summary: Pick<Counts, 'rows' | 'records'> & {
    readonly careTeams: { readonly owed: number }
  },
  { known, since }: { readonly known: number; readonly since: number | null },
): LeftBehind {
  const { rejected, inDoubt } = allRecords(summary)
  const all = summary.rows.rejected + rejected + inDoubt + summary.careTeams.owed
  return {
    // A known debt on care teams may be settled before the run ends.
    new: Math.max(0, all - known),
    known,
    ...(since === null ? {} : { since: new Date(since).toISOString() }),
  }
}

/** For exports that list all care teams of a person. */
export const unjudgedWords = (exports: number): string =>
  `all care teams: ${counted(exports, 'export')} with unreadable rows may list further providers`

/** `2 marks and 1 deletion of a care-team entry`; undefined if nothing is owed. The next run pays the debt. */
export function owedWords({
  primaryCare,
  careTeams,
}: {
  readonly primaryCare: { readonly owed: number }
  readonly careTeams: { readonly owed: number }
}): string | undefined {
  const marks = primaryCare.owed
  const deletions = careTeams.owed - marks
  const words = [
    ...(marks === 0
      ? []
      : [counted(marks, 'mark of a primary care physician', 'marks of primary care physicians')]),
    ...(deletions === 0
      ? []
      : [counted(deletions, 'deletion of a care-team entry', 'deletions of care-team entries')]),
  ]
  return words.length === 0 ? undefined : words.join(' and ')
}

/** Known share of a reason, and its earliest date: ISO 8601, UTC. */
export interface KnownShare {
  readonly count: number
  readonly known: number
  readonly knownSince?: string
}

/** Sums several reasons; `knownSince` is the earliest date. */
export function addKnown(shares: readonly KnownShare[]): KnownShare {
  const [since] = shares.flatMap(({ knownSince }) => knownSince ?? []).sort()
  return {
    count: shares.reduce((sum, { count }) => sum + count, 0),
    known: shares.reduce((sum, { known }) => sum + known, 0),
    ...(since === undefined ? {} : { knownSince: since }),
  }
}

/** `22 known since 2026-11-19`, the day in UTC; empty if all are new. */
export const knownWords = ({ known, knownSince }: Omit<KnownShare, 'count'>): string[] =>
  known === 0
    ? []
    : [`${n(known)} known${knownSince === undefined ? '' : ` since ${knownSince.slice(0, 10)}`}`]

interface WithLeftBehind {
  readonly leftBehind?: LeftBehind
}

/** `none new`, `2 new`; empty if all are new. */
export const newWords = ({ leftBehind }: WithLeftBehind): string[] => {
  if (leftBehind === undefined || leftBehind.known === 0) return []
  return [leftBehind.new === 0 ? 'none new' : `${n(leftBehind.new)} new`]
}

/** `2, known 22 (since 2026-11-19)`; empty if all are new. */
export function leftBehindWords({ leftBehind }: WithLeftBehind): string[] {
  if (leftBehind === undefined || leftBehind.known === 0) return []
  const { new: added, known, since } = leftBehind
  const from = since === undefined ? '' : ` (since ${since.slice(0, 10)})`
  return [`${n(added)}, known ${n(known)}${from}`]
}

/** True if the run finished and met no new problem. */
export const isAllKnown = ({
  state,
  exports,
  leftBehind,
}: WithLeftBehind & {
  readonly state: string
  readonly exports: readonly { readonly error?: string }[]
}): boolean =>
  state === 'finished' && exports.every(({ error }) => error === undefined) && leftBehind?.new === 0
