/** Words on the figures of a run that several faces share. Pure. */

import type { Tallies } from '../ledger/ledger.ts'
import type { CodeCount, RowCounts } from '../model/balance.ts'
import type { WaitsForGateway } from '../run/events.ts'
import { counted, n } from '../system/shown-text.ts'
import { leftByRun, owedBy } from './balance.ts'
import { driftByMeasure, type KnownShare, mostFirst } from './reasons.ts'
import type { ExportSummary, RunSummary } from './run-story.ts'

/** Parts with a count, in words; empty without any. */
export const ifAny = (count: number, one: string, many?: string): string[] =>
  count === 0 ? [] : [counted(count, one, many)]

/** Rejects, doubts and failed exports in words; empty for none. The words on new ones do not cover exports. */
export function leftWords(summary: RunSummary): string {
  const { exports, unarchived, rows, rejected, inDoubt, marks, deletions } = leftByRun(summary)
  const left = [
    ifAny(rows, 'rejected row'),
    ifAny(rejected, 'rejected record'),
    ifAny(inDoubt, 'record in doubt', 'records in doubt'),
    ifAny(marks + deletions, 'mark or deletion owed', 'marks or deletions owed'),
    newWords(summary),
  ].flat()
  return [
    ...ifAny(exports, 'export not sent', 'exports not sent'),
    ...ifAny(unarchived, 'export not archived', 'exports not archived'),
    ...(left.length === 0 ? [] : [left.join(', ')]),
  ].join('; ')
}

/** `2 marks and 1 deletion of a care-team entry`; undefined if nothing is owed. */
export function owedWords(summary: Pick<RunSummary, 'primaryCare' | 'careTeams'>): string | undefined {
  const { marks, deletions } = owedBy(summary)
  const words = [
    ...ifAny(marks, 'mark of a primary care physician', 'marks of primary care physicians'),
    ...ifAny(deletions, 'deletion of a care-team entry', 'deletions of care-team entries'),
  ]
  return words.length === 0 ? undefined : words.join(' and ')
}

/** Debts, and who pays them; empty if nothing is owed. */
export function owedNote(summary: Parameters<typeof owedWords>[0]): string[] {
  const owed = owedWords(summary)
  return owed === undefined ? [] : [`${owed}: the next run does it`]
}

/** For exports that list all care teams of a person; empty for none. */
export const unjudgedNote = ({ careTeams: { unjudged } }: Pick<RunSummary, 'careTeams'>): string[] =>
  unjudged === 0
    ? []
    : [`all care teams: ${counted(unjudged, 'export')} with unreadable rows may list further providers`]

/** `22 known since 2026-11-19`, the day in UTC; empty if all are new. */
export const knownWords = ({ known, knownSince }: Omit<KnownShare, 'count'>): string[] =>
  known === 0
    ? []
    : [`${n(known)} known${knownSince === undefined ? '' : ` since ${knownSince.slice(0, 10)}`}`]

type WithLeftBehind = Pick<RunSummary, 'leftBehind'>

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

/** `read 3 = mapped 1 + skipped 1 + rejected 1` */
export const rowsWords = ({ read, mapped, skipped, rejected }: RowCounts): string =>
  `read ${n(read)} = mapped ${n(mapped)} + skipped ${n(skipped)} + rejected ${n(rejected)}`

export const CORRECTED = 'with a known key and other content'

export const accountsWords = ({ registered, known, refused }: Tallies['accounts']): string =>
  `${n(registered)} registered, ${n(known)} known, ${n(refused)} refused`

/** Working time: `3.2 s`. */
export const workedWords = ({ durationMs }: Pick<RunSummary, 'durationMs'>): string =>
  `${(durationMs / 1000).toFixed(1)} s`

/** ` (gateway-unreachable)`; empty without a reason. */
export const because = (reason: string | undefined): string => (reason === undefined ? '' : ` (${reason})`)

/** Empty for a run with its detail. */
export const prunedNote = ({ pruned }: Pick<RunSummary, 'pruned'>): string[] =>
  pruned === undefined
    ? []
    : [`Detail pruned on ${pruned.slice(0, 10)}: batches, reasons, receipts and rejects are gone.`]

const MOST_REASONS = 20

/** `code 99999-5 12, status 3`: the most frequent by name, the others as a sum. */
export function codeCountWords(counts: readonly CodeCount[]): string {
  const named = counts.slice(0, MOST_REASONS).map(({ code, count }) => `${code} ${n(count)}`)
  const rest = counts.slice(MOST_REASONS).reduce((sum, { count }) => sum + count, 0)
  return [...named, ...(rest === 0 ? [] : [`other reasons ${n(rest)}`])].join(', ')
}

/** `311 differences in 295 exports: rows 250, empty 61`: most frequent first. */
export function driftCounts(drift: RunSummary['drift']): string {
  const exports = new Set(drift.map((one) => one.export)).size
  const measures = mostFirst(driftByMeasure(drift).map(([measure, count]) => ({ measure, count })))
  return `${n(drift.length)} differences in ${exports === 1 ? 'one export' : `${n(exports)} exports`}: ${measures.map(({ measure, count }) => `${measure} ${n(count)}`).join(', ')}`
}

/** `2026-03-02T02:17:05Z` */
export const toSecond = (instant: string): string => `${instant.slice(0, 19)}Z`

/** Wait of another process's run, in one line. */
export const waitsText = ({ since, givesUpAt, class: reason, what, pending }: WaitsForGateway): string =>
  `waits for the gateway since ${toSecond(since)}, gives up at ${toSecond(givesUpAt)}: unavailable (${reason}: ${what}); ${pendingText(pending)}`

/** Wait in several lines, with a command to check the gateway. */
export const waitsLines = ({ since, givesUpAt, class: reason, what, pending }: WaitsForGateway): string[] => [
  `Waiting  for the gateway since ${toSecond(since)}: unavailable (${reason})`,
  `         ${what}`,
  `         gives up at ${toSecond(givesUpAt)}; ${pendingText(pending)}. To check the gateway`,
  '    waybill doctor',
]

export const pendingText = (pending: number): string =>
  `${counted(pending, 'record is pending', 'records are pending')}`

/** Table of the parts of an export that workers read together. */
export const partsCells = (parts: NonNullable<ExportSummary['parts']>) => ({
  head: ['part', 'state', 'rows settled', 'taken', 'worker'] as const,
  lines: parts.map(({ part, state, rows, takes, worker, since }) => [
    `${part} of ${parts.length}`,
    state,
    n(rows),
    counted(takes, 'time'),
    worker === undefined || since === undefined ? '' : `${worker} since ${toSecond(since)}`,
  ]),
})
