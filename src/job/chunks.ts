/** Cuts an export's rows into chunks, mapping them on the way. The same rows and mapping give the same chunks. */
import { createEntries, type Entry } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { RowOutcome } from '../model/record.ts'
import type { Origin, Row } from '../model/row.ts'
import type { RowMapper } from '../transform/compile.ts'

/** A chunk closes with the row that brings it to so many rows or records: what memory holds at a time. */
export const CHUNK_SIZE = 2_500

export interface ChunkRow {
  readonly source: Row
  readonly outcome: RowOutcome
}

export interface Chunk {
  /** From 1, within the export. */
  readonly number: number
  /** Origin of its first row. */
  readonly start: Origin
  readonly rows: readonly ChunkRow[]
  readonly entries: readonly Entry[]
}

export interface ChunkRange {
  /** Number of the first chunk to cut. */
  readonly number: number
  /** Rows to pass over at the start: those of a chunk that is settled. */
  readonly skip: number
  /** Rows to take at most. */
  readonly limit: number
  /** Rows of a chunk that was cut before, by its number: it is cut the same again, whatever the size is by now. */
  readonly cutBefore: ReadonlyMap<number, number>
}

export async function* cutChunks(
  blocks: AsyncIterable<readonly Row[]>,
  mapper: RowMapper,
  identity: Identity,
  exportId: string,
  range: ChunkRange,
): AsyncGenerator<Chunk> {
  let { number, skip, limit } = range
  let rows: ChunkRow[] = []
  let entries: Entry[] = []
  let made = 0
  for await (const block of blocks) {
    for (const source of block) {
      if (skip > 0) {
        skip--
        continue
      }
      if (limit-- <= 0) break
      const outcome = mapper(source)
      rows.push({ source, outcome })
      if (outcome.outcome === 'mapped') {
        for (const entry of createEntries(identity, exportId, outcome)) entries.push(entry)
        made += outcome.records.length + outcome.rejected.length
      }
      const known = range.cutBefore.get(number)
      if (known === undefined ? Math.max(rows.length, made) >= CHUNK_SIZE : rows.length >= known) {
        yield { number: number++, start: startOf(rows), rows, entries }
        rows = []
        entries = []
        made = 0
      }
    }
    if (limit < 0) break
  }
  if (rows.length > 0) yield { number, start: startOf(rows), rows, entries }
}

function startOf([first]: readonly ChunkRow[]): Origin {
  const { row, line, byteOffset } = first?.source ?? { row: 1, line: 1, byteOffset: 0 }
  return { row, line, byteOffset }
}
