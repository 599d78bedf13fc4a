/**
 * Care teams: known entries, and providers of each person as the job's exports list them, for exports that list all care teams. A provider who is no longer listed is missing.
 */
import { sql } from 'kysely'
import {
  type CareTeams,
  type ListedCareTeam,
  type MissingCareTeam,
  THE_PERSON,
  UNKNOWN_PERSON,
  UNUSABLE,
} from '../ledger.ts'
import type { AccountIdCipher } from '../sealed-ids.ts'
import { readDeletions } from './account-writes.ts'
import { hex } from './dialect.ts'
import type { Exclusive, Statements, Writer } from './exclusive.ts'
import { rowsOf } from './lookups.ts'

const bytes = (hash: string): Buffer => Buffer.from(hash, 'hex')

/** @param arrival of the export; ignored for a person whom a later export has listed */
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

const listingsOf = ({ db, dialect }: Exclusive): Pick<CareTeams, 'listed' | 'missing'> => ({
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

export const careTeamsOf = (turns: Exclusive, { open }: Pick<AccountIdCipher, 'open'>): CareTeams => ({
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
