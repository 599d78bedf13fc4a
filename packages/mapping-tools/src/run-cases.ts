/** Runs the cases of a mapping against their expected outcomes, and updates the outcomes in their file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from 'yaml'
import { z } from 'zod'
import { openExport } from '../../../src/extract/open-export.ts'
import { readJson } from '../../../src/extract/open-json.ts'
import { csvDefinition, type ReadDefinition } from '../../../src/extract/read-definition.ts'
import type { RowOutcome } from '../../../src/model/entry.ts'
import { WaybillError } from '../../../src/model/errors.ts'
import type { CsvRow, JsonRow, Row } from '../../../src/model/row.ts'
import { writeOwn } from '../../../src/system/own-files.ts'
import { parseYaml, type YamlFile } from '../../../src/system/yaml-file.ts'
import type { CompiledMapping } from '../../../src/transform/compile.ts'
import type { ExportJoin, KeptRows } from '../../../src/transform/compile-context.ts'
import { withoutOrdinal } from '../../../src/watch/fit-facts.ts'
import { type Facts, factsOf, inOrder, registration } from './record-facts.ts'

const Texts = z.record(z.string(), z.string())

/** Facts of a record by name; a plain text is the value, or the status. */
const CaseRecord = z.union([z.string(), Texts])

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
  rejected: Texts.optional(),
  /** `rule: reason code`, or `row: reason code`. */
  warnings: z.array(z.string()).optional(),
}

const CaseRow = z.strictObject(resultKeys)
type CaseRow = z.infer<typeof CaseRow>

const RESULT_KEYS = CaseRow.keyof().options

