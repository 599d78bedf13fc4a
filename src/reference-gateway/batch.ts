import { z } from 'zod'
import type { AccountReference } from '../gateway/contract/account.ts'
import type { Account, AccountStore } from './account-store.ts'
import { textOf } from './json-body.ts'
import { type Fault, faultAt, faultsOf, MOST_FAULTS, Refusal } from './refusal.ts'

/** One record of a batch. */
export interface Incoming<Item> {
  /** The documented fields, checked. */
  readonly record: Item
  /** JSON text of the record as it was sent, with the fields that are not documented. */
  readonly body: string
}

/** The reader of an array of records: 400 naming position and field of what is wrong, where anything is. */
export function createBatchReader<Item>(item: z.ZodType<Item>) {
  const schema = z.array(item).min(1)
  return (body: unknown): Incoming<Item>[] => {
    const result = schema.safeParse(body)
    if (!result.success) throw new Refusal(400, faultsOf(result.error, 'records'))
    const sent: unknown[] = Array.isArray(body) ? body : []
    return result.data.map((record, index) => ({ record, body: textOf(sent[index]) }))
  }
}

/** One record of a batch with the account it is stored under. */
export interface Owned<Item> extends Incoming<Item> {
  readonly owner: Account
}

/**
 * A batch with the account of each record. 404 naming the positions of records whose account is not registered; 400
 * where the call takes one user's records and the batch holds another's.
 */
export function withOwners<Item extends { readonly account: AccountReference }>(
  batch: readonly Incoming<Item>[],
  accounts: AccountStore,
  users: 'one' | 'several',
): Owned<Item>[] {
  const known = new Map<string, Account | undefined>()
  const unknown: Fault[] = []
  const owned: Owned<Item>[] = []
  for (const [position, { record, body }] of batch.entries()) {
    const { type, reference } = record.account
    const key = `${type} ${reference}`
    if (!known.has(key)) known.set(key, accounts.resolve({ type, reference }))
    const owner = known.get(key)
    if (owner === undefined)
      unknown.push(faultAt('records', 'the account is not registered', position, 'account'))
    else owned.push({ record, body, owner })
  }
  if (unknown.length > 0) throw new Refusal(404, unknown.slice(0, MOST_FAULTS))
  const stranger = users === 'one' ? owned.findIndex(({ owner }) => owner.seq !== owned[0]?.owner.seq) : -1
  if (stranger !== -1) {
    throw new Refusal(400, [
      faultAt('records', 'another user than that of the first record', stranger, 'account'),
    ])
  }
  return owned
}
