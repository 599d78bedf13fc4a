/** Why rows and records were left behind, for people: by reason, rule, export and the words that came with it. */
import type { Reason } from '../ledger/ledger.ts'
import { wordsOf } from '../ledger/reasons.ts'
import { fittedTable } from './plain-table.ts'

/** Reasons shown; the rest is counted. */
const REASONS_SHOWN = 15

/** Rules named in one line; more are counted. */
const RULES_NAMED = 3

/**
 * Most frequent first.
 * @param columns of the terminal; undefined: the words stand in one line, however long
 */
export function reasonsTable(reasons: readonly Reason[], columns: number | undefined): string {
  const merged = mergeRules(reasons)
  const rows = merged
    .slice(0, REASONS_SHOWN)
    .map((one) => [n(one.count), outcomeOf(one), one.code, rulesOf(one), one.exportName, wordsOf(one)])
  const head = ['count', 'outcome', 'reason', 'rule', 'export', 'message']
  const table = fittedTable(head, rows, 1, columns)
  const rest = merged.slice(REASONS_SHOWN).reduce((sum, { count }) => sum + count, 0)
  return rest === 0
    ? table
    : `${table}\n  and ${n(rest)} more for ${n(merged.length - REASONS_SHOWN)} other reasons; --json lists all of them`
}

type Merged = Omit<Reason, 'rule'> & { readonly rules: readonly (string | null)[] }

/** One line for what befell several rules in the same words: a person who is not registered loses all records. */
function mergeRules(reasons: readonly Reason[]): Merged[] {
  const same = Map.groupBy(reasons, ({ outcome, stage, code, exportName, field, message }) =>
    [outcome, stage, code, exportName, field, message].join('\n'),
  )
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)
  return [...same.values()]
    .flatMap((group) => {
      const [first] = group
      if (first === undefined) return []
      const rules = [...new Set(group.map(({ rule }) => rule))]
      const settled = sum(group.map((one) => one.settled))
      return [{ ...first, rules, settled, count: sum(group.map(({ count }) => count)) }]
    })
    .sort((a, b) => b.count - a.count)
}

function outcomeOf({ outcome, settled, count }: Merged): string {
  if (settled === 0) return outcome
  return settled === count ? 'settled' : `${outcome}, ${n(settled)} settled`
}

const rulesOf = ({ rules }: Merged): string =>
  rules.length > RULES_NAMED ? `${rules.length} rules` : rules.map((rule) => rule ?? '(row)').join(', ')

const n = (count: number): string => count.toLocaleString('en-US')
