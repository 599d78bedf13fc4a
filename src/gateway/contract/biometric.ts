import { z } from 'zod'
import { AccountReference, AccountReferenceAsRead } from './account-reference.ts'
import { Code, CodeAsRead } from './code.ts'
import { InstantAsRead, IsoInstant } from './observation-date.ts'
import { Source, SourceAsRead } from './source.ts'
import { tolerated } from './tolerated.ts'

/**
 * Section "Biometric record, as sent": an item of the array posted to /health-profile/biometrics (one user) and
 * /health-profile/biometrics/bulk (several). The interface marks no field as required; required here is what a record
 * cannot be told apart or read back without. `code`, `codeSystem` and `codeSystemName` repeat the measurement's coding;
 * reads return `codes` alone. `unit` is UCUM by our choice. `type` is documented as `Observation`.
 */
export const BiometricSent = z.looseObject({
  transactionId: z.string().min(1),
  account: AccountReference,
  name: z.string(),
  observationDate: IsoInstant,
  codeSystem: z.string().optional(),
  codeSystemName: z.string().optional(),
  code: z.string().optional(),
  codes: z.array(Code).min(1),
  refHigh: z.number().optional(),
  refLow: z.number().optional(),
  refRange: z.string().optional(),
  type: z.string().optional(),
  value: z.number(),
  unit: z.string().min(1),
  source: Source,
})
export type BiometricSent = z.infer<typeof BiometricSent>

/**
 * An item of `data[]` of the create response: the record without id, references and full source. `transactionId` is
 * needed: it alone says which record was taken, as no order is promised. `observationDate` is ISO 8601.
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
 * Section "Biometric record, as read": GET /health-profile/biometrics returns the latest record by observation date per
 * code and source type, with no transactionId. `observationDate`, `created` and `updated` are epoch milliseconds in a
 * string. `codes` and `observationDate` are needed: a record that could not be matched would be sent a second time.
 */
export const BiometricRead = z.looseObject({
  id: tolerated(z.string()),
  accountReference: tolerated(AccountReferenceAsRead),
  created: tolerated(InstantAsRead),
  updated: tolerated(InstantAsRead),
  name: tolerated(z.string()),
  source: tolerated(SourceAsRead),
  observationDate: InstantAsRead,
  value: tolerated(z.number()),
  unit: tolerated(z.string()),
  codes: z.array(CodeAsRead),
})
export type BiometricRead = z.infer<typeof BiometricRead>
