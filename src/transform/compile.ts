/**
 * Compiles a mapping once into a function from a row to its outcome. Pure: no clock, no file, no key.
 */
import type { Finding } from '../model/errors.ts'
import type { PreparedRecord, RejectedRecord, RowOutcome } from '../model/record.ts'
import type { Row } from '../model/row.ts'
import { type KeyPath, refusal, type YamlFile } from '../yaml-file.ts'
import { checkBloodPressure } from './check-blood-pressure.ts'
import { compileDateCheck } from './check-dates.ts'
import type { Checker } from './checks.ts'
import { compileLongBiometric, compileWideBiometric } from './compile-biometrics.ts'
import { compileCareTeam } from './compile-care-teams.ts'
import { compileLongCondition, compileWideCondition } from './compile-conditions.ts'
import { CompileContext, type MappingResources, type ReadName } from './compile-context.ts'
import { compileJoins } from './compile-joins.ts'
import { type CompiledRow, compileRow } from './compile-row.ts'
import type { DateDefinition } from './date-definition.ts'
import type { ExportJoin } from './join.ts'
import { refuseUnread } from './joined-export.ts'
import type { MappingDefinition } from './mapping-definition.ts'
import { refuseMissing } from './missing-columns.ts'
import type { CompiledRule, RowFacts } from './rule.ts'
import { ANY_NAMES, csvNames, jsonNames, type Names, rootScope } from './scope.ts'
import { compileSource } from './source-text.ts'

/** Maps one row. Never throws for what a row holds. */
export type RowMapper = (row: Row) => RowOutcome

/** @param now by which dates are told to lie in the future: milliseconds since the epoch */
type UnboundMapper = (now: number) => RowMapper

export interface CompiledMapping {
  readonly name: string
  /** What it reads of an export, with the places that do. */
  readonly reads: readonly ReadName[]
  /** Second exports that it joins. */
  readonly exportJoins: readonly ExportJoin[]
  /**
   * The mapper for an export with these columns (CSV), or for JSON rows.
   * @param now the time by which a date lies in the future, milliseconds since the epoch
   * @throws WaybillError `columns-missing` where the mapping names columns that the export lacks, `export-join-missing` where the
   *   exports that it joins were not read
   */
  bind(columns: readonly string[] | undefined, exportName: string, now: number): RowMapper
}

/** @throws WaybillError `mapping-invalid` with every problem and its line */
export function compileMapping(
  file: YamlFile<MappingDefinition>,
  resources: MappingResources,
): CompiledMapping {
  const definition = file.value
  const levels = ['context', ...Object.keys(definition.read.each ?? {})]
  let reads: readonly ReadName[] = []
  let exportJoins: readonly ExportJoin[] = []
  const compileWith = (names: Names, levelFindings: readonly Finding[] = []): UnboundMapper => {
    const context = new CompileContext(resources, names, file.locate, definition.row, levels)
    compileJoins(context, definition.joins ?? {}, levels)
    const row = compileRow(context, definition.row)
    const rules = compileRules(context, definition, row.observedAt.depth)
    const mapper: UnboundMapper = (now) => {
      refuseUnread(context)
      return assemble(row, rules, names, context.checks, now)
    }
    reads = context.reads
    exportJoins = context.exportJoins
    const findings = [...levelFindings, ...context.findings]
    if (findings.length > 0) throw refusal(file.file, 'mapping-invalid', findings)
    return mapper
  }
  if (definition.read.format === 'csv') {
    // Checks all but the columns, which only an export can tell.
    compileWith(ANY_NAMES)
    return {
      name: definition.mapping,
      reads,
      exportJoins,
      bind: (columns = [], exportName, now) => bindCsv(compileWith, columns, exportName, file.file)(now),
    }
  }
  const levelFindings: Finding[] = []
  const names = jsonNames(definition.read, (level, message) =>
    levelFindings.push({ place: file.locate(['read', 'each', level]), message }),
  )
  const mapper = compileWith(names, levelFindings)
  return { name: definition.mapping, reads, exportJoins, bind: (_columns, _export, now) => mapper(now) }
}

function bindCsv(
  compileWith: (names: Names) => UnboundMapper,
  columns: readonly string[],
  exportName: string,
  file: string,
): UnboundMapper {
  const sought = { missing: new Set<string>(), found: new Set<string>() }
  const mapper = compileWith(csvNames(columns, sought.missing, sought.found))
  refuseMissing(sought, exportName, columns, `the mapping ${file}`)
  return mapper
}

