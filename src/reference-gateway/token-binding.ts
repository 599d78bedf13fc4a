/** Bearer tokens that stand for a user, as the command line binds them. Nothing of the gateway is loaded for that. */
import type { AccountReference } from '../gateway/contract/account.ts'

/** Whom a bearer token stands for. */
export type TokenOwner = Pick<AccountReference, 'reference' | 'type'>

/**
 * Reads a binding as the command line has it: `TOKEN=REFERENCE`, where REFERENCE is a partner account id or
 * `accountId:ID`; the token may end in `=` (RFC 6750 section 2.1). Undefined where it has another form.
 */
export function bindingOf(text: string): { readonly token: string; readonly owner: TokenOwner } | undefined {
  const [, token, accountId, partnerAccountId] = /^([^\s=]+=*)=(?:accountId:(.+)|([^=].*))$/s.exec(text) ?? []
  if (token === undefined) return undefined
  if (accountId !== undefined) return { token, owner: { reference: accountId, type: 'accountId' } }
  if (partnerAccountId === undefined || partnerAccountId === 'accountId:') return undefined
  return { token, owner: { reference: partnerAccountId, type: 'partnerAccountId' } }
}
