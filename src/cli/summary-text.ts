/** A run's summary for people: the balance as a table, why things were left behind, where the files are, what to type next. */
import { relative } from 'node:path'
import Table from 'cli-table3'
import type { ExportDrift } from '../job/drift.ts'
import type { RunSummary } from '../job/summary.ts'
import type { Reason } from '../ledger/ledger.ts'
import type { CodeCount, RecordCounts } from '../reconcile/balance.ts'
import { nextSteps, relatedRuns } from './next-steps.ts'

/** Reasons shown; the rest is counted. */
const REASONS_SHOWN = 15

export const KIND_NAMES = {
  biometric: 'biometrics',
  condition: 'conditions',
  careTeam: 'care teams',
} as const

export function summaryText(summary: RunSummary, reasons: readonly Reason[]): string {
  const { rows, records, accounts, requests, primaryCare, careTeams } = summary
  const seconds = summary.durationMs / 1000
  const lines = [
    '',
    `Run ${summary.run} of ${summary.job}: ${summary.state}${summary.reason === undefined ? '' : ` (${summary.reason})`} after ${seconds.toFixed(1)} s, sent to ${summary.gateway}`,
    '',
    exportsTable(summary),
    '',
    `Rows     read ${n(rows.read)} = mapped ${n(rows.mapped)} + skipped ${n(rows.skipped)} + rejected ${n(rows.rejected)}` +
      (rows.corrected === 0 ? '' : `; ${n(rows.corrected)} with a known key and other content`),
    recordsTable(records),
    ...warningsLine(summary.warnings),
    summary.balanced
      ? 'Balanced: every row and every record has exactly one outcome.'
      : 'NOT BALANCED: this is a defect; keep the ledger and report it.',
    '',
    `Accounts registered ${n(accounts.registered)}, known ${n(accounts.known)}, refused ${n(accounts.refused)}; primary care physicians marked ${n(primaryCare.marked)}` +
      (primaryCare.refused === 0 ? '' : `, refused ${n(primaryCare.refused)}`) +
      (careTeams.replaced === 0 ? '' : `; care teams replaced ${n(careTeams.replaced)}`) +
      (careTeams.notReplaced === 0 ? '' : `; not replaced ${n(careTeams.notReplaced)}`),
    `Requests sent ${n(requests.sent)}, of these again ${n(requests.retried)}; reads of profiles ${n(requests.readBack)}`,
  ]
  lines.push(...relatedRuns(summary))
  lines.push(...driftLines(summary.drift))
  if (reasons.length > 0) lines.push('', reasonsTable(reasons))
  const files = [
    ...summary.exports.flatMap((one) => (one.rejects === undefined ? [] : [['Rejects ', one.rejects]])),
    ...(summary.files.receipts === undefined ? [] : [['Receipts', summary.files.receipts]]),
  ]
  if (files.length > 0) lines.push('', ...files.map(([what, path = '']) => `${what} ${relative('.', path)}`))
  const next = nextSteps(summary)
  if (next.length > 0) lines.push('', ...next)
  return `${lines.join('\n')}\n`
}

/** One line, where there is anything to warn of. */
export const warningsLine = (warnings: readonly CodeCount[]): string[] =>
  warnings.length === 0
    ? []
    : [`Warnings ${warnings.map(({ code, count }) => `${code} ${n(count)}`).join(', ')}`]

/** In what exports differ from earlier deliveries, where they do. */
export function driftLines(drift: readonly ExportDrift[]): string[] {
  if (drift.length === 0) return []
  const table = plainTable(['drift', 'export', 'what', 'differs'], 'none')
  for (const { level, export: name, measure, message } of drift.slice(0, REASONS_SHOWN))
    table.push([level, name, measure, message])
  const rest = drift.length - REASONS_SHOWN
  return ['', table.toString(), ...(rest > 0 ? [`  and ${n(rest)} more; --json lists all of them`] : [])]
}

const n = (count: number): string => count.toLocaleString('en-US')

function exportsTable(summary: RunSummary): string {
  const table = plainTable(['export', 'rows', 'mapped', 'skipped', 'rejected', 'state'])
  for (const { name, counts, state, error } of summary.exports) {
    const { read, mapped, skipped, rejected } = counts.rows
    table.push([
      name,
      n(read),
      n(mapped),
      n(skipped),
      n(rejected),
      error === undefined ? state : `${state}: ${error}`,
    ])
  }
  return table.toString()
}

function recordsTable(records: RunSummary['records']): string {
  const table = plainTable(['records', 'made', 'accepted', 'rejected', 'unchanged', 'in doubt', 'pending'])
  for (const [kind, name] of Object.entries(KIND_NAMES)) {
    const counts: RecordCounts = records[kind as keyof typeof KIND_NAMES]
    const { made, accepted, rejected, unchanged, inDoubt, pending } = counts
    table.push([name, ...[made, accepted, rejected, unchanged, inDoubt, pending].map(n)])
  }
  return table.toString()
}

function reasonsTable(reasons: readonly Reason[]): string {
  const table = plainTable(['count', 'outcome', 'stage', 'code', 'rule', 'reason'], 1)
  const merged = mergeRules(reasons)
  for (const { count, outcome, stage, code, rules, message } of merged.slice(0, REASONS_SHOWN)) {
    const [only] = rules
    const rule = rules.length === 1 ? (only ?? '(row)') : `${rules.length} rules`
    table.push([
      n(count),
      outcome,
      stage,
      code,
      rule,
      message.length > 90 ? `${message.slice(0, 89)}…` : message,
    ])
  }
  const rest = merged.slice(REASONS_SHOWN).reduce((sum, { count }) => sum + count, 0)
  return rest === 0
    ? table.toString()
    : `${table.toString()}\n  and ${n(rest)} more for ${merged.length - REASONS_SHOWN} other reasons`
}

/** One line for what befell several rules in the same words: a person who is not registered loses all records. */
function mergeRules(reasons: readonly Reason[]): (Omit<Reason, 'rule'> & { rules: (string | null)[] })[] {
  const same = Map.groupBy(reasons, ({ outcome, stage, code, message }) =>
    [outcome, stage, code, message].join('\n'),
  )
  return [...same.values()]
    .flatMap((group) => {
      const [first] = group
      if (first === undefined) return []
      const rules = [...new Set(group.map(({ rule }) => rule))]
      return [{ ...first, rules, count: group.reduce((sum, { count }) => sum + count, 0) }]
    })
    .sort((a, b) => b.count - a.count)
}

/** A table without lines; numbers stand to the right: all columns but the first, the first alone, or none. */
export function plainTable(head: readonly string[], numbers: 'rest' | 1 | 'none' = 'rest'): Table.Table {
  return new Table({
    head: [...head],
    colAligns: head.map((_, at) => (numbers === (at === 0 ? 1 : 'rest') ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 1, 'padding-right': 1, compact: true },
    chars: {
      top: '',
      'top-mid': '',
      'top-left': '',
      'top-right': '',
      bottom: '',
      'bottom-mid': '',
      'bottom-left': '',
      'bottom-right': '',
      left: '',
      'left-mid': '',
      mid: '',
      'mid-mid': '',
      right: '',
      'right-mid': '',
      middle: ' ',
    },
  })
}
