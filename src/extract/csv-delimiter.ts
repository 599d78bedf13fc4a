/** The delimiter of a file whose mapping says `delimiter: auto`: by Excel's `sep=` line, or by what splits the first records alike. */
import { WaybillError } from '../model/errors.ts'
import { cellSplitter } from './csv.ts'
import { csvLineEnd, frameRecord } from './csv-frame.ts'
import { findHeader } from './csv-header.ts'
import { afterLineEnd } from './framing.ts'
import { type CsvDefinition, dialectOf } from './read-definition.ts'

const CANDIDATES: readonly string[] = [',', ';', '\t', '|']
const SAMPLE_RECORDS = 100
/** Shares of the records that must be as wide as the header, tried in turn: the strictest that tells one decides. */
const SHARES = [1, 0.9, 0.5]

/** The first of a content: UTF-8, behind the byte order mark. */
export interface Head {
  readonly bytes: Buffer
  /** Whether that is all. */
  readonly whole: boolean
}

/** `sep=;` in the first line (Excel): the delimiter, and where the next line starts. */
export function sepLine({ bytes, whole }: Head): { delimiter: string; next: number } | undefined {
  const end = csvLineEnd(bytes, 0)
  const next = end === -1 ? undefined : afterLineEnd(bytes, end, whole)
  if (next === undefined) return undefined
  const delimiter = /^sep=([\t -~])$/i.exec(bytes.toString('latin1', 0, end))?.[1]
  return delimiter === undefined ? undefined : { delimiter, next }
}

/**
 * The only one of `,` `;` tab `|` that splits header and records alike.
 * @throws WaybillError `export-unreadable` where none does, or more than one
 */
export function findDelimiter(path: string, head: Head, read: CsvDefinition): string {
  const fits = CANDIDATES.map((delimiter) => ({ delimiter, share: shareOfAlike(head, read, delimiter) }))
  for (const share of SHARES) {
    const fitting = fits.filter((one) => one.share >= share).map((one) => one.delimiter)
    if (fitting.length === 1 && fitting[0] !== undefined) return fitting[0]
    if (fitting.length > 1) throw unclear(path, `could be ${fitting.map(spelled).join(' or ')}`)
  }
  // A single column has no delimiter, and any that does not occur reads it.
  if (!CANDIDATES.some((delimiter) => head.bytes.includes(delimiter))) return ','
  throw unclear(path, `is none of ${CANDIDATES.map(spelled).join(' ')}: none splits the first records alike`)
}

/** Share of the sample's records that are as wide as the header; -1 where the header is not split at all. */
function shareOfAlike(head: Head, read: CsvDefinition, delimiter: string): number {
  const records = sampleOf(head, read, delimiter)
  const { header } = read
  const at = header === 'none' ? -1 : findHeader(header, records)
  if (at === undefined) return -1
  const width = header === 'none' ? read.columns?.length : records[at]?.length
  if (width === undefined || width < 2) return -1
  const rows = records.slice(at + 1 + (header === 'none' ? 0 : header.skip))
  return rows.length === 0 ? 1 : rows.filter((cells) => cells?.length === width).length / rows.length
}

/** The cells of the first whole records; undefined where one is broken. */
function sampleOf(
  { bytes, whole }: Head,
  read: CsvDefinition,
  delimiter: string,
): (readonly string[] | undefined)[] {
  const dialect = dialectOf(read, delimiter)
  const splitAll = cellSplitter(dialect)
  const records: (readonly string[] | undefined)[] = []
  let position = 0
  while (position < bytes.length && records.length < SAMPLE_RECORDS) {
    const frame = frameRecord(bytes, position, whole, dialect)
    if (frame === undefined) break
    if (frame.blank !== true)
      records.push(
        frame.fault === undefined ? splitAll([bytes.toString('utf8', position, frame.end)])[0] : undefined,
      )
    if (frame.next === undefined) break
    position = frame.next
  }
  return records
}

const spelled = (delimiter: string): string => (delimiter === '\t' ? 'tab' : `"${delimiter}"`)

function unclear(path: string, what: string): WaybillError {
  return new WaybillError('export-unreadable', `The delimiter ${what}.`, {
    place: { file: path },
    remedy: 'Say which it is in the mapping, for example `delimiter: ";"`.',
  })
}
