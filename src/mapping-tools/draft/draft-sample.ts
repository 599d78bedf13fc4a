/** The draft of a mapping for whatever a sample turned out to be, and the rows of its cases; where in JSON the rows are. */
import type { JsonValue } from '../../model/row.ts'
import { draftBundle, isPatientBundle } from './draft-bundle.ts'
import { draftShape, type JsonSample } from './draft-json.ts'
import { draftRecords, recordLines } from './draft-records.ts'
import { draftTable } from './draft-table.ts'
import { type JsonShape, readShapes, shapeByNames } from './json-shapes.ts'
import type { Column, Sample, SampleTable } from './read-sample.ts'
import type { Vocabulary } from './vocabulary.ts'
import { type Draft, step } from './write-draft.ts'

export interface DraftedSample {
  readonly draft: Draft
  readonly rows:
    | { readonly kind: 'table'; readonly table: SampleTable }
    | { readonly kind: 'json'; readonly sample: JsonSample }
}

/** @param file name of the sample, without folders */
export function draftSample(
  name: string,
  file: string,
  sample: Sample,
  vocabulary: Vocabulary,
  shapes: readonly JsonShape[] = readShapes(),
): DraftedSample {
  if (sample.kind === 'table')
    return {
      draft: draftTable(name, file, sample.table, vocabulary),
      rows: { kind: 'table', table: sample.table },
    }
  if (sample.kind === 'records') {
    const { documents: rows, notes } = sample
    const read = { read: recordLines(sample), notes, rows, wrap: (row: JsonValue) => row }
    return { draft: draftRecords(name, file, sample, vocabulary), rows: { kind: 'json', sample: read } }
  }
  const whole: JsonSample = {
    read: [`format: ${sample.format}`],
    notes: [],
    rows: sample.documents,
    wrap: (row) => row,
  }
  const [document = null] = sample.documents
  const within = sample.format === 'json' ? jsonRows(document) : undefined
  for (const candidate of [whole, ...(within === undefined ? [] : [within])]) {
    if (candidate.rows.length > 0 && candidate.rows.every(isPatientBundle))
      return {
        draft: draftBundle(name, file, candidate, vocabulary),
        rows: { kind: 'json', sample: candidate },
      }
    const shape = shapeOf(candidate.rows, shapes, vocabulary)
    if (shape === undefined) continue
    const rows = candidate.rows.filter(shape.recognises)
    const others = candidate.rows.length - rows.length
    const kept =
      others === 0
        ? candidate
        : { ...candidate, rows, notes: [...candidate.notes, `${others} rows are something else.`] }
    return { draft: draftShape(name, file, kept, shape, vocabulary), rows: { kind: 'json', sample: kept } }
  }
  const flat = within ?? whole
  return { draft: draftTable(name, file, jsonTable(flat), vocabulary), rows: { kind: 'json', sample: flat } }
}

/** The shape that most rows have. */
function shapeOf(
  rows: readonly JsonValue[],
  shapes: readonly JsonShape[],
  vocabulary: Vocabulary,
): JsonShape | undefined {
  const counted = shapes.map((shape) => ({ shape, count: rows.filter(shape.recognises).length }))
  const best = counted.reduce((most, one) => (one.count > most.count ? one : most))
  return best.count > 0 && best.count >= rows.length / 4 ? best.shape : shapeByNames(rows, vocabulary)
}

type Members = Readonly<Record<string, JsonValue>>

const isObject = (value: JsonValue | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const DEEPEST = 4
const MOST_COLUMNS = 300

/** @param document the only one of a JSON file */
function jsonRows(document: JsonValue): JsonSample {
  const lists = listsOf(document, '$', 0)
  const [longest, ...others] = lists.sort((a, b) => b.elements.length - a.elements.length)
  if (longest === undefined)
    return { read: ['format: json'], notes: [], rows: [document], wrap: (row) => row }
  const bundle = isObject(document) && document['resourceType'] === 'Bundle' && longest.path === '$.entry'
  const rows = bundle
    ? longest.elements.flatMap((entry) => (isObject(entry) ? (entry['resource'] ?? []) : []))
    : longest.elements
  return {
    read: ['format: json', `records: ${JSON.stringify(`${longest.path}[*]${bundle ? '.resource' : ''}`)}`],
    notes:
      others.length === 0 ? [] : [`Other lists in the file: ${others.map(({ path }) => path).join(', ')}.`],
    rows,
    wrap: (row) => longest.wrap([bundle ? { resource: row } : row]),
  }
}

interface Listed {
  readonly path: string
  readonly elements: readonly JsonValue[]
  /** A document that has these elements there, and nothing else. */
  readonly wrap: (elements: readonly JsonValue[]) => JsonValue
}

/** Lists of objects that are not within another list. */
function listsOf(value: JsonValue, path: string, depth: number): Listed[] {
  if (Array.isArray(value)) {
    const elements = value as readonly JsonValue[]
    return elements.some(isObject) ? [{ path, elements, wrap: (some) => some }] : []
  }
  if (!isObject(value) || depth === DEEPEST) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    listsOf(inner, path + step(name), depth + 1).map((listed) => ({
      ...listed,
      wrap: (elements: readonly JsonValue[]) => ({ [name]: listed.wrap(elements) }),
    })),
  )
}

/** Members of the rows that are no lists, as columns; a list within a row is noted. */
function jsonTable(sample: JsonSample): SampleTable {
  const columns = new Map<string, Column>()
  const lists = new Set<string>()
  const cells = sample.rows.map((row) => {
    const found = new Map<string, string>()
    for (const { path, name, text } of membersOf(row, '$', '', 0)) {
      if (text === undefined) lists.add(`"${path}[*]"`)
      else {
        if (!columns.has(path) && columns.size < MOST_COLUMNS) columns.set(path, { path, name })
        found.set(path, text)
      }
    }
    return found
  })
  const levels = [...lists].slice(0, 20).join(', ')
  const note = `Lists within a row, each of which could be a level (read.each): ${levels}.`
  return {
    read: sample.read,
    notes: [...sample.notes, ...(levels === '' ? [] : [note])],
    columns: [...columns.values()],
    rows: cells.map((found) => [...columns.keys()].map((path) => found.get(path) ?? '')),
  }
}

/** A member by its path: its text, or undefined where it is a list. */
interface Member extends Column {
  readonly text?: string
}

function* membersOf(value: JsonValue, path: string, name: string, depth: number): Generator<Member> {
  if (typeof value === 'string' || typeof value === 'boolean') yield { path, name, text: String(value) }
  else if (Array.isArray(value)) yield { path, name }
  else if (isObject(value) && depth < DEEPEST)
    for (const [key, inner] of Object.entries(value))
      yield* membersOf(inner, path + step(key), key, depth + 1)
}
