import { z } from 'zod'
import { each, tolerated } from './shared-objects.ts'

/** Section "Account reference": the types in use on writes and in query parameters. */
export const AccountReferenceType = z.enum(['accountId', 'partnerAccountId'])
export type AccountReferenceType = z.infer<typeof AccountReferenceType>

/** Whose record it is, as sent in the field `account`. `sponsor` comes back in the echo of a biometric alone. */
export const AccountReference = z.looseObject({
  reference: z.string().min(1),
  type: AccountReferenceType,
  sponsor: z.string().optional(),
})
export type AccountReference = z.infer<typeof AccountReference>

/**
 * Whose record it is, as answered: `accountReference` of a biometric as read, `account` elsewhere. `type` is `accountId`
 * or `entity` in reads, and may be the type that was sent in an echo; any other string is borne. For `entity` the
 * reference is a URL-form identifier that ends in the account id (`accountIdOfEntity`).
 */
export const AccountReferenceAsRead = z.looseObject({ type: z.string(), reference: z.string() })
export type AccountReferenceAsRead = z.infer<typeof AccountReferenceAsRead>

/** Query parameters that name the user on every user-centric GET and DELETE. */
export const AccountQuery = z.object({
  accountReference: z.string().min(1),
  accountReferenceType: AccountReferenceType,
})
export type AccountQuery = z.infer<typeof AccountQuery>

/** The alternative to `AccountQuery` that GET /health-profile/biometrics also takes: the account in URL form. */
export const EntityQuery = z.object({ entity: z.string().min(1) })
export type EntityQuery = z.infer<typeof EntityQuery>

/** The account id at the end of an entity's URL form (`…/accounts/4711` gives `4711`); all of it where it has no slash. */
export function accountIdOfEntity(entity: string): string {
  const path = entity.replace(/[?#].*$/s, '').replace(/\/+$/, '')
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Whose records are read or deleted. */
export type Account = Pick<AccountReference, 'reference' | 'type'>

/** The query parameters that name the user (section "Account reference"). */
export function accountQuery(account: Account): URLSearchParams {
  const query: AccountQuery = { accountReference: account.reference, accountReferenceType: account.type }
  return new URLSearchParams(query)
}

/**
 * Section "Registration": the body of POST /account/register. Which fields are required is not documented: all six are
 * sent. `dateOfBirth` is YYYY-MM-DD. Of the values of `gender` only `FEMALE` is documented.
 */
export const RegistrationRequest = z.looseObject({
  dateOfBirth: z.iso.date(),
  ...each(['firstName', 'gender', 'lastName', 'partnerAccountId', 'postalCode'], z.string().min(1)),
})
export type RegistrationRequest = z.infer<typeof RegistrationRequest>

/** The answer to a registration, without an envelope. `accountId` must be kept: user-centric calls need it. */
export const RegistrationAnswer = z.looseObject({
  accountId: z.string().min(1),
  partnerAccountId: tolerated(z.string()),
})
export type RegistrationAnswer = z.infer<typeof RegistrationAnswer>
