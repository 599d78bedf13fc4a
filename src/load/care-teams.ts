/**
 * Brings the care teams of a chunk's people to their wanted state. Before anything is sent, decides each entry; new entries go out with the other
 * records; then the deletions and the mark follow (care-team-work.ts). A step that cannot be done now is owed (care-team-owed.ts).
 */

import type { KnownCareTeam } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { parseTransactionId } from '../model/ids.ts'
import type { EntryOutcome, Outcomes } from '../model/outcome.ts'
import type { AccountKey } from '../model/record.ts'
import type { ResolvedAccounts } from './accounts.ts'
import { decideEntries, isNewWord } from './care-team-decide.ts'
import { unreachable } from './care-team-owed.ts'
import {
  type CareTeam,
  careTeamOf,
  fieldsSent,
  type HadCareTeam,
  hadBy,
  isMarkOwed,
  isMissing,
  isSame,
  owesDeletion,
  placeOfWord,
  type WantedCareTeam,
  waitedFor,
  wasHeard,
} from './care-team-slot.ts'
import {
  type AccountTeam,
  type CareTeamContext,
  endWork,
  type FollowUpFailure,
  learnInto,
  lookAgain,
  readList,
  workOff,
} from './care-team-work.ts'
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

interface SelectedCareTeams {
  readonly outcomes: readonly EntryOutcome[]
  /** Entries that may have been sent before, in an account with an unreadable list. */
  readonly doubtful: readonly Entry[]
  /** Entries equal to another entry of the chunk, which decides their outcome. */
  readonly twins: readonly { entry: Entry; first: Entry }[]
  /** Entries to select again once the others have an outcome. */
  readonly behind: readonly Entry[]
}

interface FinishedCareTeams {
  readonly failures: readonly FollowUpFailure[]
  /** Care teams of the accounts now, for the ledger. */
  readonly known: readonly KnownCareTeam[]
}

/** Care teams of a chunk. */
export interface CareTeamStatements {
  readonly entries: readonly Entry[]
  /** Accounts whose whole care team the chunk lists, even an empty one: owed deletions are derived from the lists. */
  readonly listed: readonly AccountKey[]
  /** Place of the export: a later export has a higher number. */
  readonly arrival: number
  /** Recognises records that the ledger has as stored. */
  readonly isStored: (entry: Entry) => boolean
  /** Recognises records that were delivered and replaced since. */
  readonly isReplaced: (entry: Entry) => boolean
}

/**
 * Hashes of the accounts whose care teams may need a write.
 * @param isUnchanged true for an entry with nothing to send
 */
export async function careTeamsToClaim(
  { gatewayName, identity, ledger }: CareTeamContext,
  said: CareTeamStatements,
  isUnchanged: (entry: Entry) => boolean,
): Promise<ReadonlySet<string>> {
  const accounts = accountsOf(identity, said)
  const still = accounts.filter((one) => one.entries.every(isUnchanged))
  const known = await ledger.careTeams.ofAccounts(
    gatewayName,
    still.map(({ hash }) => hash),
  )
  const isAtRest = ({ hash, entries: own }: ChunkAccount): boolean => {
    const ofOne = known.get(hash) ?? []
    const isNews = (entry: Entry): boolean => {
      const npi = npiOf(identity, entry)
      const place = placeOfWord(said.arrival, entry.row.row)
      const isHeard = wasHeard(ofOne, { npi, at: entry.observedAt, place })
      return !said.isReplaced(entry) && isNewWord(ofOne, { npi, entry, isHeard })
    }
    return !ofOne.some((one) => isMarkOwed(one) || one.deletions.length > 0) && !own.some(isNews)
  }
  const atRest = new Set(still.filter(isAtRest))
  return new Set(accounts.flatMap((one) => (atRest.has(one) ? [] : [one.hash])))
}