/** @param dateDepth how deep the date of the `row` block lies, which holds for rules that give none of their own */
function compileRules(
  context: CompileContext,
  definition: MappingDefinition,
  dateDepth: number,
): CompiledRule[] {
  const source = compileSource(definition.row.source)
  const { row } = definition
  const sourceType = row.source.type
  const rules: CompiledRule[] = []
  const add = (
    rule: CompiledRule | undefined,
    written: { observedAt?: DateDefinition | undefined },
    path: KeyPath,
  ): void => {
    if (rule === undefined) return
    if (written.observedAt === undefined && rule.depth < dateDepth) {
      context.report(
        path,
        'needs an observedAt of its own: that of the row block is read from a level that this rule does not read',
      )
    }
    rules.push(rule)
  }
  const { biometrics, conditions } = definition
  if (Array.isArray(biometrics)) {
    for (const [at, rule] of biometrics.entries()) {
      const path = ['biometrics', at]
      add(compileLongBiometric(context, rule, path, source, row), rule, path)
    }
  } else {
    for (const [name, rule] of Object.entries(biometrics ?? {})) {
      const path = ['biometrics', name]
      const written = typeof rule === 'string' ? { from: rule } : rule
      add(compileWideBiometric(context, name, written, path, source, row), written, path)
    }
  }
  if (Array.isArray(conditions)) {
    for (const [at, rule] of conditions.entries()) {
      const path = ['conditions', at]
      add(compileLongCondition(context, rule, path, source, sourceType), rule, path)
    }
  } else {
    for (const [name, rule] of Object.entries(conditions ?? {})) {
      const path = ['conditions', name]
      add(compileWideCondition(context, name, rule, path, source, sourceType), rule, path)
    }
  }
  const { careTeams = {} } = definition
  const listed = Array.isArray(careTeams)
  for (const [at, rule] of Object.entries(careTeams)) {
    const path = ['careTeams', listed ? Number(at) : at]
    add(compileCareTeam(context, listed ? undefined : at, rule, path, source, sourceType), rule, path)
  }
  reportNameClashes(context, definition)
  return rules
}

/** A rule's name is part of the transaction id, so it must be its own in the whole mapping. */
function reportNameClashes(context: CompileContext, definition: MappingDefinition): void {
  const seen = new Map<string, string>()
  for (const section of ['biometrics', 'conditions', 'careTeams'] as const) {
    const rules = definition[section]
    if (rules === undefined || Array.isArray(rules)) continue
    for (const name of Object.keys(rules)) {
      const path: KeyPath = [section, name]
      const earlier = seen.get(name)
      if (earlier !== undefined)
        context.report(
          path,
          `the rule name "${name}" is used in ${earlier} already; a rule's name is part of the transaction id`,
        )
      seen.set(name, section)
    }
  }
}

const accountJson = (reference: string, type: string): string =>
  `"account":${JSON.stringify({ reference, type })}`

function assemble(
  row: CompiledRow,
  rules: readonly CompiledRule[],
  names: Names,
  checks: Checker,
  now: number,
): RowMapper {
  const byDepth = Map.groupBy(rules, (rule) => rule.depth)
  const depths = [...byDepth.keys()].sort((a, b) => a - b)
  const rowDated = row.observedAt.depth === 0

  const checkDate = compileDateCheck(checks, now)

  return (source) => {
    const { row: ordinal, line, byteOffset } = source
    const origin = { row: ordinal, line, byteOffset }
    if (source.kind === 'unreadable') {
      return {
        ...origin,
        outcome: 'rejected',
        issue: { stage: 'extract', code: source.fault, message: source.message },
      }
    }
    const root = rootScope(source)
    checks.begin()
    if (row.skip?.holds(root))
      return { ...origin, outcome: 'skipped', reason: 'skipWhen', warnings: checks.warnings([]) }
    const identity = row.identify(root)
    if (!identity.ok) return { ...origin, outcome: 'rejected', issue: identity.issue }
    const { key, account } = identity
    const facts: RowFacts = {
      account,
      accountJson: accountJson(account.reference, account.type),
      keyJson: JSON.stringify(key),
    }
    const rowDate = rowDated ? row.observedAt.read(root) : undefined
    if (rowDate && !rowDate.ok) return { ...origin, outcome: 'rejected', issue: rowDate.issue }
    const born = row.bornAt(root)
    const records: PreparedRecord[] = []
    const rejected: RejectedRecord[] = []
    const ordinals = new Map<string, number>()
    let leftOut = 0
    for (const depth of depths) {
      for (const scope of names.scopes(root, depth)) {
        const observedAt = rowDate ?? row.observedAt.read(scope)
        for (const rule of byDepth.get(depth) ?? []) {
          const result = rule.apply(scope, facts, observedAt, ordinals)
          if (result === undefined) continue
          if (result === 'left-out') leftOut++
          else if (result.kind === 'rejected') rejected.push(result.rejected)
          else {
            const { record } = result
            const issue = checkDate(record, born)
            if (issue === undefined) records.push(record)
            else rejected.push({ kind: record.kind, rule: record.rule, issue })
          }
        }
      }
    }
    checkBloodPressure(checks, records, rejected)
    const warnings = checks.warnings(rejected)
    if (records.length === 0 && rejected.length === 0 && leftOut > 0)
      return { ...origin, outcome: 'skipped', reason: 'nothing-kept', warnings }
    return {
      ...origin,
      outcome: 'mapped',
      source,
      key,
      account,
      register: () => row.register?.(root, account),
      records,
      rejected,
      warnings,
    }
  }
}
