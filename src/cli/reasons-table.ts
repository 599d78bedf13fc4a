/** Why rows and records were left behind, for people: by reason and the words that came with it, with the rules and exports. */

import type { Reason } from '../ledger/ledger.ts'
import { wordsOf } from '../ledger/reasons.ts'
import { knownWords } from '../reconcile/new-and-known.ts'
import { type MergedReason, mergeReasons } from '../report/merged-reasons.ts'
import { counted, n } from '../shown-text.ts'
import { fittedTable } from './plain-table.ts'

/** Reasons shown; the rest is counted. */
const REASONS_SHOWN = 15

/** Rules named in one line; more are counted. */
const RULES_NAMED = 3

/** Exports named in one line; of more one is named, as they are as wide as a line. */
const EXPORTS_NAMED = 2

/**
 * Most frequent first.
 * @param columns of the terminal; undefined: the words stand in one line, however long
 */
export function reasonsTable(reasons: readonly Reason[], columns: number | undefined): string[] {
  const merged = mergeReasons(reasons)
  const rows = merged
    .slice(0, REASONS_SHOWN)
    .map((one) => [n(one.count), outcomeOf(one), one.code, rulesOf(one), exportsOf(one), wordsOf(one)])
  const head = ['count', 'outcome', 'reason', 'rule', 'export', 'message']
  const table = fittedTable(head, rows, 1, columns)
  const rest = merged.slice(REASONS_SHOWN).reduce((sum, { count }) => sum + count, 0)
  const more = `${n(rest)} more for ${counted(merged.length - REASONS_SHOWN, 'other reason')}`
  return rest === 0 ? table : [...table, `  and ${more}; --json lists all of them`]
}

/** `rejected, 20 known since 2026-11-19, 3 settled`. */
function outcomeOf({ outcome, settled, count, ...known }: MergedReason): string {
  return [
    settled === count ? 'settled' : outcome,
    ...knownWords(known),
    ...(settled === 0 || settled === count ? [] : [`${n(settled)} settled`]),
  ].join(', ')
}

const rulesOf = ({ rules }: MergedReason): string =>
  rules.length > RULES_NAMED ? `${rules.length} rules` : rules.map((rule) => rule ?? '(row)').join(', ')

const exportsOf = ({ exports }: MergedReason): string =>
  exports.length > EXPORTS_NAMED
    ? `${exports[0]} and ${n(exports.length - 1)} more exports`
    : exports.join(', ')
