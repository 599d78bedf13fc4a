/** Reads the first rows of a sample that is a workbook, having found the sheet and its header; of any other sample as `readSample` does. */
import { filledSheets } from '../../extract/open-xlsx.ts'
import { isPacked } from '../../extract/xlsx-package.ts'
import { WaybillError } from '../../model/errors.ts'
import type { Vocabulary } from './names.ts'
import {
  attempt,
  cellsOf,
  faultNotes,
  type OpenedSample,
  openSample,
  readSample,
  type Sample,
  tableOf,
} from './read-sample.ts'
import { belowHeader, headerBehindTitles } from './sample-layout.ts'
import { list } from './write-draft.ts'

/** Rows among which a header is looked for. */
const LOOKED_AT = 60

type Words = Pick<Vocabulary, 'naming' | 'words'>

/** @throws WaybillError as `readSample` */
export async function readAnySample(path: string, vocabulary: Words): Promise<Sample> {
  if (!(await isPacked(path))) return readSample(path, vocabulary)
  const sheets = await filledSheets(path)
  const found: { sheet: string | undefined; raw: OpenedSample }[] = []
  for (const sheet of sheets) {
    // Each row, however wide.
    const raw = await openSample(path, { ...SHEET, sheet, header: 'none', columns: ['-'], below: 'rows' })
    found.push({ sheet: sheets.length > 1 ? sheet : undefined, raw })
  }
  const cellsIn = ({ rows }: OpenedSample): number => rows.reduce((sum, row) => sum + cellsOf(row).length, 0)
  const [first, ...others] = found
  if (first === undefined)
    throw new WaybillError('export-empty', 'No sheet of the workbook holds anything.', {
      place: { file: path },
    })
  const { sheet, raw } = others.reduce(
    (most, one) => (cellsIn(one.raw) > cellsIn(most.raw) ? one : most),
    first,
  )
  const named = sheets.map((name) => JSON.stringify(name)).join(', ')
  const notes =
    sheet === undefined ? [] : [`DECIDE: several sheets hold something (${named}). Is this the one?`]
  return { kind: 'table', table: await tableIn(path, sheet, raw, notes, vocabulary) }
}

const SHEET = { format: 'xlsx' } as const

async function tableIn(
  path: string,
  sheet: string | undefined,
  { rows: raw }: OpenedSample,
  before: readonly string[],
  vocabulary: Words,
) {
  const records = raw.slice(0, LOOKED_AT).map(cellsOf)
  const width = Math.max(...records.map((cells) => cells.length))
  const padded = records.map((cells) => Array.from({ length: width }, (_, at) => cells[at] ?? ''))
  const at = headerBehindTitles(padded) ?? 0
  const { skip, called, notes: told } = belowHeader(records.slice(at + 1), vocabulary)
  const place = {
    ...(at > 0 ? { line: raw[at]?.line } : {}),
    ...(skip === 0 ? {} : { skip }),
  }
  const base = {
    ...{ ...SHEET, ...(sheet === undefined ? {} : { sheet }) },
    ...(Object.keys(place).length === 0 ? {} : { header: place }),
  }
  const columns = padded[at]?.map((name, column) => name.trim() || `column_${column + 1}`) ?? []
  const repeated = new Set(columns).size < columns.length ? { duplicates: 'number' } : {}
  const tried = [{}, { below: 'nothing' }, { columns }, { below: 'nothing', columns }]
  let [read, opened]: [object, OpenedSample | undefined] = [base, undefined]
  for (const more of tried) {
    read = { ...base, ...repeated, ...more }
    opened = await attempt(path, read)
    if (opened !== undefined) break
  }
  opened ??= await openSample(path, base)
  const notes = [
    ...before,
    ...told,
    ...('below' in read
      ? ['DECIDE: below the table stands something else, which is not read. Is that right, in each file?']
      : []),
    ...('columns' in read ? ['DECIDE: cells of the header are merged; name the columns here.'] : []),
    ...opened.notes.map((note) => `DECIDE: ${note}.`),
    ...faultNotes(opened.rows),
  ]
  return tableOf(readLines(read), notes, opened.columns, called, opened.rows)
}

const readLines = (read: object): string[] =>
  Object.entries(read).map(([key, value]) => {
    if (Array.isArray(value)) return `${key}: ${list(value)}`
    if (typeof value === 'string') return `${key}: ${key === 'sheet' ? JSON.stringify(value) : value}`
    const members = Object.entries(value).map(([name, inner]) => `${name}: ${inner}`)
    return `${key}: { ${members.join(', ')} }`
  })
