/**
 * Cases modelled on the rows of a sample, with the columns that the mapping reads. Ids, names, dates and other facts of people are made up;
 * measurements and codes stay. `run-cases.ts` adds the outcomes.
 */
import { DateTime } from 'luxon'
import { stringify } from 'yaml'
import type { JsonValue } from '../../../../src/model/row.ts'
import type { CompiledMapping } from '../../../../src/transform/compile.ts'
import type { MappingResources } from '../../../../src/transform/compile-context.ts'
import type { MappingDefinition } from '../../../../src/transform/mapping-definition.ts'
import { parseFeetAndInches } from '../../../../src/transform/numbers.ts'
import { type Each, jsonNames, rootScope } from '../../../../src/transform/scope.ts'
import type { JsonSample } from './draft-json.ts'
import type { DraftedSample } from './draft-sample.ts'
import type { DateForms } from './find-dates.ts'
import type { SampleTable } from './read-sample.ts'
import { type Draft, schemaLine } from './write-draft.ts'

const MOST_CASES = 3
/** Maximum number of different texts in a column of codes that are all shown. */
const FEW_CODES = 5

export interface DraftedMapping {
  readonly definition: MappingDefinition
  readonly compiled: Pick<CompiledMapping, 'reads'>
  readonly resources: MappingResources
}

/** Drafts the cases. @param schema path of the JSON Schema of cases, relative to the file */
export function draftCases({ draft, rows }: DraftedSample, mapping: DraftedMapping, schema: string): string {
  const names = new Set(mapping.compiled.reads.map(({ name }) => name))
  const basis: Basis = { draft, names, keeps: keepsCodes(mapping, draft.yesOrNo) }
  const whole = rows.kind === 'table' && !draft.finding
  const ofTable = whole ? visitCases : findingCases
  const cases =
    rows.kind === 'json'
      ? jsonCases(rows.sample, mapping.definition.read.each ?? {}, basis)
      : ofTable(rows.table, basis)
  const kept = whole
    ? 'Each value comes from its column, so no row belongs to a real person'
    : 'Measurements and codes are kept'
  const head = `${schemaLine(schema)}\n# Expected outcomes of rows like those of ${JSON.stringify(draft.sample)}. People, ids and dates are made up. ${kept}.\n`
  return `${head}${stringify({ cases }, { schema: 'failsafe', lineWidth: 0 })}`
}

interface Basis {
  readonly draft: Draft
  readonly names: ReadonlySet<string>
  readonly keeps: KeepsText
}

/** True for codes and measurements. Dates are made up, whatever their use. */
const isCoded = ({ coded, dates }: Draft, path: string): boolean => coded.has(path) && !dates.has(path)

/** Invented visits: each column independently gives a low, a middle and a high value. */
function visitCases({ columns, rows }: SampleTable, { draft, names, keeps }: Basis): object[] {
  const count = Math.min(MOST_CASES, rows.length)
  const read = columns.flatMap(({ path }, at) => {
    if (!names.has(path)) return []
    if (!isCoded(draft, path)) return [{ path, cell: (number: number) => madeUp(draft, path, number) }]
    const kept = rows.map((row) => row[at]?.trim() ?? '').filter(keeps)
    return [{ path, cell: (number: number) => spread(kept, number, count) }]
  })
  return Array.from({ length: count }, (_, at) => ({
    name: `somebody made up, ${at + 1}`,
    row: Object.fromEntries(
      read.flatMap(({ path, cell }) => {
        const text = cell(at + 1)
        return text === '' ? [] : [[path, text]]
      }),
    ),
  }))
}

/** Cell with this number, from 1, of `count` cells spread over a column; codes alternate. */
function spread(cells: readonly string[], number: number, count: number): string {
  const codes = Map.groupBy(cells, (cell) => cell)
  const sized = cells.filter((cell) => Number.isFinite(size(cell)))
  if (codes.size <= FEW_CODES || sized.length < cells.length / 2) {
    const often = [...codes].sort(([, a], [, b]) => b.length - a.length).map(([code]) => code)
    return often[(number - 1) % often.length] ?? ''
  }
  const sorted = sized.sort((a, b) => size(a) - size(b))
  return sorted[Math.floor((sorted.length * (number - 0.5)) / count)] ?? ''
}

/** Number at the start of a text, or NaN. */
const size = (cell: string): number => Number.parseFloat(cell.replace(/^[<>=\s]+/, '').replace(',', '.'))

function findingCases({ columns, rows }: SampleTable, { draft, names, keeps }: Basis): object[] {
  const coded = columns.map(({ path }) => names.has(path) && isCoded(draft, path))
  const kept = rows.map((row) => row.map((cell, at) => (coded[at] && keeps(cell.trim()) ? cell.trim() : '')))
  const filled = (cells: readonly string[]): number => cells.filter((cell) => cell !== '').length
  return fullest(kept, filled).map(({ row: cells, number }, at) => ({
    name: `row ${number} of the sample, of somebody made up`,
    row: Object.fromEntries(
      columns.flatMap(({ path }, column) => {
        const empty = rows[number - 1]?.[column]?.trim() === ''
        const cell = empty || isCoded(draft, path) ? (cells[column] ?? '') : madeUp(draft, path, at + 1)
        return names.has(path) && cell !== '' ? [[path, cell]] : []
      }),
    ),
  }))
}

