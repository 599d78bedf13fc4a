/**
 * Carries out marks and deletions of care teams owed by earlier runs, or by earlier chunks of this run, by the gateway's ids alone. Needs no export.
 * A person without a known account id waits for the person's next row.
 * Care teams of exports that list all of a person (`careTeams.missing: delete`): an entry that the job brought and the export no longer lists is owed
 * to be deleted, by the end of that run and by every later run. An entry listed again is sent again. The rules are in docs/delivery.md.
 */

import { isDeepStrictEqual } from 'node:util'
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
import { deleteEntries, dueDeletion } from './care-team-deletions.ts'
import {
  type CareTeamContext,
  type CareTeamJob,
  carryOutMark,
  isMarkOwed,
  isMissing,
  knownNow,
  listCareTeams,
  type MarkedAccount,
  type Marks,
  noteOwed,
  owesDeletion,
  owesMark,
} from './care-team-marks.ts'
import { type CareTeamRules, type HadCareTeam, planCareTeam } from './care-team-state.ts'
import type { Speaks } from './slots.ts'

/** Accounts read together from the ledger. */
const ACCOUNTS_AT_ONCE = 100

/** @throws WaybillError where the run must stop */
export async function settleOwed(context: CareTeamContext): Promise<void> {
  const { gatewayName, ledger } = context
  let after = ''
  for (;;) {
    const hashes = await ledger.careTeams.owed(gatewayName, context.jobId, after, ACCOUNTS_AT_ONCE)
    const last = hashes.at(-1)
    if (last === undefined) return
    after = last
    await claimEach(context, hashes, async (claimed) => {
      const known = await ledger.careTeams.ofAccounts(gatewayName, claimed)
      const inDoubt = await ledger.slots.heldContents(waitedFor([...known.values()].flat()))
      const idOf = (ofOne: readonly KnownCareTeam[]): string | null =>
        ofOne.find((one) => one.accountId !== null)?.accountId ?? null
      const ids = [...known.values()].flatMap((ofOne) => idOf(ofOne) ?? [])
      const shared = await ledger.people.sharedIds(gatewayName, ids)
      const saved: KnownCareTeam[] = []
      await allDone(
        [...known].map(async ([hash, ofOne]) => {
          if (!ofOne.some((one) => owes(one, context))) return
          noteOwed(context.owed, ofOne, context)
          const accountId = idOf(ofOne)
          // The person's next row gives the reference of the export.
          if (accountId === null || shared.has(accountId)) return
          const owner = { reference: accountId, type: 'accountId' as const }
          const person = { hash, owner, accountId, known: ofOne }
          const listed = await listCareTeams(context, person)
          if (listed !== null) saved.push(...(await settleAccount(context, person, listed, inDoubt)))
        }),
      )
      return saved
    })
  }
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

/**
 * Carries out deletions owed for a person in the chunk whose account id is unusable: unknown, or given to somebody else. All other deletions wait for
 * the end of the run, when the people in the export are known.
 */
export async function settleOwedOf(
  context: CareTeamContext,
  person: MarkedAccount,
): Promise<readonly KnownCareTeam[]> {
  if (!person.known.some((one) => owesDeletion(one, context))) return []
  const stored = person.known.find(({ accountId }) => accountId !== null)?.accountId ?? null
  if (stored !== null && !(await context.ledger.people.sharedIds(context.gatewayName, [stored])).has(stored))
    return []
  const listed = await listCareTeams(context, person)
  if (listed === null) return []
  return settleAccount(
    context,
    person,
    listed,
    await context.ledger.slots.heldContents(waitedFor(person.known)),
  )
}

/** Contents of records that may be in doubt. */
const waitedFor = (known: readonly KnownCareTeam[]): string[] =>
  known.flatMap(({ content, deletions }) => [
    ...(content === null ? [] : [content]),
    ...deletions.flatMap(({ inDoubt }) => inDoubt),
  ])

/** @returns changed care teams of the account */
async function settleAccount(
  context: CareTeamContext,
  person: MarkedAccount,
  listed: readonly HadCareTeam[],
  inDoubt: ReadonlySet<string>,
): Promise<KnownCareTeam[]> {
  const { changed } = context
  const isInDoubt = (content: string): boolean => inDoubt.has(content)
  const { has, known, without } = await settleDeletions(context, person, listed, isInDoubt)
  const before = new Map(person.known.map((one) => [one.npi, one.deletions]))
  const deletions = new Map(
    known.flatMap(({ npi, deletions: left }) => (left === before.get(npi) ? [] : [[npi, left] as const])),
  )
  const account = { wanted: [], has, known }
  const written = (marks: Marks): KnownCareTeam[] =>
    knownNow(context, person, { ...account, known: person.known }, marks, deletions).map((one) =>
      without.has(one.npi) ? { ...one, isGone: true } : one,
    )
  if (!known.some(isMarkOwed)) return written(new Map())

  const { mark } = planCareTeam(account, changed)
  const isGone = ({ npi, content }: KnownCareTeam): boolean =>
    mark.step === 'wait' && mark.npi === npi && (content === null || !inDoubt.has(content))
  const gone = known.filter(isGone)
  if (gone.length > 0) {
    // The record was not stored after all: its next delivery brings the mark.
    context.owed.mark(person.hash, false)
    return written(new Map(gone.map(({ npi }) => [npi, 'none'])))
  }
  if (mark.step === 'wait') return written(new Map())
  const { marks } = await carryOutMark(context, person, account, mark)
  return written(marks)
}

/** Carries out owed deletions. Where a deleted entry bore the mark, its replacement is to bear the mark. */
async function settleDeletions(
  context: CareTeamContext,
  person: MarkedAccount,
  listed: readonly HadCareTeam[],
  isInDoubt: (content: string) => boolean,
): Promise<{
  readonly has: readonly HadCareTeam[]
  readonly known: readonly KnownCareTeam[]
  /** Providers without any entry left in the account. */
  readonly without: ReadonlySet<string>
}> {
  let has = listed
  const known: KnownCareTeam[] = []
  const without = new Set<string>()
  for (const one of person.known) {
    if (!owesDeletion(one, context)) {
      known.push(one)
      continue
    }
    const { npi } = one
    const { remove, isGone, left } = dueDeletion(
      one,
      has.filter((had) => had.npi === npi),
      isInDoubt,
    )
    const because = one.deletions.some(isMissing) ? 'removed' : 'replaced'
    const error = remove.length === 0 ? undefined : await deleteEntries(context, person, remove, because)
    if (error !== undefined) {
      known.push(one)
      continue
    }
    // Nothing left to delete: a deletion without an answer, or one done by somebody else.
    if (isGone) context.tallies.careTeams[because]++
    has = has.filter((had) => !remove.includes(had))
    context.owed.deletion(person.hash, npi, left.length > 0)
    const isMarkGone = one.mark === 'set' && remove.some(({ isMarked }) => isMarked)
    const deletions = isDeepStrictEqual(left, one.deletions) ? one.deletions : left
    const mark = isMarkGone ? (because === 'removed' ? 'none' : 'to-set') : one.mark
    known.push({ ...one, deletions, mark })
    if (because === 'removed' && left.length === 0 && !has.some((had) => had.npi === npi)) without.add(npi)
  }
  return { has, known, without }
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

const NOTHING_LISTED: Listing = { isUnlisted: () => false, isListedAgain: () => false }

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
): Promise<Listing> {
  if (entries.length === 0) return NOTHING_LISTED
  const hashes = new Map(entries.map(({ account }) => [account.reference, identity.account(account)]))
  const listings = await memory.careTeams.listed(jobId, [...hashes.values()])
  if (listings.size === 0) return NOTHING_LISTED
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
  context: CareTeamContext & { readonly runLedger: Pick<RunLedger, 'noteMissing'> },
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
          const had = known.get(one.account)?.find(({ npi }) => npi === one.npi)
          return had === undefined ? [] : [owedOfMissing(had, one, jobId)]
        })
        await runLedger.noteMissing(gatewayName, own, owing)
        noteOwed(owed, owing, context)
        return []
      },
    )
  }
}
