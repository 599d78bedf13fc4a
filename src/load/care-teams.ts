/**
 * Brings the care teams of a chunk's people to their wanted state (care-team-state.ts). New entries go out with the other records. Then replaced
 * entries are deleted (care-team-deletions.ts), and the mark is set or unset (care-team-marks.ts). A step that cannot be done now is owed
 * (care-team-owed.ts).
 */

import type { KnownCareTeam } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { parseTransactionId } from '../model/ids.ts'
import type { EntryOutcome, Outcomes } from '../model/outcome.ts'
import type { AccountKey } from '../model/record.ts'
import type { ResolvedAccounts } from './accounts.ts'
import { type ListedAccount, replaceAll } from './care-team-deletions.ts'
import {
  type CareTeamContext,
  carryOutMark,
  type Deletions,
  type FollowUpFailure,
  isMarkOwed,
  isMissing,
  knownNow,
  listCareTeams,
} from './care-team-marks.ts'
import { settleOwedOf } from './care-team-owed.ts'
import {
  type CareTeamAccount,
  type CareTeamStep,
  fieldsSent,
  type HadCareTeam,
  isSame,
  placeOfWord,
  planCareTeam,
  type WantedCareTeam,
  wasHeard,
} from './care-team-state.ts'
import { leftByStale } from './gateway-words.ts'

export interface CareTeamsOfChunk {
  /**
   * @param open entries without an outcome
   * @param outcomes of all other entries of the chunk
   */
  select(open: readonly Entry[], outcomes: Outcomes): Promise<SelectedCareTeams>
  /** @param outcomes of all entries of the chunk. @throws WaybillError where the run must stop */
  finish(outcomes: Outcomes): Promise<FinishedCareTeams>
}

export interface SelectedCareTeams {
  /** Outcomes of entries that are not sent. */
  readonly outcomes: readonly EntryOutcome[]
  /** Entries that may have been sent before, in an account with an unreadable list. */
  readonly doubtful: readonly Entry[]
  /** Entries equal to another entry of the chunk, which decides their outcome. */
  readonly twins: readonly { readonly entry: Entry; readonly first: Entry }[]
}

export interface FinishedCareTeams {
  readonly failures: readonly FollowUpFailure[]
  /** Care teams of the accounts now, for the ledger. */
  readonly known: readonly KnownCareTeam[]
}

interface Person extends ListedAccount {
  readonly entries: readonly Entry[]
  /** Ledger rows of providers who were missing and are listed again, without their deletions. */
  readonly listedAgain: readonly KnownCareTeam[]
}

/** Care teams of a chunk. */
export interface CareTeamStatements {
  readonly entries: readonly Entry[]
  /** Accounts whose whole care team the chunk lists, even an empty one: owed deletions are derived from the lists. */
  readonly listed: readonly AccountKey[]
  /** Place of the export: a later export has a higher number. */
  readonly arrival: number
  /** Recognises records that were delivered and replaced since. */
  readonly isReplaced: (entry: Entry) => boolean
}

/**
 * Hashes of the accounts whose care teams may need a write.
 * @param isUnchanged true for an entry with nothing to send
 */
export async function careTeamsToClaim(
  { gatewayName, identity, ledger }: CareTeamContext,
  { entries, listed, arrival, isReplaced }: CareTeamStatements,
  isUnchanged: (entry: Entry) => boolean,
): Promise<ReadonlySet<string>> {
  const accounts = accountsOf(identity, entries, listed)
  const still = accounts.filter((one) => one.entries.every(isUnchanged))
  const known = await ledger.careTeams.ofAccounts(
    gatewayName,
    still.map(({ hash }) => hash),
  )
  const isAtRest = ({ hash, entries: own }: TeamAccount): boolean => {
    const ofOne = known.get(hash) ?? []
    const isNews = (entry: Entry): boolean => {
      const npi = identity.npi(entry.evidence.npi ?? '')
      const place = placeOfWord(arrival, entry.row.row)
      const isHeard = wasHeard(ofOne, { npi, at: entry.observedAt, place })
      return !isReplaced(entry) && isNewWord(ofOne, { npi, entry, isHeard })
    }
    return !ofOne.some((one) => isMarkOwed(one) || one.deletions.length > 0) && !own.some(isNews)
  }
  const atRest = new Set(still.filter(isAtRest))
  return new Set(accounts.flatMap((one) => (atRest.has(one) ? [] : [one.hash])))
}

