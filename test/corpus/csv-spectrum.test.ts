import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, CSV, exportFile } from '../extract/export-file.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { corpusPath, WITHOUT_CORPUS } from './corpus-file.ts'

const file = (name: string): string => corpusPath('csv/csv-spectrum', name)

/** Quotes in cells without quotes, which RFC 4180 (2.5) does not allow; its JSON answer has them as text. */
const LENIENT = 'location_coordinates.csv'

/** The answer of the same file has another phone number than the file: an oddity of the collection. */
function withoutPhone(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'Contact Phone Number'))
}

describe('csv-spectrum', NEEDS_CORPUS, () => {
  const names = WITHOUT_CORPUS ? [] : readdirSync(file('csvs'))

  test('has the files that are known', () => {
    expect(names).toHaveLength(12)
  })

  test.each(names)('%s has the rows of its JSON answer, with the delimiter given or found', async (name) => {
    const content = readFileSync(file(`csvs/${name}`), 'utf8')
    // The collection holds the CR LF files with LF.
    const path = await exportFile(name.includes('_crlf') ? content.replace(/\r?\n/g, '\r\n') : content)
    const answer: unknown = JSON.parse(readFileSync(file(`json/${name.replace('.csv', '.json')}`), 'utf8'))
    for (const delimiter of [',', 'auto']) {
      const quotes = name === LENIENT ? 'lenient' : 'strict'
      const read = readDefinition.parse({ format: 'csv', delimiter, quotes })
      const { columns = [] } = await openExport(path, read)
      const rows = (await allRows(path, read)).map((row) =>
        Object.fromEntries(row.kind === 'cells' ? columns.map((column, at) => [column, row.cells[at]]) : []),
      )
      expect(rows.map(withoutPhone)).toEqual((Array.isArray(answer) ? answer : [answer]).map(withoutPhone))
    }
  })

  test('quotes inside cells are refused unless the mapping allows them', async () => {
    const rows = await allRows(file(`csvs/${LENIENT}`), CSV)
    expect(rows.map(brief)).toEqual(['row-quote-broken'])
    expect(rows[0]).toMatchObject({ line: 2, message: 'a quote inside a cell, at column 22' })
  })
})