const Case = z
  .strictObject({
    name: z.string().min(1),
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
type Case = z.infer<typeof Case>

/**
 * Cases of a mapping (docs/mapping.md, "Cases"): rows with expected outcomes, in `NAME.cases.yaml` beside `NAME.yaml`. Every scalar is
 * text, so `5.10` needs no quotes. A full record has all of its facts. A folded record omits facts from the top of the file (`always`,
 * `rules`) or of the row (`observedAt`).
 */
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

type Shared = Pick<CaseFile, 'always' | 'rules'>

interface FullRow extends Omit<CaseRow, 'records' | 'observedAt'> {
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

function sharedFacts({ always, rules = {} }: Shared, rule: string): Facts {
  return { ...always, ...(rules[rule] ?? rules[withoutOrdinal(rule)]) }
}

function foldRow(row: FullRow, shared: Shared): CaseRow {
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

function unfoldRow(folded: CaseRow, shared: Shared): FullRow {
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

const OF_CODE = ['name', 'code', 'codes', 'type']

function sharedBy(rows: readonly FullRow[]): Shared {
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

/** Reads the rows of an export from text. @param isRow the text is a row as JSON, for any format of exports */
export type ReadText = (
  text: string,
  isRow?: boolean,
) => Promise<{
  readonly columns?: readonly string[] | undefined
  readonly below?: readonly (readonly string[])[] | undefined
  readonly rows: readonly Row[]
}>

/** Expected and found outcomes of a case, both folded. */
export interface CaseResult {
  readonly name: string
  readonly passed: boolean
  /** Undefined if the case has no expectation yet. */
  readonly expected: readonly CaseRow[] | undefined
  readonly found: readonly CaseRow[]
  /** Outcomes with every fact of every record. */
  readonly full: readonly FullRow[]
}

/** Runs all cases. @param file cases; its `now` is the time from which dates are in the future, by default none are */
export async function runCases(
  mapping: CompiledMapping,
  file: CaseFile,
  readText: ReadText,
): Promise<CaseResult[]> {
  const now = file.now === undefined ? Number.POSITIVE_INFINITY : Date.parse(file.now)
  const columns = new Set(mapping.reads.map(({ name }) => name))
  for (const { row } of file.cases) for (const column of Object.keys(row ?? {})) columns.add(column)
  const results: CaseResult[] = []
  for (const one of file.cases) {
    const full = await outcomes(mapping, one, [...columns], readText, now)
    const found = full.map((row) => foldRow(row, file))
    const expected = expectedRows(one)?.map((value) => foldRow(unfoldRow(value, file), file))
    results.push({
      name: one.name,
      passed: expected !== undefined && agree(expected, found),
      expected,
      found,
      full,
    })
  }
  return results
}

function expectedRows(one: Case): readonly CaseRow[] | undefined {
  if (one.rows !== undefined) return one.rows
  const value = Object.entries(one).filter(([key]) => RESULT_KEYS.some((known) => known === key))
  return value.length === 0 ? undefined : [Object.fromEntries(value)]
}

/** True if outcomes are equal, with records in the same order. */
const agree = (expected: readonly CaseRow[], found: readonly CaseRow[]): boolean =>
  isDeepStrictEqual(expected, found) && isDeepStrictEqual(expected.map(order), found.map(order))

const order = ({ records }: CaseRow): string[] => Object.keys(records ?? {})

async function outcomes(
  mapping: CompiledMapping,
  one: Case,
  columns: readonly string[],
  readText: ReadText,
  now: number,
): Promise<FullRow[]> {
  if (one.row !== undefined) {
    const cells = columns.map((column) => one.row?.[column] ?? '')
    return [
      fullRow(mapping.bind(columns, one.name, now)({ row: 1, line: 2, byteOffset: 0, kind: 'cells', cells })),
    ]
  }
  try {
    // A document becomes a single line: a line end between tokens is white space.
    const document = one.document?.replaceAll(/\r?\n/g, ' ')
    const opened = await readText(one.text ?? document ?? '', document !== undefined)
    const map = mapping.bind(opened.columns, one.name, now, opened.below)
    return opened.rows.map((row) => fullRow(map(row)))
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    return [{ outcome: 'refused', reason: error.code }]
  }
}

/** Creates a reader of exports from text, through a file. The text is UTF-8, whatever the encoding of the vendor's files. */
export function textReader(read: ReadDefinition): ReadText {
  const definition =
    read.format === 'csv'
      ? { ...read, encoding: 'utf-8' as const }
      : // Cases are text: rows of a sheet are written as CSV.
        read.format === 'xlsx'
        ? csvDefinition.parse({ format: 'csv', duplicates: read.duplicates })
        : read
  const isAssembled = read.format === 'hl7v2' || read.format === 'records'
  return async (text, isRow = false) => {
    const folder = await mkdtemp(joinPath(tmpdir(), 'waybill-case-'))
    try {
      const path = joinPath(folder, 'case')
      writeOwn(path, text)
      const opened = await openExport(path, isRow && isAssembled ? { format: 'ndjson' } : definition)
      const rows: Row[] = []
      for await (const block of opened.rows()) rows.push(...block)
      return { columns: opened.columns, below: opened.below, rows }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

type GivenRows = NonNullable<CaseFile['joins']>[string]

/**
 * Reads the rows of joined exports in a case file, by join; a join may have none.
 *
 * @throws WaybillError `columns-missing`; `cases-invalid` for rows of an unknown join, or invalid JSON
 */
export function keepGiven(
  joins: readonly ExportJoin[],
  given: NonNullable<CaseFile['joins']>,
  file: string,
): ReadonlyMap<string, KeptRows> {
  const refuse = (name: string, problem: string): WaybillError =>
    new WaybillError('cases-invalid', `${file}: ${problem}`, { place: { file, key: `joins.${name}` } })
  for (const name of Object.keys(given)) {
    if (!joins.some((join) => join.name === name))
      throw refuse(name, `the mapping joins no second export as "${name}"`)
  }
  return new Map(
    joins.map((join) => {
      const rows = new Map<string, readonly (string | null)[]>()
      const listed = given[join.name] ?? []
      if (listed.length > 0) {
        const columns = [
          ...new Set(listed.flatMap((row) => (typeof row === 'string' ? [] : Object.keys(row)))),
        ]
        const read = join.bind(columns, `joins.${join.name}`)
        for (const row of listed) {
          const found = read(rowOf(row, columns, (problem) => refuse(join.name, problem)))
          if (found !== undefined && !rows.has(found.key)) rows.set(found.key, found.cells)
        }
      }
      return [join.name, { fields: join.fields, rows }] as const
    }),
  )
}

const ORIGIN = { row: 1, line: 1, byteOffset: 0 }

function rowOf(
  row: GivenRows[number],
  columns: readonly string[],
  refuse: (problem: string) => WaybillError,
): CsvRow | JsonRow {
  if (typeof row !== 'string')
    return { ...ORIGIN, kind: 'cells', cells: columns.map((column) => row[column] ?? '') }
  const read = readJson(row)
  if ('problem' in read) throw refuse(`a joined row is ${read.problem}`)
  return { ...ORIGIN, kind: 'json', value: read.value, text: row }
}

type YamlValue = string | readonly YamlValue[] | { readonly [key: string]: YamlValue | undefined }

/**
 * Writes outcomes into the file of cases. Comments, order of keys and inputs stay.
 *
 * @param results one for each case of the file, in order
 */
export function updateCases(text: string, results: readonly CaseResult[]): string {
  const document = parseDocument(text, { schema: 'failsafe' })
  const { contents } = document
  if (!isMap(contents)) return text
  const shared = sharedBy(results.flatMap(({ full }) => full))
  for (const name of ['always', 'rules'] as const) put(document, contents, name, shared[name])
  const cases = document.get('cases')
  if (!isSeq(cases)) return text
  for (const [at, { full }] of results.entries()) {
    const one = cases.items[at]
    if (!isMap(one)) continue
    const rows = full.map((row) => foldRow(row, shared))
    const [only] = rows
    const value: CaseRow & { rows?: readonly CaseRow[] } =
      rows.length === 1 && only !== undefined ? only : { rows }
    for (const key of [...RESULT_KEYS, 'rows'] as const) put(document, one, key, value[key])
  }
  return document.toString({ lineWidth: 0 })
}

const NOTES: Readonly<Record<string, string>> = {
  always: ' What every record above has besides.',
  rules: ' And what those of a rule are sent as.',
}

/** Sets a member of a map, changing only differences; undefined deletes. */
function put(document: Document, map: YAMLMap, key: string, value: YamlValue | undefined): void {
  if (value === undefined) {
    map.delete(key)
    return
  }
  const pair = map.items.find((one) => isScalar(one.key) && one.key.value === key)
  if (pair === undefined) {
    const name = document.createNode(key)
    const note = NOTES[key]
    if (note !== undefined) {
      name.commentBefore = note
      name.spaceBefore = true
    }
    map.items.push(document.createPair(name, create(document, key, value)))
  } else if (!merge(document, pair.value, value)) pair.value = create(document, key, value)
}

/** Updates the node to the value. False if the node must be replaced. */
function merge(document: Document, node: unknown, value: YamlValue): boolean {
  if (typeof value === 'string') {
    if (!isScalar(node)) return false
    if (node.value !== value) node.value = value
    return true
  }
  if (isList(value)) {
    return (
      isSeq(node) &&
      node.items.length === value.length &&
      value.every((one, at) => merge(document, node.items[at], one))
    )
  }
  if (!isMap(node)) return false
  const keys = Object.keys(value)
  for (const { key } of [...node.items]) if (!keys.includes(keyText(key))) node.delete(key)
  for (const key of keys) put(document, node, key, value[key])
  node.items.sort((a, b) => keys.indexOf(keyText(a.key)) - keys.indexOf(keyText(b.key)))
  return true
}

const isList = (value: YamlValue): value is readonly YamlValue[] => Array.isArray(value)

const keyText = (key: unknown): string => (isScalar(key) ? String(key.value) : '')

/** Maps with a line per member. */
const BLOCKS = ['always', 'rules', 'records', 'rejected']

function create(document: Document, key: string, value: YamlValue): Node {
  const node = document.createNode(value)
  layOut(node, key)
  return node
}

/** Puts maps of a few facts on a single line. */
function layOut(node: unknown, key: string): void {
  if (isSeq(node)) for (const item of node.items) layOut(item, key)
  if (!isMap(node)) return
  node.flow = !BLOCKS.includes(key) && node.items.every(({ value }) => isScalar(value))
  for (const item of node.items) layOut(item.value, keyText(item.key))
}
