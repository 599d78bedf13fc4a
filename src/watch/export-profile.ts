/**
 * Profile of a whole export: its columns, how often they are empty, and the units, codes and rules of its rows, as counts and names without
 * health data for the ledger. A unit is kept as UCUM code, a code as catalog entry; anything else counts as another value.
 */
import { z } from 'zod'
import type { LoadedMapping } from '../definitions/definition-files.ts'
import type { RowOutcome } from '../model/entry.ts'
import type { CsvRow, JsonRow, Row } from '../model/row.ts'
import { compileCoded } from '../transform/compile-code.ts'
import { CompileContext, type CompiledField } from '../transform/compile-context.ts'
import { compileField } from '../transform/compile-field.ts'
import { compileJoins } from '../transform/joins.ts'
import type { MappingDefinition } from '../transform/mapping-definition.ts'
import {
  type Branch,
  branchOf,
  csvNames,
  jsonNames,
  type Located,
  type Names,
  rootScope,
  type Scope,
} from '../transform/scope.ts'
import { FEWEST_VALUES, type FitFacts } from './fit-facts.ts'
import { createFitWatch, type Suspicion, unexpected } from './judge-fit.ts'
import { HALVES } from './times-of-day.ts'

/** Limits of a profile: memory does not grow with the export. */
const COLUMNS_KEPT = 500
const VALUES_KEPT = 200

const count = z.int().min(0)

/** Records of a rule; quartiles of the values only if there are too many to point to a person. */
const MeasuredProfile = z.strictObject({
  found: count,
  rejected: count,
  values: count,
  quartiles: z.tuple([z.number(), z.number(), z.number()]).optional(),
})
export type MeasuredProfile = z.infer<typeof MeasuredProfile>

/** Rows sampled for the form of the values in a column. */
export const ROWS_SAMPLED = 1_000

const ColumnProfile = z.strictObject({
  name: z.string(),
  /** Values seen: rows, or for a JSON path the elements of its level. */
  values: count,
  empty: count,
  /** Values in the first rows: their number, how many are numbers, and their length in characters. */
  sample: z.strictObject({ values: count, numbers: count, characters: count }),
})
export type ColumnProfile = z.infer<typeof ColumnProfile>

export const ExportProfile = z.strictObject({
  rows: count,
  /** CSV: named columns of the header, in order. JSON: paths read by the mapping, sorted. */
  columns: z.array(ColumnProfile),
  /** Rows taken by the mapping: neither rejected nor skipped by `skipWhen`. */
  taken: count,
  /** Rows skipped by the mapping, for any reason. */
  skipped: count,
  /** Findings of checks with `warn`: code → count. */
  warnings: z.record(z.string(), count),
  /** Taken rows for which a named rule of the mapping made a record, or failed to; 0 if it never did. */
  rules: z.record(z.string(), count),
  /** Taken rows by the catalog entry of the code in a coded row. */
  codes: z.record(z.string(), count),
  /** Rule or catalog entry → unit → number of values in the unit. */
  units: z.record(z.string(), z.record(z.string(), count)),
  /** Rule or catalog entry → outcomes of its records, and values in the unit of the catalog. Absent in earlier versions. */
  measured: z.record(z.string(), MeasuredProfile).default({}),
  rejectedRows: count.default(0),
  /** Days that hold nine of ten dates; undefined if dates are few. */
  daysSpanned: count.optional(),
  /** Rows by half hour of the day (times-of-day.ts); undefined where there are few. */
  clock: z.strictObject({ rows: z.array(count).length(HALVES), placeless: z.boolean() }).optional(),
  /** Number of different first and last names of people; undefined where few can be registered. */
  names: z.strictObject({ first: count.min(1), last: count.min(1) }).optional(),
})
export type ExportProfile = z.infer<typeof ExportProfile>

interface Profiler {
  /** Takes every row of the export, in order. @param outcome result of the mapping; undefined if only columns matter */
  add(row: Row, outcome: RowOutcome | undefined): void
  profile(): ExportProfile
  /** Suspicions about the rows so far. */
  suspicions(): readonly Suspicion[]
}

