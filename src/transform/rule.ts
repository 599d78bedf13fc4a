/** What a compiled rule is, and what rules of all kinds have in common. */

import { Entry } from '../model/entry.ts'
import {
  createFrame,
  type Fault,
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

/** The mapping leaves this one out on purpose, and why: it is counted by these words, which hold no health data. */
export interface LeftOut {
  readonly leftOut: string
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
  readonly source: SourceText
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

/**
 * The end of every record's JSON text: the source object, up to where the batch id goes (interface, "Source object").
 * `resourceKey` is the row's key; `batchId` and `persistentRecordId` are added when the batch is cut.
 */
export interface SourceText {
  /** Before and after the row's key. */
  readonly beforeKey: string
  readonly afterKey: string
  /** Before the row's key of a record that has a note of its own, behind that of the mapping. */
  readonly withNote: (note: string) => string
}

export function compileSource(source: RowBlock['source']): SourceText {
  const { name, type, notes, sendingSystem, dataQuality } = source
  const quality = dataQuality === undefined ? '' : `"dataQuality":${JSON.stringify(dataQuality)},`
  const system = sendingSystem === undefined ? '' : `,"sendingSystem":${JSON.stringify(sendingSystem)}`
  const beforeKey = (noted: string | undefined): string => {
    const outer = JSON.stringify({ name, type, ...(noted === undefined ? {} : { notes: noted }) })
    return `"source":${outer.slice(0, -1)},"meta":{${quality}"resourceKey":`
  }
  return {
    beforeKey: beforeKey(notes),
    afterKey: `${system},"batchId":"`,
    withNote: (note) => beforeKey(notes === undefined ? note : `${notes}; ${note}`),
  }
}

/** The one rule of a roster: its record is the person. Of what the gateway has of people nothing is observed at any time. */
export function compilePerson(source: SourceText, sourceType: string): CompiledRule {
  const frame = createFrame({
    ...{ kind: 'account', sourceType, codes: [], name: '', holes: [] },
    pieces: [`,${source.beforeKey}`, source.afterKey],
  })
  const never = { at: 0, iso: new Date(0).toISOString() }
  return {
    branch: 0,
    apply: (_scope, facts) => new Entry(frame, 'account', facts, never, undefined, []),
  }
}
