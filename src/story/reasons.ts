/** Reasons and differences of a run, grouped and sorted for its faces. Pure. */
import type { Reason } from '../ledger/ledger.ts'
import type { RunSummary } from './run-story.ts'

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

/** Reasons that are equal in the named parts, with their sum, in the order of the first of each. */
export const groupReasons = <One extends KnownShare, Part extends keyof One>(
  reasons: readonly One[],
  parts: readonly Part[],
): { readonly first: One; readonly sum: KnownShare; readonly group: readonly One[] }[] =>
  [...Map.groupBy(reasons, (reason) => JSON.stringify(parts.map((part) => reason[part]))).values()].flatMap(
    (group) => group.slice(0, 1).map((first) => ({ first, sum: addKnown(group), group })),
  )

export const mostFirst = <One extends { readonly count: number }>(all: readonly One[]): One[] =>
  all.toSorted((a, b) => b.count - a.count)

/** Reason of several rules and exports; `rules` has null for the row as a whole. */
export interface MergedReason extends Reason {
  readonly rules: readonly (string | null)[]
  readonly exports: readonly string[]
}

/** Merges equal reasons of rules and exports, most frequent first. */
export const mergeReasons = (reasons: readonly Reason[]): MergedReason[] =>
  mostFirst(
    groupReasons(reasons, ['outcome', 'stage', 'code', 'field', 'message']).map(({ first, sum, group }) => ({
      ...first,
      ...sum,
      settled: group.reduce((all, { settled }) => all + settled, 0),
      rules: [...new Set(group.map(({ rule }) => rule))],
      exports: [...new Set(group.map(({ exportName }) => exportName))],
    })),
  )

/** Most differences to show; the others are counted. */
export const DRIFT_SHOWN = 5

type Drift = RunSummary['drift']

const LEVELS: readonly Drift[number]['level'][] = ['stop', 'accepted', 'warn']

/** Differences that stop an export first, then by their distance from the usual. */
export const largestFirst = (drift: Drift): Drift =>
  drift.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || sizeOf(b) - sizeOf(a))

/** Size of a difference; other columns have no measure, and count as all different. */
const sizeOf = ({ change = 1 }: Drift[number]): number => change

/** Number of differences by measure, in the order of the first of each. */
export const driftByMeasure = (drift: Drift): [measure: string, count: number][] =>
  [...Map.groupBy(drift, ({ measure }) => measure)].map(([measure, all]) => [measure, all.length])
