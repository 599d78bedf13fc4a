/**
 * Stale account ids (docs/delivery.md, "A stale account"). Records delivered to the former account count as not delivered: the row keys of the
 * person are hashed in another way from then on.
 */
import { GatewayError } from '../gateway/gateway-error.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Entry, keyOfPerson } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountSign } from '../model/outcome.ts'
import type { AccountKey } from '../model/record.ts'
import { type AccountsContext, perhapsSent, registrationOf } from './accounts.ts'
import type { Delivery, StaleAccounts } from './delivery.ts'

/** An account after its registration. */
interface Renewed {
  /** Null where neither the answer nor the profile has the id. */
  readonly accountId: string | null
  /** True where the gateway knew the person (409) at the first try. */
  readonly isKnown: boolean
  /** True where the profile is readable and empty. */
  readonly isEmpty: boolean
}

/**
 * Judges a sign.
 * @param before the account id in the ledger
 * @param renewed undefined where the person could not be registered
 */
export function isStale(sign: AccountSign, before: string | null, renewed: Renewed | undefined): boolean {
  if (renewed === undefined) return sign !== 'not-found'
  const { accountId, isKnown, isEmpty } = renewed
  if (before !== null && accountId !== null && accountId !== before) return true
  switch (sign) {
    case 'no-account':
      return true
    case 'other-id':
      // The registration returns the known id: the answer was wrong.
      return accountId === null
    case 'not-found':
      return !isKnown && isEmpty
  }
}

type StaleContext = Omit<AccountsContext, 'stale'> & Pick<Delivery, 'readLagMs' | 'pause'>

export function createStaleAccounts(context: StaleContext): StaleAccounts {
  const { ledger, runLedger, gatewayName, identity, now } = context
  const stale = new Set<string>()
  /** Signs judged, by reference: one after the other, each sign once. */
  const judged = new Map<string, { signs: Set<AccountSign>; last: Promise<void> }>()

  const registerAnew = async (
    entry: Entry,
    sign: AccountSign,
  ): Promise<(Renewed & { sentBefore: number | null }) | undefined> => {
    const draft = context.register === 'missing' ? registrationOf(entry) : undefined
    if (draft === undefined || 'stage' in draft) return undefined
    let tries = 0
    try {
      const { accountId, known } = await context.sending.register(
        'register account',
        () => {
          tries++
          return context.gateway.accounts.register({ ...draft })
        },
        () => undefined,
      )
      if (!known) context.tallies.accounts.registered++
      // An earlier try without an answer may have created the account that a later try finds.
      const isKnown = known && tries === 1
      if (sign === 'other-id' || known !== isKnown) await context.pause(context.readLagMs)
      const { until, shown } = await perhapsSent(context, entry)
      const named = shown?.find((one) => one.accountId !== undefined)?.accountId
      const isEmpty = shown?.length === 0
      return { accountId: accountId ?? named ?? null, isKnown, isEmpty, sentBefore: until }
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }

  const judge = async (entry: Entry, sign: AccountSign): Promise<void> => {
    const { reference } = entry.account
    if (stale.has(reference)) return
    const hashed = identity.account(entry.account)
    const known = (await ledger.people.accounts(gatewayName, [hashed])).get(hashed)
    const ofRun = await ledger.people.registeredBy(gatewayName, [hashed], runLedger.lease.runId)
    if (known === undefined || ofRun.has(hashed)) return
    const forget = (): Promise<void> => runLedger.forgetAccount(gatewayName, hashed, known.accountId)
    // Forgets before the account exists again: otherwise a process that ends in between would leave no trace.
    if (sign === 'no-account') {
      stale.add(reference)
      await forget()
    }
    const renewed = await registerAnew(entry, sign)
    if (!isStale(sign, known.accountId, renewed)) return
    stale.add(reference)
    if (sign !== 'no-account') await forget()
    if (renewed === undefined) return
    const { accountId, sentBefore } = renewed
    await runLedger.saveAccounts(gatewayName, [{ ...known, accountId, sentBefore }], now())
  }

  return {
    has: (entry) => stale.size > 0 && stale.has(entry.account.reference),
    judge(entry, sign) {
      const { reference, type } = entry.account
      if (type !== 'partnerAccountId') return Promise.resolve(false)
      const asked = judged.get(reference) ?? { signs: new Set(), last: Promise.resolve() }
      judged.set(reference, asked)
      if (!asked.signs.has(sign)) {
        asked.signs.add(sign)
        asked.last = asked.last.then(() => judge(entry, sign))
      }
      return asked.last.then(() => stale.has(reference))
    },
  }
}

/** Hashes anew the row keys of forgotten people: the ledger has nothing under the new keys. */
export async function renewRowKeys(
  ledger: Pick<Ledger, 'people'>,
  gatewayName: string,
  identity: Pick<Identity, 'account' | 'rowKey'>,
  entries: readonly Entry[],
): Promise<void> {
  const hashes = new Map<AccountKey, string>()
  const hashOf = ({ account }: Entry): string => {
    const hashed = hashes.get(account) ?? identity.account(account)
    hashes.set(account, hashed)
    return hashed
  }
  const forgotten = await ledger.people.forgotten(gatewayName, () => [...new Set(entries.map(hashOf))])
  if (forgotten.size === 0) return
  for (const entry of entries) {
    const times = forgotten.get(hashOf(entry))
    if (times !== undefined) entry.rowKey = identity.rowKey(keyOfPerson(entry.row), times)
  }
}
