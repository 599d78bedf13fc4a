/** The rows of one export as two mappings read them, side by side, one block at a time. */
import { isDeepStrictEqual } from 'node:util'
import type { OpenExport } from '../extract/open-export.ts'
import type { ReadDefinition } from '../extract/read-definition.ts'
import type { Row } from '../model/row.ts'

/** Undefined: where one reading has fewer rows. */
export type RowPair = readonly [before: Row | undefined, after: Row | undefined]

export interface Reading {
  readonly read: ReadDefinition
  readonly opened: OpenExport
}

/** Where both read alike, the export is read once; otherwise rows that begin at the same place are paired. */
export async function* rowPairs(before: Reading, after: Reading): AsyncGenerator<readonly RowPair[]> {
  if (isDeepStrictEqual(before.read, after.read)) {
    for await (const block of before.opened.rows()) yield block.map((row) => [row, row] as const)
    return
  }
  const old = singly(before.opened.rows())
  const now = singly(after.opened.rows())
  // Offsets are of the decoded content, so of a CSV that two mappings decode differently the lines alone are comparable.
  const byLine = before.read.format === 'csv' && after.read.format === 'csv'
  const placeOf = (row: Row | undefined): number =>
    row === undefined ? Number.POSITIVE_INFINITY : byLine ? row.line : row.byteOffset
  try {
    let [one, other] = [await next(old), await next(now)]
    while (one !== undefined || other !== undefined) {
      const lead = placeOf(one) - placeOf(other)
      yield [[lead > 0 ? undefined : one, lead < 0 ? undefined : other]]
      if (!(lead > 0)) one = await next(old)
      if (!(lead < 0)) other = await next(now)
    }
  } finally {
    await Promise.all([old.return(undefined), now.return(undefined)])
  }
}

const next = async (rows: AsyncGenerator<Row, undefined>): Promise<Row | undefined> =>
  (await rows.next()).value

async function* singly(blocks: AsyncIterable<readonly Row[]>): AsyncGenerator<Row, undefined> {
  for await (const block of blocks) yield* block
  return undefined
}
