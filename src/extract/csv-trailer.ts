/**
 * The trailer of a CSV: the last lines, which are no data rows and may state how many of those there are.
 * It is found from the end before the first row is read, so that a row is never taken for the trailer, or the trailer for a row.
 */
import { WaybillError } from '../model/errors.ts'
import type { CsvDefinition } from './read-definition.ts'

/** The trailer must stand within the last so many bytes. */
export const TAIL_BYTES = 64 * 1024

type TrailerDefinition = NonNullable<CsvDefinition['trailer']>

export interface Trailer {
  /** Offset in the content at which it starts: where the rows end. */
  readonly byteOffset: number
  /** Its first line. */
  readonly text: string
}

/**
 * @param content from `from` on to its end; only the last of it is held
 * @param isStart whether a line starts at `from`
 * @throws WaybillError `export-unreadable` where the export does not end with it
 */
export async function findTrailer(
  path: string,
  definition: TrailerDefinition,
  content: AsyncIterable<Buffer>,
  from: number,
  isStart: boolean,
): Promise<Trailer> {
  let tail: Buffer = Buffer.alloc(0)
  let offset = from
  for await (const chunk of content) {
    const joined = Buffer.concat([tail, chunk])
    const dropped = Math.max(0, joined.length - TAIL_BYTES)
    tail = joined.subarray(dropped)
    offset += dropped
  }
  const whole = isStart && offset === from
  const lines = [...tail.toString('latin1').matchAll(/[^\r\n]+/g)]
    .slice(whole ? 0 : 1)
    .map(({ index, 0: line }) => ({
      byteOffset: offset + index,
      text: tail.toString('utf8', index, index + line.length),
    }))
    .filter(({ text }) => text.trim() !== '')
  const length = trailerLength(
    definition,
    lines.map(({ text }) => text),
  )
  const first = lines.at(-length)
  if (length === 0 || first === undefined)
    throw missing(path, 'does not end with the trailer that `read.trailer` describes: it may be cut off')
  if (length === lines.length && !whole) throw missing(path, 'has a trailer longer than 64 KiB')
  return first
}

/** How many of the last lines are the trailer. */
function trailerLength({ match, lines = 0 }: TrailerDefinition, texts: readonly string[]): number {
  if (match === undefined) return lines
  const pattern = new RegExp(match, 'u')
  return texts.length - 1 - texts.findLastIndex((text) => !pattern.test(text))
}

/**
 * The number in the trailer's cell: its only run of digits.
 * @param cells those of the trailer's first line
 * @throws WaybillError `export-unreadable` where there is none, or more than one
 */
export function statedCount(path: string, cell: number, cells: readonly string[]): number {
  const digits = /^\D*(\d{1,15})\D*$/.exec(cells[cell - 1] ?? '')?.[1]
  if (digits === undefined)
    throw missing(path, `states no number of rows in cell ${cell} of its trailer (\`read.trailer.count\`)`)
  return Number(digits)
}

function missing(path: string, what: string): WaybillError {
  return new WaybillError('export-unreadable', `The export ${what}.`, { place: { file: path } })
}
