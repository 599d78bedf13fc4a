/** Look-ups by hashed key, many at a time: what was delivered, what is held, who is registered. */
import { type Kysely, sql } from 'kysely'
import type { KnownCareTeam } from './ledger.ts'
import type { LedgerTables } from './tables.ts'

/** Keys in one query; SQLite takes at most 32,766 parameters. */
const KEYS_AT_ONCE = 1000

type Database = Kysely<LedgerTables>

/** Content hashes delivered under each row key that has any. */
export function readDelivered(
  database: Database,
  jobId: number,
  rowKeys: readonly string[],
): Promise<ContentsByRowKey> {
  return readContents(database, jobId, rowKeys, 'delivered', 'contents')
}

/** Content hashes in doubt under each row key that has any. */
export function readHeld(
  database: Database,
  jobId: number,
  rowKeys: readonly string[],
): Promise<ContentsByRowKey> {
  return readContents(database, jobId, rowKeys, 'held', 'content')
}

type ContentsByRowKey = Map<string, Set<string>>

async function readContents(
  database: Database,
  jobId: number,
  rowKeys: readonly string[],
  table: 'delivered' | 'held',
  column: 'contents' | 'content',
): Promise<ContentsByRowKey> {
  const found: ContentsByRowKey = new Map()
  const rows = database.selectFrom(table).where('job_id', '=', jobId)
  const any = await rows.select('job_id').limit(1).executeTakeFirst()
  if (any === undefined) return found
  for (const keys of slices(rowKeys)) {
    const packed = await rows
      .select(['row_key', sql.ref<Uint8Array>(column).as('hashes')])
      .where('row_key', 'in', keys)
      .execute()
    for (const { row_key, hashes } of packed) {
      const key = hex(row_key)
      const contents = found.get(key) ?? new Set()
      found.set(key, contents)
      for (const content of hex(hashes).match(/.{16}/g) ?? []) contents.add(content)
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

export async function readRegisteredBy(
  database: Database,
  gateway: string,
  references: readonly string[],
  runId: string,
): Promise<Set<string>> {
  const found = new Set<string>()
  for (const keys of slices(references)) {
    const rows = await database
      .selectFrom('account')
      .select('reference')
      .where('gateway', '=', gateway)
      .where('reference', 'in', keys)
      .where('registered_by', '=', runId)
      .execute()
    for (const { reference } of rows) found.add(hex(reference))
  }
  return found
}

export async function readCareTeams(
  database: Database,
  gateway: string,
  accounts: readonly string[],
): Promise<Map<string, KnownCareTeam[]>> {
  const found = new Map<string, KnownCareTeam[]>()
  for (const keys of slices(accounts)) {
    const rows = await database
      .selectFrom('care_team')
      .select(['account', 'npi', 'observed_at', 'mark'])
      .where('gateway', '=', gateway)
      .where('account', 'in', keys)
      .execute()
    for (const { account: hashed, npi, observed_at: observedAt, mark } of rows) {
      const account = hex(hashed)
      const entries = found.get(account) ?? []
      found.set(account, entries)
      entries.push({ account, npi: hex(npi), observedAt, mark })
    }
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
