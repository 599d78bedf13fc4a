/**
 * Loads one chunk: remember, decide, register, look, send, learn. Returns exactly one outcome for each record, or throws because the run must stop;
 * then the chunk stays open, and the next run resumes it.
 */

import type { ChunkKey, HeldDoubt, Ledger, Suspicion } from '../ledger/ledger.ts'
import { type Entry, rowKeysOf, type WithdrawnEntry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { type EntryOutcome, Outcomes } from '../model/outcome.ts'
import type { AccountKey } from '../model/record.ts'
import { type AccountsContext, loadRoster, type ResolvedAccounts, resolveAccounts } from './accounts.ts'
import { loadAssessments } from './assessment.ts'
import { type BatchLimits, planBatches } from './batches.ts'
import { type Listing, listingOf } from './care-team-owed.ts'
import type { CareTeamContext, FollowUpFailure } from './care-team-work.ts'
import {
  type CareTeamStatements,
  type CareTeamsOfChunk,
  careTeamsOf,
  careTeamsToClaim,
} from './care-teams.ts'
import { ChunkDecisions, type TakenBack, takenBackOf, waitsForOlder } from './chunk-decisions.ts'
import type { Claims } from './claims.ts'
import type { Delivery, StaleAccounts } from './delivery.ts'
import { deliver, planned, settleUnanswered } from './delivery.ts'
import { leftByStale } from './gateway-words.ts'
import { loadMedicalRecords } from './medical-records.ts'
import { recallChunk } from './recall.ts'
import { ChunkSlots, type LearnedSlots, type Speaks } from './slots.ts'
import { renewRowKeys } from './stale-accounts.ts'

export interface LoadContext extends Delivery {
  readonly firstContact: (entries: readonly Entry[]) => Promise<void>
  readonly memory: Pick<Ledger, 'slots' | 'chunks' | 'careTeams' | 'exports' | 'left'>
  readonly accounts: AccountsContext
  readonly careTeams: CareTeamContext
  readonly claims: Claims
  readonly medicalRecords: Parameters<typeof loadMedicalRecords>[0]
  /** People whose tests are in progress at once: each may run a command for a token. */
  readonly testsAtOnce: number
  readonly jobId: number
  readonly limits: BatchLimits
  /** True where the gateway is known to accept care teams of several accounts in one request. */
  readonly careTeamsAcrossAccounts: boolean
  /**
   * Handling of records in doubt since an earlier run. `hold`: not sent. `look`: the profile is read once more, and records absent there are sent.
   * `resend`: as `look`, and undecidable records are sent, too.
   */
  readonly held: 'hold' | 'look' | 'resend'
  /** Possible losses of the ledger: profiles are read for them, once the gateway can no longer be late. */
  readonly suspicion: Suspicion
  /** True for an export, by its id, that is read after another: a restored ledger meets the records of the former first. */
  readonly comesLater: (
    exportId: string,
    read: Pick<ChunkToLoad, 'exportId' | 'exportName'>,
  ) => Promise<boolean>
}

export interface ChunkToLoad extends ChunkKey, Speaks {
  readonly exportId: string
  readonly exportName: string
  readonly entries: readonly Entry[]
  /** Results withdrawn by the source. */
  readonly withdrawn: readonly WithdrawnEntry[]
  /** True for a retry of rejected rows: a person is notified of withdrawn results again. */
  readonly isTakenUp: boolean
  /** People with rejected rows, since several birth dates share their reference. */
  readonly shared: readonly AccountKey[]
  /** Accounts whose care teams the chunk lists in full, even empty ones; empty where the export lists only a part. */
  readonly listed: readonly AccountKey[]
  /** True where an earlier process may have sent part of the chunk. */
  readonly resumed: boolean
  /** True where rows are recognised by prints: the chunk renews missing and former prints. */
  readonly isRecognised: boolean
  /** True where the next chunk waits for what is sent. */
  readonly isAwaited?: boolean
  /** References of people whom the chunk before has, too: their records go in batches of their own, and keep nobody else waiting. */
  readonly behind: ReadonlySet<string>
  /** Resolves when the chunk before is settled. @throws the failure that stops the run */
  readonly beforeSettled: () => Promise<void>
}

export interface LoadedChunk {
  readonly outcomes: readonly EntryOutcome[]
  readonly followUpFailures: readonly FollowUpFailure[]
  /** Rows whose key was known, or appeared earlier in the chunk, with other content. */
  readonly rowsCorrected: number
  readonly accounts: ResolvedAccounts['counts']
  readonly names?: ResolvedAccounts['names']
  readonly learned: LearnedSlots
  /** Withdrawn results that the gateway has, or may have. */
  readonly takenBack?: readonly TakenBack[]
}

/** @throws WaybillError where the run must stop */
export async function loadChunk(context: LoadContext, chunk: ChunkToLoad): Promise<LoadedChunk> {
  const { behind, beforeSettled, resumed } = chunk
  if (behind.size === 0) return loadPeople(context, chunk)
  const part = (is: boolean) => partOf(chunk, ({ reference }) => behind.has(reference) === is)
  const ahead = part(false)
  // A batch of an earlier process is settled as a whole, and may hold anybody's records.
  if (resumed || isEmpty(ahead)) {
    await beforeSettled()
    return loadPeople(context, chunk)
  }
  const first = await loadPeople(context, { ...chunk, ...ahead })
  await beforeSettled()
  return joinedParts([first, await loadPeople(context, { ...chunk, ...part(true), isAwaited: true })])
}

/** Content of a chunk, by people. */
type Content = Pick<ChunkToLoad, 'entries' | 'listed' | 'withdrawn' | 'shared'>

const partOf = (
  { entries, listed, withdrawn, shared }: Content,
  has: (account: AccountKey) => boolean,
): Content => ({
  entries: entries.filter(({ account }) => has(account)),
  listed: listed.filter(has),
  withdrawn: withdrawn.filter(({ account }) => has(account)),
  shared: shared.filter(has),
})

const isEmpty = ({ entries, listed, withdrawn }: Content): boolean =>
  entries.length + listed.length + withdrawn.length === 0

async function loadPeople(context: LoadContext, chunk: ChunkToLoad): Promise<LoadedChunk> {
  const { entries, resumed } = chunk
  const kind = entries[0]?.kind
  const { ledger, gatewayName, runLedger } = context.accounts
  if (chunk.shared.length > 0)
    await runLedger.saveBirths(gatewayName, new Map(), new Set(chunk.shared.map(context.identity.account)))
  await renewRowKeys(ledger, gatewayName, context.identity, joined(entries, chunk.withdrawn))
  // A mapping of these kinds makes no profile records.
  if (kind === 'account') {
    const { names, ...loaded } = await loadRoster(context.accounts, entries, resumed)
    // A roster read again repeats all names.
    const newNames = chunk.isAgain || chunk.isBackfill ? {} : { names }
    return { ...NOTHING_OF_PROFILES, ...loaded, ...newNames }
  }
  if (kind === 'medicalRecords')
    return {
      ...NOTHING_OF_PROFILES,
      outcomes: await loadMedicalRecords(context.medicalRecords, entries, chunk.arrival),
    }
  if (kind === 'assessment') return { ...NOTHING_OF_PROFILES, ...(await loadAssessments(context, chunk)) }
  await context.firstContact(entries)
  return load(context, chunk)
}

/** Nearly always one list is empty, and the other stays as it is. */
const joined = (first: readonly Entry[], then: readonly Entry[]): readonly Entry[] =>
  then.length === 0 ? first : first.length === 0 ? then : [...first, ...then]

export const NOTHING_OF_PROFILES: Omit<LoadedChunk, 'outcomes'> = {
  followUpFailures: [],
  rowsCorrected: 0,
  accounts: { known: 0, refused: 0 },
  learned: { delivered: [], ended: new Map(), renamed: [], asked: new Set(), outdated: new Set() },
}

/**
 * Loads people in parts: first the people who are ready, then the people whose registration keeps failing, or whom another job had claimed. Late
 * people keep nobody else waiting.
 */
async function loadApart(
  context: LoadContext,
  chunk: ChunkToLoad,
  first: ResolvedAccounts,
): Promise<LoadedChunk> {
  const parts: LoadedChunk[] = []
  for (let accounts = first, open: Content = chunk; ; ) {
    const { isLate, isBusy, late } = accounts
    const part = (is: boolean): Content => partOf(open, (account) => isLate(account) === is)
    const others = part(false)
    if (!isEmpty(others)) parts.push(await load(context, { ...chunk, ...others }, accounts))
    if (late.size === 0) return joinedParts(parts)
    open = part(true)
    if (isBusy) await context.claims.pause()
    accounts = await resolveAccounts(context.accounts, open.entries, isBusy ? 'leave' : 'await', [], late)
  }
}

function joinedParts(parts: readonly LoadedChunk[]): LoadedChunk {
  const outcomes = new Outcomes()
  for (const one of parts) outcomes.note(one.outcomes)
  const sum = (of: (part: LoadedChunk) => number): number => parts.reduce((all, part) => all + of(part), 0)
  return {
    outcomes: outcomes.all(),
    followUpFailures: parts.flatMap(({ followUpFailures }) => followUpFailures),
    rowsCorrected: sum(({ rowsCorrected }) => rowsCorrected),
    accounts: {
      known: sum(({ accounts }) => accounts.known),
      refused: sum(({ accounts }) => accounts.refused),
    },
    names: new Map(parts.flatMap(({ names = [] }) => [...names])),
    learned: {
      delivered: parts.flatMap(({ learned }) => learned.delivered),
      ended: new Map(parts.flatMap(({ learned }) => [...learned.ended])),
      renamed: parts.flatMap(({ learned }) => learned.renamed),
      asked: new Set(parts.flatMap(({ learned }) => [...learned.asked])),
      outdated: new Set(parts.flatMap(({ learned }) => [...learned.outdated])),
    },
    takenBack: parts.flatMap(({ takenBack }) => takenBack ?? []),
  }
}

/** Reads the ledger about a chunk, before anything is asked or sent. */
async function remember(context: LoadContext, chunk: ChunkToLoad) {
  const { entries } = chunk
  const rowKeys = rowKeysOf(joined(entries, chunk.withdrawn))
  const known = {
    delivered: await context.memory.slots.delivered(context.jobId, rowKeys),
    held: await context.memory.slots.held(context.jobId, rowKeys),
    prints: chunk.isRecognised ? await context.memory.slots.prints(context.jobId, rowKeys) : undefined,
  }
  const slots = new ChunkSlots(known, entries, chunk, context.suspicion)
  const comesLater = (exportId: string) => context.comesLater(exportId, chunk)
  const decisions = new ChunkDecisions({ ...context, comesLater }, slots, (entries.at(-1)?.place ?? -1) + 1)
  const recalled = await recallChunk(context.memory, chunk, entries, known.held)
  decisions.outcomes.note(recalled.outcomes)
  const wasRecalled = new Set(recalled.outcomes.map(({ entry }) => entry))
  /** A copy of the ledger may have been used after it was made. */
  const isBefore = ({ entry }: EntryOutcome): boolean => context.suspicion.copy > 0 && wasRecalled.has(entry)
  slots.hear(entries, chunk.withdrawn)
  slots.learnOutcomes(recalled.outcomes, isBefore)
  const teams = await careTeamWords(context, chunk, slots)
  decisions.begin(recalled.unsent, teams?.listing)
  return { slots, decisions, recalled, isBefore, teams, held: known.held }
}

/** Loads records of profiles. @param given accounts resolved already */
async function load(
  context: LoadContext,
  chunk: ChunkToLoad,
  given?: ResolvedAccounts,
): Promise<LoadedChunk> {
  const { entries } = chunk
  const { slots, decisions, recalled, isBefore, teams, held } = await remember(context, chunk)
  const { outcomes } = decisions
  const unanswered = recalled.unanswered.flatMap((batch) => batch.entries)
  const accounts =
    given ??
    (await resolveAccounts(
      context.accounts,
      joined(unanswered, decisions.open(recalled.unsent)),
      'leave',
      chunk.resumed ? recalled.outcomes : undefined,
      teams && (await careTeamsToClaim(context.careTeams, teams, decisions.isUnchanged)),
    ))
  const { accountIds } = accounts
  const { exportRow, exportId, isAwaited = false } = chunk
  const place = { exportRow, chunk: chunk.chunk, exportId, accountIds, isAwaited }
  const settleEarlier = () =>
    settleUnanswered(
      context,
      recalled.unanswered.map(({ batch, kind, entries: sent }) => ({
        batch: { ...place, kind, entries: sent },
        row: batch.id,
        batchId: batch.batch_id,
        records: batch.records,
      })),
      accountIds,
    )
  if (given === undefined && accounts.late.size > 0) {
    // A batch is settled as a whole: parts would each lack the other people's records.
    await settleEarlier()
    return loadApart(context, chunk, accounts)
  }

  await waitForLate(context, decisions.open(recalled.unsent), held)
  await decisions.look(recalled.unsent, accounts)
  // Batches left open by an earlier process are settled first: newer records of a series would hide theirs.
  const settled = await settleEarlier()
  outcomes.note(settled)
  // Equal records, and records of the settled slots, are decided by the result: a twin of a record in doubt may have to be looked for.
  slots.learnOutcomes(settled, () => false)
  await decisions.look(entries, accounts)
  const careTeams = await sendDecided(context, chunk, {
    decisions,
    teams,
    accounts,
    place,
    recalled,
  })

  leaveStale(context.stale, entries, outcomes)
  const finished = await careTeams?.finish(outcomes)
  await context.claims.letGo(accounts.claimed, finished?.known)
  const all = outcomes.all()
  slots.learnOutcomes(all, isBefore)
  const taken = decisions.takenBack(chunk.withdrawn, chunk.isTakenUp)
  await renewRowKeys(context.accounts.ledger, context.accounts.gatewayName, context.identity, entries)
  return {
    outcomes: all,
    followUpFailures: finished?.failures ?? [],
    rowsCorrected: decisions.rowsCorrected,
    accounts: accounts.counts,
    names: accounts.names,
    learned: slots.toKeep(),
    takenBack: await takenBackOf(context.memory, context.jobId, taken),
  }
}

interface Decided {
  readonly decisions: ChunkDecisions
  /** Undefined for a chunk without care teams. */
  readonly teams: CareTeamStatements | undefined
  readonly accounts: ResolvedAccounts
  readonly place: SendingPlace
  /** Work of an earlier process on this chunk. */
  readonly recalled: Awaited<ReturnType<typeof remember>>['recalled']
}

/** Sends each open record once; a twin shares the outcome of its first record. */
async function sendDecided(
  context: LoadContext,
  { entries, behind }: ChunkToLoad,
  { decisions, teams, accounts, place, recalled }: Decided,
): Promise<CareTeamsOfChunk | undefined> {
  const { outcomes } = decisions
  const twins = decisions.twins(entries)
  const careTeams =
    teams &&
    (await careTeamsOf(
      context.careTeams,
      teams,
      accounts,
      (entry) => recalled.perhapsSent.has(entry) || decisions.isUncertain(entry),
    ))
  // Keeps the order of the rows: of two rows at one instant the later row corrects the first.
  const { limits, careTeamsAcrossAccounts: acrossAccounts } = context
  for (let toSend = without(decisions.open(entries), twins); toSend.length > 0; ) {
    const selected = await careTeams?.select(toSend.filter(isCareTeam), outcomes)
    outcomes.note(selected?.outcomes ?? [])
    outcomes.note(selected?.doubtful.flatMap((entry) => decisions.unlisted(entry) ?? []) ?? [])
    const sameTeams = new Map(selected?.twins.map(({ entry, first }) => [entry, first]))
    const later = new Set(selected?.behind)
    const open = without(without(decisions.open(toSend), sameTeams), later)
    const { toCut, sent } = cutOf(entries, open, recalled.batched)
    await sendAll(context, decisions, place, planBatches(toCut, limits, { acrossAccounts, behind, sent }))
    decisions.shareFates(sameTeams)
    toSend = [...later]
  }
  decisions.shareFates(twins)
  return careTeams
}

/** The cut of an earlier process, again: how far the process came must not change the batches. */
function cutOf(
  entries: readonly Entry[],
  open: readonly Entry[],
  batched: ReadonlySet<Entry>,
): { toCut: readonly Entry[]; sent: ReadonlySet<Entry> } {
  if (batched.size === 0) return { toCut: open, sent: batched }
  const isOpen = new Set(open)
  const toCut = entries.filter((entry) => batched.has(entry) || isOpen.has(entry))
  return { toCut, sent: batched.difference(isOpen) }
}

type SendingPlace = ChunkKey & {
  readonly exportId: string
  readonly accountIds: ResolvedAccounts['accountIds']
  readonly isAwaited: boolean
}

const isCareTeam = ({ kind }: Entry): boolean => kind === 'careTeam'

/** Nearly always there are no others, and the list stays as it is. */
const without = (
  entries: readonly Entry[],
  others: Pick<ReadonlySet<Entry>, 'has' | 'size'>,
): readonly Entry[] => (others.size === 0 ? entries : entries.filter((entry) => !others.has(entry)))

async function careTeamWords(
  context: LoadContext,
  chunk: ChunkToLoad,
  slots: ChunkSlots,
): Promise<(CareTeamStatements & { listing: Listing | undefined }) | undefined> {
  const teams = chunk.entries.filter(isCareTeam)
  if (teams.length + chunk.listed.length === 0) return undefined
  const listing = await listingOf(context, teams, chunk)
  return {
    listing,
    entries: teams.filter((entry) => !listing?.isUnlisted(entry)),
    listed: chunk.listed,
    arrival: chunk.arrival,
    isStored: (entry) => slots.isStored(entry),
    isReplaced: (entry) => slots.isReplaced(entry),
  }
}

/** Sends batches; a newer record of a series goes after the older. */
async function sendAll(
  context: LoadContext,
  decisions: ChunkDecisions,
  place: SendingPlace,
  plan: ReturnType<typeof planBatches>,
): Promise<void> {
  const { outcomes } = decisions
  const waiting = await seriesThatWait(context, outcomes.all())
  const batches = plan.map((one) => ({ ...place, ...one, hidesOlder: one.after.length > 0 }))
  // Newer records of the series hide these from a process that goes on.
  const rows = await planned(context, batches, decisions.doubtsShown)
  const deliveries: Promise<void>[] = []
  for (const [at, { kind, entries, after }] of plan.entries()) {
    const send = async (): Promise<void> => {
      const late = waiting.isEmpty() ? [] : entries.filter(waiting.has)
      outcomes.note(late.map((entry) => waitsForOlder(entry)))
      const ready = late.length === 0 ? entries : entries.filter((entry) => !late.includes(entry))
      if (ready.length === 0) return
      const row = late.length === 0 ? rows[at] : undefined
      const ended = await deliver(context, { ...place, kind, entries: ready }, row)
      outcomes.note(ended)
      waiting.add(ended)
    }
    const before = after.flatMap((position) => deliveries[position] ?? [])
    deliveries.push(before.length === 0 ? send() : Promise.all(before).then(send))
  }
  await allDone(deliveries)
}

/** Leaves behind records delivered to a stale account: a rerun sends them. */
function leaveStale(stale: StaleAccounts, entries: readonly Entry[], outcomes: Outcomes): void {
  const isDelivered = (entry: Entry): boolean => {
    const outcome = outcomes.of(entry)
    return outcome?.outcome === 'unchanged' && !outcome.found && !outcome.passedOver
  }
  const delivered = entries.filter((entry) => stale.has(entry) && isDelivered(entry))
  outcomes.note(delivered.map((entry) => leftByStale(entry, false)))
}

interface WaitContext
  extends Pick<
    LoadContext,
    'identity' | 'inDoubt' | 'readLagMs' | 'pause' | 'now' | 'jobId' | 'held' | 'suspicion'
  > {
  readonly memory: { slots: Pick<Ledger['slots'], 'heldSeries'> }
}

/**
 * Series with an older record still in question. The gateway returns only the latest record, so a newer record would hide the older for good
 * (interface, "the service: biometrics").
 */
export async function seriesThatWait(
  { memory, jobId, identity, held, inDoubt }: WaitContext,
  outcomes: readonly EntryOutcome[],
) {
  const own = new Set<string>()
  const before = held === 'hold' ? await memory.slots.heldSeries(jobId) : new Set<string>()
  /** Learns records in doubt with an unreadable profile. */
  const add = (ended: readonly EntryOutcome[]): void => {
    if (inDoubt === 'resend') return
    for (const one of ended) if (one.outcome === 'in-doubt' && one.isAsked) own.add(one.entry.series)
  }
  add(outcomes)
  return {
    isEmpty: () => own.size + before.size === 0,
    has: (entry: Entry): boolean =>
      own.has(entry.series) || (before.size > 0 && before.has(identity.series(entry.series))),
    add,
  }
}

/**
 * Waits until the gateway can no longer be late with records sent without a known result.
 * @param held doubts of the rows
 */
export async function waitForLate(
  context: WaitContext,
  unsent: readonly Entry[],
  held: ReadonlyMap<string, readonly HeldDoubt[]>,
): Promise<void> {
  const { suspicion, readLagMs } = context
  if (unsent.length === 0) return
  const sent = [...held.values()].flatMap((doubts) => doubts.flatMap(({ sentUntil }) => sentUntil ?? []))
  const since = suspicion.until === undefined ? sent : [suspicion.until, ...sent]
  const lateMs = Math.max(...since) + readLagMs - context.now()
  if (lateMs > 0) await context.pause(Math.min(lateMs, readLagMs))
}