/** @param columns of the header; undefined for JSON */
export function createProfiler(mapping: LoadedMapping, columns: readonly string[] | undefined): Profiler {
  const fields = compileDriftFields(mapping, columns)
  const profiles: Writable<ColumnProfile>[] = fields.columns
    .slice(0, COLUMNS_KEPT)
    .map((name) => ({ name, values: 0, empty: 0, sample: { values: 0, numbers: 0, characters: 0 } }))
  const mix = createMix(mapping)
  const fit = createFitWatch(mapping, columns)
  const units = new Map<string, Map<string, number>>()
  let rows = 0
  const onValue = (at: number, text: string | null): void => {
    const column = profiles[at]
    if (column === undefined) return
    column.values++
    if (text === '') column.empty++
    else if (rows <= ROWS_SAMPLED) addSample(column.sample, text)
  }
  const onUnit = ({ rule, unit }: Measured): void => {
    const counts = units.get(rule) ?? new Map<string, number>()
    units.set(rule, counts)
    const kept = counts.has(unit) || counts.size < VALUES_KEPT ? unit : OTHER
    counts.set(kept, (counts.get(kept) ?? 0) + 1)
  }
  return {
    add(row, outcome) {
      rows++
      if (row.kind !== 'unreadable') fields.read(row, onValue, onUnit)
      if (outcome === undefined) return
      mix.add(outcome)
      fit.add(outcome)
    },
    profile: () => ({
      rows,
      columns: structuredClone(profiles),
      ...mix.counts(),
      ...measuredOf(fit.report().facts),
      units: Object.fromEntries([...units].map(([rule, counts]) => [rule, Object.fromEntries(counts)])),
    }),
    suspicions: () => unexpected(fit.report().suspicions),
  }
}

function measuredOf({
  rules,
  rows,
  dates,
  people,
}: FitFacts): Pick<ExportProfile, 'measured' | 'rejectedRows' | 'daysSpanned' | 'clock' | 'names'> {
  const measured = rules.map(({ rule, made, rejected, values }): [string, MeasuredProfile] => {
    const refused = Object.values(rejected).reduce((sum, one) => sum + one, 0)
    const looked = values?.count ?? 0
    const quartiles =
      values === undefined || looked < FEWEST_VALUES
        ? {}
        : { quartiles: [values.q1, values.median, values.q3].map(threeDigits) as [number, number, number] }
    return [rule, { found: made + refused, rejected: refused, values: looked, ...quartiles }]
  })
  return {
    measured: Object.fromEntries(measured),
    rejectedRows: rows.rejected,
    ...(dates.rows < FEWEST_VALUES ? {} : { daysSpanned: dates.span }),
    ...(dates.clock === undefined ? {} : { clock: { ...dates.clock, rows: [...dates.clock.rows] } }),
    ...(people.registered < FEWEST_NAMED ? {} : { names: people.names }),
  }
}

/** Fewest registered rows for counting names: in fewer rows names hardly repeat. */
const FEWEST_NAMED = 100

const threeDigits = (value: number): number => Number(value.toPrecision(3))

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

function addSample(sample: Writable<ColumnProfile['sample']>, text: string | null): void {
  if (text === null) return
  sample.values++
  sample.characters += text.length
  if (/^[-+]?[\d.,]*\d$/.test(text)) sample.numbers++
}

