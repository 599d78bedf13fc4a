/** Compiles a mapping once into a function from a row to its outcome. Pure: no clock, no file, no key. */

import { cellFault } from '../model/cell-fault.ts'
import {
  createRowFacts,
  Entry,
  type MappedRow,
  type RejectedRow,
  type RowOutcome,
  type SkippedRow,
  WithdrawnEntry,
} from '../model/entry.ts'
import { type Finding, WaybillError } from '../model/errors.ts'
import {
  type AccountKey,
  type Issue,
  isOfProfile,
  type RecordKind,
  type RejectedRecord,
  type RowFacts,
  type Warning,
} from '../model/record.ts'
import { type CsvRow, isTable, type JsonRow, type Origin, type Row } from '../model/row.ts'
import { refusal, type YamlFile } from '../system/yaml-file.ts'
import { compileEntry, DELETED } from './bundle-entries.ts'
import { checkBloodPressure, compileDateCheck, rejectCorrected } from './checks.ts'
import { compileAssessment } from './compile-assessment.ts'
import { compileBiometric } from './compile-biometrics.ts'
import { besidePrimary, compileCareTeam } from './compile-care-teams.ts'
import { compileCondition } from './compile-conditions.ts'
import {
  CellWithoutValue,
  CompileContext,
  type ExportJoin,
  issueOf,
  type MappingResources,
  type ReadName,
  type Word,
} from './compile-context.ts'
import type { ObservedAt } from './compile-date.ts'
import { compileMedicalRequest } from './compile-medical-records.ts'
import { type CompiledRow, compileRow } from './compile-row.ts'
import { compileJoins } from './joins.ts'
import {
  type DateDefinition,
  isRoster,
  type MappingDefinition,
  type WhenDefinition,
} from './mapping-definition.ts'
import {
  type CompiledRule,
  type LeftOut,
  NOT_MEANT,
  ordinalRule,
  type RuleResult,
  type RuleSite,
  recordRule,
  rejected,
} from './rule.ts'
import {
  anyNames,
  type Branch,
  csvNames,
  isWithin,
  jsonNames,
  type Names,
  refuseMissing,
  rootScope,
  type Scope,
} from './scope.ts'
import { type CompiledSource, compileSource, frameOfParts, NO_TIME } from './source.ts'
import { ENTRY } from './whole-value.ts'

/** Maps one row. Never throws, whatever the row contains. */
export interface RowMapper {
  (row: Row): RowOutcome
  /** Absent where rows are to be mapped in any case. */
  readonly recogniser?: Recogniser
}

/** Reads rows without making records. */
export interface Recogniser {
  /** Undefined for a row without key or person. */
  identify(row: CsvRow): KeyedPerson | undefined
  /** Completes an identified row, given its records. */
  complete(row: CsvRow, identified: KeyedPerson, known: NonNullable<MappedRow['known']>): MappedRow
}

type KeyedPerson = Pick<MappedRow, 'key' | 'account'>

export interface CompiledMapping {
  /** Columns or paths that the mapping reads, with their places in the mapping. */
  readonly reads: readonly ReadName[]
  /** Bare words taken literally: a word with the name of a column was meant to be read. */
  readonly words: readonly Word[]
  readonly exportJoins: readonly ExportJoin[]
  /**
   * Binds the mapping to an export with these columns (CSV), or to JSON rows.
   * @param now milliseconds since the epoch: later dates lie in the future
   * @param below records that the header skips: units there contradict those of rules
   * @throws WaybillError `columns-missing` where the export lacks columns, `export-join-missing` where a joined export was not read
   */
  bind(
    columns: readonly string[] | undefined,
    exportName: string,
    now: number,
    below?: readonly (readonly string[])[],
  ): RowMapper
}

