/** Differences between the databases of the ledger, as far as the statements of both are the same. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { LedgerTables } from '../tables.ts'

export interface Dialect {
  /** Query with a single parameter, a JSON array of hex digits: a column `hash` of bytes. */
  readonly hashes: string
  /** Query with a single parameter, a JSON array: a column `word` of texts. */
  readonly words: string
  /** Makes hex digits of a column of bytes. */
  readonly hex: (column: string) => string
  /** Locks of a row that a transaction has read, for databases with several writers at a time. */
  readonly forShare: '' | ' for share'
  readonly forUpdate: '' | ' for update'
  /** Time of a lease without a renewal. */
  readonly leaseMs: number
  /** Clock by which leases expire: an expression in milliseconds since the epoch; undefined: the clock of the caller. */
  readonly clock: string | undefined
}

/** List of values as a single parameter: the text of a query does not depend on their number, so a database compiles a query once. */
export function listed(query: string, values: readonly string[]): RawBuilder<never> {
  const [before = '', after = ''] = query.split('?')
  return sql`(${sql.raw(before)}${JSON.stringify(values)}${sql.raw(after)})`
}

/** Time by which leases expire. */
export async function leaseTime(db: Kysely<LedgerTables>, { clock }: Dialect, now: number): Promise<number> {
  if (clock === undefined) return now
  const { rows } = await sql<{ at: number }>`select ${sql.raw(clock)} as at`.execute(db)
  return rows[0]?.at ?? now
}

export const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

const KEYS_AT_ONCE = 1000

type Keys = RawBuilder<Uint8Array>

/** Rows that a query finds for all keys (32 hex digits each), asked in slices. */
export async function rowsOf<Row>(
  { hashes }: Dialect,
  keys: readonly string[],
  find: (some: Keys) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[][] = []
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
    found.push(await find(listed(hashes, keys.slice(start, start + KEYS_AT_ONCE))))
  }
  return found.flat()
}
