/** Takes a person out of the ledger. What was delivered is known by hashes of row keys, which lead to nobody: that stays. */
import type { Writer } from './exclusive.ts'

export async function forgetPerson(
  writer: Writer,
  gateway: string,
  references: readonly string[],
  accountId: string | null,
): Promise<void> {
  const hashes = references.map((one) => Buffer.from(one, 'hex'))
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
  await writer.deleteFrom('account').where('gateway', '=', gateway).where('reference', 'in', people).execute()
  await writer.deleteFrom('care_team').where('gateway', '=', gateway).where('account', 'in', people).execute()
  const jobs = writer.selectFrom('job').select('id').where('gateway', '=', gateway)
  await writer
    .deleteFrom('care_team_listed')
    .where('account', 'in', people)
    .where('job_id', 'in', jobs)
    .execute()
  await writer.deleteFrom('collected').where('person', 'in', people).where('job_id', 'in', jobs).execute()
}