/** @throws WaybillError `mapping-invalid` with every problem and its line */
export function compileMapping(
  file: YamlFile<MappingDefinition>,
  resources: MappingResources,
): CompiledMapping {
  const definition = file.value
  const levels = ['context', ...Object.keys(definition.read.each ?? {})]
  const compileWith = (names: Names, levelFindings: readonly Finding[] = []) => {
    const context = new CompileContext(resources, names, file.locate, definition.row, levels)
    compileJoins(context, definition.joins ?? {}, levels)
    const { result: row, read } = context.readsOf(() => compileRow(context, definition.row))
    const source = compileSource(context, definition.row.source)
    const rules = compileRules(context, definition, source, row.observedAt.branch, read)
    const findings = [...levelFindings, ...context.findings]
    if (findings.length > 0) throw refusal(file.file, 'mapping-invalid', findings)
    const mapper = (now: number): RowMapper => {
      refuseUnread(context)
      const mapper = assemble(row, source, rules, names, context, now)
      return Object.assign(guarded(mapper), { recogniser: recogniserOf(row, context) })
    }
    const { reads, words, exportJoins } = context
    return { mapper, reads, words, exportJoins }
  }
  const { format, each = {} } = definition.read
  if (isTable(format)) {
    const faultOf = format === 'xlsx' ? cellFault : undefined
    // Checks all but the columns, known only with an export.
    const { reads, words, exportJoins } = compileWith({ ...anyNames(each), faultOf })
    const split = Object.entries(each).flatMap(([level, written]) =>
      typeof written === 'string' || written.from in each
        ? []
        : { name: written.from, place: file.locate(['read', 'each', level]) },
    )
    return {
      reads: [...reads, ...split],
      words,
      exportJoins,
      bind(columns = [], exportName, now, below = []) {
        const sought = { missing: new Set<string>(), found: new Set<string>() }
        const textsBelow = (column: string): string[] =>
          below.flatMap((cells) => cells[columns.indexOf(column)]?.trim() || [])
        const names = { ...csvNames(columns, sought.missing, sought.found, each), faultOf, textsBelow }
        const { mapper } = compileWith(names)
        refuseMissing(sought, exportName, columns, `the mapping ${file.file}`)
        return mapper(now)
      },
    }
  }
  const levelFindings: Finding[] = []
  const names = jsonNames(definition.read, (level, message) =>
    levelFindings.push({ place: file.locate(['read', 'each', level]), message }),
  )
  const { mapper, ...compiled } = compileWith(names, levelFindings)
  return { ...compiled, bind: (_columns, _export, now) => mapper(now) }
}

interface OwnDate {
  readonly ignore?: readonly string[] | undefined
  readonly observedAt?: DateDefinition | undefined
  readonly when?: WhenDefinition | undefined
}

/**
 * @param dateBranch branch of the `row` block's date, for rules without an own date
 * @param rowReads columns or paths that the `row` block reads
 */
function compileRules(
  context: CompileContext,
  definition: MappingDefinition,
  source: CompiledSource,
  dateBranch: Branch,
  rowReads: readonly string[],
): CompiledRule[] {
  const { row, biometrics, conditions, careTeams, medicalRecords, assessment } = definition
  if (isRoster({ biometrics, conditions, careTeams, medicalRecords, assessment }))
    return [compilePerson(source)]
  const rules: CompiledRule[] = []
  const sections = new Map<string, string>()
  const add = <Written extends string | OwnDate>(
    section: string,
    written: Readonly<Record<string, Written>> | readonly Written[] = [],
    compile: (site: RuleSite, written: Written) => CompiledRule | undefined,
  ): void => {
    const listed = Array.isArray(written)
    for (const [at, one] of Object.entries<Written>(written)) {
      const path = [section, listed ? Number(at) : at]
      const name = listed ? undefined : at
      const { result: compiled, read } = context.readsOf(() =>
        compile({ context, name, path, row, source, rowReads }, one),
      )
      const { ignore = [] } = typeof one === 'string' ? {} : one
      const entry = compileEntry(context, read, rowReads, [...(row.ignore ?? []), ...ignore])
      const rule = compiled && entry ? { ...compiled, entry } : compiled
      const dated = typeof one !== 'string' && one.observedAt !== undefined
      const apart = rule && context.names.apart(rule.branch)
      if (apart !== undefined)
        context.report(
          path,
          `reads the levels ${apart.join(' and ')}, neither of which contains the other: their elements cannot be paired`,
        )
      else if (rule !== undefined && !dated && !isWithin(dateBranch, rule.branch))
        context.report(
          path,
          "needs its own observedAt: the row's observedAt is read from a level outside this rule",
        )
      if (rule !== undefined) rules.push(guardedRule(rule, section, name))
      const earlier = name === undefined ? undefined : sections.get(name)
      if (earlier !== undefined)
        context.report(
          path,
          `the rule name "${name}" is already used in ${earlier}; a rule's name is part of the transaction id`,
        )
      if (name !== undefined) sections.set(name, section)
    }
  }
  add('biometrics', biometrics, compileBiometric)
  add('conditions', conditions, compileCondition)
  const beside = besidePrimary(careTeams)
  add('careTeams', careTeams, (site, one) => compileCareTeam(site, one, beside.has(String(site.path[1]))))
  add('medicalRecords', medicalRecords, compileMedicalRequest)
  if (assessment !== undefined)
    rules.push(
      compileAssessment(
        { context, name: undefined, path: ['assessment'], row, source, rowReads },
        assessment,
      ),
    )
  return rules
}

