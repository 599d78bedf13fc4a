import { z } from 'zod'
import { each, tolerated } from './shared-objects.ts'

/** Section "Account reference": the types for writes and query parameters. */
export const AccountReferenceType = z.enum(['accountId', 'partnerAccountId'])
export type AccountReferenceType = z.infer<typeof AccountReferenceType>

/** Account of a record, as sent in the field `account`. Only the echo of a biometric returns `sponsor`. */
export const AccountReference = z.looseObject({
  reference: z.string().min(1),
  type: AccountReferenceType,
  sponsor: z.string().optional(),
})
export type AccountReference = z.infer<typeof AccountReference>

/**
 * Account of a record, as answered: `accountReference` of a biometric as read, `account` elsewhere. `type` is `accountId` or `entity` in
 * reads, and may be the type sent in an echo; any other string is accepted. For `entity`, the reference is a URL-form identifier that ends
 * in the account id (`accountIdOfEntity`).
 */
export const AccountReferenceAsRead = z.looseObject({ type: z.string(), reference: z.string() })
export type AccountReferenceAsRead = z.infer<typeof AccountReferenceAsRead>

/** Query parameters for the user of every user-centric GET and DELETE. */
export const AccountQuery = z.object({
  accountReference: z.string().min(1),
  accountReferenceType: AccountReferenceType,
})
export type AccountQuery = z.infer<typeof AccountQuery>

/** Alternative to `AccountQuery` for GET /health-profile/biometrics: the account in URL form. */
export const EntityQuery = z.object({ entity: z.string().min(1) })
export type EntityQuery = z.infer<typeof EntityQuery>

/** Returns the account id at the end of an entity's URL form (`…/accounts/4711` gives `4711`); the whole text if there is no slash. */
export function accountIdOfEntity(entity: string): string {
  const path = entity.replace(/[?#].*$/s, '').replace(/\/+$/, '')
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Account whose records are read or deleted. */
export type Account = Pick<AccountReference, 'reference' | 'type'>

/** Builds the query parameters for the user (section "Account reference"). */
export function accountQuery(account: Account): URLSearchParams {
  const query: AccountQuery = { accountReference: account.reference, accountReferenceType: account.type }
  return new URLSearchParams(query)
}

/**
 * Section "Registration": body of POST /account/register. The document does not say which fields are required, so all six are sent.
 * `dateOfBirth` is YYYY-MM-DD. Of the values of `gender`, only `FEMALE` is documented.
 */
export const RegistrationRequest = z.looseObject({
  dateOfBirth: z.iso.date(),
  ...each(['firstName', 'gender', 'lastName', 'partnerAccountId', 'postalCode'], z.string().min(1)),
})
export type RegistrationRequest = z.infer<typeof RegistrationRequest>

/** Answer to a registration, without an envelope. Keep `accountId`: user-centric calls need it. */
export const RegistrationAnswer = z.looseObject({
  accountId: z.string().min(1),
  partnerAccountId: tolerated(z.string()),
})
export type RegistrationAnswer = z.infer<typeof RegistrationAnswer>
