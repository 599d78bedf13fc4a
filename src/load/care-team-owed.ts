/**
 * Carries out marks and deletions of care teams owed by earlier runs, or by earlier chunks of this run, by the gateway's ids alone. Needs no export.
 * A person without a known account id waits for the person's next row.
 * With `careTeams.missing: delete`, an entry that an export no longer lists is owed to be deleted (docs/delivery.md, "Missing").
 */
import {
  type CareTeamListing,
  type KnownCareTeam,
  type Ledger,
  type ListedCareTeam,
  type MissingCareTeam,
  type RunLedger,
  THE_PERSON,
  UNKNOWN_PERSON,
  UNUSABLE,
} from '../ledger/ledger.ts'
import type { Entry, RowOutcome } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountKey } from '../model/record.ts'
import {
  type CareTeamJob,
  type CareTeamRules,
  careTeamOf,
  isMarkOwed,
  isMissing,
  NOTHING_SAID,
  owesDeletion,
  owesMark,
  waitedFor,
} from './care-team-slot.ts'
import { type CareTeamContext, endWork, noteOwed, readList, workOff } from './care-team-work.ts'
import type { Speaks } from './slots.ts'

/** Accounts read together from the ledger. */
const ACCOUNTS_AT_ONCE = 100

/** @throws WaybillError where the run must stop */
export async function settleOwed(context: CareTeamContext): Promise<void> {
  const { gatewayName, ledger, jobId } = context
  for (let after = ''; ; ) {
    const hashes = await ledger.careTeams.owed(gatewayName, jobId, after, ACCOUNTS_AT_ONCE)
    const last = hashes.at(-1)
    if (last === undefined) return
    after = last
    await claimEach(context, hashes, (claimed) => settleAccounts(context, claimed))
  }
}

async function settleAccounts(
  context: CareTeamContext,
  claimed: readonly string[],
): Promise<readonly KnownCareTeam[]> {
  const { gatewayName, ledger, owed } = context
  const known = await ledger.careTeams.ofAccounts(gatewayName, claimed)
  const owing = [...known].filter(([, rows]) => rows.some((one) => owes(one, context)))
  const inDoubt = await ledger.slots.heldContents(waitedFor(owing.flatMap(([, rows]) => rows)))
  // The person's next row gives the reference of the export.
  const waiting = await unreachable(
    context,
    owing.map(([, rows]) => rows),
  )
  const saved: KnownCareTeam[] = []
  await allDone(
    owing.map(async ([hash, rows]) => {
      noteOwed(owed, rows, context)
      const accountId = idOf(rows)
      if (accountId === null || waiting.has(rows)) return
      const owner = { reference: accountId, type: 'accountId' as const }
      const account = {
        hash,
        owner,
        accountId,
        entries: [],
        team: careTeamOf(rows, { isWhole: true, inDoubt }),
      }
      await readList(context, account)
      await workOff(context, account)
      saved.push(...endWork(context, account))
    }),
  )
  return saved
}

const idOf = (rows: readonly KnownCareTeam[]): string | null =>
  rows.find((one) => one.accountId !== null)?.accountId ?? null

/** @returns accounts whose id at the gateway is unusable: unknown, or given to somebody else */
export async function unreachable<Rows extends readonly KnownCareTeam[]>(
  { gatewayName, ledger }: Pick<CareTeamContext, 'gatewayName' | 'ledger'>,
  accounts: readonly Rows[],
): Promise<ReadonlySet<Rows>> {
  const ids = accounts.flatMap((rows) => idOf(rows) ?? [])
  const shared = ids.length === 0 ? new Set() : await ledger.people.sharedIds(gatewayName, ids)
  return new Set(accounts.filter((rows) => idOf(rows) === null || shared.has(idOf(rows))))
}

/** @param work called with the claimed accounts; returns their care teams now */
async function claimEach(
  { claims }: Pick<CareTeamContext, 'claims'>,
  accounts: readonly string[],
  work: (claimed: readonly string[]) => Promise<readonly KnownCareTeam[]>,
): Promise<void> {
  for (let open = new Set(accounts); ; await claims.pause()) {
    const claimed = await claims.take([...open])
    if (claimed.size > 0) await claims.letGo(claimed, await work([...claimed]))
    open = open.difference(claimed)
    if (open.size === 0) return
  }
}

const owes = (one: KnownCareTeam, job: CareTeamJob): boolean => owesMark(one, job) || owesDeletion(one, job)

/** Entries with a mark or a deletion that the job owes. */
export async function owedBy(
  job: CareTeamJob & {
    readonly gatewayName: string
    readonly ledger: Pick<Ledger, 'careTeams'>
  },
): Promise<KnownCareTeam[]> {
  const { gatewayName, ledger, jobId } = job
  const accounts = await ledger.careTeams.owed(gatewayName, jobId, '', Number.MAX_SAFE_INTEGER)
  const known = await ledger.careTeams.ofAccounts(gatewayName, accounts)
  return [...known.values()].flat().filter((one) => owes(one, job))
}