/** @throws any other error */
function cellOf(error: unknown): CellWithoutValue {
  if (error instanceof CellWithoutValue) return error
  throw error
}

const guarded =
  (mapper: RowMapper): RowMapper =>
  (source) => {
    try {
      return mapper(source)
    } catch (error) {
      const { fault, field } = cellOf(error)
      return rejectedRow(source, issueOf(fault, field))
    }
  }

const KIND_OF = new Map<string, RecordKind>([
  ['biometrics', 'biometric'],
  ['conditions', 'condition'],
  ['careTeams', 'careTeam'],
])

/** Rejects the record of an undecidable condition; in a section with one record a row, the row. */
function guardedRule(rule: CompiledRule, section: string, name: string | undefined): CompiledRule {
  const kind = KIND_OF.get(section)
  if (kind === undefined) return rule
  const reject = (error: unknown, ordinals: Map<string, number>): RejectedRecord => {
    const { fault, field } = cellOf(error)
    return rejected(kind, recordRule(name, 'unmapped', rule.branch, ordinals), fault, field)
  }
  const { apply, unread } = rule
  // No closures: each rule of each row passes here.
  return {
    ...rule,
    apply(scope, facts, observedAt, ordinals) {
      try {
        return apply(scope, facts, observedAt, ordinals)
      } catch (error) {
        return reject(error, ordinals)
      }
    },
    ...(unread && {
      unread(scope: Scope, ordinals: Map<string, number>) {
        try {
          return unread(scope, ordinals)
        } catch (error) {
          return reject(error, ordinals)
        }
      },
    }),
  }
}

/** Counts a record at its place. @param places counts by code and instant so far */
function countBefore({ frame: { listedAs }, observedAt }: Entry, places: Map<string, number>): number {
  return listedAs === undefined ? 0 : takePlace(places, listedAs, observedAt)
}

/** @returns earlier records at the place */
function takePlace(places: Map<string, number>, listed: string, at: number): number {
  const place = `${listed}\n${at}`
  const before = places.get(place) ?? 0
  places.set(place, before + 1)
  return before
}

/** Counts a rejected record: later records keep their place once the mapping can make it. */
function countRejected(
  { dateOf }: CompiledRule,
  { rule }: RejectedRecord,
  observedAt: ObservedAt | undefined,
  places: Map<string, number>,
): void {
  if (dateOf !== undefined && observedAt?.ok === true)
    takePlace(places, rule.replace(/-\d+$/, ''), observedAt.at)
}

/** Rejects an element that a rule should have taken; undefined where leaving it out is right. */
function findUnread(
  rules: readonly CompiledRule[],
  scope: Scope,
  observedAt: ObservedAt,
  ordinals: Map<string, number>,
  places: Map<string, number>,
): RejectedRecord | undefined {
  for (const rule of rules) {
    const rejected = rule.unread?.(scope, ordinals)
    if (rejected === undefined) continue
    countRejected(rule, rejected, rule.dateOf?.(scope, observedAt), places)
    return rejected
  }
  return undefined
}

/** Rejects a record about another person than the row's; takes back the result of a deleted entry. */
function inBundle({ entry }: CompiledRule, result: RuleResult, scope: Scope, facts: RowFacts): RuleResult {
  const made = result instanceof Entry ? result : result && 'leftOut' in result ? result.withdrawn : undefined
  const fault = made && entry?.faultOf(scope, facts.account.reference)
  if (made === undefined || fault === undefined) return result
  const { kind, rule, frame, observed } = made
  if (fault !== DELETED) return rejected(kind, rule, fault, ENTRY.subject)
  if (kind === 'careTeam') return rejected(kind, rule, fault, ENTRY.request)
  const leftOut = 'request DELETE'
  return { leftOut, withdrawn: new WithdrawnEntry(frame, rule, facts, observed, leftOut) }
}

