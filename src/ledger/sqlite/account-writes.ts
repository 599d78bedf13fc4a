/** Accounts, care-team entries with owed marks and deletions, providers listed by exports, and requests for medical records. */
import { sql } from 'kysely'
import { z } from 'zod'
import {
  type ChunkSettlement,
  type KnownAccount,
  type KnownCareTeam,
  type KnownRequest,
  type Ledger,
  type ListedCareTeam,
  type MissingCareTeam,
  type OwedDeletion,
  THE_PERSON,
  UNKNOWN_PERSON,
  UNUSABLE,
} from '../ledger.ts'
import type { AccountIdCipher } from '../sealed-ids.ts'
import { hex, rowsOf } from './dialect.ts'
import type { Exclusive, Statements, Writer } from './exclusive.ts'

/** Rows of an insert. SQLite takes at most 32,766 parameters. */
const ROWS_AT_ONCE = 500

const DeletionsText = z.array(
  z.object({
    by: z.array(z.array(z.string())),
    until: z.number(),
    isSeen: z.boolean(),
    inDoubt: z.array(z.string()),
  }),
)

/** @param text as `saveCareTeams` writes it */
const readDeletions = (text: string | null): OwedDeletion[] =>
  text === null ? [] : DeletionsText.parse(JSON.parse(text))

