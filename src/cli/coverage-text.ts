/** How a mapping fits an export, for people: what it does not read, and what each of its rules gave. */

import type { Coverage, RuleCoverage } from '../mapping-tools/coverage.ts'
import { n } from '../shown-text.ts'
import { plainTable } from './plain-table.ts'

/** How a mapping fits an export. */
export interface Fit extends Coverage {
  readonly export: string
  /** Columns that the mapping does not read. */
  readonly unread: readonly string[]
}

export function coverageText({ rows, reasons, unread, rules }: Fit): string[] {
  const why = Object.keys(reasons).length === 0 ? '' : ` (${counted(reasons)})`
  const told = rules.map((rule) => [n(rule.made), rule.rule, shortcomings(rule)])
  const lines = [
    ...(unread.length === 0 ? [] : [`Columns that it does not read: ${unread.join(', ')}`]),
    `Rows     read ${n(rows.read)} = mapped ${n(rows.mapped)} + skipped ${n(rows.skipped)} + rejected ${n(rows.rejected)}${why}`,
    ...plainTable(['made', 'rule', 'what it did not give'], told, 1),
  ]
  return lines.map((line) => line.trimEnd())
}

function shortcomings({ made, rejected, neverSet }: RuleCoverage): string {
  const refused = Object.keys(rejected).length > 0
  if (made === 0) return refused ? `always rejected: ${counted(rejected)}` : 'never set'
  return [
    ...(refused ? [`rejected: ${counted(rejected)}`] : []),
    ...(neverSet.length === 0 ? [] : [`never set: ${neverSet.join(', ')}`]),
  ].join('; ')
}

const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${code} ${n(count)}`)
    .join(', ')