/** @param isUncertain true for an entry that may have been sent without the ledger's knowledge */
export async function careTeamsOf(
  context: CareTeamContext,
  { entries: all, listed, arrival, isReplaced }: CareTeamStatements,
  accounts: Pick<ResolvedAccounts, 'accountIds' | 'registered' | 'claimed'>,
  isUncertain: (entry: Entry) => boolean,
): Promise<CareTeamsOfChunk> {
  const { identity, stale } = context
  const isStale = (person: Person): boolean => person.entries.some(stale.has)
  const own = accountsOf(identity, all, listed).filter(({ hash }) => accounts.claimed.has(hash))
  const people = await peopleOf(context, own, accounts)
  const entries = people.flatMap((person) => person.entries)
  const npis = new Map(entries.map((entry) => [entry, identity.npi(entry.evidence.npi ?? '')]))
  const fields = new Map(entries.map((entry) => [entry, fieldsSent(entry)]))

  /** @param open status of entries without an outcome. An entry missing here is a twin, and is left out */
  const wantedOf = (
    person: Person,
    outcomes: Outcomes,
    open: ReadonlyMap<Entry, WantedCareTeam['status']> = new Map(),
  ): WantedCareTeam[] =>
    person.entries.flatMap((entry) => {
      const outcome = outcomes.of(entry)
      const status = outcome === undefined ? open.get(entry) : statusOf(outcome)
      // A later word of the export's own replaces this entry, in whatever order exports are read again.
      if (status === undefined || (status === 'delivered' && isReplaced(entry))) return []
      const npi = npis.get(entry) ?? ''
      const place = placeOfWord(arrival, entry.row.row)
      const isNew =
        outcome?.outcome !== 'unchanged' || (outcome.found === true && outcome.passedOver === undefined)
      // A new record may come from a row heard before. The word of a later export still outranks the record.
      const since = isNew ? placeOfWord(arrival + 1, 0) : place
      const isHeard = wasHeard(person.known, { npi, at: entry.observedAt, place: since })
      return [{ entry, npi, fields: fields.get(entry) ?? {}, status, place, isHeard }]
    })

  return {
    async select(open, outcomes) {
      const selected: {
        outcomes: EntryOutcome[]
        doubtful: Entry[]
        twins: { entry: Entry; first: Entry }[]
      } = { outcomes: [], doubtful: [], twins: [] }
      const toJudge = new Set(open)
      const selectFor = async (person: Person): Promise<void> => {
        const own = person.entries.filter((entry) => toJudge.has(entry))
        if (own.length === 0) return
        person.listed = person.isEmpty && !own.some(isUncertain) ? [] : await listCareTeams(context, person)
        if (isStale(person)) {
          selected.outcomes.push(...own.map((entry) => leftByStale(entry, isUncertain(entry))))
          return
        }
        // Without a list nobody can tell whether the account has an entry that may have been sent before.
        const doubtful =
          person.listed !== null
            ? []
            : own.filter(
                (entry) => isUncertain(entry) || person.known.some(({ npi }) => npi === npis.get(entry)),
              )
        selected.doubtful.push(...doubtful)
        const wanted = wantedOf(
          person,
          outcomes,
          new Map(own.map((entry) => [entry, doubtful.includes(entry) ? 'doubtful' : 'open'])),
        )
        const account = (): CareTeamAccount => ({
          wanted,
          has: withStored(person.listed ?? [], wanted, outcomes),
          known: person.known,
        })
        let { steps } = planCareTeam(account(), context.changed)
        const lateMs = mayBeLateMs(context, person, steps, npis)
        if (lateMs > 0) {
          await context.pause(lateMs)
          person.listed = (await listCareTeams(context, person)) ?? person.listed
          steps = planCareTeam(account(), context.changed).steps
        }
        const { has } = account()
        for (const [entry, step] of steps) {
          if (step.step === 'share') selected.twins.push({ entry, first: step.first })
          if (step.step === 'known') {
            const whose = whoseEntry(entry, has, isUncertain(entry))
            selected.outcomes.push({ entry, outcome: 'unchanged', found: true, ...whose })
          }
          if (step.step === 'omit')
            selected.outcomes.push({ entry, outcome: 'unchanged', passedOver: step.why })
        }
      }
      await allDone(people.map(selectFor))
      return selected
    },

    async finish(outcomes) {
      const failures: FollowUpFailure[] = []
      const known: KnownCareTeam[] = []
      const accountOf = (person: Person): CareTeamAccount => {
        const wanted = wantedOf(person, outcomes)
        return { wanted, has: withStored(person.listed ?? [], wanted, outcomes), known: person.known }
      }
      const sound = people.filter((person) => !isStale(person))
      const asked = sound.filter(
        (person) =>
          person.known.some(isMarkOwed) ||
          wantedOf(person, outcomes).some(
            (one) => one.status === 'stored' || one.status === 'doubtful' || isNewWord(person.known, one),
          ),
      )
      await allDone(
        asked.map(async (person) => {
          if (person.listed === undefined) person.listed = await listCareTeams(context, person)
        }),
      )
      const active = asked.filter((person) => !isStale(person))
      const replaced =
        context.changed === 'replace' ? await replaceAll(context, active, accountOf) : undefined
      for (const one of replaced?.values() ?? []) failures.push(...one.failures)
      await allDone(
        active.map(async (person) => {
          const account = accountOf(person)
          const { mark, withdrawn } = planCareTeam(account, context.changed)
          const { marks, failure } = await carryOutMark(context, person, account, mark)
          if (failure !== undefined) failures.push(failure)
          const withdrawals = [...withdrawn].map((npi) => [npi, 'withdrawn'] as const)
          // A mark on somebody else does not revoke a withdrawal.
          const others = [...marks].filter(([npi, now]) => now !== 'none' || !withdrawn.has(npi))
          const deletions = replaced?.get(person)?.deletions ?? takenBack(account)
          known.push(...knownNow(context, person, account, new Map([...withdrawals, ...others]), deletions))
        }),
      )
      const owing = sound.filter((person) => !asked.includes(person)).map(withListedAgain)
      await allDone(owing.map(async (person) => known.push(...(await settleOwedOf(context, person)))))
      const stillSound = sound.filter((person) => !isStale(person))
      for (const one of stillSound.flatMap(({ listedAgain }) => listedAgain)) {
        context.owed.deletion(one.account, one.npi, false)
        if (!known.some(({ account, npi }) => account === one.account && npi === one.npi)) known.push(one)
      }
      return { failures, known }
    },
  }
}

