/** Exports written to a folder of their own for one test, and all the rows of an export. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import type { Origin, Row } from '../../src/model/row.ts'
import { temporaryFolder } from '../temporary-folder.ts'

export const CSV = readDefinition.parse({ format: 'csv' })
export const NDJSON = readDefinition.parse({ format: 'ndjson' })

export async function exportFile(content: string | Uint8Array, name = 'export.csv'): Promise<string> {
  const path = join(await temporaryFolder(), name)
  await writeFile(path, content)
  return path
}

export async function allRows(path: string, read = CSV, from?: Origin): Promise<Row[]> {
  return collect((await openExport(path, read)).rows(from))
}

export async function collect(blocks: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const block of blocks) rows.push(...block)
  return rows
}

export async function rowsOf(content: string | Uint8Array, read = CSV): Promise<Row[]> {
  return allRows(await exportFile(content), read)
}

/** A row in short: its cells, or its fault. */
export function brief(row: Row): unknown {
  if (row.kind === 'cells') return row.cells
  return row.kind === 'json' ? row.value : row.fault
}

/** A reviver for JSON.parse that keeps the source text of numbers: the slow way, to compare with. */
export function numberSource(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' ? context?.source : value
}
