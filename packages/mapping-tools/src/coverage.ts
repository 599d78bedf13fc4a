/** Fit of a mapping to an export: columns read, and results of each rule over the rows, including rules without results. */

import { type CodeCount, countLeftOut, leftOutCounts } from '../../../src/model/balance.ts'
import type { RowOutcome } from '../../../src/model/entry.ts'
import type { Finding } from '../../../src/model/errors.ts'
import type { RecordKind } from '../../../src/model/record.ts'
import { didYouMean } from '../../../src/system/schema-problems.ts'
import type { ReadName } from '../../../src/transform/compile-context.ts'
import type { MappingDefinition } from '../../../src/transform/mapping-definition.ts'
import { type FitFacts, increase, withoutOrdinal } from '../../../src/watch/fit-facts.ts'
import { registration } from './record-facts.ts'

export interface RuleCoverage {
  /** Name of the rule; for a list of rules, the catalog key, or the section if there was no result. */
  readonly rule: string
  readonly made: number
  readonly rejected: Readonly<Record<string, number>>
  /** Fields in the mapping that no record has. */
  readonly neverSet: readonly string[]
}

export interface Coverage {
  readonly rows: FitFacts['rows']
  readonly reasons: Readonly<Record<string, number>>
  /** Elements that the mapping leaves out, by code, the most frequent first. */
  readonly leftOut: readonly CodeCount[]
  readonly rules: readonly RuleCoverage[]
}

export interface CoverageCounter {
  add(outcome: RowOutcome): void
  result(): Coverage
}

/** Sections of a mapping: kind of records, and optional fields. */
const SECTIONS = [
  ['biometrics', 'biometric', ['refRange']],
  ['conditions', 'condition', []],
  ['careTeams', 'careTeam', ['phoneNumber', 'address', 'city', 'zip', 'location', 'profile']],
] as const

const REGISTER = 'register'

interface Counts {
  made: number
  readonly rejected: Record<string, number>
  readonly missing: Set<string>
}

export function createCoverage(definition: MappingDefinition): CoverageCounter {
  const rows = { read: 0, mapped: 0, skipped: 0, rejected: 0 }
  const reasons: Record<string, number> = {}
  const left = { leftOut: {} }
  const rules = new Map<string, Counts>()
  const lists = new Map<RecordKind, readonly string[]>()
  const seen = new Set<RecordKind>()
  for (const [section, kind, optional] of SECTIONS) {
    const namedIn = (rule: string | object): string[] =>
      typeof rule === 'string' ? [] : optional.filter((field) => field in rule)
    const written = definition[section] ?? {}
    if (Array.isArray(written)) lists.set(kind, written.flatMap(namedIn))
    else for (const [name, rule] of Object.entries(written)) rules.set(name, newCounts(namedIn(rule)))
  }
  if (definition.row.account.register !== undefined) rules.set(REGISTER, newCounts([]))
  const countsOf = (rule: string, kind: RecordKind): Counts => {
    const name = rules.has(rule) ? rule : withoutOrdinal(rule)
    const counts = rules.get(name) ?? newCounts(lists.get(kind) ?? [])
    rules.set(name, counts)
    seen.add(kind)
    return counts
  }

  return {
    add(outcome) {
      rows.read += 1
      rows[outcome.outcome] += 1
      if (outcome.outcome === 'rejected') return increase(reasons, outcome.issue.code)
      countLeftOut(left, outcome)
      if (outcome.outcome === 'skipped') return
      for (const { rule, kind, text } of outcome.records) {
        const counts = countsOf(rule, kind)
        counts.made += 1
        // Quotes within a text are escaped, so this finds only member names.
        for (const field of counts.missing) if (text.includes(`"${field}":`)) counts.missing.delete(field)
      }
      for (const { rule, kind, issue } of outcome.rejected)
        increase(countsOf(rule, kind).rejected, issue.code)
      const registered = rules.get(REGISTER)
      if (registered === undefined) return
      const draft = registration(outcome)
      if (typeof draft === 'string') increase(registered.rejected, draft)
      else registered.made += 1
    },
    result() {
      for (const [section, kind] of SECTIONS)
        if (lists.has(kind) && !seen.has(kind)) rules.set(section, newCounts([]))
      return {
        rows,
        reasons,
        leftOut: leftOutCounts(left),
        rules: [...rules].map(([rule, { made, rejected, missing }]) => ({
          rule,
          made,
          rejected,
          neverSet: [...missing],
        })),
      }
    },
  }
}

const newCounts = (missing: readonly string[]): Counts => ({
  made: 0,
  rejected: {},
  missing: new Set(missing),
})

const DELIMITERS = [
  [';', '";"'],
  ['\t', '"\\t"'],
  ['|', '"|"'],
  [',', '","'],
] as const

/** Delimiter of a header read as a single column, as written in a mapping. */
function otherDelimiter([only = '', another]: readonly string[]): string | undefined {
  return another === undefined ? DELIMITERS.find(([mark]) => only.includes(mark))?.[1] : undefined
}

/** Finding for each place in the mapping that reads a column missing from the export. */
export function unknownColumns(reads: readonly ReadName[], columns: readonly string[]): Finding[] {
  const there = new Set(columns)
  const delimiter = otherDelimiter(columns)
  const [first] = reads
  if (delimiter !== undefined && first !== undefined && !there.has(first.name))
    return [
      {
        place: first.place,
        message: `the export has no column "${first.name}": its whole header is one column; write \`delimiter: ${delimiter}\` into \`read\``,
      },
    ]
  const alike = new Map(columns.map((column) => [plain(column), column]))
  return reads
    .filter(({ name }) => !there.has(name))
    .map(({ name, place }) => {
      const near = alike.get(plain(name))
      const meant = near === undefined ? didYouMean(name, there) : `, but "${near}"`
      return {
        place,
        message: `the export has no column "${name}"${meant}${meant.endsWith('?') ? ' A' : '; a'} text that is the same in every row is written { constant: ${name} }`,
      }
    })
}

/** Name without case, spaces and punctuation. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