/** Providers that the rows of a chunk list. A row skipped by `skipWhen` lists nothing. */
export function listedBy(
  { account: hashOf, npi: hashNpi }: Pick<Identity, 'account' | 'npi'>,
  rows: readonly RowOutcome[],
): ListedCareTeam[] {
  const listed = new Map<string, ListedCareTeam>()
  const add = (account: string, npi: string, at: number): void => {
    const key = `${account} ${npi}`
    listed.set(key, { account, npi, at: Math.max(at, listed.get(key)?.at ?? at) })
  }
  const hashes = new Map<string, string>()
  const person = (account: AccountKey): string => {
    const hash = hashes.get(account.reference) ?? hashOf(account)
    hashes.set(account.reference, hash)
    return hash
  }
  for (const row of rows) {
    if (row.account === undefined) {
      if (row.outcome === 'rejected') add(UNKNOWN_PERSON, UNUSABLE, 0)
      continue
    }
    const account = person(row.account)
    add(account, THE_PERSON, 0)
    if (row.outcome === 'rejected') add(account, UNUSABLE, 0)
    if (row.outcome !== 'mapped') continue
    if (row.rejected.some(({ kind }) => kind === 'careTeam')) add(account, UNUSABLE, 0)
    for (const { provider, observedAt } of row.records)
      if (provider !== undefined) add(account, hashNpi(provider.npi), observedAt)
  }
  return [...listed.values()]
}

/** Lists of earlier exports for a chunk's people. */
export interface Listing {
  /** True where a later export has the person, and does not list the provider. */
  isUnlisted(entry: Entry): boolean
  /** True where the entry was delivered, and was missing since: its deletion is done or owed. */
  isListedAgain(entry: Entry): boolean
}

interface ListingContext {
  readonly memory: Pick<Ledger, 'careTeams'>
  readonly careTeams: CareTeamRules & {
    readonly gatewayName: string
    readonly ledger: Pick<Ledger, 'careTeams'>
  }
  readonly identity: Pick<Identity, 'account' | 'npi'>
  readonly jobId: number
}

/** @param entries care-team entries of the chunk */
export async function listingOf(
  { memory, careTeams, identity, jobId }: ListingContext,
  entries: readonly Entry[],
  { arrival, isBackfill }: Pick<Speaks, 'arrival' | 'isBackfill'>,
): Promise<Listing | undefined> {
  if (entries.length === 0) return undefined
  const hashes = new Map(entries.map(({ account }) => [account.reference, identity.account(account)]))
  const listings = await memory.careTeams.listed(jobId, [...hashes.values()])
  if (listings.size === 0) return undefined
  const known = await careTeams.ledger.careTeams.ofAccounts(careTeams.gatewayName, [...listings.keys()])
  const of = (entry: Entry): { listing?: CareTeamListing; npi: string; had?: KnownCareTeam } => {
    const hash = hashes.get(entry.account.reference) ?? ''
    const npi = identity.npi(entry.evidence.npi ?? '')
    const [listing, had] = [listings.get(hash), known.get(hash)?.find((one) => one.npi === npi)]
    return { npi, ...(listing && { listing }), ...(had && { had }) }
  }
  const isUnlisted = (entry: Entry): boolean => {
    if (entry.kind !== 'careTeam') return false
    const { listing, npi } = of(entry)
    if (listing === undefined || careTeams.missing === 'keep') return false
    return (isBackfill || listing.arrival > arrival) && !listing.npis.has(npi)
  }
  return {
    isUnlisted,
    isListedAgain(entry) {
      if (entry.kind !== 'careTeam') return false
      const { listing, had } = of(entry)
      if (listing === undefined || isUnlisted(entry)) return false
      return had === undefined || had.deletions.some(isMissing)
    },
  }
}

/** Deletion owed for a missing provider: all entries that the job brought. A record in doubt may still turn out stored. */
const owedOfMissing = (
  known: KnownCareTeam,
  { at }: Pick<MissingCareTeam, 'at'>,
  jobId: number,
): KnownCareTeam => ({
  ...known,
  mark: isMarkOwed(known) ? 'none' : known.mark,
  markBy: null,
  deletionsBy: jobId,
  content: null,
  deletions: [
    { by: [], until: at, isSeen: true, inDoubt: known.deletions.flatMap(({ inDoubt }) => inDoubt) },
  ],
})

/** Providers saved together. */
const AT_ONCE = 500

/**
 * Saves, at the end of an export, the providers that the export no longer lists. An unreadable row may have listed anybody: then no provider counts
 * as missing, and the export is counted as unjudged.
 */
export async function noteMissing(
  context: CareTeamContext & { runLedger: Pick<RunLedger, 'noteMissing'> },
  jobId: number,
  arrival: number,
): Promise<void> {
  const { ledger, runLedger, gatewayName, owed, tallies } = context
  for (;;) {
    const missing = await ledger.careTeams.missing(jobId, arrival, AT_ONCE)
    if (missing === 'unreadable') {
      tallies.careTeams.unjudged++
      return
    }
    if (missing.length === 0) return
    await claimEach(
      context,
      missing.map(({ account }) => account),
      async (claimed) => {
        const known = await ledger.careTeams.ofAccounts(gatewayName, claimed)
        const own = missing.filter(({ account }) => claimed.includes(account))
        const owing = own.flatMap((one) => {
          const { account, npi } = one
          const rows = known.get(account) ?? []
          const had = rows.find((row) => row.npi === npi)
          if (had === undefined && !context.claims.isAbandoned(account)) return []
          // A run that was given up may have sent an entry: the list will tell.
          return [owedOfMissing(had ?? { ...NOTHING_SAID, account, npi, accountId: idOf(rows) }, one, jobId)]
        })
        await runLedger.noteMissing(gatewayName, own, owing)
        const now = new Map(
          [...known.values(), owing].flat().map((one) => [`${one.account} ${one.npi}`, one]),
        )
        noteOwed(owed, [...now.values()], context)
        return []
      },
    )
  }
}
