/** Look-ups by hashed key, many at a time: what was delivered, what is held, who is registered. */
import type { Kysely } from 'kysely'
import type { LedgerTables } from './tables.ts'

/** Keys in one query; SQLite takes at most 32,766 parameters. */
const KEYS_AT_ONCE = 1000

type Database = Kysely<LedgerTables>

export async function readDelivered(
  database: Database,
  jobId: number,
  rowKeys: readonly string[],
): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  const any = await database
    .selectFrom('delivered')
    .select('job_id')
    .where('job_id', '=', jobId)
    .limit(1)
    .executeTakeFirst()
  if (any === undefined) return found
  for (const keys of slices(rowKeys)) {
    const rows = await database
      .selectFrom('delivered')
      .select(['row_key', 'contents'])
      .where('job_id', '=', jobId)
      .where('row_key', 'in', keys)
      .execute()
    for (const row of rows) found.set(hex(row.row_key), new Set(hex(row.contents).match(/.{16}/g)))
  }
  return found
}

export async function readHeld(
  database: Database,
  jobId: number,
  rowKeys: readonly string[],
): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  const any = await database
    .selectFrom('held')
    .select('job_id')
    .where('job_id', '=', jobId)
    .limit(1)
    .executeTakeFirst()
  if (any === undefined) return found
  for (const keys of slices(rowKeys)) {
    const rows = await database
      .selectFrom('held')
      .select(['row_key', 'content'])
      .where('job_id', '=', jobId)
      .where('row_key', 'in', keys)
      .execute()
    for (const row of rows) {
      const key = hex(row.row_key)
      found.set(key, (found.get(key) ?? new Set()).add(hex(row.content)))
    }
  }
  return found
}

export async function readAccounts(
  database: Database,
  gateway: string,
  references: readonly string[],
): Promise<Map<string, string | null>> {
  const found = new Map<string, string | null>()
  for (const keys of slices(references)) {
    const rows = await database
      .selectFrom('account')
      .select(['reference', 'account_id'])
      .where('gateway', '=', gateway)
      .where('reference', 'in', keys)
      .execute()
    for (const row of rows) found.set(hex(row.reference), row.account_id)
  }
  return found
}

function* slices(keys: readonly string[]): Generator<Uint8Array[]> {
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
    yield keys.slice(start, start + KEYS_AT_ONCE).map((key) => Buffer.from(key, 'hex'))
  }
}

const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
