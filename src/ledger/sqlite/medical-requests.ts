/** Reads and writes what is known of requests for medical records. */
import { type Kysely, sql } from 'kysely'
import type { KnownRequest } from '../ledger.ts'
import type { LedgerTables } from '../tables.ts'
import type { Writer } from './exclusive.ts'
import { hex, rowsOf } from './lookups.ts'

export async function readMedicalRequests(
  database: Kysely<LedgerTables>,
  gateway: string,
  references: readonly string[],
): Promise<Map<string, KnownRequest>> {
  const rows = await rowsOf(references, (keys) =>
    database
      .selectFrom('medical_request')
      .select(['reference', 'content', 'state', 'heard_at as heardAt', 'run_id as run'])
      .where('gateway', '=', gateway)
      .where('reference', 'in', keys)
      .execute(),
  )
  const known = rows.map((row) => ({ ...row, reference: hex(row.reference), content: hex(row.content) }))
  return new Map(known.map((one) => [one.reference, one]))
}

/** @param requests as many as one upsert carries at most, or those of a chunk that were said again */
export async function saveMedicalRequests(
  writer: Writer,
  gateway: string,
  requests: readonly KnownRequest[],
): Promise<void> {
  for (let start = 0; start < requests.length; start += ROWS_AT_ONCE)
    await writer
      .insertInto('medical_request')
      .values(
        requests.slice(start, start + ROWS_AT_ONCE).map(({ reference, content, state, heardAt, run }) => ({
          ...{ gateway, state, heard_at: heardAt, run_id: run },
          ...{ reference: Buffer.from(reference, 'hex'), content: Buffer.from(content, 'hex') },
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['gateway', 'reference']).doUpdateSet({
          content: sql`excluded.content`,
          state: sql`excluded.state`,
          heard_at: sql`max(medical_request.heard_at, excluded.heard_at)`,
          run_id: sql`excluded.run_id`,
        }),
      )
      .execute()
}

/** Rows of one multi-row insert: SQLite takes at most 32,766 parameters. */
const ROWS_AT_ONCE = 500