/** @param isUncertain true for an entry that may have been sent without the ledger's knowledge */
export async function careTeamsOf(
  context: CareTeamContext,
  said: CareTeamStatements,
  accounts: Pick<ResolvedAccounts, 'accountIds' | 'registered' | 'claimed'>,
  isUncertain: (entry: Entry) => boolean,
): Promise<CareTeamsOfChunk> {
  const people = await peopleOf(context, said, accounts)
  const words = { ...context, ...said, isUncertain }
  return {
    async select(open, outcomes) {
      const selected: Selected = { outcomes: [], doubtful: [], twins: [], behind: [] }
      const toJudge = new Set(open)
      await allDone(
        people.map(async (person) => {
          const own = person.entries.filter((entry) => toJudge.has(entry))
          if (own.length === 0) return
          const isSent = own.some(isUncertain)
          if (person.isEmpty && !isSent)
            learnInto(person, { what: 'listed', listed: [], shownUntil: context.now() })
          else if (person.team.listed === 'unread') await readList(context, person)
          if (isStale(context, person)) {
            selected.outcomes.push(...own.map((entry) => leftByStale(entry, isUncertain(entry))))
            return
          }
          learnInto(person, { what: 'wanted', wanted: wantedOf(words, person, outcomes, toJudge) })
          noteSteps(selected, person, await stepsFor(context, person), said)
        }),
      )
      return selected
    },
    async finish(outcomes) {
      const failures: FollowUpFailure[] = []
      const known: KnownCareTeam[] = []
      await allDone(
        people.map(async (person) => {
          if (isStale(context, person)) return
          failures.push(...(await finishOf(context, person, wantedOf(words, person, outcomes))))
          if (!isStale(context, person)) known.push(...endWork(context, person))
        }),
      )
      return { failures, known }
    },
  }
}

interface Selected extends SelectedCareTeams {
  readonly outcomes: EntryOutcome[]
  readonly doubtful: Entry[]
  readonly twins: { entry: Entry; first: Entry }[]
  readonly behind: Entry[]
}

const isStale = ({ stale }: CareTeamContext, { entries }: AccountTeam): boolean => entries.some(stale.has)

async function stepsFor(context: CareTeamContext, person: Person) {
  for (;;) {
    const steps = decideEntries(person.team, context)
    const waits = [...steps.values()].flatMap((one) => (one.step === 'look' ? [one.waitMs] : []))
    if (waits.length === 0) return steps
    await lookAgain(context, person, Math.max(...waits))
  }
}

function noteSteps(
  { outcomes, doubtful, twins, behind }: Selected,
  { team }: Person,
  steps: ReturnType<typeof decideEntries>,
  { isStored }: Pick<CareTeamStatements, 'isStored'>,
): void {
  const has = hadBy(team)
  for (const [entry, step] of steps) {
    if (step.step === 'doubt') doubtful.push(entry)
    if (step.step === 'share') twins.push({ entry, first: step.first })
    if (step.step === 'behind') behind.push(entry)
    if (step.step === 'omit') outcomes.push({ entry, outcome: 'unchanged', passedOver: step.why })
    const one = team.wanted.find((wanted) => wanted.entry === entry)
    if (step.step === 'known' && one !== undefined)
      outcomes.push({ entry, outcome: 'unchanged', found: true, ...whoseEntry(one, has, isStored(entry)) })
  }
}

/**
 * Tells the origin of an entry that the account has: this record, sent from here, or another export. Of a stored record, and of one that cannot have
 * been sent without the ledger's knowledge, an earlier run has the receipt.
 */
function whoseEntry(
  one: WantedCareTeam,
  has: readonly HadCareTeam[],
  wasStored: boolean,
): { readBack?: true; isOthers?: true } {
  const { transactionId, rule, content, observedAt } = one.entry
  const same = has.filter((had) => isSame(one, had))
  if (same.some(({ ours }) => ours === transactionId))
    return one.isUncertain && !wasStored ? { readBack: true } : {}
  const isThisRecord = ({ ours, listedAt = observedAt }: HadCareTeam): boolean => {
    const parts = ours === undefined ? undefined : parseTransactionId(ours)
    // Without ids at the gateway, the date alone can tell.
    if (parts === undefined) return listedAt === observedAt
    return parts.rule === rule && content.startsWith(parts.content)
  }
  return same.some(isThisRecord) ? {} : { isOthers: true }
}

async function finishOf(
  context: CareTeamContext,
  person: Person,
  wanted: readonly WantedCareTeam[],
): Promise<FollowUpFailure[]> {
  if (!hasNews({ ...person.team, wanted }) && !person.team.isWhole) return []
  if (person.team.listed === 'unread') await readList(context, person)
  if (isStale(context, person)) return []
  learnInto(person, { what: 'settled', wanted, changed: context.changed })
  return workOff(context, person)
}

interface Words extends CareTeamStatements, Pick<CareTeamContext, 'identity'> {
  readonly isUncertain: (entry: Entry) => boolean
}