/** A person, without the owed deletions of providers that this chunk lists again. */
const withListedAgain = (person: Person): Person => ({
  ...person,
  known: person.known.map((one) => person.listedAgain.find(({ npi }) => npi === one.npi) ?? one),
})

/** True where a record delivered before contradicts the last known mark. */
function isNewWord(
  known: readonly KnownCareTeam[],
  { npi, entry, isHeard }: Pick<WantedCareTeam, 'npi' | 'entry' | 'isHeard'>,
): boolean {
  const { primary } = entry
  const { mark } = known.find((one) => one.npi === npi) ?? {}
  return !isHeard && primary !== undefined && primary !== (mark === 'set' || mark === 'to-set')
}

/**
 * Tells the origin of an entry that the account has: this record, sent from here, or another export.
 * @param isUncertain true where the record may have been sent without the ledger's knowledge; else an earlier run has its receipt
 */
function whoseEntry(
  entry: Entry,
  has: readonly HadCareTeam[],
  isUncertain: boolean,
): { readBack?: true; isOthers?: true } {
  const fields = fieldsSent(entry)
  const ids = has.filter((one) => isSame(fields, one.fields)).map(({ ours }) => ours)
  if (ids.includes(entry.transactionId)) return isUncertain ? { readBack: true } : {}
  const isThisRecord = (id: string | undefined): boolean => {
    const parts = id === undefined ? undefined : parseTransactionId(id)
    // Without ids at the gateway, nobody can tell.
    return parts === undefined || (parts.rule === entry.rule && entry.content.startsWith(parts.content))
  }
  return ids.some(isThisRecord) ? {} : { isOthers: true }
}

