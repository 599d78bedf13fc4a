import { z } from 'zod'
import { AccountQuery, AccountReference, AccountReferenceAsRead } from './account.ts'
import {
  Code,
  CodeAsRead,
  EpochMs,
  EpochMsText,
  each,
  InstantAsRead,
  IsoInstant,
  Source,
  SourceAsRead,
  textsAsRead,
  textsSent,
  tolerated,
} from './shared-objects.ts'

/**
 * Section "Biometric record, as sent": item of the array posted to /health-profile/biometrics (a single user) and
 * /health-profile/biometrics/bulk (several). The interface requires no field; required here are those that identify a
 * record or allow reading it back. `code`, `codeSystem` and `codeSystemName` repeat the measurement's coding; reads return only `codes`. `unit` is
 * UCUM by our choice. `type` is documented as `Observation`.
 */
export const BiometricSent = z.looseObject({
  transactionId: z.string().min(1),
  account: AccountReference,
  name: z.string(),
  observationDate: IsoInstant,
  ...textsSent('codeSystem', 'codeSystemName', 'code'),
  codes: z.array(Code).min(1),
  ...each(['refHigh', 'refLow'], z.number().optional()),
  ...textsSent('refRange', 'type'),
  value: z.number(),
  unit: z.string().min(1),
  source: Source,
})
export type BiometricSent = z.infer<typeof BiometricSent>

/**
 * Item of `data[]` of the create response: the record without id, references and full source. `transactionId` is needed: the order is not
 * promised, so only this id identifies the record. `observationDate` is ISO 8601.
 */
export const BiometricEcho = z.looseObject({
  transactionId: z.string(),
  account: tolerated(AccountReferenceAsRead.extend({ sponsor: tolerated(z.string()) })),
  name: tolerated(z.string()),
  source: tolerated(SourceAsRead),
  observationDate: tolerated(InstantAsRead),
  value: tolerated(z.number()),
  unit: tolerated(z.string()),
  codes: tolerated(z.array(CodeAsRead)),
})
export type BiometricEcho = z.infer<typeof BiometricEcho>

/**
 * Section "Biometric record, as read": GET /health-profile/biometrics returns the latest record by observation date per code and source
 * type, without transactionId. `observationDate`, `created` and `updated` are epoch milliseconds in a string. `codes` and `observationDate`
 * are needed: an unmatched record would be sent a second time.
 */
export const BiometricRead = z.looseObject({
  id: tolerated(z.string()),
  accountReference: tolerated(AccountReferenceAsRead),
  ...each(['created', 'updated'], tolerated(InstantAsRead)),
  name: tolerated(z.string()),
  source: tolerated(SourceAsRead),
  observationDate: InstantAsRead,
  value: tolerated(z.number()),
  unit: tolerated(z.string()),
  codes: z.array(CodeAsRead),
})
export type BiometricRead = z.infer<typeof BiometricRead>

/**
 * Section "Condition record, as sent": item of the array posted to /health-profile/conditions (a single user) and
 * /health-profile/conditions/bulk (several). `observationDate` is a number of epoch milliseconds. The document does not list the values of
 * `status`. `source.meta.dataQuality` `normalized` requests validation.
 */
export const ConditionSent = z.looseObject({
  transactionId: z.string().min(1),
  account: AccountReference,
  name: z.string(),
  status: z.string().optional(),
  source: Source,
  observationDate: EpochMs,
  medication: z.array(Code).optional(),
  family: z
    .looseObject({ history: z.string().optional(), member: z.array(z.string()).optional() })
    .optional(),
  codes: z.array(Code).min(1),
})
export type ConditionSent = z.infer<typeof ConditionSent>

/**
 * Section "Condition record, as returned": by create (with `id`) and, in a nested envelope, by read. Without transactionId, status,
 * medication and family. `observationDate` is a string of undocumented form; `createDate` and `updateDate` are epoch milliseconds in a
 * string. `codes` and `observationDate` are needed: an unmatched record would be sent a second time.
 */
export const ConditionReturned = z.looseObject({
  id: tolerated(z.string()),
  account: tolerated(AccountReferenceAsRead),
  name: tolerated(z.string()),
  codes: z.array(CodeAsRead),
  observationDate: InstantAsRead,
  source: tolerated(SourceAsRead),
  ...each(['createDate', 'updateDate'], tolerated(InstantAsRead)),
})
export type ConditionReturned = z.infer<typeof ConditionReturned>

/**
 * Section "Care team record, as sent": item of the array posted to /health-profile/care-teams. `observationDate` is epoch milliseconds in a
 * string; `npi` is the ten-digit National Provider Identifier.
 */
export const CareTeamSent = z.looseObject({
  account: AccountReference,
  name: z.string().optional(),
  profile: z.url().optional(),
  ...textsSent('phoneNumber', 'type', 'location', 'address', 'city', 'zip', 'npi'),
  observationDate: EpochMsText,
  source: Source,
})
export type CareTeamSent = z.infer<typeof CareTeamSent>

/**
 * Section "Care team record, as returned", by create and by list. Without an account; `userId` is assumed to be the account id.
 * `createDate` and `updateDate` are epoch milliseconds in a string (`0`: never updated), `observationDate` is a number of epoch
 * milliseconds. `id` is needed for deleting and for marking the PCP.
 */
export const CareTeamReturned = z.looseObject({
  id: z.string(),
  ...textsAsRead('userId', 'profile'),
  ...each(['createDate', 'updateDate'], tolerated(InstantAsRead)),
  ...textsAsRead('name', 'npi', 'zip', 'city', 'address', 'location', 'phoneNumber', 'type'),
  pcp: tolerated(z.boolean()),
  observationDate: tolerated(InstantAsRead),
  source: tolerated(SourceAsRead),
  hydrateCareTeams: tolerated(z.boolean()),
})
export type CareTeamReturned = z.infer<typeof CareTeamReturned>

/**
 * Query of DELETE /health-profile/care-teams: `id` and `npi` are repeatable parameters, at least one in all. The answer has no body: 204 if
 * something was deleted, 404 if nothing matched.
 */
export const CareTeamDeletionQuery = AccountQuery.extend({
  ...each(['id', 'npi'], z.array(z.string().min(1)).optional()),
}).refine(({ id = [], npi = [] }) => id.length + npi.length > 0, 'Expected at least one id or npi')
export type CareTeamDeletionQuery = z.infer<typeof CareTeamDeletionQuery>

/** Body of POST and DELETE /health-profile/care-teams/pcp: the account, and the entry by `id` or by `npi`. */
export const PrimaryCareRequest = z
  .looseObject({ account: AccountReference, ...each(['id', 'npi'], z.string().min(1).optional()) })
  .refine((request) => request.id !== undefined || request.npi !== undefined, 'Expected an id or an npi')
export type PrimaryCareRequest = z.infer<typeof PrimaryCareRequest>

/** Single item of `data[]` in the answer to setting and unsetting the PCP. */
export const PrimaryCareReturned = z.looseObject({ npi: tolerated(z.string()) })
export type PrimaryCareReturned = z.infer<typeof PrimaryCareReturned>
