/** Compiled rules, and the parts shared by rules of all kinds. */

import { type Entry, WithdrawnEntry } from '../model/entry.ts'
import type { Fault, RecordFrame, RecordKind, RejectedRecord, RowFacts } from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import type { compileEntry } from './bundle-entries.ts'
import { type CompileContext, issueOf } from './compile-context.ts'
import { type CompiledDate, compileDate, type ObservedAt } from './compile-date.ts'
import { type CompiledCondition, compileWhen } from './compile-field.ts'
import type { DateDefinition, RowBlock, WhenDefinition } from './mapping-definition.ts'
import type { Branch, Scope } from './scope.ts'
import type { CompiledSource } from './source.ts'

/** Reason why the mapping leaves a record out on purpose; records are counted by this text, which holds no health data. */
export interface LeftOut {
  readonly leftOut: string
  /** Place of a result that the source has withdrawn: the result may have been delivered. */
  readonly withdrawn?: WithdrawnEntry
}

/** Leaves out a result that the source has withdrawn. @param why reason, by which it is counted */
export function leftOutAsWithdrawn(
  frame: RecordFrame,
  rule: string,
  facts: RowFacts,
  observedAt: ObservedAt,
  why: string,
): LeftOut {
  // A result without a date has no place, and was never delivered.
  if (!observedAt.ok) return { leftOut: why }
  return { leftOut: why, withdrawn: new WithdrawnEntry(frame, rule, facts, observedAt, why) }
}

/** A condition of the rule does not hold; another rule may take the element. */
export const NOT_MEANT: LeftOut = { leftOut: 'when' }

/** Undefined where the rule does not apply: an empty cell, a condition that does not hold. */
export type RuleResult = Entry | RejectedRecord | undefined | LeftOut

/** Maps one scope of a row to a record, a rejection, or nothing. */
export interface CompiledRule {
  readonly branch: number
  /** Date of observation in a scope, for a rule with counted records. */
  readonly dateOf?: ((scope: Scope, rowDate: ObservedAt) => ObservedAt) | undefined
  readonly apply: (
    scope: Scope,
    facts: RowFacts,
    observedAt: ObservedAt,
    ordinals: Map<string, number>,
  ) => RuleResult
  /** Entry of a Bundle that the rule reads. */
  readonly entry?: ReturnType<typeof compileEntry> | undefined
  /** Rejects a known measurement that no rule took because no rule reads the form of its value. */
  readonly unread?: (scope: Scope, ordinals: Map<string, number>) => RejectedRecord | undefined
}

/** Place of a rule, and the context shared by all rules of the mapping. */
export interface RuleSite {
  readonly context: CompileContext
  /** Undefined for a listed rule: the code decides the subject, and the subject names the records. */
  readonly name: string | undefined
  readonly path: KeyPath
  readonly row: RowBlock
  readonly source: CompiledSource
  /** Columns or paths that the `row` block reads. */
  readonly rowReads: readonly string[]
}

/** Condition of a rule, its result where the condition does not hold, and its own date. */
interface Applies {
  readonly condition: CompiledCondition
  readonly date: CompiledDate | undefined
  readonly otherwise: undefined | LeftOut
}

export const compileApplies = (
  { context, name, path }: RuleSite,
  {
    when,
    observedAt,
  }: { readonly when?: WhenDefinition | undefined; readonly observedAt?: DateDefinition | undefined },
): Applies => ({
  condition: compileWhen(context, when, [...path, 'when']),
  date: observedAt && compileDate(context, observedAt, [...path, 'observedAt']),
  otherwise: name === undefined ? NOT_MEANT : undefined,
})

export const rejected = (
  kind: RecordKind,
  rule: string,
  fault: Fault,
  field: string | undefined,
): RejectedRecord => ({ kind, rule, issue: issueOf(fault, field) })

/** `<name>-<n>`: the n-th record of this name in the row, from 1. */
export function ordinalRule(name: string, ordinals: Map<string, number>): string {
  const ordinal = (ordinals.get(name) ?? 0) + 1
  ordinals.set(name, ordinal)
  return `${name}-${ordinal}`
}

/** Name of the next record of a rule; with an ordinal where a row can give several. */
export function recordRule(
  name: string | undefined,
  of: string,
  branch: Branch,
  ordinals: Map<string, number>,
): string {
  const listed = listedAs(name, of, branch)
  return listed === undefined ? (name ?? of) : ordinalRule(listed, ordinals)
}

/** Name for counting a rule's records, where a row can give several; else undefined. */
export const listedAs = (name: string | undefined, of: string, branch: Branch): string | undefined =>
  isListed(name, branch) ? (name ?? of) : undefined

/** True where a row can give several records of a rule. */
export const isListed = (name: string | undefined, branch: Branch): boolean =>
  name === undefined || branch !== 0
