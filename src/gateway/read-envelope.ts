import type { z } from 'zod'
import type { Account } from './account-query.ts'
import { type Answer, UnreadableAnswer } from './answer.ts'
import { AccountReferenceAsRead, accountIdOfEntity } from './contract/account-reference.ts'
import { EnvelopeCode, type EnvelopeError } from './contract/envelope.ts'
import { documented } from './contract/tolerated.ts'

/** What every envelope says beside its data. */
interface Outcome {
  readonly code?: unknown
  readonly data?: unknown
  readonly errors?: readonly EnvelopeError[] | null | undefined
}

/**
 * The code mirrors the HTTP status (section "Envelope"): one that tells of failure contradicts the status line. An object
 * with neither code nor data is no envelope, whatever else it holds.
 * @throws UnreadableAnswer
 */
export function checkCode(envelope: Outcome, answer: Answer): void {
  const told = EnvelopeCode.safeParse(envelope.code).data
  if (told === undefined && (envelope.data ?? undefined) === undefined) {
    throw new UnreadableAnswer('the body is no envelope')
  }
  const code = Number(told ?? answer.status)
  if (code >= 300) throw new UnreadableAnswer(`its envelope holds the code ${code}`)
}

/**
 * As `checkCode`, and refuses listed errors, which are "empty on success": an answer with them may lack records, and a
 * record that is taken for missing would be sent a second time. @throws UnreadableAnswer
 */
export function checkSuccess(envelope: Outcome, answer: Answer): void {
  checkCode(envelope, answer)
  const errors = envelope.errors?.length ?? 0
  if (errors > 0) throw new UnreadableAnswer(`its envelope lists ${errors} error${errors === 1 ? '' : 's'}`)
}

/** The records of an answer to a read. @throws UnreadableAnswer */
export function readItems<Item>(
  answer: Answer,
  schema: z.ZodType<Outcome & { readonly data: readonly Item[] }>,
): readonly Item[] {
  const envelope = answer.read(schema)
  checkSuccess(envelope, answer)
  return envelope.data
}

/**
 * Refuses records of another account than the one that was asked about, or of several: what they show, or lack, says nothing
 * of that one. Records that name no account, or not in the way in which it was asked about, are borne.
 * @param named the account that each record names
 * @throws UnreadableAnswer
 */
export function checkAccount(asked: Pick<Account, 'reference' | 'type'>, named: readonly unknown[]): void {
  const found = named.flatMap((account) => documented(AccountReferenceAsRead, account) ?? [])
  const of = (...types: readonly string[]) => found.filter(({ type }) => types.includes(type))
  const references = of('partnerAccountId').map(({ reference }) => reference)
  checkOne(asked.type === 'partnerAccountId' ? [asked.reference, ...references] : references)
  const ids = of('accountId', 'entity').map(({ reference }) => accountIdOfEntity(reference))
  checkOne(asked.type === 'accountId' ? [asked.reference, ...ids] : ids)
}

/** @param ids what should be the same account. @throws UnreadableAnswer */
export function checkOne(ids: readonly unknown[]): void {
  if (new Set(ids.filter((id) => typeof id === 'string')).size > 1)
    throw new UnreadableAnswer('it holds records of another account')
}