interface TeamAccount {
  readonly hash: string
  readonly account: AccountKey
  readonly entries: readonly Entry[]
}

function accountsOf(
  identity: CareTeamContext['identity'],
  entries: readonly Entry[],
  listed: readonly AccountKey[],
): TeamAccount[] {
  const byReference = Map.groupBy(entries, (entry) => entry.account.reference)
  const accounts = [...listed, ...entries.map((entry) => entry.account)]
  return [...new Map(accounts.map((account) => [account.reference, account])).values()].map((account) => ({
    ...{ hash: identity.account(account), account, entries: byReference.get(account.reference) ?? [] },
  }))
}

async function peopleOf(
  { gatewayName, identity, ledger }: CareTeamContext,
  accounts: readonly TeamAccount[],
  { accountIds, registered }: Pick<ResolvedAccounts, 'accountIds' | 'registered'>,
): Promise<Person[]> {
  const known = await ledger.careTeams.ofAccounts(
    gatewayName,
    accounts.map(({ hash }) => hash),
  )
  return accounts.map(({ hash, account, entries: ofOne }) => {
    const id = accountIds(account)
    const npis = new Set(ofOne.map((entry) => identity.npi(entry.evidence.npi ?? '')))
    const before = known.get(hash) ?? []
    const listedAgain = before
      .filter(({ npi, deletions }) => npis.has(npi) && deletions.some(isMissing))
      .map((one) => ({ ...one, deletions: [] }))
    return {
      hash,
      owner: account,
      accountId: id ?? null,
      entries: ofOne,
      known: before.map((one) => listedAgain.find(({ npi }) => npi === one.npi) ?? one),
      listedAgain,
      isEmpty: registered.has(hash) && before.length === 0,
      listed: undefined,
    }
  })
}

/** Milliseconds until the list is sure to show entries delivered for a provider who gets another one. */
function mayBeLateMs(
  { now, readLagMs }: CareTeamContext,
  { known }: Person,
  steps: ReadonlyMap<Entry, CareTeamStep>,
  npis: ReadonlyMap<Entry, string>,
): number {
  const created = new Set(
    [...steps].flatMap(([entry, { step }]) => (step === 'create' ? [npis.get(entry)] : [])),
  )
  const stored = known.filter(({ npi }) => created.has(npi)).map(({ storedAt }) => storedAt)
  return stored.length === 0 ? 0 : Math.min(Math.max(...stored) + readLagMs - now(), readLagMs)
}

/** Status by outcome; undefined for a rejected entry: the gateway does not have the export's word. */
function statusOf(outcome: EntryOutcome): WantedCareTeam['status'] | undefined {
  switch (outcome.outcome) {
    case 'accepted':
      return 'stored'
    case 'unchanged':
      return outcome.found === true || outcome.passedOver !== undefined ? 'stored' : 'delivered'
    case 'in-doubt':
      return 'doubtful'
    case 'rejected':
      return undefined
  }
}

/** Listed entries, and entries accepted by the gateway but not listed yet. */
function withStored(
  listed: readonly HadCareTeam[],
  wanted: readonly WantedCareTeam[],
  outcomes: Outcomes,
): HadCareTeam[] {
  const has = [...listed]
  for (const { entry, npi, fields } of wanted) {
    const outcome = outcomes.of(entry)
    if (outcome?.outcome !== 'accepted' || has.some((one) => isSame(fields, one.fields))) continue
    const { gatewayId: id } = outcome
    const { observedAt } = entry
    const own = { id, npi, fields, observedAt, ours: entry.transactionId }
    has.push({ ...own, isListed: false, listedAt: undefined, isMarked: false })
  }
  return has
}

/** Deletions revoked by a job without replacement: it wants every entry of a provider with news, so that another job's owed deletions lapse. */
function takenBack({ wanted, has, known }: CareTeamAccount): Deletions {
  const isWanted = (npi: string): boolean =>
    wanted.some(
      (one) =>
        one.npi === npi && one.status === 'stored' && has.some((had) => isSame(one.fields, had.fields)),
    )
  return new Map(
    known.flatMap(({ npi, deletions }) => (deletions.length > 0 && isWanted(npi) ? [[npi, []]] : [])),
  )
}
