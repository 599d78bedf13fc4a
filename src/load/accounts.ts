/**
 * Accounts: who has something to send and is not registered yet is registered first, once, and the id that the gateway gives is
 * kept (interface, "Accounts": user-centric calls need it).
 */
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { KnownAccount, Ledger, RunLedger, Tallies } from '../ledger/ledger.ts'
import { allDone } from './all-done.ts'
import type { Entry, Reason } from './entry.ts'
import { refusalWords, told } from './gateway-words.ts'
import { type Identity, parseTransactionId } from './identity.ts'
import type { AccountIds, Reconciler, ShownRecord } from './reconciler.ts'
import type { Sending } from './sending.ts'

export interface AccountsContext {
  readonly reconciler: Pick<Reconciler, 'profile'>
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
  /**
   * Whether it may have been sent by this installation before its ledger knew the person: the profile is read before it is sent. What was
   * observed since then cannot have been.
   */
  isPerhapsSent(entry: Entry): boolean
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
    for (const account of registered) known.set(account.reference, account)
  }
  return {
    accountIds: ({ reference, type }) =>
      type === 'accountId' ? reference : (known.get(hashes.get(reference) ?? '')?.accountId ?? undefined),
    refusalOf: ({ record }) => refusals.get(hashes.get(record.account.reference) ?? ''),
    isPerhapsSent({ record }) {
      const until = known.get(hashes.get(record.account.reference) ?? '')?.sentBefore ?? null
      return until !== null && record.observedAt <= until + DATE_ONLY_MS
    },
  }
}

async function registerAll(
  context: AccountsContext,
  missing: readonly (readonly [string, Entry])[],
  refusals: Map<string, Reason>,
): Promise<KnownAccount[]> {
  const registered: KnownAccount[] = []
  try {
    await allDone(
      missing.map(async ([hashed, entry]) => {
        const result = await registerOne(context, entry)
        if ('accountId' in result)
          registered.push({
            reference: hashed,
            ...result,
            sentBefore: result.isNew ? null : await perhapsSentUntil(context, entry, result.accountId),
          })
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

/** A day without a time may lie up to so much behind its start. */
const DATE_ONLY_MS = 86_400_000

/**
 * Of a person whom the gateway knows and the ledger does not, as after a ledger was lost: now, where the profile shows something of ours, or
 * something without an id that may be, or cannot be read; else null.
 */
async function perhapsSentUntil(
  { reconciler, now }: AccountsContext,
  { record }: Entry,
  accountId: string | null,
): Promise<number | null> {
  const account = accountId === null ? record.account : { reference: accountId, type: 'accountId' as const }
  const shown = await reconciler.profile(account)
  const isOurs = ({ persistentId, sourceType }: ShownRecord): boolean =>
    persistentId === undefined
      ? (sourceType ?? record.sourceType) === record.sourceType
      : parseTransactionId(persistentId) !== undefined
  return shown === undefined || shown.some(isOurs) ? now() : null
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
    return { stage: 'register', code: 'registration-refused', ...told(refusalWords(error), entry) }
  }
}
