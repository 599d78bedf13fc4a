/** Reads the first rows of a workbook, after finding sheet and header, or of any other sample. */
import { filledSheets } from '../../../../src/extract/open-xlsx.ts'
import { isPacked } from '../../../../src/extract/xlsx-package.ts'
import { WaybillError } from '../../../../src/model/errors.ts'
import {
  attempt,
  belowHeader,
  cellsOf,
  faultNotes,
  headerBehindTitles,
  type OpenedSample,
  openSample,
  readSample,
  type Sample,
  type SampleTable,
  tableOf,
} from './read-sample.ts'
import type { Vocabulary } from './vocabulary.ts'
import type { ReadBlock } from './write-draft.ts'

const LOOKED_AT = 60

type Words = Pick<Vocabulary, 'naming' | 'words'>

/** Reads a sample. @throws WaybillError as `readSample` */
export async function readAnySample(path: string, vocabulary: Words): Promise<Sample> {
  if (!(await isPacked(path))) return readSample(path, vocabulary)
  const sheets = await filledSheets(path)
  const found: { sheet: string | undefined; raw: OpenedSample; cells: number }[] = []
  for (const name of sheets) {
    const sheet = sheets.length > 1 ? name : undefined
    // Reads each row, of any width.
    const raw = await openSample(path, { ...SHEET, sheet, header: 'none', columns: ['-'], below: 'rows' })
    found.push({ sheet, raw, cells: raw.rows.reduce((sum, row) => sum + cellsOf(row).length, 0) })
  }
  const [fullest] = found.sort((a, b) => b.cells - a.cells)
  if (fullest === undefined)
    throw new WaybillError('export-empty', 'All sheets of the workbook are empty.', {
      place: { file: path },
    })
  const named = sheets.map((name) => JSON.stringify(name)).join(', ')
  const asked = `DECIDE: several sheets have content (${named}). Is this the right one?`
  const { sheet, raw } = fullest
  return {
    kind: 'table',
    table: await tableIn(path, sheet, raw, sheet === undefined ? [] : [asked], vocabulary),
  }
}

const SHEET = { format: 'xlsx' }

async function tableIn(
  path: string,
  sheet: string | undefined,
  { rows: raw }: OpenedSample,
  before: readonly string[],
  vocabulary: Words,
): Promise<SampleTable> {
  const records = raw.slice(0, LOOKED_AT).map(cellsOf)
  const width = Math.max(...records.map((cells) => cells.length))
  const padded = records.map((cells) => Array.from({ length: width }, (_, at) => cells[at] ?? ''))
  const at = headerBehindTitles(padded) ?? 0
  const { skip, called, notes: headerNotes } = belowHeader(records.slice(at + 1), vocabulary)
  const header = {
    ...(at > 0 ? { line: raw[at]?.line } : {}),
    ...(skip === 0 ? {} : { skip }),
  }
  const columns = padded[at]?.map((name, column) => name.trim() || `column_${column + 1}`) ?? []
  const base = {
    ...SHEET,
    sheet,
    ...(Object.keys(header).length === 0 ? {} : { header }),
    ...(new Set(columns).size < columns.length ? { duplicates: 'number' } : {}),
  }
  const tried = [{}, { below: 'nothing' }, { columns }, { below: 'nothing', columns }]
  let [read, opened]: [ReadBlock, OpenedSample | undefined] = [base, undefined]
  for (const more of tried) {
    read = { ...base, ...more }
    opened = await attempt(path, read)
    if (opened !== undefined) break
  }
  opened ??= await openSample(path, base)
  const notes = [
    ...before,
    ...headerNotes,
    ...('below' in read ? ['DECIDE: content below the table is not read. Is this right in every file?'] : []),
    ...('columns' in read ? ['DECIDE: cells of the header are merged; name the columns here.'] : []),
    ...opened.notes.map((note) => `DECIDE: ${note}.`),
    ...faultNotes(opened.rows),
  ]
  return tableOf(read, notes, opened.columns, called, opened.rows)
}
