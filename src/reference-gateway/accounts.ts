import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { RegistrationRequest } from '../gateway/contract/account.ts'
import { accountInQuery } from './account-query.ts'
import type { AccountStore } from './account-store.ts'
import { textOf } from './json-body.ts'
import { faultAt, faultsOf, Refusal } from './refusal.ts'
import { serveEndpoint } from './serve-endpoint.ts'

/** Values of `gender` taken here; the interface shows `FEMALE` and says of others: not shown. */
const GENDERS = ['FEMALE', 'MALE', 'OTHER', 'UNKNOWN'] as const

/** What a partnerAccountId that is registered already gets: 200 with its account id, or 409. The interface does not say. */
export type RegisteredAgain = 'same' | 'conflict'

/** Section "Accounts". Registration answers without an envelope; deletion answers 204, and 404 for an unknown account. */
export function serveAccounts(
  app: FastifyInstance,
  accounts: AccountStore,
  options: { readonly registeredAgain: RegisteredAgain; readonly clock: () => number },
): void {
  const Registration = RegistrationRequest.extend({
    gender: z.enum(GENDERS),
    dateOfBirth: z.iso
      .date()
      .refine((date) => Date.parse(date) <= options.clock(), 'Invalid date: it lies in the future'),
  })

  serveEndpoint(app, 'registerAccount', async (request) => {
    const result = Registration.safeParse(request.body)
    if (!result.success) throw new Refusal(400, faultsOf(result.error, 'registration'))
    const { partnerAccountId } = result.data
    const known = accounts.find({ reference: partnerAccountId, type: 'partnerAccountId' })
    if (known !== undefined && options.registeredAgain === 'conflict') {
      throw new Refusal(409, [faultAt('registration', 'registered already', undefined, 'partnerAccountId')])
    }
    const { accountId } = known ?? accounts.register(partnerAccountId, textOf(request.body))
    return { accountId, partnerAccountId }
  })

  serveEndpoint(app, 'deleteAccount', async (request, reply) => {
    accounts.remove(accountInQuery(request.query, accounts))
    return reply.code(204).send()
  })
}
