import type { DatabaseSync } from 'node:sqlite'
import { buildIndex, type Table } from './store.ts'

/** How often records with the same id are stored. */
export interface Occurrence {
  /** Transaction id; of a care team entry, which has none, its persistent record id. */
  readonly id: string
  readonly times: number
}

const PAGE = 1000

/**
 * The ids that are stored at least so often, in order of the id; records without one are left out. A page is read at a
 * time along an index, so that neither memory nor the pause of other requests grows with the table.
 */
export function* listOccurrences(store: DatabaseSync, table: Table, min: number): Generator<Occurrence> {
  const id = table === 'care_teams' ? 'persistent_id' : 'transaction_id'
  buildIndex(store, table, id)
  const page = store.prepare(
    `SELECT ${id} AS id, count(*) AS times FROM ${table} WHERE ${id} > ?
     GROUP BY ${id} HAVING count(*) >= ? ORDER BY ${id} LIMIT ${PAGE}`,
  )
  let after = ''
  for (;;) {
    const rows = page.all(after, min)
    for (const row of rows) yield { id: String(row['id']), times: Number(row['times']) }
    const last = rows.at(-1)
    if (last === undefined) return
    after = String(last['id'])
  }
}
