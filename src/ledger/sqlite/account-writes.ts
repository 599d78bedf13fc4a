/** Writes accounts, their care-team entries with owed marks and deletions, and requests for medical records. */
import { sql } from 'kysely'
import { z } from 'zod'
import type { ChunkSettlement, KnownAccount, KnownCareTeam, KnownRequest, OwedDeletion } from '../ledger.ts'
import type { AccountIdCipher } from '../sealed-ids.ts'
import type { Statements, Writer } from './exclusive.ts'

/** Rows of one multi-row insert. SQLite takes at most 32,766 parameters. */
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
export const readDeletions = (text: string | null): OwedDeletion[] =>
  text === null ? [] : DeletionsText.parse(JSON.parse(text))

/** Inserts accounts. An account that the ledger already has stays unchanged. */
export async function saveAccounts(
  writer: Writer,
  { gateway, at, runId }: { readonly gateway: string; readonly at: number; readonly runId: string },
  accounts: readonly KnownAccount[],
  { seal }: Pick<AccountIdCipher, 'seal'>,
): Promise<void> {
  const values = accounts.map(({ reference, accountId, isNew, sentBefore, born, named }) => ({
    gateway,
    reference: Buffer.from(reference, 'hex'),
    account_id: seal(accountId),
    registered_at: at,
    registered_by: isNew === true ? runId : null,
    sent_before: sentBefore,
    born: born ?? null,
    named: named ?? null,
  }))
  for (let start = 0; start < values.length; start += ROWS_AT_ONCE)
    await writer
      .insertInto('account')
      .values(values.slice(start, start + ROWS_AT_ONCE))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
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

/** Stores care-team entries. An account has one mark: set on one entry, the mark leaves all others. */
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