/** Rejects a resource that a Bundle deletes without showing it. */
const unseen = (kind: RecordKind, ordinals: Map<string, number>): RejectedRecord =>
  rejected(kind, ordinalRule('unmapped', ordinals), DELETED, ENTRY.request)

const recogniserOf = (row: CompiledRow, { checks, exponents }: CompileContext): Recogniser => ({
  identify(source) {
    checks.begin()
    exponents.begin('')
    try {
      const identity = row.identify(rootScope(source))
      return identity.ok ? identity : undefined
    } catch (error) {
      cellOf(error)
      return undefined
    }
  },
  complete(source, identified, known) {
    const root = rootScope(source)
    const born = row.bornAt(root)
    return { ...mappedRow(row, source, root, identified, { ...NOTHING_MADE, born }), known }
  },
})

const NOTHING_MADE = { records: [], rejected: [], leftOut: [], withdrawn: undefined, warnings: [] }

type RowMade = Pick<MappedRow, keyof typeof NOTHING_MADE | 'born'>

function mappedRow(
  row: CompiledRow,
  source: CsvRow | JsonRow,
  root: Scope,
  { key, account }: KeyedPerson,
  { born, records, rejected, leftOut, withdrawn, warnings }: RowMade,
): MappedRow {
  const { row: ordinal, line, byteOffset } = source
  return {
    row: ordinal,
    line,
    byteOffset,
    outcome: 'mapped',
    source,
    key,
    account,
    born,
    name: () => row.nameOf(root),
    register: () => row.register?.(root, account),
    records,
    rejected,
    leftOut,
    withdrawn,
    warnings,
  }
}

/** Row whose rules are applied. */
interface RowInHand {
  readonly root: Scope
  readonly facts: RowFacts
  readonly born: number
  /** Date of the row; undefined where each element of a level has a date of its own. */
  readonly date: ObservedAt | undefined
}

/** Parts that the rules make of a row. */
interface RowParts extends RowMade {
  readonly records: Entry[]
  readonly rejected: RejectedRecord[]
  readonly leftOut: string[]
  withdrawn: WithdrawnEntry[] | undefined
  warnings: readonly Warning[]
}

/** Applies the rules of a mapping to one row after another, branch by branch. */
class RuleWork {
  private readonly row: CompiledRow
  private readonly rules: readonly CompiledRule[]
  private readonly branches: readonly (readonly [Branch, readonly CompiledRule[]])[]
  private readonly names: Names
  private readonly checkDate: ReturnType<typeof compileDateCheck>
  // Cleared for every row.
  private readonly ordinals = new Map<string, number>()
  private readonly places = new Map<string, number>()

  constructor(
    row: CompiledRow,
    rules: readonly CompiledRule[],
    names: Names,
    checkDate: ReturnType<typeof compileDateCheck>,
  ) {
    this.row = row
    this.rules = rules
    this.branches = [...Map.groupBy(rules, (rule) => rule.branch)].sort(([a], [b]) => a - b)
    this.names = names
    this.checkDate = checkDate
  }

  partsOf(row: RowInHand): RowParts {
    const { ordinals, places } = this
    const parts: RowParts = {
      born: row.born,
      records: [],
      rejected: [],
      leftOut: [],
      withdrawn: undefined,
      warnings: [],
    }
    // Clearing an empty map costs as much as a new map.
    if (ordinals.size > 0) ordinals.clear()
    if (places.size > 0) places.clear()
    for (const [branch, rules] of this.branches)
      for (const scope of this.names.scopes(row.root, branch)) this.applyIn(scope, rules, row, parts)
    for (const kind of this.rules.find(({ entry }) => entry)?.entry?.unseenIn(row.root) ?? [])
      parts.rejected.push(unseen(kind, ordinals))
    return parts
  }

  /** Applies the rules of a branch to an element; where no rule takes the element, a rule says why. */
  private applyIn(scope: Scope, rules: readonly CompiledRule[], row: RowInHand, parts: RowParts): void {
    const { ordinals, places } = this
    const observedAt = row.date ?? this.row.observedAt.read(scope)
    let isTaken = false
    let isNotMeant = false
    for (const rule of rules) {
      const result = inBundle(rule, rule.apply(scope, row.facts, observedAt, ordinals), scope, row.facts)
      if (result === undefined) continue
      if (result === NOT_MEANT) isNotMeant = true
      else {
        isTaken = true
        if (result instanceof Entry) this.noteRecord(result, scope, row.born, parts)
        else if ('leftOut' in result) this.noteLeftOut(result, scope, parts)
        else {
          parts.rejected.push(result)
          countRejected(rule, result, rule.dateOf?.(scope, observedAt), places)
        }
      }
    }
    if (!isNotMeant || isTaken) return
    const unread = findUnread(rules, scope, observedAt, ordinals, places)
    if (unread === undefined) parts.leftOut.push(NOT_MEANT.leftOut)
    else parts.rejected.push(unread)
  }

