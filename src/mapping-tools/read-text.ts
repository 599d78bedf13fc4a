/** Reads an export that is given as text. It goes through a file, as exports are read from files alone. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openExport } from '../extract/open-export.ts'
import type { ReadDefinition } from '../extract/read-definition.ts'
import type { Row } from '../model/row.ts'
import type { ReadText } from './run-cases.ts'

/** The text is UTF-8, whatever encoding the vendor's files have. */
export function textReader(read: ReadDefinition): ReadText {
  const definition = read.format === 'csv' ? { ...read, encoding: 'utf-8' as const } : read
  return async (text) => {
    const folder = await mkdtemp(join(tmpdir(), 'waybill-case-'))
    try {
      const path = join(folder, 'case')
      await writeFile(path, text)
      const opened = await openExport(path, definition)
      const rows: Row[] = []
      for await (const block of opened.rows()) rows.push(...block)
      return { columns: opened.columns, rows }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}