/** Inserts accounts. A known account stays unchanged. */
export async function saveAccounts(
  statements: Statements,
  { gateway, at, runId }: { readonly gateway: string; readonly at: number; readonly runId: string },
  accounts: readonly KnownAccount[],
  { seal }: Pick<AccountIdCipher, 'seal'>,
): Promise<void> {
  for (const { reference, accountId, isNew, sentBefore, born = null, named = null } of accounts)
    await statements.run(
      `insert into account (gateway, reference, account_id, registered_at, registered_by, sent_before, born, named)
        values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
      ...[gateway, bytes(reference), seal(accountId), at, isNew === true ? runId : null],
      ...[sentBefore, born, named],
    )
}

const updateAccount = (
  writer: Writer,
  gateway: string,
  reference: string,
  hashes: { readonly born?: number | null; readonly named?: number | null },
) =>
  writer
    .updateTable('account')
    .set(hashes)
    .where('gateway', '=', gateway)
    .where('reference', '=', Buffer.from(reference, 'hex'))

export async function saveNames(
  statements: Statements,
  { gateway, named: names }: NonNullable<ChunkSettlement['names']>,
): Promise<void> {
  for (const [reference, named] of names)
    await statements.run(
      'update account set named = ? where gateway = ? and reference = ?',
      named,
      gateway,
      Buffer.from(reference, 'hex'),
    )
}

/** Stores birth dates and shared references from exports. */
export async function saveBirths(
  writer: Writer,
  gateway: string,
  births: ReadonlyMap<string, number>,
  shared: ReadonlySet<string>,
): Promise<void> {
  for (const [reference, born] of births)
    await updateAccount(writer, gateway, reference, { born }).where('born', 'is', null).execute()
  for (const reference of shared)
    await writer
      .insertInto('shared_reference')
      .values({ gateway, reference: Buffer.from(reference, 'hex') })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

/** @returns how many references were shared by several people */
export async function confirmPeople(
  writer: Writer,
  gateway: string,
  people: ReadonlyMap<string, number | null>,
): Promise<number> {
  let count = 0
  for (const [hashed, born] of people) {
    const { numDeletedRows } = await writer
      .deleteFrom('shared_reference')
      .where('gateway', '=', gateway)
      .where('reference', '=', Buffer.from(hashed, 'hex'))
      .executeTakeFirstOrThrow()
    count += Number(numDeletedRows)
    await updateAccount(writer, gateway, hashed, { born, named: null }).execute()
  }
  return count
}

/** Stores care-team entries. An account has one mark: set on an entry, the mark leaves the rest. */
export async function saveCareTeams(
  writer: Writer,
  gateway: string,
  known: readonly KnownCareTeam[],
  { seal }: Pick<AccountIdCipher, 'seal'>,
): Promise<void> {
  const { gone = [], there: entries = [] } = Object.groupBy(known, ({ isGone }) =>
    isGone ? 'gone' : 'there',
  )
  for (const { account, npi } of gone)
    await writer
      .deleteFrom('care_team')
      .where('gateway', '=', gateway)
      .where('account', '=', Buffer.from(account, 'hex'))
      .where('npi', '=', Buffer.from(npi, 'hex'))
      .execute()
  for (let start = 0; start < entries.length; start += ROWS_AT_ONCE) {
    const values = entries.slice(start, start + ROWS_AT_ONCE).map((entry) => ({
      gateway,
      account: Buffer.from(entry.account, 'hex'),
      npi: Buffer.from(entry.npi, 'hex'),
      observed_at: entry.observedAt,
      stored_at: entry.storedAt,
      mark: entry.mark,
      account_id: seal(entry.accountId),
      heard_at: entry.heardAt,
      content: entry.content === null ? null : Buffer.from(entry.content, 'hex'),
      deletions: entry.deletions.length === 0 ? null : JSON.stringify(entry.deletions),
      mark_by: entry.markBy,
      deletions_by: entry.deletionsBy,
    }))
    const marked = values.filter(({ mark }) => mark === 'set').map(({ account }) => account)
    await writer
      .updateTable('care_team')
      .set({ mark: 'none' })
      .where('gateway', '=', gateway)
      .where('account', 'in', marked)
      .where('mark', '=', 'set')
      .execute()
    await writer
      .insertInto('care_team')
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(['gateway', 'account', 'npi']).doUpdateSet({
          observed_at: sql`case when care_team.observed_at > excluded.observed_at then care_team.observed_at else excluded.observed_at end`,
          stored_at: sql`excluded.stored_at`,
          mark: sql`excluded.mark`,
          account_id: sql`coalesce(excluded.account_id, care_team.account_id)`,
          heard_at: sql`case when care_team.heard_at > excluded.heard_at then care_team.heard_at else excluded.heard_at end`,
          content: sql`excluded.content`,
          deletions: sql`excluded.deletions`,
          mark_by: sql`excluded.mark_by`,
          deletions_by: sql`excluded.deletions_by`,
        }),
      )
      .execute()
  }
}

/** @param requests at most the records of one upsert, or the repeated requests of a chunk */
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
          gateway,
          state,
          heard_at: heardAt,
          run_id: run,
          reference: Buffer.from(reference, 'hex'),
          content: Buffer.from(content, 'hex'),
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['gateway', 'reference']).doUpdateSet({
          content: sql`excluded.content`,
          state: sql`excluded.state`,
          heard_at: sql`case when medical_request.heard_at > excluded.heard_at then medical_request.heard_at else excluded.heard_at end`,
          run_id: sql`excluded.run_id`,
        }),
      )
      .execute()
}

const bytes = (hash: string): Buffer => Buffer.from(hash, 'hex')

/** @param arrival of the export; ignored for people listed by a later export */
export async function saveListed(
  statements: Statements,
  jobId: number,
  arrival: number,
  listed: readonly ListedCareTeam[],
): Promise<void> {
  for (const { account, npi, at } of listed)
    await statements.run(
      `insert into care_team_listed (job_id, account, npi, arrival, at) select ?, ?, ?, ?, ?
       where not exists (select 1 from care_team_listed where job_id = ? and account = ? and npi = ? and arrival > ?)
       on conflict (job_id, account, npi) do update set arrival = excluded.arrival,
       at = case when care_team_listed.at > excluded.at then care_team_listed.at else excluded.at end`,
      ...[jobId, bytes(account), bytes(npi), arrival, at],
      ...[jobId, bytes(account), bytes(THE_PERSON), arrival],
    )
}

const listingsOf = ({ db, dialect }: Exclusive): Pick<Ledger['careTeams'], 'listed' | 'missing'> => ({
  async listed(jobId, accounts) {
    const npis = new Map<string, Set<string>>()
    const arrivals = new Map<string, number>()
    const rows = await rowsOf(dialect, accounts, (keys) =>
      db
        .selectFrom('care_team_listed')
        .select(['account', 'npi', 'arrival'])
        .where('job_id', '=', jobId)
        .where('account', 'in', keys)
        .execute(),
    )
    for (const { account, npi, arrival } of rows) {
      const person = hex(account)
      if (hex(npi) === THE_PERSON) arrivals.set(person, arrival)
      else npis.set(person, (npis.get(person) ?? new Set()).add(hex(npi)))
    }
    return new Map(
      [...arrivals].map(([person, arrival]) => [person, { arrival, npis: npis.get(person) ?? new Set() }]),
    )
  },
  async missing(jobId, arrival, limit) {
    const ofJob = db.selectFrom('care_team_listed as listed').where('listed.job_id', '=', jobId)
    const unreadable = await ofJob
      .select('listed.at')
      .where('listed.account', '=', bytes(UNKNOWN_PERSON))
      .where('listed.arrival', '=', arrival)
      .executeTakeFirst()
    if (unreadable !== undefined) return 'unreadable'
    const rows = await ofJob
      .innerJoin('care_team_listed as person', (join) =>
        join
          .onRef('person.job_id', '=', 'listed.job_id')
          .onRef('person.account', '=', 'listed.account')
          .on('person.npi', '=', bytes(THE_PERSON)),
      )
      .leftJoin('care_team_listed as unusable', (join) =>
        join
          .onRef('unusable.job_id', '=', 'listed.job_id')
          .onRef('unusable.account', '=', 'listed.account')
          .on('unusable.npi', '=', bytes(UNUSABLE))
          .on('unusable.arrival', '=', arrival),
      )
      .select(['listed.account', 'listed.npi', 'listed.at'])
      .where('person.arrival', '=', arrival)
      .where('listed.arrival', '<', arrival)
      .where('listed.npi', 'not in', [bytes(THE_PERSON), bytes(UNUSABLE)])
      .where('unusable.at', 'is', null)
      .limit(limit)
      .execute()
    return rows.map(({ account, npi, at }) => ({ account: hex(account), npi: hex(npi), at }))
  },
})

/** Providers of people, as exports that list all care teams have them: a provider no longer listed is missing. */
export const careTeamsOf = (
  turns: Exclusive,
  { open }: Pick<AccountIdCipher, 'open'>,
): Ledger['careTeams'] => ({
  ...listingsOf(turns),
  async ofAccounts(gateway, accounts) {
    const rows = await rowsOf(turns.dialect, accounts, (keys) =>
      turns.db
        .selectFrom('care_team')
        .select(['account', 'npi', 'mark', 'content', 'deletions', 'observed_at as observedAt'])
        .select(['stored_at as storedAt', 'account_id', 'heard_at as heardAt'])
        .select(['mark_by as markBy', 'deletions_by as deletionsBy'])
        .where('gateway', '=', gateway)
        .where('account', 'in', keys)
        .orderBy('account')
        .orderBy('npi')
        .execute(),
    )
    const known = rows.map(({ account, npi, account_id, content, deletions, ...more }) => ({
      account: hex(account),
      npi: hex(npi),
      accountId: open(account_id),
      ...more,
      content: content && hex(content),
      deletions: readDeletions(deletions),
    }))
    return Map.groupBy(known, ({ account }) => account)
  },
  async owed(gateway, jobId, after, limit) {
    const rows = await turns.db
      .selectFrom('care_team')
      .select('account')
      .distinct()
      .where('gateway', '=', gateway)
      .where(sql<boolean>`(mark in ('to-set', 'to-unset') or deletions is not null)`)
      .where((eb) => eb.or([eb('mark_by', '=', jobId), eb('deletions_by', '=', jobId)]))
      .where('account', '>', Buffer.from(after, 'hex'))
      .orderBy('account')
      .limit(limit)
      .execute()
    return rows.map(({ account }) => hex(account))
  },
})

export async function forgetListed(
  writer: Writer,
  jobId: number,
  missing: readonly MissingCareTeam[],
): Promise<void> {
  for (const { account, npi } of missing)
    await writer
      .deleteFrom('care_team_listed')
      .where('job_id', '=', jobId)
      .where('account', '=', bytes(account))
      .where('npi', '=', bytes(npi))
      .execute()
}
