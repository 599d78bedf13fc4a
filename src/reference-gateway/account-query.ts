import { z } from 'zod'
import { AccountQuery, accountIdOfEntity, EntityQuery } from '../gateway/contract/account.ts'
import type { Account, AccountStore } from './account-store.ts'
import { faultAt, faultsOf, Refusal } from './refusal.ts'

/** The account that `accountReference` and `accountReferenceType` name. 400 where they are wrong, 404 where it is not registered. */
export function accountInQuery(query: unknown, accounts: AccountStore): Account {
  const result = AccountQuery.safeParse(query)
  if (!result.success) throw new Refusal(400, faultsOf(result.error, 'query'))
  const { accountReference: reference, accountReferenceType: type } = result.data
  return registered(accounts.resolve({ reference, type }))
}

/** As `accountInQuery`; `entity`, the URL form that ends in the account id, stands in where no reference is given. */
export function accountOrEntityInQuery(query: unknown, accounts: AccountStore): Account {
  const entity = EntityQuery.extend({ accountReference: z.undefined().optional() }).safeParse(query)
  if (!entity.success) return accountInQuery(query, accounts)
  return registered(accounts.resolve({ reference: accountIdOfEntity(entity.data.entity), type: 'accountId' }))
}

function registered(account: Account | undefined): Account {
  if (account === undefined) throw new Refusal(404, [faultAt('account', 'not registered')])
  return account
}