function jsonCases(
  { rows, wrap }: Pick<JsonSample, 'rows' | 'wrap'>,
  each: Each,
  { draft, names, keeps }: Basis,
): object[] {
  const read = jsonNames({ each }, () => {})
  // Filters compare with these texts.
  const paths = Object.values(each).map((level) => (typeof level === 'string' ? level : level.from))
  const literals = [...names, ...paths].flatMap((path) =>
    [...path.matchAll(/== '([^']*)'/g)].map(([, text = '']) => text),
  )
  // Columns of a person come last: a text at two places is made up at both.
  const ordered = [...names].sort((a, b) => Number(isCoded(draft, b)) - Number(isCoded(draft, a)))
  return fullest(rows, (row) => JSON.stringify(row).length).map(({ row: value, number }, at) => {
    const root = rootScope({ kind: 'json', value, text: '', row: 1, line: 1, byteOffset: 0 })
    const texts = new Map(literals.map((text) => [text, text]))
    for (const name of ordered) {
      const { read: textOf, branch } = read.locate(name)
      for (const scope of read.scopes(root, branch)) {
        const text = textOf(scope)?.trim()
        if (!text) continue
        if (!isCoded(draft, name)) texts.set(text, madeUp(draft, name, at + 1))
        else if (keeps(text)) texts.set(text, text)
      }
    }
    return {
      name: `row ${number} of the sample, of somebody made up`,
      document: `${JSON.stringify(wrap(onlyRead(value, texts)))}\n`,
    }
  })
}

/** Removes unread values; elements of lists keep their positions. */
function onlyRead(value: JsonValue, texts: ReadonlyMap<string, string>): JsonValue {
  if (typeof value === 'string') return texts.get(value.trim()) ?? null
  if (typeof value !== 'object' || value === null) return texts.has(String(value)) ? value : null
  if (Array.isArray(value)) {
    const elements = (value as readonly JsonValue[]).map((element) => onlyRead(element, texts))
    return elements.every((element) => element === null) ? null : elements
  }
  const members = Object.entries(value).flatMap(([name, inner]): [string, JsonValue][] => {
    const kept = onlyRead(inner, texts)
    return kept === null ? [] : [[name, kept]]
  })
  return members.length === 0 ? null : Object.fromEntries(members)
}

/** First rows with at least half of the maximum content, with their number from 1. */
function fullest<Row>(rows: readonly Row[], filled: (row: Row) => number): { row: Row; number: number }[] {
  const counted = rows.map((row, at) => ({ row, number: at + 1, count: filled(row) }))
  const most = counted.reduce((high, { count }) => Math.max(high, count), 0)
  return counted.filter(({ count }) => count >= most / 2).slice(0, MOST_CASES)
}

/** True for a measurement or code, false for a remark. */
type KeepsText = (text: string) => boolean

/** Number with or without comparator and thousands, two numbers of a blood pressure, bounds of a range. */
const MEASUREMENT =
  /^(?:[<>]?=?\s*[+-]?(?:\d{1,6}|\d{1,3}(?:[.,]\d{3})+)(?:[.,]\d+)?|\d{2,3}\s*\/\s*\d{2,3}|[\d.,]{1,6}\s*-\s*[\d.,]{1,6})$/

/** Keeps texts of the mapping, units, and codes of the catalog too. */
function keepsCodes(
  { definition, resources: { catalog, units } }: DraftedMapping,
  yesOrNo: readonly string[],
): KeepsText {
  const written = new Set(textsIn(definition))
  const systems = ['LOINC', 'SNOMED', 'ICD-10-CM', 'ICD-9-CM'] as const
  return (text) =>
    text !== '' &&
    (MEASUREMENT.test(text) ||
      written.has(text) ||
      yesOrNo.includes(text) ||
      typeof parseFeetAndInches(text) === 'string' ||
      // Plain digits would all pass.
      (/[A-Za-z%]/.test(text) && units.resolve(text) !== undefined) ||
      systems.some((system) => catalog.keyOf(system, text) !== undefined))
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)])
}

const FIRST_NAMES = ['Ann', 'Ben', 'Cora']
const ALWAYS: Readonly<Record<string, string>> = {
  lastName: 'Reed',
  postalCode: '01001',
  // NPI from the standard's own example (ISO prefix 80840).
  npi: '1234567893',
  providerName: 'Dr. Lee',
  providerPhone: '555-555-0100',
}

/**
 * Made-up text for a column or path without measurements and codes.
 *
 * @param number of the case, from 1
 */
function madeUp({ persons, dates, genders }: Draft, path: string, number: number): string {
  const part = persons.get(path)
  const forms = dates.get(path)
  if (forms !== undefined) {
    const day =
      part === 'dateOfBirth' ? DateTime.utc(1980, 1, number) : DateTime.utc(2026, 2, 2 + number, 9, 30)
    return dateText(day, forms, number)
  }
  if (part === 'dateOfBirth') return '1980-01-01'
  if (part === 'firstName') return FIRST_NAMES[(number - 1) % FIRST_NAMES.length] ?? ''
  if (part === 'gender') return genders[(number - 1) % genders.length] ?? ''
  return ALWAYS[part ?? ''] ?? `P-${number}`
}

/** Date in a form of the column; the forms alternate. */
function dateText(day: DateTime, { forms, timed, offset }: DateForms, number: number): string {
  const form = forms[(number - 1) % forms.length] ?? 'ISO'
  switch (form) {
    case 'EPOCH_MS':
      return String(day.toMillis())
    case 'EXCEL':
      return String(Math.floor(day.diff(DateTime.utc(1899, 12, 30), 'days').days) + (timed ? 0.5 : 0))
    case 'HL7':
      return day.toFormat(`yyyyMMdd${timed ? 'HHmm' : ''}`) + (offset ? '+0000' : '')
    case 'ISO':
      return day.toFormat(`yyyy-MM-dd${timed ? "'T'HH:mm:ss" : ''}`) + (offset ? 'Z' : '')
    default:
      return day.toFormat(form, { locale: 'en-US' })
  }
}
