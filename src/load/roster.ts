/**
 * Loads a chunk of a roster: its people are registered, and nothing else is sent. The crosswalk alone tells who is known; nothing is
 * remembered by row key.
 */
import type { Entry } from '../model/entry.ts'
import type { EntryOutcome, Reason } from '../model/outcome.ts'
import { type AccountsContext, type ResolvedAccounts, resolveAccounts } from './accounts.ts'

/** @param resumed whether an earlier process may have registered some of them. @throws WaybillError where the run must stop */
export async function loadRoster(
  context: AccountsContext,
  entries: readonly Entry[],
  resumed: boolean,
): Promise<{ readonly outcomes: readonly EntryOutcome[]; readonly accounts: ResolvedAccounts['counts'] }> {
  const accounts = await resolveAccounts(context, entries, 'await', resumed ? [] : undefined)
  const { ledger, gatewayName, identity } = context
  const hashes = entries.map((entry) => identity.account(entry.account))
  const known = await ledger.accounts(gatewayName, [...new Set(hashes)])
  const counted = new Set<string>()
  const outcomes = entries.map((entry, at): EntryOutcome => {
    const { account } = entry
    const hashed = hashes[at] ?? ''
    const reason = accounts.refusalOf(entry)
    if (reason !== undefined) return { entry, outcome: 'rejected', batchId: null, reason }
    if (account.type === 'partnerAccountId' && !known.has(hashed))
      return { entry, outcome: 'rejected', batchId: null, reason: NOT_REGISTERED }
    // Of a person who stands on two rows the first one is what registered them.
    if (!accounts.isNew(entry) || counted.has(hashed)) return { entry, outcome: 'unchanged' }
    counted.add(hashed)
    const gatewayId = accounts.accountIds(account)
    return {
      ...{ entry, outcome: 'accepted', batchId: null, status: null },
      ...(gatewayId === undefined ? {} : { gatewayId }),
    }
  })
  return { outcomes, accounts: accounts.counts }
}

const NEVER = 'the person is not registered, and the job registers nobody'

const NOT_REGISTERED: Reason = { stage: 'register', code: 'account-unknown', message: NEVER, scrubbed: NEVER }
