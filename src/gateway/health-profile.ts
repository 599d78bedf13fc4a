import type { AccountQuery, AccountReference } from './contract/account-reference.ts'
import type { BodyContent } from './transport.ts'

/** Content type of the bodies of the health profile, as its samples have it (section "Authentication"). */
const CONTENT_TYPE = 'application/json;charset=UTF-8'

/** Whose records are read or deleted. */
export type Account = Pick<AccountReference, 'reference' | 'type'>

/** A body that is sent as it stands, byte for byte. */
export function healthProfileBody(content: BodyContent): {
  readonly content: BodyContent
  readonly contentType: string
} {
  return { content, contentType: CONTENT_TYPE }
}

/** The query parameters that name the user (section "Account reference"). */
export function accountQuery(account: Account): URLSearchParams {
  const query: AccountQuery = { accountReference: account.reference, accountReferenceType: account.type }
  return new URLSearchParams(query)
}
