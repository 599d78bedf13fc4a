/** The first rows of an export, as a `read` block would read it. */
import { openExport } from '../../extract/open-export.ts'
import { readDefinition } from '../../extract/read-definition.ts'
import type { Row } from '../../model/row.ts'
import { SAMPLED_ROWS } from './sample.ts'

export interface OpenedSample {
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

/** @throws WaybillError as opening an export does */
export async function openSample(path: string, read: object): Promise<OpenedSample> {
  const opened = await openExport(path, readDefinition.parse(read))
  const rows: Row[] = []
  for await (const block of opened.rows()) {
    rows.push(...block)
    if (rows.length >= SAMPLED_ROWS) break
  }
  return { columns: opened.columns ?? [], rows: rows.slice(0, SAMPLED_ROWS) }
}
