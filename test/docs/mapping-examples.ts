/**
 * The examples of docs/mapping.md: a mapping, or a part of one, and below it rows with what becomes of them
 * (`cells → rule: fact, fact; rule: fact`).
 */
import { parse as parseCsv } from 'csv-parse/sync'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import type { LoadedMapping } from '../../src/definitions/definition-files.ts'
import { readJson } from '../../src/extract/open-json.ts'
import type { RowOutcome } from '../../src/model/entry.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { load, mapped, NOW, ORIGIN, wire } from '../transform/mapping-under-test.ts'

const Keys = z.record(z.string(), z.unknown())

/** Cells by column; of JSON, the text of the document as `document`. */
type Source = Readonly<Record<string, string>>

export interface Result {
  readonly name: string
  readonly facts: readonly string[]
}

interface ExampleRow {
  readonly line: string
  readonly source: Source
  readonly expected: readonly Result[]
}

export interface Example {
  /** The line that tells it from others. */
  readonly first: string
  /** Completed where it is a part; with the file shown below it, where it joins one. */
  readonly load: () => LoadedMapping
  readonly map: (source: Source) => RowOutcome
  readonly rows: readonly ExampleRow[]
}

/** What rows have that do not show it. */
const VISIT = { participant: 'P-17', visited: '02/04/2026 09:10' }

export function mappingExamples(text: string): Example[] {
  const fenced = [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language, body = '']) => ({
    language,
    body,
  }))
  const first = Keys.parse(parse(fenced.find(({ language }) => language === 'yaml')?.body ?? ''))
  return fenced.flatMap(({ language, body }, at): Example[] => {
    if (language !== 'yaml' || isCases(body)) return []
    const [joined] = fenced.slice(at + 1, at + 2).filter((one) => one.language === 'csv')
    const next = fenced[at + (joined === undefined ? 1 : 2)]
    const rows = next?.language === 'text' ? exampleRows(next.body) : []
    const mapping = completed(body, first)
    const title = body.split('\n').find((line) => !/^(row:|biometrics:|read:)?\s*$/.test(line))
    let map: Example['map'] | undefined
    const mapOnce: Example['map'] = (source) => {
      map ??= mapper(loaded(), rows)
      return map(source)
    }
    const loaded = (): LoadedMapping =>
      joinedWith(load(mapping, { providers: joined?.body ?? 'a,b\n' }), joined?.body)
    return [{ first: title?.trim() ?? '', load: loaded, map: mapOnce, rows }]
  })
}

const isCases = (yaml: string): boolean => 'cases' in Keys.parse(parse(yaml))

/** The examples of cases, with the mapping that the page begins with. */
export function caseExamples(text: string): { mapping: string; cases: string }[] {
  const yaml = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, body = '']) => body)
  const [mapping = ''] = yaml
  return yaml.filter(isCases).map((cases) => ({ mapping, cases }))
}

/** An example that is not whole, read as if its parts stood in the first one. */
function completed(example: string, first: Record<string, unknown>): string {
  const part = Keys.parse(parse(example))
  if ('mapping' in part) return example
  const row = { ...Keys.parse(first['row']), ...Keys.parse(part['row'] ?? {}) }
  // Where it has rules, they alone apply, so that its rows show nothing else.
  const hasRules = ['biometrics', 'conditions', 'careTeams'].some((section) => section in part)
  const rest = hasRules ? { mapping: first['mapping'], read: first['read'] } : first
  return stringify({ ...rest, ...part, row })
}

/** What a second export would be: the file that an example shows. */
function joinedWith(mapping: LoadedMapping, file: string | undefined): LoadedMapping {
  if (mapping.joins.length === 0 || file === undefined) return mapping
  const [columns = [], ...cells] = z.array(z.array(z.string())).parse(parseCsv(file))
  const kept = mapping.joins.map((join) => {
    const read = join.bind(columns, 'providers.csv')
    const rows = cells.flatMap((row) => read({ ...ORIGIN, kind: 'cells', cells: row }) ?? [])
    return [
      join.name,
      { fields: join.fields, rows: new Map(rows.map((row) => [row.key, row.cells])) },
    ] as const
  })
  return mapping.withJoins({}, new Map(kept))
}

