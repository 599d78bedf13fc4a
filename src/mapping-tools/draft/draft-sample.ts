/** The draft of a mapping for whatever a sample turned out to be, and the rows of its cases. */
import type { JsonValue } from '../../model/row.ts'
import { draftShape, type JsonSample } from './draft-json.ts'
import { draftTable } from './draft-table.ts'
import { jsonRows, jsonTable } from './json-rows.ts'
import { SHAPES } from './json-shapes.ts'
import type { Vocabulary } from './match-measurements.ts'
import type { Sample } from './read-sample.ts'
import type { SampleTable } from './sample.ts'
import type { Draft } from './write-draft.ts'

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
): DraftedSample {
  if (sample.kind === 'table')
    return {
      draft: draftTable(name, file, sample.table, vocabulary),
      rows: { kind: 'table', table: sample.table },
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
    const shape = shapeOf(candidate.rows)
    if (shape === undefined) continue
    const rows = candidate.rows.filter((row) => shape.recognise(row))
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
function shapeOf(rows: readonly JsonValue[]): (typeof SHAPES)[number] | undefined {
  const counted = SHAPES.map((shape) => ({ shape, count: rows.filter((row) => shape.recognise(row)).length }))
  const best = counted.reduce((most, one) => (one.count > most.count ? one : most))
  return best.count > 0 && best.count >= rows.length / 4 ? best.shape : undefined
}
