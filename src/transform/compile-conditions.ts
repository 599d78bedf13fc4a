/** Condition rules: wide (a column says yes) and long (a coded row, or element, is one). */
import type { KeyPath } from '../yaml-file.ts'
import { CODE_SYSTEM_OID, type ConditionEntry, snomedCodes } from './catalog.ts'
import { compileCoded } from './compile-code.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { compileWhen } from './compile-when.ts'
import { type CompiledField, FIELD_MESSAGES } from './field-text.ts'
import type {
  LongConditionDefinition,
  StatusDefinition,
  WideConditionDefinition,
} from './mapping-definition.ts'
import { compileDate, type ObservedAt } from './observed-at.ts'
import {
  type CompiledRule,
  LEFT_OUT,
  ordinalRule,
  type RowFacts,
  type RuleResult,
  recordRule,
  rejected,
} from './rule.ts'
import type { Scope } from './scope.ts'
import type { SourceText } from './source-text.ts'

type ConditionWriter = (rule: string, scope: Scope, facts: RowFacts, observedAt: ObservedAt) => RuleResult

/** Conditions carry their observation date as a number of milliseconds (interface, "Condition record, as sent"). */
function compileEntry(
  entry: ConditionEntry,
  status: CompiledField,
  source: SourceText,
  sourceType: string,
): ConditionWriter {
  const [snomed = ''] = snomedCodes(entry)
  const codings = [
    {
      code: entry.icd10,
      codeSystem: CODE_SYSTEM_OID['ICD-10-CM'],
      codeSystemName: 'ICD-10-CM',
      name: entry.name,
    },
    { code: snomed, codeSystem: CODE_SYSTEM_OID.SNOMED, codeSystemName: 'SNOMED CT', name: entry.name },
  ]
  const codes = codings.map((coding) => coding.code)
  const beforeStatus = `,"name":${JSON.stringify(entry.name)},"status":`
  const afterDate = `,"codes":${JSON.stringify(codings)},${source.beforeKey}`

  return (rule, scope, facts, observedAt) => {
    const state = status.read(scope)
    if (!state.ok) return rejected('condition', rule, state.code, FIELD_MESSAGES[state.code], status.from)
    if (state.text === '')
      return rejected('condition', rule, 'status-missing', 'there is no status', status.from)
    if (!observedAt.ok)
      return { kind: 'rejected', rejected: { kind: 'condition', rule, issue: observedAt.issue } }
    return {
      kind: 'record',
      record: {
        kind: 'condition',
        rule,
        account: facts.account,
        series: `${facts.account.reference}\u0000${entry.icd10}\u0000${sourceType}`,
        observedAt: observedAt.at,
        sourceType,
        content: `${facts.accountJson}${beforeStatus}${JSON.stringify(state.text)},"observationDate":${observedAt.at}${afterDate}${facts.keyJson}${source.afterKey}`,
        evidence: { codes, name: entry.name },
      },
    }
  }
}

/** A status given as a word is a constant; `{ from: … }` reads it. */
function compileStatus(context: CompileContext, definition: StatusDefinition, path: KeyPath): CompiledField {
  return compileField(context, context.word(definition, path), path)
}

export function compileWideCondition(
  context: CompileContext,
  rule: string,
  definition: WideConditionDefinition,
  path: KeyPath,
  source: SourceText,
  sourceType: string,
): CompiledRule | undefined {
  const key = definition.catalog ?? rule
  const entry = context.catalog.conditions.get(key)
  if (entry === undefined) {
    context.report(
      definition.catalog === undefined ? path : [...path, 'catalog'],
      `"${key}" is not in the catalog of conditions`,
    )
    return undefined
  }
  const condition = compileWhen(context, definition.when, [...path, 'when'])
  const date =
    definition.observedAt === undefined
      ? undefined
      : compileDate(context, definition.observedAt, [...path, 'observedAt'])
  const status = compileStatus(context, definition.status, [...path, 'status'])
  const write = compileEntry(entry, status, source, sourceType)
  const depth = Math.max(condition.depth, date?.depth ?? 0, status.depth)
  return {
    depth,
    apply: (scope, facts, observedAt, ordinals) =>
      condition.holds(scope)
        ? write(recordRule(rule, depth, ordinals), scope, facts, date?.read(scope) ?? observedAt)
        : undefined,
  }
}

export function compileLongCondition(
  context: CompileContext,
  definition: LongConditionDefinition,
  path: KeyPath,
  source: SourceText,
  sourceType: string,
): CompiledRule {
  const code = compileCoded(context, definition, 'conditions', path)
  const condition = compileWhen(context, definition.when, [...path, 'when'])
  const date =
    definition.observedAt === undefined
      ? undefined
      : compileDate(context, definition.observedAt, [...path, 'observedAt'])
  const status = compileStatus(context, definition.status, [...path, 'status'])
  const writers = new Map<string, ConditionWriter>()
  for (const [key, entry] of context.catalog.conditions)
    writers.set(key, compileEntry(entry, status, source, sourceType))
  return {
    depth: Math.max(code.depth, condition.depth, date?.depth ?? 0, status.depth),
    apply(scope, facts, observedAt, ordinals) {
      if (!condition.holds(scope)) return LEFT_OUT
      const found = code.read(scope)
      if (found === LEFT_OUT) return LEFT_OUT
      if (!found.ok)
        return rejected('condition', ordinalRule('unmapped', ordinals), found.code, found.message, code.from)
      const write = writers.get(found.key)
      return (
        write?.(ordinalRule(found.key, ordinals), scope, facts, date?.read(scope) ?? observedAt) ?? LEFT_OUT
      )
    },
  }
}