function mapper({ compiled, read, definition }: LoadedMapping, rows: readonly ExampleRow[]): Example['map'] {
  if (read.format !== 'csv') {
    const map = compiled.bind(undefined, 'export.json', NOW)
    return (source) => map({ ...ORIGIN, kind: 'json', value: parsed(source), text: '' })
  }
  // Every word of the mapping may be a column.
  const columns = [...new Set([...words(definition), ...rows.flatMap(({ source }) => Object.keys(source))])]
  const map = compiled.bind(columns, 'export.csv', NOW)
  return (source) => {
    const row: Source = { ...VISIT, ...source }
    return map({ ...ORIGIN, kind: 'cells', cells: columns.map((column) => row[column] ?? '') })
  }
}

function parsed(source: Source): JsonValue {
  const read = readJson(source['document'] ?? '')
  if (!('value' in read)) throw new Error(`an example is ${read.problem}`)
  return read.value
}

const words = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Array.isArray(value)
    ? value.flatMap(words)
    : Object.entries(value).flatMap(([key, inner]) => [key, ...words(inner)])
}

function exampleRows(body: string): ExampleRow[] {
  let first: Source = {}
  return body
    .trimEnd()
    .split('\n')
    .map((line, at) => {
      const [left = '', right = ''] = line.split(' → ')
      const source = left.startsWith('{')
        ? { document: left }
        : { ...(left.startsWith('… |') ? first : {}), ...cells(left.replace(/^… \|/, '')) }
      if (at === 0) first = source
      return { line: line.replaceAll(/ +/g, ' '), source, expected: expectedResults(right.trim()) }
    })
}

const cells = (text: string): Source =>
  Object.fromEntries(
    text.split(' | ').map((cell) => {
      const at = cell.indexOf(':')
      return [cell.slice(0, at).trim(), cell.slice(at + 1).trim()]
    }),
  )

function expectedResults(text: string): Result[] {
  if (text === 'nothing') return []
  return text
    .split('; ')
    .map((result) => {
      const [name = '', ...facts] = result.split(/: |, /)
      return { name, facts }
    })
    .sort(byName)
}

const byName = (a: Result, b: Result): number => (a.name < b.name ? -1 : 1)

/** What became of a row, in the words of the page. */
export function results(outcome: RowOutcome): Result[] {
  if (outcome.outcome === 'skipped') return [{ name: 'row', facts: ['skipped'] }]
  if (outcome.outcome === 'rejected') return [{ name: 'row', facts: [`rejected ${outcome.issue.code}`] }]
  const rejected = outcome.rejected.map(({ rule, issue }) => ({
    name: rule,
    facts: [`rejected ${issue.code}`],
  }))
  const made = outcome.records.map((record) => {
    const body = Body.parse(wire(record))
    const { value, unit } = record.evidence
    const warned = mapped(outcome).warnings.filter(({ rule }) => rule === record.rule)
    const facts = [
      `${value} ${unit}`,
      `at ${new Date(record.observedAt).toISOString()}`,
      `low ${body.refLow}`,
      `high ${body.refHigh}`,
      `range ${body.refRange}`,
      `notes ${body.source.notes}`,
      `type ${body.type}`,
      `${body.status}`,
      `${body.npi} ${body.name}`,
      ...warned.map(({ issue }) => `warned ${issue.code}`),
    ]
    return { name: record.rule, facts }
  })
  return [...made, ...rejected].sort(byName)
}

const Body = z.looseObject({
  refLow: z.number().optional(),
  refHigh: z.number().optional(),
  refRange: z.string().optional(),
  type: z.string().optional(),
  status: z.string().optional(),
  npi: z.string().optional(),
  name: z.string(),
  source: z.looseObject({ notes: z.string().optional() }),
})
