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

const VALUES_AT_ONCE = 1000

/** Slices for one statement each. SQLite takes at most 32,766 parameters. */
export function* slicesOf<Value>(values: readonly Value[]): Generator<readonly Value[]> {
  for (let start = 0; start < values.length; start += VALUES_AT_ONCE)
    yield values.slice(start, start + VALUES_AT_ONCE)
}

/** Rows that a query finds for all values, asked in slices. */
export async function inSlices<Value, Found>(
  values: readonly Value[],
  find: (slice: readonly Value[]) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const found: (readonly Found[])[] = []
  for (const slice of slicesOf(values)) found.push(await find(slice))
  return found.flat()
}

type Keys = RawBuilder<Uint8Array>

/** As `inSlices`, for keys of 32 hex digits each. */
export const rowsOf = <Row>(
  { hashes }: Dialect,
  keys: readonly string[],
  find: (some: Keys) => Promise<Row[]>,
): Promise<Row[]> => inSlices(keys, (slice) => find(listed(hashes, slice)))
