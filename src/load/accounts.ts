/**
 * Accounts: who has something to send and is not registered yet is registered first, once, and the id that the gateway gives is
 * kept (interface, "Accounts": user-centric calls need it).
 */
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { KnownAccount, Ledger, RunLedger, Tallies } from '../ledger/ledger.ts'
import { allDone } from './all-done.ts'
import type { Entry, Reason } from './entry.ts'
import { refusalWords, secretsOf, told } from './gateway-words.ts'
import type { Identity } from './identity.ts'
import type { AccountIds } from './reconciler.ts'
import type { Sending } from './sending.ts'

export interface AccountsContext {
  readonly gateway: Gateway
  /** Names the gateway in the ledger: its address. */
  readonly gatewayName: string
  readonly ledger: Pick<Ledger, 'accounts'>
  readonly runLedger: RunLedger
  readonly sending: Sending
  readonly identity: Identity
  readonly register: 'missing' | 'never'
  readonly tallies: Tallies
  readonly now: () => number
}

export interface ResolvedAccounts {
  readonly accountIds: AccountIds
  /** Why nothing can be sent for this entry's person; undefined where all is well. */
  refusalOf(entry: Entry): Reason | undefined
}

/** @throws WaybillError where the run must stop */
export async function resolveAccounts(
  context: AccountsContext,
  entries: readonly Entry[],
): Promise<ResolvedAccounts> {
  const { identity, tallies } = context
  const hashes = new Map<string, string>()
  const firstEntry = new Map<string, Entry>()
  for (const entry of entries) {
    const { reference, type } = entry.record.account
    if (type !== 'partnerAccountId' || hashes.has(reference)) continue
    const hashed = identity.account(entry.record.account)
    hashes.set(reference, hashed)
    firstEntry.set(hashed, entry)
  }
  const known = await context.ledger.accounts(context.gatewayName, [...firstEntry.keys()])
  tallies.accounts.known += known.size
  const refusals = new Map<string, Reason>()
  if (context.register === 'missing') {
    const missing = [...firstEntry].filter(([hashed]) => !known.has(hashed))
    const registered = await registerAll(context, missing, refusals)
    for (const { reference, accountId } of registered) known.set(reference, accountId)
  }
  return {
    accountIds: ({ reference, type }) =>
      type === 'accountId' ? reference : (known.get(hashes.get(reference) ?? '') ?? undefined),
    refusalOf: ({ record }) => refusals.get(hashes.get(record.account.reference) ?? ''),
  }
}

async function registerAll(
  context: AccountsContext,
  missing: readonly (readonly [string, Entry])[],
  refusals: Map<string, Reason>,
): Promise<(KnownAccount & Registered)[]> {
  const registered: (KnownAccount & Registered)[] = []
  try {
    await allDone(
      missing.map(async ([hashed, entry]) => {
        const result = await registerOne(context, entry)
        if ('accountId' in result) registered.push({ reference: hashed, ...result })
        else {
          refusals.set(hashed, result)
          context.tallies.accounts.refused++
        }
      }),
    )
  } finally {
    // What was registered is kept, also where the run must stop.
    if (registered.length > 0)
      await context.runLedger.saveAccounts(context.gatewayName, registered, context.now())
  }
  return registered
}

interface Registered {
  readonly accountId: string | null
  readonly isNew: boolean
}

async function registerOne(context: AccountsContext, entry: Entry): Promise<Registered | Reason> {
  const draft = entry.row.register()
  if (draft === undefined) {
    const message =
      'the person is not known to be registered, and the mapping has no account.register to do it with'
    return { stage: 'register', code: 'account-unknown', message, scrubbed: message }
  }
  if (!draft.ok) {
    const { code, message, field } = draft.issue
    return { stage: 'register', code, message, scrubbed: message, ...(field === undefined ? {} : { field }) }
  }
  const { registration } = draft
  try {
    const account = await context.sending.idempotent('register account', () =>
      context.gateway.accounts.register(registration),
    )
    if (account.known) context.tallies.accounts.known++
    else context.tallies.accounts.registered++
    return { accountId: account.accountId ?? null, isNew: !account.known }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const words = told(refusalWords(error), secretsOf(registration))
    return { stage: 'register', code: 'registration-refused', ...words }
  }
}