/** @param open entries without an outcome. Other entries without an outcome are twins, and are left out */
const wantedOf = (
  words: Words,
  { entries, team: { known } }: Person,
  outcomes: Outcomes,
  open: ReadonlySet<Entry> = new Set(),
): WantedCareTeam[] =>
  entries.flatMap((entry) => {
    const outcome = outcomes.of(entry)
    const status = outcome === undefined ? open.has(entry) && 'open' : statusOf(outcome)
    // A later word of the export's own replaces this entry, in whatever order exports are read again.
    if (!status || (status === 'delivered' && words.isReplaced(entry))) return []
    const npi = npiOf(words.identity, entry)
    const place = placeOfWord(words.arrival, entry.row.row)
    const isNew =
      outcome?.outcome !== 'unchanged' || (outcome.found === true && outcome.passedOver === undefined)
    // A new record may come from a row heard before.
    const isHeard = !isNew && wasHeard(known, { npi, at: entry.observedAt, place })
    const id = outcome?.outcome === 'accepted' ? outcome.gatewayId : undefined
    const isUncertain = words.isUncertain(entry)
    return [{ entry, npi, fields: fieldsSent(entry), status, id, place, isHeard, isUncertain }]
  })

/** Status by outcome; false for a rejected entry: the gateway does not have the export's word. */
function statusOf(outcome: EntryOutcome): WantedCareTeam['status'] | false {
  switch (outcome.outcome) {
    case 'accepted':
      return 'created'
    case 'unchanged':
      return outcome.found === true || outcome.passedOver !== undefined ? 'stored' : 'delivered'
    case 'in-doubt':
      return 'doubtful'
    case 'rejected':
      return false
  }
}

const npiOf = ({ npi }: CareTeamContext['identity'], { evidence }: Entry): string => npi(evidence.npi ?? '')

interface ChunkAccount {
  readonly hash: string
  readonly account: AccountKey
  readonly entries: readonly Entry[]
}

interface Person extends AccountTeam {
  /** True where this chunk has registered the account under its claim: the gateway has no entries of the account. */
  readonly isEmpty: boolean
}

function accountsOf(
  identity: CareTeamContext['identity'],
  { entries, listed }: Pick<CareTeamStatements, 'entries' | 'listed'>,
): ChunkAccount[] {
  const byReference = Map.groupBy(entries, (entry) => entry.account.reference)
  const accounts = [...listed, ...entries.map((entry) => entry.account)]
  return [...new Map(accounts.map((account) => [account.reference, account])).values()].map((account) => ({
    hash: identity.account(account),
    account,
    entries: byReference.get(account.reference) ?? [],
  }))
}

async function peopleOf(
  context: CareTeamContext,
  said: CareTeamStatements,
  { accountIds, registered, claimed }: Pick<ResolvedAccounts, 'accountIds' | 'registered' | 'claimed'>,
): Promise<Person[]> {
  const { gatewayName, identity, ledger, claims } = context
  const accounts = accountsOf(identity, said).filter(({ hash }) => claimed.has(hash))
  const hashes = accounts.map(({ hash }) => hash)
  const rows = await ledger.careTeams.ofAccounts(gatewayName, hashes)
  const owing = [...rows.values()].filter((known) => known.some((one) => owesDeletion(one, context)))
  const whole = await unreachable(context, owing)
  const held = await ledger.slots.heldContents(waitedFor([...whole].flat()))
  return accounts.map(({ hash, account, entries }) => {
    const known = rows.get(hash) ?? []
    const npis = new Set(entries.map((entry) => npiOf(identity, entry)))
    const listedAgain = known.filter(({ npi, deletions }) => npis.has(npi) && deletions.some(isMissing))
    const isWhole = whole.has(known)
    const team = careTeamOf(known, isWhole ? { isWhole, inDoubt: held } : { isWhole })
    return {
      hash,
      owner: account,
      accountId: accountIds(account) ?? null,
      entries,
      isEmpty: registered.has(hash) && known.length === 0,
      team: {
        ...team,
        isAbandoned: claims.isAbandoned(hash),
        deletions: new Map(listedAgain.map(({ npi }) => [npi, []])),
      },
    }
  })
}

/** True where the list is needed: a mark is owed, or the chunk has news. */
const hasNews = ({ wanted, known }: CareTeam): boolean =>
  known.some(isMarkOwed) || wanted.some((one) => one.status !== 'delivered' || isNewWord(known, one))
