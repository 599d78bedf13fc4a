import { z } from 'zod'
import { AccountReference, AccountReferenceAsRead } from './account-reference.ts'
import { Code, CodeAsRead } from './code.ts'
import { EpochMs, InstantAsRead } from './observation-date.ts'
import { Source, SourceAsRead } from './source.ts'
import { tolerated } from './tolerated.ts'

/**
 * Section "Condition record, as sent": an item of the array posted to /health-profile/conditions (one user) and
 * /health-profile/conditions/bulk (several). `observationDate` is a number of epoch milliseconds. The values of `status`
 * are not listed. `source.meta.dataQuality` `normalized` requests validation.
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
 * Section "Condition record, as returned": by create (with `id`) and, in a nested envelope, by read. There is no
 * transactionId, status, medication or family. `observationDate` is a string of undocumented form; `createDate` and
 * `updateDate` are epoch milliseconds in a string. `codes` and `observationDate` are needed: a record that could not be
 * matched would be sent a second time.
 */
export const ConditionReturned = z.looseObject({
  id: tolerated(z.string()),
  account: tolerated(AccountReferenceAsRead),
  name: tolerated(z.string()),
  codes: z.array(CodeAsRead),
  observationDate: InstantAsRead,
  source: tolerated(SourceAsRead),
  createDate: tolerated(InstantAsRead),
  updateDate: tolerated(InstantAsRead),
})
export type ConditionReturned = z.infer<typeof ConditionReturned>
