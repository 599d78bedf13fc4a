/** Drift of many exports, as people read it: how much of it there is by measure, and what differs most. Pure. */

import type { ExportDrift } from '../run/drift.ts'
import { n } from '../shown-text.ts'

/** Differences shown; the rest is counted. */
export const DRIFT_SHOWN = 5

const LEVELS: readonly ExportDrift['level'][] = ['stop', 'accepted', 'warn']

/** What stops an export first, then by how far it is from what is usual. */
export const largestFirst = (drift: readonly ExportDrift[]): ExportDrift[] =>
  drift.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || sizeOf(b) - sizeOf(a))

/** Other columns have no measure: they count as if all were different. */
const sizeOf = ({ change = 1 }: ExportDrift): number => change

/** `311 differences in 295 exports: rows 250, empty 61`: most frequent first. */
export function driftCounts(drift: readonly ExportDrift[]): string {
  const exports = new Set(drift.map((one) => one.export)).size
  const measures = [...Map.groupBy(drift, ({ measure }) => measure)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([measure, all]) => `${measure} ${n(all.length)}`)
  return `${n(drift.length)} differences in ${exports === 1 ? 'one export' : `${n(exports)} exports`}: ${measures.join(', ')}`
}