/** Counts rows by rule: of numbered records, the first stands for the row. */
function createMix({ definition }: LoadedMapping) {
  const { biometrics, conditions, careTeams } = definition
  const named = [biometrics, conditions, careTeams].flatMap((rules) =>
    rules === undefined || Array.isArray(rules) ? [] : Object.keys(rules),
  )
  const rules = new Map(named.map((name) => [name, 0]))
  const codes = new Map<string, number>()
  const rule = (name: string): void => {
    const known = rules.get(name)
    if (known !== undefined) {
      rules.set(name, known + 1)
      return
    }
    if (!name.endsWith('-1')) return
    const base = name.slice(0, -2)
    const counts = rules.has(base) ? rules : codes
    const key = base === 'unmapped' || (!counts.has(base) && counts.size >= VALUES_KEPT) ? OTHER : base
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const warnings = new Map<string, number>()
  let taken = 0
  let skipped = 0
  return {
    add(outcome: RowOutcome): void {
      if (outcome.outcome === 'rejected') return
      for (const { issue } of outcome.warnings) warnings.set(issue.code, (warnings.get(issue.code) ?? 0) + 1)
      if (outcome.outcome === 'skipped') {
        skipped++
        if (outcome.reason === 'nothing-kept') taken++
        return
      }
      taken++
      for (const record of outcome.records) rule(record.rule)
      for (const record of outcome.rejected) rule(record.rule)
    },
    counts: () => ({
      taken,
      skipped,
      warnings: Object.fromEntries(warnings),
      rules: Object.fromEntries(rules),
      codes: Object.fromEntries(codes),
    }),
  }
}

/** Middle value; for an even number of values, the middle between the two central values; 0 for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

/** Label for values neither in UCUM nor in the catalog, and for all values beyond the limit of a profile. */
export const OTHER = '*'

/** Rule and unit of a value. */
interface Measured {
  /** Name of the rule, or the catalog entry of a coded row. */
  readonly rule: string
  /** UCUM code, '' where none is given, or `OTHER`. */
  readonly unit: string
}

interface DriftFields {
  readonly columns: readonly string[]
  /** @param onValue receives each value of a column, by its place in `columns`: '' if empty, null if not a scalar */
  read(
    row: CsvRow | JsonRow,
    onValue: (column: number, text: string | null) => void,
    onUnit: (measured: Measured) => void,
  ): void
}

type ColumnReader = (row: CsvRow | JsonRow, onValue: (column: number, text: string | null) => void) => void
type UnitReader = (root: Scope, onUnit: (measured: Measured) => void) => void

/** The mapping must have been bound to these columns before: names are not checked again. */
function compileDriftFields(
  { definition, resources, compiled }: LoadedMapping,
  header: readonly string[] | undefined,
): DriftFields {
  const { read, row, joins = {} } = definition
  const levels = ['context', ...Object.keys(read.each ?? {})]
  const names =
    header === undefined ? jsonNames(read, () => {}) : csvNames(header, new Set(), new Set(), read.each)
  const context = new CompileContext(resources, names, () => ({}), row, levels)
  compileJoins(context, joins, levels)
  const units = compileUnits(context, names, definition)
  const { columns, read: readColumns } =
    header === undefined
      ? jsonColumns(context, names, new Set(compiled.reads.map(({ name }) => name)))
      : csvColumns(context, header)
  return {
    columns,
    read(one, onValue, onUnit) {
      readColumns(one, onValue)
      if (units.length === 0) return
      const root = rootScope(one)
      for (const unit of units) unit(root, onUnit)
    },
  }
}

interface Columns {
  readonly columns: readonly string[]
  readonly read: ColumnReader
}

/** A column without a name cannot be told from others, and is left out. */
function csvColumns(context: CompileContext, header: readonly string[]): Columns {
  const positions = [...header.keys()].filter((at) => header[at] !== '')
  return {
    columns: positions.map((at) => header[at] ?? ''),
    read(row, onValue) {
      if (row.kind !== 'cells') return
      for (let at = 0; at < positions.length; at++) {
        const text = (row.cells[positions[at] ?? at] ?? '').trim()
        onValue(at, context.blanks.has(text) ? '' : text)
      }
    },
  }
}

function jsonColumns(context: CompileContext, names: Names, paths: ReadonlySet<string>): Columns {
  const located = [...paths].sort().map((path): [string, Located] => [path, context.locate(path, [])])
  const byBranch = [...Map.groupBy(located.keys(), (at) => located[at]?.[1].branch ?? 0)]
  return {
    columns: located.map(([path]) => path),
    read(row, onValue) {
      const root = rootScope(row)
      for (const [branch, positions] of byBranch) {
        for (const scope of names.scopes(root, branch)) {
          for (const at of positions) onValue(at, located[at]?.[1].read(scope) ?? null)
        }
      }
    },
  }
}

function compileUnits(
  context: CompileContext,
  names: Names,
  { biometrics = {} }: MappingDefinition,
): UnitReader[] {
  const label = labelUnits(context)
  const reader = (
    coded: readonly { readonly branch: Branch }[],
    ruleOf: (scope: Scope) => string | undefined,
    value: CompiledField,
    unit: CompiledField,
  ): UnitReader => {
    const branch = branchOf(value, unit, ...coded)
    return (root, onUnit) => {
      for (const scope of names.scopes(root, branch)) {
        const rule = ruleOf(scope)
        if (rule === undefined) continue
        const text = value.read(scope)
        if (typeof text !== 'string' || text === '') continue
        const spelling = unit.read(scope)
        onUnit({ rule, unit: typeof spelling === 'string' ? label(spelling) : OTHER })
      }
    }
  }
  if (!Array.isArray(biometrics)) {
    return Object.entries(biometrics).flatMap(([rule, definition]) => {
      if (typeof definition === 'string' || typeof definition.unit !== 'object') return []
      const value = compileField(context, definition, [])
      return [reader([], () => rule, value, compileField(context, definition.unit, []))]
    })
  }
  return biometrics.flatMap((definition) => {
    if (definition.unit === undefined) return []
    const code = compileCoded(context, definition, 'biometrics', [])
    const ruleOf = (scope: Scope): string | undefined => {
      const found = code.read(scope)
      return typeof found === 'string' ? found : undefined
    }
    const value = compileField(context, definition.value, [])
    return [reader([code], ruleOf, value, compileField(context, definition.unit, []))]
  })
}

const SPELLINGS_KEPT = 1_000

function labelUnits({ units }: CompileContext): (spelling: string) => string {
  const known = new Map<string, string>([['', '']])
  return (spelling) => {
    const label = known.get(spelling)
    if (label !== undefined) return label
    const code = units.resolve(spelling) ?? OTHER
    if (known.size < SPELLINGS_KEPT) known.set(spelling, code)
    return code
  }
}
