/**
 * Cases of a mapping (docs/mapping.md, "Cases"): rows with expected outcomes, in `NAME.cases.yaml` beside `NAME.yaml`. Every scalar is
 * text, so `5.10` needs no quotes. A full record has all of its facts. A folded record omits facts from the top of the file (`always`,
 * `rules`) or of the row (`observedAt`).
 */
import { z } from 'zod'
import type { RowOutcome } from '../../../src/model/entry.ts'
import { parseYaml, type YamlFile } from '../../../src/system/yaml-file.ts'
import { withoutOrdinal } from '../../../src/watch/fit-facts.ts'
import { type Facts, factsOf, inOrder, registration } from './record-facts.ts'

const Texts = z.record(z.string(), z.string())

/** Facts of a record by name; a plain text is the value, or the status. */
const CaseRecord = z.union([z.string(), Texts])

/** Outcome of a row. */
const resultKeys = {
  outcome: z.enum(['mapped', 'skipped', 'rejected', 'refused']).optional(),
  /** Reason for skipping, reason code of a rejection, or error code that refuses the export. */
  reason: z.string().optional(),
  key: z.string().optional(),
  account: z.string().optional(),
  /** Time of all records without their own. */
  observedAt: z.string().optional(),
  /** Registration data, or the reason code of its failure. */
  register: z.union([z.string(), Texts]).optional(),
  /** Records by rule, in order. */
  records: z.record(z.string(), CaseRecord).optional(),
  /** Reason codes by rule. */
  rejected: Texts.optional(),
  /** `rule: reason code`, or `row: reason code`. */
  warnings: z.array(z.string()).optional(),
}

const CaseRow = z.strictObject(resultKeys)
export type CaseRow = z.infer<typeof CaseRow>

export const RESULT_KEYS = CaseRow.keyof().options

const Case = z
  .strictObject({
    name: z.string().min(1),
    /** Cells by column; other columns are empty. */
    row: Texts.optional(),
    /** JSON document, on any number of lines. */
    document: z.string().optional(),
    /** Text of an export, with its header. */
    text: z.string().optional(),
    ...resultKeys,
    rows: z.array(CaseRow).optional(),
  })
  .refine((one) => [one.row, one.document, one.text].filter((input) => input !== undefined).length === 1, {
    message: 'needs one input: row, document or text',
  })
  .refine((one) => one.rows === undefined || RESULT_KEYS.every((key) => one[key] === undefined), {
    message: 'stands instead of outcome, records and the like, not beside them',
    path: ['rows'],
  })
export type Case = z.infer<typeof Case>

export const CaseFile = z.strictObject({
  /** Time from which dates are in the future; default: none are. */
  now: z.iso.datetime({ offset: true }).optional(),
  always: Texts.optional(),
  /** Facts of every record of a rule, such as its codes. */
  rules: z.record(z.string(), Texts).optional(),
  /** Rows of joined exports, for all cases: cells by column, or a JSON document each. */
  joins: z.record(z.string(), z.array(z.union([z.string(), Texts]))).optional(),
  cases: z.array(Case).min(1),
})
export type CaseFile = z.infer<typeof CaseFile>

/** Parses a file of cases. @throws WaybillError `cases-invalid` with every problem and its line */
export function parseCases(text: string, file: string): YamlFile<CaseFile> {
  return parseYaml(text, file, CaseFile, 'cases-invalid', 'text')
}

/** Facts shared by many records. */
export type Shared = Pick<CaseFile, 'always' | 'rules'>

export interface FullRow extends Omit<CaseRow, 'records' | 'observedAt'> {
  readonly records?: Readonly<Record<string, Facts>>
}

/** Marks a shared fact that a record lacks. */
const ABSENT = '(absent)'

export function fullRow(outcome: RowOutcome): FullRow {
  if (outcome.outcome === 'rejected') return { outcome: 'rejected', reason: outcome.issue.code }
  const warnings = outcome.warnings.map(({ rule, issue }) => `${rule ?? 'row'}: ${issue.code}`)
  const warned = given({ warnings: warnings.length === 0 ? undefined : warnings })
  if (outcome.outcome === 'skipped') return { outcome: 'skipped', reason: outcome.reason, ...warned }
  const { key, account, records, rejected } = outcome
  const details = given({
    register: registration(outcome),
    records: byRule(records.map((record) => [record.rule, factsOf(record)])),
    rejected: byRule(rejected.map(({ rule, issue }) => [rule, issue.code])),
  })
  return { outcome: 'mapped', key, account: account.reference, ...details, ...warned }
}

