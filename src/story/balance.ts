/** Figures of a run: what it left behind, what of this is new, and its exit code. Pure. */

import { allRecords, type Counts } from '../model/balance.ts'
import { EXIT, type ExitCode } from '../model/errors.ts'
import { iso } from '../system/shown-text.ts'
import type { RunSummary } from './run-story.ts'

/** Rows, records and people that a run or an export left behind; `rejected` counts records. */
export function leftIn(counts: Pick<Counts, 'rows' | 'records' | 'people'>) {
  const { rejected, inDoubt, pending } = allRecords(counts)
  const { refused = 0, pending: waiting = 0 } = counts.people ?? {}
  return { rows: counts.rows.rejected, rejected, inDoubt, pending, people: refused + waiting }
}

/** Everything that a run left behind: with failed exports, and with marks and deletions owed. A run without any is accounted for. */
export const leftByRun = (summary: Omit<RunSummary, 'exit'>) => ({
  ...leftIn(summary),
  exports: failedExports(summary).length,
  unarchived: summary.exports.filter(({ unarchived }) => unarchived !== undefined).length,
  ...owedBy(summary),
})

/** Debts at the gateway. The next run pays them. */
export const owedBy = ({ primaryCare, careTeams }: Pick<RunSummary, 'primaryCare' | 'careTeams'>) => ({
  marks: primaryCare.owed,
  deletions: careTeams.owed - primaryCare.owed,
})

/** Exports that failed as a whole. */
export const failedExports = <One extends { readonly error?: string }>({
  exports,
}: {
  readonly exports: readonly One[]
}): (One & { readonly error: string })[] =>
  exports.flatMap((one) => (one.error === undefined ? [] : [{ ...one, error: one.error }]))

/** Exit code: 0 if everything is accounted for and accepted or unchanged; 1 if something was left behind; 2 if nothing could be read. */
export function exitOf(summary: Omit<RunSummary, 'exit'>): ExitCode {
  const left = leftByRun(summary)
  if (left.exports > 0 && left.exports === summary.exports.length) return EXIT.wrongUse
  return Object.values(left).some((count) => count > 0) ? EXIT.recordsLeftBehind : EXIT.ok
}

/** Every problem that is not known is new. @param since milliseconds since the epoch */
export function newAndKnown(
  summary: Pick<Counts, 'rows' | 'records'> & { readonly careTeams: { readonly owed: number } },
  { known, since }: { readonly known: number; readonly since: number | null },
): NonNullable<RunSummary['leftBehind']> {
  const { rows, rejected, inDoubt } = leftIn(summary)
  return {
    // A known debt on care teams may be settled before the run ends.
    new: Math.max(0, rows + rejected + inDoubt + summary.careTeams.owed - known),
    known,
    ...(since === null ? {} : { since: iso(since) }),
  }
}

/** True if the run finished and met no new problem. */
export const isAllKnown = (
  summary: Pick<RunSummary, 'state' | 'leftBehind'> & Parameters<typeof failedExports>[0],
): boolean =>
  summary.state === 'finished' && failedExports(summary).length === 0 && summary.leftBehind?.new === 0

/** Number of rejected rows and records, and of those settled by later runs. */
export function settledShare(summary: Pick<RunSummary, 'rows' | 'records' | 'settled'>) {
  const { rows, rejected } = leftIn(summary)
  const settled = (summary.settled ?? []).reduce((sum, { count }) => sum + count, 0)
  return { settled, rejected: rows + rejected }
}

/** Number of records rejected, in doubt or pending. */
export function notDelivered(counts: Counts): number {
  const { rejected, inDoubt, pending } = leftIn(counts)
  return rejected + inDoubt + pending
}

interface EndedExport {
  readonly error?: string
  readonly counts: Counts
}

/** Number of rows and records left behind; infinity for an export that could not be used. */
export const troubleOf = ({ error, counts }: EndedExport): number =>
  error === undefined ? counts.rows.rejected + notDelivered(counts) : Number.POSITIVE_INFINITY

/** Sorts by the number left behind. Two unusable exports are equal: infinities have no difference, and no number counts as none (ECMA-262). */
export const mostLeftFirst = <One extends EndedExport>(exports: readonly One[]): One[] =>
  exports.toSorted((a, b) => troubleOf(b) - troubleOf(a))

/** Counts of records by kind and outcome, as metrics name them. */
export const labelledRecords = (
  records: Counts['records'],
): [kind: string, outcome: string, count: number][] =>
  Object.entries(records).flatMap(([kind, { accepted, rejected, unchanged, inDoubt, pending }]) =>
    Object.entries({ accepted, rejected, unchanged, 'in-doubt': inDoubt, pending }).map(
      ([outcome, count]): [string, string, number] => [
        kind === 'careTeam' ? 'care-team' : kind,
        outcome,
        count,
      ],
    ),
  )
