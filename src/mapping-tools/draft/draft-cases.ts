/**
 * Cases like the rows of a sample: what the mapping reads of them and nothing else. Nobody of the sample stands there: ids, names,
 * dates and whatever else tells of a person are made up, and of the rest only what is a measurement or a code is kept. What
 * becomes of the cases is added by `update-cases.ts`.
 */
import { stringify } from 'yaml'
import type { JsonValue } from '../../model/row.ts'
import type { CompiledMapping } from '../../transform/compile.ts'
import type { MappingResources } from '../../transform/compile-context.ts'
import type { MappingDefinition } from '../../transform/mapping-definition.ts'
import { jsonNames, rootScope } from '../../transform/scope.ts'
import type { JsonSample } from './draft-json.ts'
import type { DraftedSample } from './draft-sample.ts'
import { type KeepsText, keepsCodes } from './keep-codes.ts'
import { madeUp } from './made-up.ts'
import type { SampleTable } from './sample.ts'
import { type Draft, schemaLine } from './write-draft.ts'

const MOST_CASES = 3
/** A column with no more different texts is one of codes, each of which is shown. */
const FEW_CODES = 5

/** The compiled draft. */
export interface DraftedMapping {
  readonly definition: MappingDefinition
  readonly compiled: Pick<CompiledMapping, 'reads'>
  readonly resources: MappingResources
}

/** @param schema where an editor finds the JSON Schema of cases, seen from the file */
export function draftCases(
  { draft, rows }: DraftedSample,
  { definition, compiled, resources }: DraftedMapping,
  schema: string,
): string {
  const keeps = keepsCodes(definition, resources)
  const names = new Set(compiled.reads.map(({ name }) => name))
  const whole = rows.kind === 'table' && !draft.finding
  const cases =
    rows.kind === 'json'
      ? jsonCases(rows.sample, draft, { names, each: definition.read.each ?? {} }, keeps)
      : whole
        ? visitCases(rows.table, draft, names, keeps)
        : findingCases(rows.table, draft, names, keeps)
  const kept = whole
    ? 'Each value is one of its column, so that no row is that of anybody'
    : 'Measurements and codes are kept'
  const head = `${schemaLine(schema)}\n# What becomes of rows like those of ${JSON.stringify(draft.sample)}. People, ids and dates are made up. ${kept}.\n`
  return `${head}${stringify({ cases }, { schema: 'failsafe', lineWidth: 0 })}`
}

/** Dates are made up, whatever they are used for. */
const isCoded = ({ coded, dates }: Draft, path: string): boolean => coded.has(path) && !dates.has(path)

/** Visits that never were: each column by itself gives what lies low, in the middle and high in it. */
function visitCases(
  { columns, rows }: SampleTable,
  draft: Draft,
  names: ReadonlySet<string>,
  keeps: KeepsText,
): object[] {
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

/** Of `count` cells that are spread over a column, the one with this number from 1; codes take turns. */
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

/** The number with which a text begins; NaN where there is none. */
const size = (cell: string): number => Number.parseFloat(cell.replace(/^[<>=\s]+/, '').replace(',', '.'))

/** A finding is of no use without its code and unit: they stay together. */
function findingCases(
  { columns, rows }: SampleTable,
  draft: Draft,
  names: ReadonlySet<string>,
  keeps: KeepsText,
): object[] {
  const kept = rows.map((row) =>
    row.map((cell, at) => (isKept(columns[at]?.path, cell.trim()) ? cell.trim() : '')),
  )
  function isKept(path: string | undefined, cell: string): boolean {
    return path !== undefined && names.has(path) && isCoded(draft, path) && keeps(cell)
  }
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

interface Reads {
  readonly names: ReadonlySet<string>
  readonly each: Readonly<Record<string, string>>
}

function jsonCases(
  { rows, wrap }: JsonSample,
  draft: Draft,
  { names, each }: Reads,
  keeps: KeepsText,
): object[] {
  const read = jsonNames({ each }, () => {})
  // Filters compare with them.
  const literals = [...names, ...Object.values(each)].flatMap((path) =>
    [...path.matchAll(/== '([^']*)'/g)].map(([, text = '']) => text),
  )
  // Of a person last: a text that stands at two places is made up at both.
  const ordered = [...names].sort((a, b) => Number(isCoded(draft, b)) - Number(isCoded(draft, a)))
  return fullest(rows, (row) => JSON.stringify(row).length).map(({ row: value, number }, at) => {
    const root = rootScope({ kind: 'json', value, text: '', row: 1, line: 1, byteOffset: 0 })
    const texts = new Map(literals.map((text) => [text, text]))
    for (const name of ordered) {
      const { read: textOf, depth } = read.locate(name)
      for (const scope of read.scopes(root, depth)) {
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

/** The document without what the mapping does not read; elements of lists keep their places. */
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

/** The first rows that hold something, with their number from 1. */
function fullest<Row>(rows: readonly Row[], filled: (row: Row) => number): { row: Row; number: number }[] {
  const counted = rows.map((row, at) => ({ row, number: at + 1, count: filled(row) }))
  const most = counted.reduce((high, { count }) => Math.max(high, count), 0)
  return counted.filter(({ count }) => count >= most / 2).slice(0, MOST_CASES)
}