const given = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: Exclude<Members[Name], undefined>
  }

const byRule = <Value>(
  entries: readonly (readonly [rule: string, value: Value])[],
): Record<string, Value> | undefined => (entries.length === 0 ? undefined : Object.fromEntries(entries))

/** Facts of a record from the top of the file. */
function sharedFacts({ always, rules = {} }: Shared, rule: string): Facts {
  return { ...always, ...(rules[rule] ?? rules[withoutOrdinal(rule)]) }
}

export function foldRow(row: FullRow, shared: Shared): CaseRow {
  const { records, rejected, ...rest } = row
  const observedAt = mostCommon(Object.values(records ?? {}).flatMap((facts) => facts['observedAt'] ?? []))
  const folded = Object.entries(records ?? {}).map(([rule, facts]) => {
    const elsewhere = { ...sharedFacts(shared, rule), ...given({ observedAt }) }
    return [rule, foldRecord(facts, elsewhere)] as const
  })
  return { ...rest, ...given({ observedAt, records: records && Object.fromEntries(folded), rejected }) }
}

function foldRecord(facts: Facts, elsewhere: Facts): string | Facts {
  const own = Object.entries(facts).filter(([fact, text]) => elsewhere[fact] !== text)
  const absent = Object.keys(elsewhere).filter((fact) => facts[fact] === undefined)
  const kept = inOrder([...own, ...absent.map((fact) => [fact, ABSENT] as const)])
  const [[fact, text] = [], another] = Object.entries(kept)
  const alone = another === undefined && (fact === 'value' || fact === 'status')
  return alone && text !== undefined ? text : kept
}

/** Adds the shared facts to a row of a file. */
export function unfoldRow(folded: CaseRow, shared: Shared): FullRow {
  const { records, observedAt, ...row } = folded
  if (records === undefined) return row
  const unfolded = Object.entries(records).map(([rule, record]) => {
    const own = typeof record === 'string' ? { value: record } : record
    const facts = Object.entries({ ...sharedFacts(shared, rule), ...given({ observedAt }), ...own })
    return [rule, inOrder(facts.filter(([, text]) => text !== ABSENT))] as const
  })
  return { ...row, records: Object.fromEntries(unfolded) }
}

function mostCommon(texts: readonly string[]): string | undefined {
  const [most] = [...Map.groupBy(texts, (text) => text)].sort(([, a], [, b]) => b.length - a.length)
  return most?.[0]
}

/** Facts that a mapping sets for all records. */
const OF_ALL = ['accountType', 'source', 'sourceType', 'sendingSystem', 'dataQuality', 'notes']

/** Facts from the catalog. */
const OF_CODE = ['name', 'code', 'codes', 'type']

export function sharedBy(rows: readonly FullRow[]): Shared {
  const records = rows.flatMap((row) =>
    Object.entries(row.records ?? {}).map(([rule, facts]) => ({ rule, facts, row })),
  )
  if (records.length === 0) return {}
  const [first] = records
  const always = Object.entries(pick(first?.facts ?? {}, OF_ALL)).filter(([fact, text]) =>
    records.every(({ facts }) => facts[fact] === text),
  )
  const rules = new Map<string, Facts>()
  for (const { rule, facts, row } of records) {
    if (facts['codes'] === undefined && facts['code'] === undefined) continue
    const label = isOrdinal(rule, row) ? withoutOrdinal(rule) : rule
    if (!rules.has(label)) rules.set(label, pick(facts, OF_CODE))
  }
  return given({ always: byRule(always), rules: byRule([...rules]) })
}

const pick = (facts: Facts, names: readonly string[]): Facts =>
  Object.fromEntries(Object.entries(facts).filter(([fact]) => names.includes(fact)))

/** True if the number in a rule's name is an ordinal, counted from 1: `hba1c-2` with `hba1c-1` is, `vitamin-b-12` is not. */
function isOrdinal(rule: string, row: FullRow): boolean {
  const ordinal = Number(/-(\d+)$/.exec(rule)?.[1] ?? '0')
  const before = `${withoutOrdinal(rule)}-${ordinal - 1}`
  return ordinal === 1 || (ordinal > 1 && before in { ...row.records, ...row.rejected })
}
