/** Reads the first rows of a sample, having found out what it is: CSV in its dialect, or JSON. */
import type { JsonValue } from '../../model/row.ts'
import { openSample } from './open-sample.ts'
import { readCsvSample } from './read-csv-sample.ts'
import type { SampleTable } from './sample.ts'

export type Sample =
  | { readonly kind: 'table'; readonly table: SampleTable }
  | { readonly kind: 'json'; readonly format: 'json' | 'ndjson'; readonly documents: readonly JsonValue[] }

/** @throws WaybillError as opening an export does; `export-unreadable` where it is neither CSV nor JSON */
export async function readSample(path: string): Promise<Sample> {
  const ndjson = await documentsOf(path, 'ndjson')
  if (ndjson !== undefined && (ndjson.length > 1 || /\.(ndjson|jsonl)(\.\w+)?$/i.test(path)))
    return { kind: 'json', format: 'ndjson', documents: ndjson }
  const json = ndjson ?? (await documentsOf(path, 'json'))
  if (json !== undefined) return { kind: 'json', format: 'json', documents: json }
  return { kind: 'table', table: await readCsvSample(path) }
}

/** Undefined where it is not JSON of objects or lists. */
async function documentsOf(path: string, format: 'json' | 'ndjson'): Promise<JsonValue[] | undefined> {
  const { rows } = await openSample(path, { format })
  const documents = rows.flatMap((row) => (row.kind === 'json' ? [row.value] : []))
  const structured = documents.every((document) => typeof document === 'object' && document !== null)
  return structured && documents.length > rows.length / 2 ? documents : undefined
}
