/** Care-team rules (interface, "Care team record, as sent"): the observation date goes out as a string of milliseconds. */
import type { Issue, PreparedRecord } from '../model/record.ts'
import type { KeyPath } from '../yaml-file.ts'
import { npiFault } from './check-codes.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import { compileWhen } from './compile-when.ts'
import { FIELD_MESSAGES } from './field-text.ts'
import type { CareTeamDefinition } from './mapping-definition.ts'
import { compileDate } from './observed-at.ts'
import { type CompiledRule, LEFT_OUT, ordinalRule, type RuleResult, recordRule, rejected } from './rule.ts'
import type { Scope } from './scope.ts'
import type { SourceText } from './source-text.ts'

/** Said of every entry, of none, or by a condition: then also that it is not, or no longer, the primary care physician. */
function compilePrimary(
  context: CompileContext,
  definition: CareTeamDefinition['primary'],
  path: KeyPath,
): { readonly depth: number; readonly of: (scope: Scope) => Pick<PreparedRecord, 'primary'> } {
  if (typeof definition === 'boolean') {
    const said = definition ? { primary: true } : {}
    return { depth: 0, of: () => said }
  }
  const { depth, holds } = compileWhen(context, definition, path)
  return { depth, of: (scope) => ({ primary: holds(scope) }) }
}

/** What is wrong with an NPI, unless the mapping lets it go on. */
function checkNpi(
  context: CompileContext,
  rule: string,
  npi: string,
  field: string | undefined,
): RuleResult | undefined {
  const fault = npiFault(npi)
  if (fault === undefined) return undefined
  const { check, code, message } = fault
  const issue: Issue = { stage: 'transform', code, message, ...(field === undefined ? {} : { field }) }
  const found = check === undefined ? issue : context.checks.found(check, 'careTeam', rule, issue)
  return found && { kind: 'rejected', rejected: { kind: 'careTeam', rule, issue: found } }
}

/** In the order in which they are written. */
const DETAILS = ['profile', 'phoneNumber', 'location', 'address', 'city', 'zip'] as const

/** What the entries of rules that stand in a list are called, with their ordinal in the row. */
const LISTED = 'care-team'

/** @param named the rule's name; undefined for one of a list */
export function compileCareTeam(
  context: CompileContext,
  named: string | undefined,
  definition: CareTeamDefinition,
  path: KeyPath,
  source: SourceText,
  sourceType: string,
): CompiledRule {
  const condition = compileWhen(context, definition.when, [...path, 'when'])
  const date =
    definition.observedAt === undefined
      ? undefined
      : compileDate(context, definition.observedAt, [...path, 'observedAt'])
  const primary = compilePrimary(context, definition.primary, [...path, 'primary'])
  const npi = compileField(context, definition.npi, [...path, 'npi'])
  const name = compileField(context, definition.name, [...path, 'name'])
  const details = DETAILS.flatMap((key) => {
    const field = definition[key]
    return field === undefined ? [] : [{ key, field: compileField(context, field, [...path, key]) }]
  })
  const type = compileField(context, context.word(definition.type, [...path, 'type']), [...path, 'type'])
  const fields = [npi, name, type, ...details.map((detail) => detail.field)]
  const depth = Math.max(
    condition.depth,
    date?.depth ?? 0,
    primary.depth,
    ...fields.map((field) => field.depth),
  )

  return {
    depth,
    apply(scope, facts, rowDate, ordinals) {
      if (!condition.holds(scope)) return named === undefined ? LEFT_OUT : undefined
      const rule = named === undefined ? ordinalRule(LISTED, ordinals) : recordRule(named, depth, ordinals)
      const number = npi.read(scope)
      const called = name.read(scope)
      if (!number.ok) return rejected('careTeam', rule, number.code, FIELD_MESSAGES[number.code], npi.from)
      if (!called.ok) return rejected('careTeam', rule, called.code, FIELD_MESSAGES[called.code], name.from)
      if (number.text === '') return rejected('careTeam', rule, 'npi-missing', 'there is no NPI', npi.from)
      const fault = checkNpi(context, rule, number.text, npi.from)
      if (fault !== undefined) return fault
      if (called.text === '') return rejected('careTeam', rule, 'name-missing', 'there is no name', name.from)
      const observedAt = date?.read(scope) ?? rowDate
      if (!observedAt.ok)
        return { kind: 'rejected', rejected: { kind: 'careTeam', rule, issue: observedAt.issue } }
      const role = type.read(scope)
      if (!role.ok) return rejected('careTeam', rule, role.code, FIELD_MESSAGES[role.code], type.from)
      if (role.text === '') return rejected('careTeam', rule, 'type-missing', 'there is no type', type.from)
      let more = ''
      for (const { key, field } of details) {
        const detail = field.read(scope)
        if (!detail.ok)
          return rejected('careTeam', rule, detail.code, FIELD_MESSAGES[detail.code], field.from)
        if (detail.text !== '') more += `,"${key}":${JSON.stringify(detail.text)}`
      }
      return {
        kind: 'record',
        record: {
          kind: 'careTeam',
          rule,
          account: facts.account,
          series: `${facts.account.reference}\u0000npi:${number.text}\u0000${sourceType}`,
          observedAt: observedAt.at,
          sourceType,
          content: `${facts.accountJson},"name":${JSON.stringify(called.text)},"type":${JSON.stringify(role.text)}${more},"npi":"${number.text}","observationDate":"${observedAt.at}",${source.beforeKey}${facts.keyJson}${source.afterKey}`,
          evidence: { codes: [], name: called.text, npi: number.text },
          ...primary.of(scope),
        },
      }
    },
  }
}
