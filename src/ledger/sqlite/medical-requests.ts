/** Writes what is known of requests for medical records. */
import { sql } from 'kysely'
import type { KnownRequest } from '../ledger.ts'
import type { Writer } from './exclusive.ts'

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
