import { UnreadableAnswer } from './answer.ts'
import {
  type Account,
  accountQuery,
  RegistrationAnswer,
  type RegistrationRequest,
} from './contract/account.ts'
import type { Transport } from './transport.ts'

export interface Registration {
  /** To be kept: user-centric calls need it. Undefined where the gateway knows the account and does not name its id. */
  readonly accountId: string | undefined
  /** The gateway says that it knew the account (409). A 2xx for an account it knew cannot be told from a new one. */
  readonly known: boolean
}

/** Accounts, called with the API key alone (section "Authentication"). */
export type Accounts = ReturnType<typeof createAccounts>

export function createAccounts(transport: Transport) {
  return {
    /** @throws GatewayError; `ambiguous` also where the answer names another partner account than the one registered */
    register: (request: RegistrationRequest): Promise<Registration> =>
      transport.send(
        { endpoint: 'registerAccount', body: JSON.stringify(request), alsoAnswers: [409] },
        (answer) => {
          if (answer.status !== 409) {
            return { accountId: idFor(request, answer.read(RegistrationAnswer)), known: false }
          }
          const named = RegistrationAnswer.safeParse(answer.json())
          return { accountId: named.success ? idFor(request, named.data) : undefined, known: true }
        },
      ),
    /** Status and body of the answer are not documented: any 2xx counts. @throws GatewayError */
    delete: (account: Account): Promise<void> =>
      transport.send({ endpoint: 'deleteAccount', query: accountQuery(account) }, () => undefined),
  }
}

/** An id that came with another partner's account would put one person's data on another. */
function idFor(request: RegistrationRequest, answer: RegistrationAnswer): string {
  const { accountId, partnerAccountId = request.partnerAccountId } = answer
  if (partnerAccountId === request.partnerAccountId) return accountId
  throw new UnreadableAnswer('it names another partner account')
}
