import { z } from 'zod'
import { tolerated } from './tolerated.ts'

/**
 * Section "Registration": the body of POST /account/register. Which fields are required is not documented: all six are
 * sent. `dateOfBirth` is YYYY-MM-DD. Of the values of `gender` only `FEMALE` is documented.
 */
export const RegistrationRequest = z.looseObject({
  dateOfBirth: z.iso.date(),
  firstName: z.string().min(1),
  gender: z.string().min(1),
  lastName: z.string().min(1),
  partnerAccountId: z.string().min(1),
  postalCode: z.string().min(1),
})
export type RegistrationRequest = z.infer<typeof RegistrationRequest>

/** The answer to a registration, without an envelope. `accountId` must be kept: user-centric calls need it. */
export const RegistrationAnswer = z.looseObject({
  accountId: z.string().min(1),
  partnerAccountId: tolerated(z.string()),
})
export type RegistrationAnswer = z.infer<typeof RegistrationAnswer>
