/** The law of drafts: a mapping accepts what a draft writes, whatever the shape of the file that holds the table. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { load } from '../../../../test/transform/mapping-under-test.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { readSample } from '../../src/draft/read-sample.ts'
import { draftText } from '../../src/draft/write-draft.ts'
import { vocabulary } from '../draft/drafting.ts'
import { inventVendors } from './vendors.ts'

type Row = Readonly<Record<string, string>>
const SHAPES: Readonly<Record<string, (rows: readonly Row[]) => unknown>> = {
  'a list': (rows) => ({ rows }),
  'lists of one, as of XML': (rows) => ({
    Export: {
      Row: rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, text]) => [key, [text]]))),
    },
  }),
  'visits of people': (rows) => ({
    people: rows.map((row, at) => ({ number: `N-${at}`, visits: [row, row] })),
  }),
}

const PARTS = [
  'glucose_flag',
  'ferritin_sign',
  'glucose_comment',
  'Weight Source',
  'Result Status',
  'Time Zone',
]
const BESIDE = [
  ['patient_id', 'visit_date', 'glucose', 'ferritin', 'weight', 'hba1c', ...PARTS],
  ['P-1', '2026-02-04', '90', '100', '180', '5.1', 'H', '<', 'see note', 'scale', 'final', 'UTC'],
  ['P-2', '2026-02-05', '95', '90', '170', '5.4', 'L', '>', 'late', 'said', 'preliminary', 'UTC'],
]
  .map((cells) => cells.join())
  .join('\n')

const TABLES = [BESIDE, ...inventVendors(12, 20260301).map(({ csv }) => csv)]

it.each(Object.entries(SHAPES))('drafts of %s compile', async (_, shape) => {
  const folder = await temporaryFolder()
  for (const [at, csv] of TABLES.entries()) {
    const rows: Row[] = parse(csv, { columns: true, bom: true, relax_column_count: true })
    const path = join(folder, `${at}.json`)
    await writeFile(path, JSON.stringify(shape(rows.slice(0, 60))))
    const { draft } = draftSample('tried', 'x.json', await readSample(path, vocabulary), vocabulary)
    const text = draftText(draft, 's.json')
    // A draft without a rule is a skeleton, which says what was seen.
    if (draft.found.length > 0) expect(() => load(text), text).not.toThrow()
    if (at === 0) expect(draft.found).toContain('glucose')
  }
})
