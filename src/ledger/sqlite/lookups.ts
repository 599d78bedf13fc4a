/** Look-ups by hashed key, many at a time: what is held, who is registered. */
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import type { CollectedBefore, HeldUnder, KnownAccount, KnownCareTeam } from '../ledger.ts'
import type { LedgerTables } from '../tables.ts'
import { readDeletions } from './care-teams.ts'

/** Keys in one query; SQLite takes at most 32,766 parameters. */
const KEYS_AT_ONCE = 1000

type Database = Kysely<LedgerTables>

/** What is in doubt under each row key that has any, by content. */
export async function readHeld(
  database: Database,
  jobId: number,
  rowKeys: readonly string[],
): Promise<Map<string, Map<string, HeldUnder>>> {
  const found = new Map<string, Map<string, HeldUnder>>()
  const ofJob = database.selectFrom('held').where('job_id', '=', jobId)
  if (!(await isAny(ofJob.select('job_id')))) return found
  const rows = await rowsOf(rowKeys, (keys) =>
    ofJob
      .select(['row_key', 'content', 'rule', 'arrival', 'by_backfill'])
      .where('row_key', 'in', keys)
      .execute(),
  )
  for (const { row_key, content, rule, arrival, by_backfill } of rows) {
    const contents = found.get(hex(row_key)) ?? new Map()
    found.set(
      hex(row_key),
      contents.set(hex(content), { rule: hex(rule), arrival, byBackfill: by_backfill === 1 }),
    )
  }
  return found
}

export async function readHeldSeries(database: Database, jobId: number): Promise<Set<string>> {
  const rows = await database
    .selectFrom('held')
    .select('series')
    .distinct()
    .where('job_id', '=', jobId)
    .where('series', 'is not', null)
    .execute()
  return new Set(rows.flatMap(({ series }) => (series === null ? [] : [hex(series)])))
}

/** Most jobs have nothing in doubt, and a first run has delivered nothing: one look saves one for each key. */
const isAny = async (query: SelectQueryBuilder<LedgerTables, never, unknown>): Promise<boolean> =>
  (await query.limit(1).executeTakeFirst()) !== undefined

export async function readAccounts(
  database: Database,
  gateway: string,
  references: readonly string[],
): Promise<Map<string, KnownAccount>> {
  const rows = await rowsOf(references, (keys) =>
    database
      .selectFrom('account')
      .select(['reference', 'account_id as accountId', 'sent_before as sentBefore'])
      .where('gateway', '=', gateway)
      .where('reference', 'in', keys)
      .execute(),
  )
  const known = rows.map((row) => ({ ...row, reference: hex(row.reference) }))
  return new Map(known.map((one) => [one.reference, one]))
}

export async function readRegisteredBy(
  database: Database,
  gateway: string,
  references: readonly string[],
  runId: string,
): Promise<Set<string>> {
  const rows = await rowsOf(references, (keys) =>
    database
      .selectFrom('account')
      .select('reference')
      .where('gateway', '=', gateway)
      .where('reference', 'in', keys)
      .where('registered_by', '=', runId)
      .execute(),
  )
  return new Set(rows.map(({ reference }) => hex(reference)))
}

export async function readKnownAccounts(
  database: Database,
  gateway: string,
  after: string,
  limit: number,
): Promise<{ readonly reference: string; readonly accountId: string }[]> {
  const rows = await database
    .selectFrom('account')
    .select(['reference', 'account_id'])
    .where('gateway', '=', gateway)
    .where('reference', '>', Buffer.from(after, 'hex'))
    .where('account_id', 'is not', null)
    .orderBy('reference')
    .limit(limit)
    .execute()
  return rows.map(({ reference, account_id }) => ({ reference: hex(reference), accountId: account_id ?? '' }))
}

export async function readCollected(
  database: Database,
  jobId: number,
  people: readonly string[],
): Promise<Map<string, CollectedBefore>> {
  const rows = await rowsOf(people, (keys) =>
    database
      .selectFrom('collected')
      .select(['person', 'content', 'run_id as run'])
      .where('job_id', '=', jobId)
      .where('person', 'in', keys)
      .execute(),
  )
  return new Map(
    rows.map(({ person, content, run }) => [hex(person), { run, content: content && hex(content) }]),
  )
}

export async function readCareTeams(
  database: Database,
  gateway: string,
  accounts: readonly string[],
): Promise<Map<string, KnownCareTeam[]>> {
  const rows = await rowsOf(accounts, (keys) =>
    database
      .selectFrom('care_team')
      .select(['account', 'npi', 'mark', 'content', 'deletions', 'observed_at as observedAt'])
      .select(['stored_at as storedAt', 'account_id as accountId', 'heard_at as heardAt'])
      .where('gateway', '=', gateway)
      .where('account', 'in', keys)
      .execute(),
  )
  const known = rows.map(({ account, npi, content, deletions, ...more }) => ({
    ...{ account: hex(account), npi: hex(npi), ...more },
    ...{ content: content && hex(content), deletions: readDeletions(deletions) },
  }))
  return Map.groupBy(known, ({ account }) => account)
}

/** Accounts of which a mark or a deletion is owed, in the order of their hashes. */
export async function readOwedCareTeams(
  database: Database,
  gateway: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await database
    .selectFrom('care_team')
    .select('account')
    .distinct()
    .where('gateway', '=', gateway)
    .where(sql<boolean>`(mark in ('to-set', 'to-unset') or deletions is not null)`)
    .where('account', '>', Buffer.from(after, 'hex'))
    .orderBy('account')
    .limit(limit)
    .execute()
  return rows.map(({ account }) => hex(account))
}

/** Which of the contents are in doubt, in whatever job. */
export async function readHeldContents(
  database: Database,
  contents: readonly string[],
): Promise<Set<string>> {
  const rows = await rowsOf(contents, (keys) =>
    database.selectFrom('held').select('content').where('content', 'in', keys).execute(),
  )
  return new Set(rows.map(({ content }) => hex(content)))
}

/** What a query finds of all the keys: it is asked of so many at a time. */
export async function rowsOf<Row>(
  keys: readonly string[],
  find: (some: Uint8Array[]) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[][] = []
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE)
    found.push(await find(keys.slice(start, start + KEYS_AT_ONCE).map((key) => Buffer.from(key, 'hex'))))
  return found.flat()
}

export const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
