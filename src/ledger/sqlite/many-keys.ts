/** Rows by many keys in one statement. */
import { type RawBuilder, sql } from 'kysely'

/** Keys in one query. */
const KEYS_AT_ONCE = 1000

/** Keys as a single parameter: the text of a query does not depend on their number, so SQLite compiles a query once. */
type Keys = RawBuilder<Uint8Array>

/** Rows that a query finds for all keys (32 hex digits each), asked in slices. */
export async function rowsOf<Row>(
  keys: readonly string[],
  find: (some: Keys) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[][] = []
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
    const some = JSON.stringify(keys.slice(start, start + KEYS_AT_ONCE))
    found.push(await find(sql`(select unhex(value) from json_each(${some}))`))
  }
  return found.flat()
}

export const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
