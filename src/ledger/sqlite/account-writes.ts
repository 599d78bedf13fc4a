/** Accounts, care-team entries with owed marks and deletions, providers listed by exports, and requests for medical records. */
import { sql } from 'kysely'
import { z } from 'zod'
import {
  type ChunkSettlement,
  type KnownAccount,
  type KnownCareTeam,
  type KnownRequest,
  type Lease,
  type Ledger,
  type ListedCareTeam,
  type MissingCareTeam,
  type OwedDeletion,
  type RunLedger,
  THE_PERSON,
  UNKNOWN_PERSON,
  UNUSABLE,
} from '../ledger.ts'
import type { AccountIdCipher, SealedId } from '../sealed-ids.ts'
import { hex, rowsOf, slicesOf } from './dialect.ts'
import type { Exclusive, Statements, Writer } from './exclusive.ts'
import { letGo } from './leases.ts'

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

const bytes = (hash: string): Buffer => Buffer.from(hash, 'hex')

/** Writes of a run on people. */
export function peopleWrites({
  lease,
  ids,
  writeHot,
  writeShared,
}: Pick<Exclusive, 'writeHot' | 'writeShared'> & {
  readonly lease: Lease
  readonly ids: AccountIdCipher
}): Pick<
  RunLedger,
  'forgetAccount' | 'saveAccounts' | 'saveBirths' | 'saveCareTeams' | 'noteMissing' | 'saveMedicalRequests'
> {
  return {
    forgetAccount: (gateway, reference, id) =>
      writeShared((writer) => forgetAccount(writer, gateway, reference, ids.seal(id))),
    saveAccounts: (gateway, accounts, at) =>
      writeHot(
        (statements) => saveAccounts(statements, { gateway, at, runId: lease.runId }, accounts, ids),
        'for-nothing',
      ),
    saveBirths: (gateway, births, shared) =>
      writeShared((writer) => saveBirths(writer, gateway, births, shared), 'for-nothing'),
    saveCareTeams: (gateway, entries, accounts = []) =>
      writeShared(
        async (writer, statements) => {
          await saveCareTeams(writer, gateway, entries, ids)
          if (accounts.length > 0) await letGo(statements, lease, gateway, accounts)
        },
        entries.length > 0 ? 'for-disk' : 'for-nothing',
      ),
    noteMissing: (gateway, missing, owing) =>
      writeShared(async (writer) => {
        await saveCareTeams(writer, gateway, owing, ids)
        await forgetListed(writer, lease.jobId, missing)
      }),
    saveMedicalRequests: (gateway, requests) =>
      writeShared((writer) => saveMedicalRequests(writer, gateway, requests), 'for-nothing'),
  }
}

/** Stores names and listed care teams of a settled chunk. */
export async function savePeopleOfChunk(
  statements: Statements,
  { jobId }: Lease,
  { listed, names, arrival }: ChunkSettlement,
): Promise<void> {
  if (listed !== undefined) await saveListed(statements, jobId, arrival, listed)
  if (names !== undefined) await saveNames(statements, names)
}

/** Inserts accounts. A known account stays unchanged. */
async function saveAccounts(
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
    .where('reference', '=', bytes(reference))

async function saveNames(
  statements: Statements,
  { gateway, named: names }: NonNullable<ChunkSettlement['names']>,
): Promise<void> {
  for (const [reference, named] of names)
    await statements.run(
      'update account set named = ? where gateway = ? and reference = ?',
      named,
      gateway,
      bytes(reference),
    )
}

/** Stores birth dates and shared references from exports. */
async function saveBirths(
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
      .values({ gateway, reference: bytes(reference) })
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
      .where('reference', '=', bytes(hashed))
      .executeTakeFirstOrThrow()
    count += Number(numDeletedRows)
    await updateAccount(writer, gateway, hashed, { born, named: null }).execute()
  }
  return count
}

/** Stores care-team entries. An account has one mark: set on an entry, the mark leaves the rest. */
async function saveCareTeams(
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
      .where('account', '=', bytes(account))
      .where('npi', '=', bytes(npi))
      .execute()
  for (const slice of slicesOf(entries)) {
    const values = slice.map((entry) => ({
      gateway,
      account: bytes(entry.account),
      npi: bytes(entry.npi),
      observed_at: entry.observedAt,
      stored_at: entry.storedAt,
      mark: entry.mark,
      account_id: seal(entry.accountId),
      heard_at: entry.heardAt,
      place: entry.place,
      content: entry.content === null ? null : bytes(entry.content),
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
          place: sql`case when care_team.observed_at > excluded.observed_at then care_team.place else excluded.place end`,
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
async function saveMedicalRequests(
  writer: Writer,
  gateway: string,
  requests: readonly KnownRequest[],
): Promise<void> {
  for (const slice of slicesOf(requests))
    await writer
      .insertInto('medical_request')
      .values(
        slice.map(({ reference, content, state, heardAt, run }) => ({
          gateway,
          state,
          heard_at: heardAt,
          run_id: run,
          reference: bytes(reference),
          content: bytes(content),
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

/** @param arrival of the export; ignored for people listed by a later export */
async function saveListed(
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
        .select(['stored_at as storedAt', 'account_id', 'heard_at as heardAt', 'place'])
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
      .where('account', '>', bytes(after))
      .orderBy('account')
      .limit(limit)
      .execute()
    return rows.map(({ account }) => hex(account))
  },
})

async function forgetListed(
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

/**
 * Removes a person from the ledger. Hashes of row keys, which identify nobody, stay for delivered rows. No look-up finds the rows again, as the
 * person's row keys are hashed differently from now on.
 */
export async function forgetPerson(
  writer: Writer,
  gateway: string,
  references: readonly string[],
  accountId: SealedId | null,
): Promise<void> {
  const hashes = references.map((one) => bytes(one))
  const byId =
    accountId === null
      ? []
      : await writer
          .selectFrom('account')
          .select('reference')
          .where('gateway', '=', gateway)
          .where('account_id', '=', accountId)
          .execute()
  const people = [...hashes, ...byId.map(({ reference }) => reference)]
  for (const table of ['account', 'shared_reference'] as const)
    await writer.deleteFrom(table).where('gateway', '=', gateway).where('reference', 'in', people).execute()
  await writer.deleteFrom('care_team').where('gateway', '=', gateway).where('account', 'in', people).execute()
  const jobs = writer.selectFrom('job').select('id').where('gateway', '=', gateway)
  await writer
    .deleteFrom('care_team_listed')
    .where('account', 'in', people)
    .where('job_id', 'in', jobs)
    .execute()
  await writer.deleteFrom('collected').where('person', 'in', people).where('job_id', 'in', jobs).execute()
  await writer.updateTable('exception').set({ person: null }).where('person', 'in', people).execute()
  for (const reference of new Map(people.map((one) => [hex(one), one])).values())
    await writer
      .insertInto('forgotten')
      .values({ gateway, reference, times: 1 })
      .onConflict((conflict) =>
        conflict.columns(['gateway', 'reference']).doUpdateSet({ times: sql`forgotten.times + 1` }),
      )
      .execute()
}

/** Forgets a person, unless the ledger has another account by now. People with an equal account id stay: the account may be theirs. */
async function forgetAccount(
  writer: Writer,
  gateway: string,
  reference: string,
  accountId: SealedId | null,
): Promise<void> {
  const ofPerson = writer.selectFrom('account').select('account_id').where('reference', '=', bytes(reference))
  const known = await ofPerson.where('gateway', '=', gateway).executeTakeFirst()
  if (known?.account_id === accountId) await forgetPerson(writer, gateway, [reference], null)
}
