import { z } from 'zod'
import { AccountQuery, AccountReference } from './account-reference.ts'
import { EpochMsText, InstantAsRead } from './observation-date.ts'
import { Source, SourceAsRead } from './source.ts'
import { tolerated } from './tolerated.ts'

/**
 * Section "Care team record, as sent": an item of the array posted to /health-profile/care-teams. `observationDate` is
 * epoch milliseconds in a string; `npi` is the ten-digit National Provider Identifier.
 */
export const CareTeamSent = z.looseObject({
  account: AccountReference,
  name: z.string().optional(),
  profile: z.url().optional(),
  phoneNumber: z.string().optional(),
  type: z.string().optional(),
  location: z.string().optional(),
  address: z.string().optional(),
  city: z.string().optional(),
  zip: z.string().optional(),
  npi: z.string().optional(),
  observationDate: EpochMsText,
  source: Source,
})
export type CareTeamSent = z.infer<typeof CareTeamSent>

/**
 * Section "Care team record, as returned", by create and by list. There is no account; `userId` is taken to be the
 * account id. `createDate` and `updateDate` are epoch milliseconds in a string (`0`: never updated), `observationDate`
 * is a number of epoch milliseconds. `id` is needed: deleting and marking the PCP go by it.
 */
export const CareTeamReturned = z.looseObject({
  id: z.string(),
  userId: tolerated(z.string()),
  profile: tolerated(z.string()),
  createDate: tolerated(InstantAsRead),
  updateDate: tolerated(InstantAsRead),
  name: tolerated(z.string()),
  npi: tolerated(z.string()),
  zip: tolerated(z.string()),
  city: tolerated(z.string()),
  address: tolerated(z.string()),
  location: tolerated(z.string()),
  phoneNumber: tolerated(z.string()),
  type: tolerated(z.string()),
  pcp: tolerated(z.boolean()),
  observationDate: tolerated(InstantAsRead),
  source: tolerated(SourceAsRead),
  hydrateCareTeams: tolerated(z.boolean()),
})
export type CareTeamReturned = z.infer<typeof CareTeamReturned>

/**
 * Query of DELETE /health-profile/care-teams: `id` and `npi` are repeatable parameters, at least one in all. The answer
 * has no body: 204 when something was deleted, 404 when nothing matched.
 */
export const CareTeamDeletionQuery = AccountQuery.extend({
  id: z.array(z.string().min(1)).optional(),
  npi: z.array(z.string().min(1)).optional(),
}).refine(
  (query) => (query.id?.length ?? 0) + (query.npi?.length ?? 0) > 0,
  'Expected at least one id or npi',
)
export type CareTeamDeletionQuery = z.infer<typeof CareTeamDeletionQuery>

/** Body of POST and DELETE /health-profile/care-teams/pcp: the account, and the entry by `id` or by `npi`. */
export const PrimaryCareRequest = z
  .looseObject({
    account: AccountReference,
    id: z.string().min(1).optional(),
    npi: z.string().min(1).optional(),
  })
  .refine((request) => request.id !== undefined || request.npi !== undefined, 'Expected an id or an npi')
export type PrimaryCareRequest = z.infer<typeof PrimaryCareRequest>

/** The one item of `data[]` that setting and unsetting the PCP answer. */
export const PrimaryCareReturned = z.looseObject({ npi: tolerated(z.string()) })
export type PrimaryCareReturned = z.infer<typeof PrimaryCareReturned>
