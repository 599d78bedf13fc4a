import { DatabaseSync } from 'node:sqlite'
import { WaybillError } from '../model/errors.ts'
import { STEPS } from './schema.ts'

/**
 * Opens the store: in memory, or in a data file (write-ahead log, synchronous NORMAL: what was answered survives the end
 * of the process, not a loss of power). Throws `usage-wrong` where the file cannot be used.
 */
export function openStore(dataFile?: string): DatabaseSync {
  let store: DatabaseSync | undefined
  try {
    store = new DatabaseSync(dataFile ?? ':memory:')
    store.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    const version = store.prepare('PRAGMA user_version').get()?.['user_version']
    const tables = store.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n']
    const taken = tables === 0 ? 0 : Number(version)
    if (tables !== 0 && (taken < 1 || taken > STEPS.length)) {
      throw new Error('it holds something else, or was made by a newer version')
    }
    inTransaction(store, (db) => {
      for (const step of STEPS.slice(taken)) db.exec(step)
      db.exec(`PRAGMA user_version = ${STEPS.length}`)
    })
    return store
  } catch (cause) {
    store?.close()
    const reason = cause instanceof Error ? cause.message : 'unknown reason'
    throw new WaybillError(
      'usage-wrong',
      `the data file of the reference gateway cannot be used: ${reason}`,
      {
        ...(dataFile === undefined ? {} : { place: { file: dataFile } }),
        remedy:
          'Name a file that the reference gateway made, or one that does not exist yet, in a folder that may be written.',
        cause,
      },
    )
  }
}

/** Does the work wholly or not at all. The work is synchronous, so requests never interleave within it. */
export function inTransaction<Result>(store: DatabaseSync, work: (store: DatabaseSync) => Result): Result {
  store.exec('BEGIN IMMEDIATE')
  try {
    const result = work(store)
    store.exec('COMMIT')
    return result
  } catch (error) {
    if (store.isTransaction) store.exec('ROLLBACK')
    throw error
  }
}

/** Rows read at a time when a whole table is listed, so that memory does not grow with the table. */
const PAGE = 1000

/** A stored record with what the control endpoints tell of it. */
export interface StoredRecord {
  /** JSON text, as it was sent. */
  readonly body: string
  /** The partner account id, or the account id where the account never had one. */
  readonly account: string
  /** Epoch milliseconds of the gateway's clock. */
  readonly storedMs: number
}

const LISTED = `body, coalesce(partner_account_id, account_id) AS account, r.stored_ms AS stored_ms, r.seq AS seq`

const toStored = (row: Record<string, unknown>): StoredRecord => ({
  body: String(row['body']),
  account: String(row['account']),
  storedMs: Number(row['stored_ms']),
})

export type Table = 'biometrics' | 'conditions' | 'care_teams'

/** All records of a table in the order in which they were stored. */
export function* listRecords(store: DatabaseSync, table: Table): Generator<StoredRecord> {
  const page = store.prepare(
    `SELECT ${LISTED} FROM ${table} r JOIN accounts a ON a.seq = r.account WHERE r.seq > ? ORDER BY r.seq LIMIT ${PAGE}`,
  )
  let after = 0
  for (;;) {
    const rows = page.all(after)
    for (const row of rows) yield toStored(row)
    const last = rows.at(-1)
    if (last === undefined) return
    after = Number(last['seq'])
  }
}

/** The records of a table that bear a transaction id or a `source.meta.persistentRecordId`. */
export function findRecords(store: DatabaseSync, table: Table, transactionId: string): StoredRecord[] {
  const columns = table === 'care_teams' ? ['persistent_id'] : ['persistent_id', 'transaction_id']
  for (const column of columns) buildIndex(store, table, column)
  const matches = columns.map((column) => `r.${column} = :id`).join(' OR ')
  return store
    .prepare(
      `SELECT ${LISTED} FROM ${table} r JOIN accounts a ON a.seq = r.account WHERE ${matches} ORDER BY r.seq`,
    )
    .all({ id: transactionId })
    .map(toStored)
}

export function countRows(store: DatabaseSync, table: Table | 'accounts'): number {
  return Number(store.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])
}

/**
 * Makes an index when it is first asked for: a gateway that only takes records in does not pay for reading them.
 * Building it holds up other requests for about a second per million records.
 */
export function buildIndex(store: DatabaseSync, table: Table, column: string): void {
  store.exec(
    `CREATE INDEX IF NOT EXISTS ${table}_by_${column} ON ${table} (${column}) WHERE ${column} IS NOT NULL`,
  )
}
