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
  for (const keys of slices(rowKeys)) {
    const rows = await ofJob
      .select(['row_key', 'content', 'rule', 'arrival', 'by_backfill'])
      .where('row_key', 'in', keys)
      .execute()
    for (const { row_key, content, rule, arrival, by_backfill } of rows) {
      const contents = found.get(hex(row_key)) ?? new Map()
      found.set(
        hex(row_key),
        contents.set(hex(content), { rule: hex(rule), arrival, byBackfill: by_backfill === 1 }),
      )
    }
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
  const found = new Map<string, KnownAccount>()
  for (const keys of slices(references)) {
    const rows = await database
      .selectFrom('account')
      .select(['reference', 'account_id', 'sent_before'])
      .where('gateway', '=', gateway)
      .where('reference', 'in', keys)
      .execute()
    for (const { reference, account_id: accountId, sent_before: sentBefore } of rows)
      found.set(hex(reference), { reference: hex(reference), accountId, sentBefore })
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
  const found = new Map<string, CollectedBefore>()
  for (const keys of slices(people)) {
    const rows = await database
      .selectFrom('collected')
      .select(['person', 'content', 'run_id'])
      .where('job_id', '=', jobId)
      .where('person', 'in', keys)
      .execute()
    for (const { person, content, run_id: run } of rows)
      found.set(hex(person), { run, content: content && hex(content) })
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
      .selectAll()
      .where('gateway', '=', gateway)
      .where('account', 'in', keys)
      .execute()
    for (const row of rows) {
      const account = hex(row.account)
      const entries = found.get(account) ?? []
      found.set(account, entries)
      const {
        observed_at: observedAt,
        stored_at: storedAt,
        mark,
        account_id: accountId,
        heard_at: heardAt,
      } = row
      const content = row.content && hex(row.content)
      const deletions = readDeletions(row.deletions)
      entries.push({
        account,
        npi: hex(row.npi),
        observedAt,
        storedAt,
        mark,
        accountId,
        heardAt,
        content,
        deletions,
      })
    }
  }
  return found
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
  const found = new Set<string>()
  for (const keys of slices(contents)) {
    const rows = await database.selectFrom('held').select('content').where('content', 'in', keys).execute()
    for (const { content } of rows) found.add(hex(content))
  }
  return found
}

export function* slices(keys: readonly string[]): Generator<Uint8Array[]> {
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
    yield keys.slice(start, start + KEYS_AT_ONCE).map((key) => Buffer.from(key, 'hex'))
  }
}

export const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
