/** What accounts have of care teams: by the gateway's list, read once an account and chunk, and by the ledger. */
import type { CareTeamReturned } from '../gateway/contract/care-team.ts'
import { epochMsOf } from '../gateway/contract/observation-date.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { KnownCareTeam, Ledger, Tallies } from '../ledger/ledger.ts'
import type { ResolvedAccounts } from './accounts.ts'
import type { ChangedCareTeam, DateOf } from './care-team-plan.ts'
import type { Entry, Reason } from './entry.ts'
import type { Identity } from './identity.ts'
import type { Sending } from './sending.ts'

export interface CareTeamContext {
  readonly gateway: Gateway
  readonly gatewayName: string
  readonly ledger: Pick<Ledger, 'careTeams' | 'registeredBy'>
  readonly runId: string
  readonly sending: Sending
  readonly identity: Identity
  readonly tallies: Tallies
  readonly changed: ChangedCareTeam
  /** Milliseconds for which a list may be late. */
  readonly readLagMs: number
  readonly pause: (ms: number) => Promise<void>
}

/** The entry is stored; what was to follow could not be done. */
export interface FollowUpFailure {
  readonly entry: Entry
  readonly reason: Reason
}

/** Accounts as of the entries of one chunk. */
export interface KnownCareTeams {
  /**
   * What the account had before the chunk, read when it is first asked for; undefined where it cannot be read. A person whom this run
   * has registered, and given nothing in earlier chunks, has nothing, and is not asked about.
   */
  list(entry: Entry): Promise<readonly CareTeamReturned[] | undefined>
  /** What it has now. @throws WaybillError where the run must stop */
  listNow(entry: Entry): Promise<readonly CareTeamReturned[] | undefined>
  /** By list or ledger, whichever is later. */
  dateOf(entry: Entry): DateOf
  /** The account's entries by the ledger. */
  delivered(entry: Entry): readonly KnownCareTeam[]
}

/** @param entries care-team entries of a chunk */
export async function knowCareTeams(
  context: CareTeamContext,
  entries: readonly Entry[],
  accounts: Pick<ResolvedAccounts, 'accountIds'>,
): Promise<KnownCareTeams> {
  const { gateway, gatewayName, identity, ledger, runId, sending } = context
  const hashes = new Map<string, string>()
  for (const { record } of entries) {
    const { reference } = record.account
    if (!hashes.has(reference)) hashes.set(reference, identity.account(record.account))
  }
  const delivered = await ledger.careTeams(gatewayName, [...hashes.values()])
  const withNone = [...hashes.values()].filter((account) => !delivered.has(account))
  // Also by an earlier process of the run: what that one sent in this chunk, the ledger tells.
  const empty = await ledger.registeredBy(gatewayName, withNone, runId)
  const deliveredTo = ({ record }: Entry): readonly KnownCareTeam[] =>
    delivered.get(hashes.get(record.account.reference) ?? '') ?? []

  const read = async ({ record }: Entry): Promise<readonly CareTeamReturned[] | undefined> => {
    const id = accounts.accountIds(record.account)
    const account = id === undefined ? record.account : { reference: id, type: 'accountId' as const }
    try {
      return await sending.read('list care teams', () => gateway.careTeams.list(account))
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }
  const lists = new Map<string, Promise<readonly CareTeamReturned[] | undefined>>()
  return {
    list(entry) {
      const { reference } = entry.record.account
      const isEmpty = empty.has(hashes.get(reference) ?? '')
      const list = lists.get(reference) ?? (isEmpty ? Promise.resolve([]) : read(entry))
      lists.set(reference, list)
      return list
    },
    listNow: read,
    dateOf(entry) {
      const newest = new Map(deliveredTo(entry).map(({ npi, observedAt }) => [npi, observedAt]))
      return ({ npi, observationDate }) => {
        const dates = [
          observationDate === undefined ? undefined : epochMsOf(observationDate),
          npi === undefined ? undefined : newest.get(identity.npi(npi)),
        ].filter((date) => date !== undefined)
        return dates.length === 0 ? undefined : Math.max(...dates)
      }
    },
    delivered: deliveredTo,
  }
}
