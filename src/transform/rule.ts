/** What a compiled rule is, and what rules of all kinds have in common. */

import { Entry, WithdrawnEntry } from '../model/entry.ts'
import {
  createFrame,
  type Fault,
  type RecordFrame,
  type RecordKind,
  type RejectedRecord,
  type RowFacts,
} from '../model/record.ts'
import type { KeyPath } from '../yaml-file.ts'
import { type CompileContext, issueOf } from './compile-context.ts'
import { type CompiledDate, compileDate, type ObservedAt } from './compile-date.ts'
import { type CompiledCondition, compileWhen } from './compile-field.ts'
import type { DateDefinition, WhenDefinition } from './field-definition.ts'
import type { RowBlock } from './mapping-definition.ts'
import type { Branch, Scope } from './scope.ts'
import type { CompiledSource } from './source.ts'

/** The mapping leaves this one out on purpose, and why: it is counted by these words, which hold no health data. */
export interface LeftOut {
  readonly leftOut: string
  /** The place of a result that the source has taken back: it may have been delivered. */
  readonly withdrawn?: WithdrawnEntry
}

/** Leaves out a result that the source has taken back. @param why counts it */
export function leftOutAsWithdrawn(
  frame: RecordFrame,
  rule: string,
  facts: RowFacts,
  observedAt: ObservedAt,
  why: string,
): LeftOut {
  // Without its date it has no place; nothing without a date was delivered.
  if (!observedAt.ok) return { leftOut: why }
  return { leftOut: why, withdrawn: new WithdrawnEntry(frame, rule, facts, observedAt, why) }
}

/** A condition of the rule does not hold; another rule may take the element. */
export const NOT_MEANT: LeftOut = { leftOut: 'when' }

/** Undefined where the rule does not apply: an empty cell, a condition that does not hold. */
export type RuleResult = Entry | RejectedRecord | undefined | LeftOut

/** Looks at one scope of a row and gives a record, a rejection, or nothing. */
export interface CompiledRule {
  readonly branch: number
  /** Of a rule whose records are counted: when what stands in a scope was observed. */
  readonly dateOf?: ((scope: Scope, rowDate: ObservedAt) => ObservedAt) | undefined
  readonly apply: (
    scope: Scope,
    facts: RowFacts,
    observedAt: ObservedAt,
    ordinals: Map<string, number>,
  ) => RuleResult
  /** Rejects a known measurement that no rule has taken, as its value has a form that none reads. */
  readonly unread?: (scope: Scope, ordinals: Map<string, number>) => RejectedRecord | undefined
}

/** Where a rule stands, and what all rules of the mapping are compiled with. */
export interface RuleSite {
  readonly context: CompileContext
  /** Undefined for a rule of a list: it is of what its code says, and its records are named by that. */
  readonly name: string | undefined
  readonly path: KeyPath
  readonly row: RowBlock
  readonly source: CompiledSource
  /** Columns or paths that the `row` block reads. */
  readonly rowReads: readonly string[]
}

/** When a rule applies, what comes of it where it does not, and the date that it has of its own. */
export interface Applies {
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

/**
 * What the next record of a rule is called: by the rule, or by what it is of where the rule has no name; with an ordinal where
 * a row can give several.
 */
export function recordRule(
  name: string | undefined,
  of: string,
  branch: Branch,
  ordinals: Map<string, number>,
): string {
  const listed = listedAs(name, of, branch)
  return listed === undefined ? (name ?? of) : ordinalRule(listed, ordinals)
}

/** What its records are counted by, where a row can give several; else undefined. */
export const listedAs = (name: string | undefined, of: string, branch: Branch): string | undefined =>
  isListed(name, branch) ? (name ?? of) : undefined

/** Whether a row can give several records of a rule. */
export const isListed = (name: string | undefined, branch: Branch): boolean =>
  name === undefined || branch !== 0

/** The one rule of a roster: its record is the person. Of what the gateway has of people nothing is observed at any time. */
export function compilePerson(source: CompiledSource): CompiledRule {
  const frameOf = source.each(({ type, beforeKey, afterKey }) =>
    createFrame({
      ...{ kind: 'account', sourceType: type, codes: [], name: '', holes: [] },
      pieces: [`,${beforeKey}`, afterKey],
    }),
  )
  const never = { at: 0, iso: new Date(0).toISOString() }
  return {
    branch: 0,
    apply: (_scope, facts) => new Entry(frameOf(), 'account', facts, never, undefined, []),
  }
}