  private noteRecord(record: Entry, scope: Scope, born: number, { records, rejected }: RowParts): void {
    const issue = isOfProfile(record.kind)
      ? (this.checkDate(record, born) ?? this.row.issued?.(record, scope))
      : undefined
    if (issue === undefined) {
      record.before = countBefore(record, this.places)
      records.push(record)
    } else rejected.push({ kind: record.kind, rule: record.rule, issue })
  }

  private noteLeftOut({ leftOut, withdrawn }: LeftOut, scope: Scope, parts: RowParts): void {
    parts.leftOut.push(leftOut)
    if (withdrawn === undefined) return
    this.row.issued?.(withdrawn, scope)
    withdrawn.before = countBefore(withdrawn, this.places)
    parts.withdrawn ??= []
    parts.withdrawn.push(withdrawn)
  }
}

function assemble(
  row: CompiledRow,
  origins: CompiledSource,
  rules: readonly CompiledRule[],
  names: Names,
  { checks, exponents }: CompileContext,
  now: number,
): RowMapper {
  const work = new RuleWork(row, rules, names, compileDateCheck(checks, now))
  const isDated = row.observedAt.branch === 0

  return (source) => {
    if (source.kind === 'unreadable')
      return rejectedRow(source, { stage: 'extract', code: source.fault, message: source.message })
    const root = rootScope(source)
    checks.begin()
    exponents.begin(source.kind === 'json' ? source.text : '')
    if (row.skip?.holds(root))
      return {
        ...originOf(source),
        outcome: 'skipped',
        reason: 'skipWhen',
        leftOut: ['skipWhen'],
        warnings: checks.warnings([]),
      }
    const identity = row.identify(root)
    if (!identity.ok) return rejectedRow(source, identity.issue, identity.account)
    const { key, account } = identity
    const sourceless = origins.enter(root)
    if (sourceless !== undefined) return rejectedRow(source, sourceless, account)
    const facts = createRowFacts(account, key)
    const date = isDated ? row.observedAt.read(root) : undefined
    if (date && !date.ok) return rejectedRow(source, date.issue, account)
    const parts = work.partsOf({ root, facts, born: row.bornAt(root), date })
    rejectCorrected(parts.records, parts.withdrawn, parts.rejected)
    checkBloodPressure(checks, parts.records, parts.rejected)
    parts.warnings = checks.warnings(parts.rejected)
    return orSkipped(mappedRow(row, source, root, identity, parts))
  }
}

const originOf = ({ row, line, byteOffset }: Origin): Origin => ({ row, line, byteOffset })

const rejectedRow = (source: Row, issue: Issue, account?: AccountKey): RejectedRow => ({
  ...originOf(source),
  outcome: 'rejected',
  issue,
  ...(account && { account }),
})

/** A row of which nothing is kept is skipped. */
function orSkipped(mapped: MappedRow): MappedRow | SkippedRow {
  const { records, rejected, leftOut, withdrawn, warnings, account } = mapped
  if (records.length > 0 || rejected.length > 0 || leftOut.length === 0) return mapped
  const kept = withdrawn === undefined ? {} : { mapped }
  return {
    ...originOf(mapped),
    outcome: 'skipped',
    reason: 'nothing-kept',
    leftOut,
    warnings,
    account,
    ...kept,
  }
}

/** Rejects a mapping without its joined export: all joined fields would read as empty. @throws WaybillError `export-join-missing` */
function refuseUnread({ exportJoins: [first], kept }: CompileContext): void {
  if (first === undefined || kept !== undefined) return
  throw new WaybillError(
    'export-join-missing',
    `The mapping joins ${first.export}, but there is no export with a folder to look in.`,
  )
}

/** The single rule of a roster: its record is the person. */
function compilePerson(source: CompiledSource): CompiledRule {
  const frameOf = frameOfParts(source, 'account')
  return {
    branch: 0,
    apply: (_scope, facts) => new Entry(frameOf(), 'account', facts, NO_TIME, undefined, []),
  }
}
