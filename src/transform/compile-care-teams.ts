/** Care-team rules (interface, "Care team record, as sent"): the observation date is sent as a string of milliseconds. */

import { CareTeamEntry } from '../model/entry.ts'
import { createFrame, type Fault, fault, type NamedProvider, type RejectedRecord } from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import { npiFault } from './codes.ts'
import type { CompileContext } from './compile-context.ts'
import { compileField, compileWhen } from './compile-field.ts'
import { nameFault } from './compile-row.ts'
import { type CareTeamDefinition, type FieldDefinition, isOptional } from './mapping-definition.ts'
import { type CompiledRule, compileApplies, type RuleSite, recordRule, rejected } from './rule.ts'
import { branchOf, type Scope } from './scope.ts'

/**
 * Rules without `primary` that read the NPI of a rule with `primary`: their entries are not primary.
 * @returns keys of these rules, each with the key of the rule with `primary`
 */
export function besidePrimary(
  rules: Readonly<Record<string, CareTeamDefinition>> | readonly CareTeamDefinition[] = [],
): ReadonlyMap<string, string> {
  const all = Object.entries<CareTeamDefinition>(rules).map(([key, { npi, primary }]) => {
    return { key, npi: JSON.stringify(npi), saysPrimary: primary !== false }
  })
  const saying = new Map(all.filter(({ saysPrimary }) => saysPrimary).map(({ npi, key }) => [npi, key]))
  return new Map(
    all.flatMap(({ key, npi, saysPrimary }) => {
      const beside = saysPrimary ? undefined : saying.get(npi)
      return beside === undefined ? [] : [[key, beside] as const]
    }),
  )
}

/**
 * Compiles `primary`: of every entry, of none, or by a condition. A condition also reports an entry as not, or no longer, the
 * primary care physician.
 */
function compilePrimary(
  context: CompileContext,
  definition: CareTeamDefinition['primary'],
  path: KeyPath,
  isBeside: boolean,
): { readonly branch: number; readonly of: (scope: Scope) => Pick<NamedProvider, 'primary'> } {
  if (typeof definition === 'boolean') {
    const texts = definition || isBeside ? { primary: definition } : {}
    return { branch: 0, of: () => texts }
  }
  const { branch, holds } = compileWhen(context, definition, path)
  return { branch, of: (scope) => ({ primary: holds(scope) }) }
}

/** Rejection of a faulty NPI, unless the mapping lets it pass. */
function refusedNpi(
  context: CompileContext,
  rule: string,
  npi: string,
  field: string | undefined,
): RejectedRecord | undefined {
  const fault = npiFault(npi)
  if (fault === undefined) return undefined
  const refused = rejected('careTeam', rule, fault, field)
  if (fault.check === undefined) return refused
  const issue = context.checks.found(fault.check, 'careTeam', rule, refused.issue)
  return issue && refused
}

const NO_NPI = fault('npi-missing', 'there is no NPI')
const NO_NAME = fault('name-missing', 'there is no name')
const DAMAGED = fault('name-damaged', 'a program or a spreadsheet damaged the name')
const NO_TYPE = fault('type-missing', 'there is no type')
/** In the order of writing. */
const DETAILS = ['profile', 'phoneNumber', 'location', 'address', 'city', 'zip'] as const

/** Name of entries of listed rules, with their ordinal in the row. */
const LISTED = 'care-team'

/** Compiles a rule for one kind of entry, named or listed. @param isBeside true for a rule of `besidePrimary` */
export function compileCareTeam(
  site: RuleSite,
  definition: CareTeamDefinition,
  isBeside: boolean,
): CompiledRule {
  const { context, name: named, path, source } = site
  const { condition, date, otherwise } = compileApplies(site, definition)
  const primary = compilePrimary(context, definition.primary, [...path, 'primary'], isBeside)
  const fieldOf = (key: string, field: FieldDefinition) => compileField(context, field, [...path, key])
  const npi = fieldOf('npi', definition.npi)
  const name = fieldOf('name', definition.name)
  // With `primary: false` the default type PCP (primary care physician) is not sent.
  const ofType = definition.type ?? (definition.primary === false ? undefined : 'PCP')
  const type = ofType === undefined ? undefined : fieldOf('type', context.word(ofType, [...path, 'type']))
  const details = DETAILS.flatMap((key) => {
    const field = definition[key]
    return field === undefined ? [] : [{ key, field: fieldOf(key, field) }]
  })
  // A constant is the author's.
  const isChecked = context.checks.effects['damaged-key'] === 'reject' && name.from !== undefined
  const branch = branchOf(condition, date, primary, npi, name, type, ...details.map(({ field }) => field))
  const frameOf = source.each(({ type: sourceType, beforeKey, afterKey }) =>
    createFrame({
      kind: 'careTeam',
      sourceType,
      codes: [],
      name: '',
      pieces: [',"name":', '', ',"npi":"', '","observationDate":"', `",${beforeKey}`, afterKey],
      holes: [0, 1, 2, 'epochMs'],
    }),
  )

  return {
    branch,
    apply(scope, facts, rowDate, ordinals) {
      if (!condition.holds(scope)) return otherwise
      const rule = recordRule(named, LISTED, branch, ordinals)
      const refuse = (fault: Fault, field: string | undefined) => rejected('careTeam', rule, fault, field)
      const number = npi.read(scope)
      if (typeof number !== 'string') return refuse(number, npi.from)
      if (number === '') return refuse(NO_NPI, npi.from)
      const refused = refusedNpi(context, rule, number, npi.from)
      if (refused !== undefined) return refused
      const called = name.read(scope)
      if (typeof called !== 'string') return refuse(called, name.from)
      const damage = called === '' ? 'incomplete' : isChecked ? nameFault(called) : undefined
      if (damage !== undefined) return refuse(damage === 'damaged' ? DAMAGED : NO_NAME, name.from)
      const observedAt = date === undefined ? rowDate : date.read(scope)
      if (!observedAt.ok) return { kind: 'careTeam', rule, issue: observedAt.issue }
      let more = ''
      if (type !== undefined) {
        const role = type.read(scope)
        if (typeof role !== 'string') return refuse(role, type.from)
        if (role === '' && !isOptional(ofType)) return refuse(NO_TYPE, type.from)
        if (role !== '') more = `,"type":${JSON.stringify(role)}`
      }
      for (const { key, field } of details) {
        const detail = field.read(scope)
        if (typeof detail !== 'string') return refuse(detail, field.from)
        if (detail !== '') more += `,"${key}":${JSON.stringify(detail)}`
      }
      const texts = [JSON.stringify(called), more, number]
      const provider = { npi: number, name: called, ...primary.of(scope) }
      return new CareTeamEntry(frameOf(), rule, facts, observedAt, texts, provider)
    },
  }
}
