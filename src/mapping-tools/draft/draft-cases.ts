/**
 * Cases from the first rows of a sample: what the mapping reads of them and nothing else, with made-up people. What becomes of
 * them is added by `update-cases.ts`.
 */
import { DateTime } from 'luxon'
import { stringify } from 'yaml'
import type { JsonValue } from '../../extract/row.ts'
import { jsonNames, rootScope } from '../../transform/scope.ts'
import type { JsonSample } from './draft-json.ts'
import type { DraftedSample } from './draft-sample.ts'
import { findDateForms } from './find-dates.ts'
import type { SampleTable } from './sample.ts'
import { schemaLine } from './write-draft.ts'

const MOST_CASES = 3

const MADE_UP: Readonly<Record<string, string>> = {
  lastName: 'Reed',
  postalCode: '01001',
  // The NPI that the standard itself works out as its example (ISO prefix 80840).
  npi: '1234567893',
  providerName: 'Dr. Lee',
  providerPhone: '555-555-0100',
}

/** What stands for a person's own data in the case with this number; measurements stay. */
function madeUp(part: string, text: string, number: number): string {
  if (text === '') return ''
  if (part === 'reference') return `P-${number}`
  if (part === 'firstName') return ['Ann', 'Ben', 'Cora'][number - 1] ?? 'Ann'
  if (part !== 'dateOfBirth') return MADE_UP[part] ?? text
  const [form = 'ISO'] = findDateForms(new Set([text]), ['dob'])?.forms ?? []
  const day = DateTime.utc(1980, 1, number)
  if (form === 'HL7') return day.toFormat('yyyyMMdd')
  const named = ['ISO', 'EXCEL', 'EPOCH_MS'].includes(form)
  return named ? day.toFormat('yyyy-MM-dd') : day.toFormat(form, { locale: 'en-US' })
}

/** What a compiled mapping reads. */
export interface Reads {
  readonly names: ReadonlySet<string>
  readonly each: Readonly<Record<string, string>>
}

/** @param schema where an editor finds the JSON Schema of cases, seen from the file */
export function draftCases({ draft, rows }: DraftedSample, reads: Reads, schema: string): string {
  const cases =
    rows.kind === 'table'
      ? tableCases(rows.table, draft.persons, reads)
      : jsonCases(rows.sample, draft.persons, reads)
  const head = `${schemaLine(schema)}\n# What becomes of rows like the first ones of ${JSON.stringify(draft.sample)}. People are made up, values are not.\n`
  return `${head}${stringify({ cases }, { schema: 'failsafe', lineWidth: 0 })}`
}

type Persons = ReadonlyMap<string, string>

function tableCases({ columns, rows }: SampleTable, persons: Persons, { names }: Reads): object[] {
  const filled = (cells: readonly string[]): number => cells.filter((cell) => cell !== '').length
  return fullest(rows, filled).map(({ row: cells, number }, at) => ({
    name: `row ${number} of the sample`,
    row: Object.fromEntries(
      columns.flatMap(({ path }, column) => {
        const cell = madeUp(persons.get(path) ?? '', cells[column]?.trim() ?? '', at + 1)
        return names.has(path) && cell !== '' ? [[path, cell]] : []
      }),
    ),
  }))
}

function jsonCases({ rows, wrap }: JsonSample, persons: Persons, { names, each }: Reads): object[] {
  const read = jsonNames({ each }, () => {})
  // Filters compare with them.
  const literals = [...names, ...Object.values(each)].flatMap((path) =>
    [...path.matchAll(/== '([^']*)'/g)].map(([, text = '']) => text),
  )
  return fullest(rows, (row) => JSON.stringify(row).length).map(({ row: value, number }, at) => {
    const root = rootScope({ kind: 'json', value, text: '', row: 1, line: 1, byteOffset: 0 })
    const texts = new Map(literals.map((text) => [text, text]))
    for (const name of names) {
      const { read: textOf, depth } = read.locate(name)
      for (const scope of read.scopes(root, depth)) {
        const text = textOf(scope)
        if (text) texts.set(text, madeUp(persons.get(name) ?? '', text, at + 1))
      }
    }
    return {
      name: `row ${number} of the sample`,
      document: `${JSON.stringify(wrap(onlyRead(value, texts)))}\n`,
    }
  })
}

/** The document without what the mapping does not read; elements of lists keep their places. */
function onlyRead(value: JsonValue, texts: ReadonlyMap<string, string>): JsonValue {
  if (typeof value === 'string') return texts.get(value.trim()) ?? null
  if (typeof value !== 'object' || value === null) return value
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
