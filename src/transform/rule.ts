/** What a compiled rule is: it looks at one scope of a row and gives a record, a rejection, or nothing. */
import type { AccountKey, Issue, PreparedRecord, RecordKind, RejectedRecord } from '../model/record.ts'
import type { ObservedAt } from './observed-at.ts'
import type { Scope } from './scope.ts'

/** What is known of the row when its rules run. */
export interface RowFacts {
  readonly account: AccountKey
  /** The account as JSON text. */
  readonly accountJson: string
  /** The row's key as JSON text. */
  readonly keyJson: string
}

export type RuleResult =
  | { readonly kind: 'record'; readonly record: PreparedRecord }
  | { readonly kind: 'rejected'; readonly rejected: RejectedRecord }
  /** The rule does not apply: an empty cell, a condition that does not hold. */
  | undefined
  /** The mapping leaves this one out on purpose: a status not kept, a code to skip. */
  | 'left-out'

export interface CompiledRule {
  readonly depth: number
  readonly apply: (
    scope: Scope,
    facts: RowFacts,
    observedAt: ObservedAt,
    ordinals: Map<string, number>,
  ) => RuleResult
}

export const LEFT_OUT = 'left-out'

export function rejected(
  kind: RecordKind,
  rule: string,
  code: string,
  message: string,
  field?: string,
): RuleResult {
  const issue: Issue = { stage: 'transform', code, message, ...(field === undefined ? {} : { field }) }
  return { kind: 'rejected', rejected: { kind, rule, issue } }
}

/** `<catalog key>-<n>`: the n-th record of this key in the row, from 1. */
export function ordinalRule(key: string, ordinals: Map<string, number>): string {
  const ordinal = (ordinals.get(key) ?? 0) + 1
  ordinals.set(key, ordinal)
  return `${key}-${ordinal}`
}

/** What the next record of a named rule is called: a rule that reads a level gives several a row, which need an ordinal. */
export function recordRule(rule: string, depth: number, ordinals: Map<string, number>): string {
  return depth === 0 ? rule : ordinalRule(rule, ordinals)
}
