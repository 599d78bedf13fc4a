/** Some rows of an export, found at their places: ten rejects of a million rows are read without reading the million. */
import type { OpenExport } from '../extract/open-export.ts'
import type { LeftRow } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { Origin, Row } from '../model/row.ts'
import type { RowMapper } from '../transform/compile.ts'

/** Places that are held in memory. */
const PLACES_AT_ONCE = 500
/** Where the next row is further away than so many bytes, reading begins anew there; up to that, reading on is quicker. */
const NEAR_BYTES = 256 * 1024

/** @param places those behind an offset, in their order, so many at most */
export function selectRows(
  opened: OpenExport,
  places: (after: number, limit: number) => Promise<readonly LeftRow[]>,
): OpenExport {
  return {
    ...opened,
    rows: (from) => readSelected(opened, createPlaces(places, from)),
    controlTotal: async () => undefined,
  }
}

interface Places {
  next(): Promise<LeftRow | undefined>
}

function createPlaces(
  places: (after: number, limit: number) => Promise<readonly LeftRow[]>,
  from: Origin | undefined,
): Places {
  let page: readonly LeftRow[] = []
  let at = 0
  let after = from === undefined ? -1 : from.byteOffset - 1
  return {
    async next() {
      if (at === page.length) {
        page = await places(after, PLACES_AT_ONCE)
        at = 0
      }
      const place = page[at++]
      if (place !== undefined) after = place.byteOffset
      return place
    },
  }
}

async function* readSelected(opened: OpenExport, places: Places): AsyncGenerator<readonly Row[]> {
  let wanted = await places.next()
  while (wanted !== undefined) {
    const begun: LeftRow = wanted
    for await (const block of opened.rows(begun)) {
      const found: Row[] = []
      for (const row of block) {
        if (row.byteOffset !== wanted?.byteOffset) continue
        found.push(row)
        wanted = await places.next()
      }
      if (found.length > 0) yield found
      const last = block.at(-1)?.byteOffset ?? 0
      if (wanted === undefined || (opened.seekable && wanted.byteOffset - last > NEAR_BYTES)) break
    }
    if (wanted === begun)
      throw new WaybillError('export-changed', `there is no row ${begun.row} where the ledger has it`)
  }
}

/** Of each row the records with these contents alone; what else it gives is of no concern. */
export function keepContents(
  mapper: RowMapper,
  identity: Identity,
  contents: ReadonlySet<string>,
): RowMapper {
  return (row) => {
    const outcome = mapper(row)
    if (outcome.outcome !== 'mapped') return outcome
    const records = outcome.records.filter((record) => contents.has(identity.content(record)))
    return { ...outcome, records, rejected: [], warnings: [] }
  }
}
