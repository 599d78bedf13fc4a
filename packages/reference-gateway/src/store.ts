import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { WaybillError } from '../../../src/model/errors.ts'

/**
 * Table per resource: the record as sent (`body`, JSON text) beside the columns for queries. `account` is the `seq` of the account.
 * `persistent_id` is set only if it differs from the transaction id.
 */
const observations = (table: string) => `
  CREATE TABLE ${table} (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    account INTEGER NOT NULL,
    code_key TEXT NOT NULL,
    source_type TEXT,
    observed_ms INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    persistent_id TEXT,
    stored_ms INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;`

const ACCOUNTS_AND_PROFILE = `
  CREATE TABLE accounts (
    seq INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL UNIQUE,
    partner_account_id TEXT UNIQUE,
    registration TEXT,
    stored_ms INTEGER NOT NULL
  ) STRICT;
  ${observations('biometrics')}
  ${observations('conditions')}
  CREATE TABLE care_teams (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    npi TEXT,
    pcp INTEGER NOT NULL DEFAULT 0,
    persistent_id TEXT,
    stored_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX care_teams_of_account ON care_teams (account);
  CREATE UNIQUE INDEX one_pcp_of_account ON care_teams (account) WHERE pcp = 1;`

/** Medical-records requests, and the state of each user's age assessment. */
const REQUESTER_AND_ASSESSMENT = `
  CREATE TABLE medical_records_requests (
    seq INTEGER PRIMARY KEY,
    reference_number TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    updated_ms INTEGER NOT NULL,
    authorization_name TEXT,
    authorization BLOB
  ) STRICT;
  CREATE TABLE authorization_uploads (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    request INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX authorization_uploads_of_request ON authorization_uploads (request);
  CREATE TABLE assessments (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    assessment_id TEXT NOT NULL,
    progress TEXT NOT NULL,
    answered_ms INTEGER NOT NULL,
    UNIQUE (account, assessment_id)
  ) STRICT;
`

/**
 * Migration steps from an empty file to the current tables. A data file's `user_version` is the number of steps applied. A released step
 * never changes.
 */
export const STEPS: readonly string[] = [ACCOUNTS_AND_PROFILE, REQUESTER_AND_ASSESSMENT]

/**
 * Opens the store: in memory, or in a data file (write-ahead log, synchronous NORMAL: answered data survives the end of the process, but
 * not a power loss).
 *
 * @throws WaybillError `usage-wrong` if the file cannot be used
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
      throw new Error('not a data file of this version')
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
        remedy: 'Name a data file of the reference gateway, or a new file in a writable folder.',
        cause,
      },
    )
  }
}

/** Runs synchronous work in a transaction, so requests never interleave within it. */
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

/** Rows read at a time when listing a whole table. Neither memory nor the pause of other requests grows with the table. */
const PAGE = 1000

/** Stored record, as control endpoints show it. */
export interface StoredRecord {
  /** JSON text, as sent. */
  readonly body: string
  /** Partner account id, or the account id if the account never had one. */
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

/** Lists all records of a table in the order of storing. */
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

/** Returns the records with a transaction id or `source.meta.persistentRecordId`. */
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

export function countRows(
  store: DatabaseSync,
  table: Table | 'accounts' | 'medical_records_requests' | 'assessments',
  which = 'TRUE',
): number {
  return Number(store.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${which}`).get()?.['n'])
}

/** Lists medical-records requests in their current state, in the order of creation. */
export function* listRequests(store: DatabaseSync): Generator<object> {
  const rows = store.prepare(
    'SELECT body, updated_ms, authorization FROM medical_records_requests ORDER BY seq',
  )
  for (const { body, updated_ms, authorization } of rows.all())
    yield {
      ...Object(JSON.parse(String(body))),
      _authorization: authorization instanceof Uint8Array ? hash('sha256', authorization) : null,
      _storedAt: Number(updated_ms),
    }
}

/** Lists the tests with their answers so far. */
export function* listTests(store: DatabaseSync): Generator<object> {
  const rows = store.prepare(
    `SELECT assessment_id, progress, answered_ms, coalesce(partner_account_id, account_id) AS account
     FROM assessments t JOIN accounts a ON a.seq = t.account ORDER BY t.seq`,
  )
  for (const { assessment_id, progress, answered_ms, account } of rows.all())
    yield {
      assessmentId: assessment_id,
      ...Object(JSON.parse(String(progress))),
      _account: account,
      _storedAt: Number(answered_ms),
    }
}

/**
 * Creates an index at its first use, so a gateway that only stores records does not pay for reads. Building blocks other requests for about
 * a second per million records.
 */
export function buildIndex(store: DatabaseSync, table: Table, column: string): void {
  store.exec(
    `CREATE INDEX IF NOT EXISTS ${table}_by_${column} ON ${table} (${column}) WHERE ${column} IS NOT NULL`,
  )
}

/** Epoch milliseconds up to which reads of the current request see stored records. Without a horizon, reads see everything. */
export const readHorizon = new AsyncLocalStorage<number>()

/** Bound of `stored_ms` for reads of the current request. */
export const visibleUntilMs = (): number => readHorizon.getStore() ?? Number.MAX_SAFE_INTEGER

/** Number of stored records with an id. */
export interface Occurrence {
  /** Transaction id; for a care team entry, which has none, the persistent record id. */
  readonly id: string
  readonly times: number
}

/** Lists the ids stored at least `min` times, in order of id, along an index. Leaves out records without an id. */
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
