/** A run's summary for people: the balance as a table, why things were left behind, where the files are, what to type next. */

import type { Reason } from '../ledger/ledger.ts'
import { balanceWords, type CodeCount, type RecordCounts } from '../model/balance.ts'
import { leftBehindWords } from '../reconcile/new-and-known.ts'
import { DRIFT_SHOWN, driftCounts, largestFirst } from '../report/drift-overview.ts'
import type { ExportDrift } from '../run/drift.ts'
import type { RunSummary } from '../runs/summary.ts'
import { BUILT_IN } from '../settings.ts'
import { n } from '../shown-text.ts'
import { exportsTable, writtenFiles } from './exports-table.ts'
import { nextSteps, relatedRuns } from './next-steps.ts'
import { toSecond, waitsLines } from './outage-text.ts'
import { fittedTable, plainTable } from './plain-table.ts'
import { reasonsTable } from './reasons-table.ts'

export const KIND_NAMES = {
  biometric: 'biometrics',
  condition: 'conditions',
  careTeam: 'care teams',
} as const

/** @param columns of the terminal that it is for; undefined: nothing is fitted to a width */
export function summaryText(summary: RunSummary, reasons: readonly Reason[], columns?: number): string[] {
  const { rows, records, accounts, requests, primaryCare, careTeams } = summary
  const lines = [
    '',
    `Run ${summary.run} of ${summary.job}: ${whatItCameTo(summary)}, sent to ${summary.gateway}`,
    ...whyLines(summary),
    ...standInLine(summary),
    '',
    ...exportsTable(summary, columns),
    '',
    `Rows     read ${n(rows.read)} = mapped ${n(rows.mapped)} + skipped ${n(rows.skipped)} + rejected ${n(rows.rejected)}` +
      (rows.corrected === 0 ? '' : `; ${n(rows.corrected)} with a known key and other content`),
    ...recordsTable(records),
    ...warningsLine(summary.warnings),
    balanceWords(summary),
    '',
    `Accounts registered ${n(accounts.registered)}, known ${n(accounts.known)}, refused ${n(accounts.refused)}; primary care physicians marked ${n(primaryCare.marked)}` +
      (primaryCare.unmarked === 0 ? '' : `, unmarked ${n(primaryCare.unmarked)}`) +
      (primaryCare.owed === 0 ? '' : `, owed ${n(primaryCare.owed)}`) +
      (careTeams.replaced === 0 ? '' : `; care teams replaced ${n(careTeams.replaced)}`) +
      (careTeams.notReplaced === 0 ? '' : `; not replaced ${n(careTeams.notReplaced)}`),
    `Requests sent ${n(requests.sent)}, of these again ${n(requests.retried)}; reads of profiles ${n(requests.readBack)}`,
  ]
  lines.push(...relatedRuns(summary))
  lines.push(...driftLines(summary.drift, columns))
  const known = leftBehindWords(summary).map((words) => `New      ${words}`)
  if (reasons.length > 0) lines.push('', ...known, ...reasonsTable(reasons, columns))
  const files = writtenFiles(summary)
  if (files.length > 0) lines.push('', ...files)
  lines.push(...untoldLine(summary))
  const next = nextSteps(summary, reasons)
  if (next.length > 0) lines.push('', ...next)
  else if (summary.pruned === undefined) lines.push('', 'Nothing is left to do.')
  return lines
}

/** `Not told mail to oncall@hospital.example (it answered 404; is tried again)` */
function untoldLine({ untold = [] }: RunSummary): string[] {
  const words = untold.map(({ target, state, error }) => {
    const then = state === 'pending' ? (error === undefined ? 'on its way' : 'is tried again') : 'given up'
    return `${target} (${[...(error === undefined ? [] : [error]), then].join('; ')})`
  })
  return words.length === 0 ? [] : ['', `Not told ${words.join(', ')}`]
}

/** A run that its ledger calls running is under way, or was killed. */
function whatItCameTo({ state, reason, activity, durationMs, startedAt }: RunSummary): string {
  if (activity?.kind === 'under-way') {
    const taken = activity.since.slice(0, 19) === startedAt.slice(0, 19)
    const since = taken ? '' : `, taken up at ${toSecond(activity.since)}`
    return `under way since ${toSecond(startedAt)}${since}, by process ${activity.owner}`
  }
  if (activity?.kind === 'stopped') {
    const who = activity.owner === undefined ? 'its process' : `its process ${activity.owner}`
    return `stopped; ${who} is gone, heard of last at about ${toSecond(activity.lastSign)}`
  }
  const why = reason === undefined ? '' : ` (${reason})`
  return `${state}${why} after ${(durationMs / 1000).toFixed(1)} s at work`
}

/** Nobody is to take it for a delivery. */
const standInLine = ({ gateway }: RunSummary): string[] =>
  gateway === BUILT_IN
    ? ['Stand-in The built-in gateway is on this machine: nothing was delivered, and no export is archived.']
    : []

/** Why it waits, or has ended. */
function whyLines({ activity, detail }: RunSummary): string[] {
  if (activity?.kind === 'under-way') return activity.waits === undefined ? [] : waitsLines(activity.waits)
  return detail === undefined ? [] : [`Because  ${detail}`]
}

/** One line, where there is anything to warn of. */
export const warningsLine = (warnings: readonly CodeCount[]): string[] =>
  warnings.length === 0
    ? []
    : [`Warnings ${warnings.map(({ code, count }) => `${code} ${n(count)}`).join(', ')}`]

/** In what exports differ from earlier deliveries, where they do: of much its counts, and what differs most. */
export function driftLines(drift: readonly ExportDrift[], columns?: number): string[] {
  if (drift.length === 0) return []
  const rows = largestFirst(drift)
    .slice(0, DRIFT_SHOWN)
    .map(({ level, export: name, measure, message }) => [level, name, measure, message])
  const rest = drift.length - rows.length
  return [
    '',
    ...(rest > 0 ? [`Drift    ${driftCounts(drift)}. The largest:`] : []),
    ...fittedTable(['drift', 'export', 'what', 'differs'], rows, 'none', columns),
    ...(rest > 0 ? [`  and ${n(rest)} more; --json lists all of them`] : []),
  ]
}

function recordsTable(records: RunSummary['records']): string[] {
  const rows = Object.entries(KIND_NAMES).map(([kind, name]) => {
    const counts: RecordCounts = records[kind as keyof typeof KIND_NAMES]
    const { made, accepted, rejected, unchanged, inDoubt, pending } = counts
    return [name, ...[made, accepted, rejected, unchanged, inDoubt, pending].map(n)]
  })
  return plainTable(['records', 'made', 'accepted', 'rejected', 'unchanged', 'in doubt', 'pending'], rows)
}
