import type { AccountQuery, AccountReference } from './contract/account-reference.ts'

/** Whose records are read or deleted. */
export type Account = Pick<AccountReference, 'reference' | 'type'>

/** The query parameters that name the user (section "Account reference"). */
export function accountQuery(account: Account): URLSearchParams {
  const query: AccountQuery = { accountReference: account.reference, accountReferenceType: account.type }
  return new URLSearchParams(query)
}
