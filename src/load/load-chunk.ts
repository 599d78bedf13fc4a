/**
 * Loads one chunk: recognise, register, cut, deliver, mark. Gives exactly one outcome for each of its records, or throws because
 * the run must stop; the chunk then stays open and is taken up again by the next run.
 */

import type { ChunkKey, Ledger, PerhapsSent } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import { type Entry, rowKeysOf, type WithdrawnEntry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { hasSameContent } from '../model/ids.ts'
import { type EntryOutcome, Outcomes, type StoredAs, type Verdict } from '../model/outcome.ts'
import type { AccountKey } from '../model/record.ts'
import { type AccountsContext, loadRoster, type ResolvedAccounts, resolveAccounts } from './accounts.ts'
import { type AssessmentContext, loadAssessments } from './assessment.ts'
import { type BatchLimits, planBatches } from './batches.ts'
import type { CareTeamContext, FollowUpFailure } from './care-team-marks.ts'
import { listingOf } from './care-team-owed.ts'
import { careTeamsOf, careTeamsToClaim } from './care-teams.ts'
import type { Claims } from './claims.ts'
import { deliver, planned, settleUnanswered } from './deliver.ts'
import type { Delivery } from './delivery.ts'
import type { FirstContact } from './first-contact.ts'
import { unclearByStale } from './gateway-words.ts'
import { loadMedicalRecords, type MedicalRecordsContext } from './medical-records.ts'
import {
  disputed,
  fateOfRestated,
  isOutdated,
  isReplaced,
  type Memory,
  nothingEarlier,
  recallChunk,
  recognise,
  shareFate,
  standingOf,
} from './recognise.ts'
import { leaveStale, renewRowKeys } from './stale-accounts.ts'
import { seriesThatWait, waitForLate } from './waiting-series.ts'
import { type ChunkWords, lastWordsIn, type TakenBack, takenBackOf, type Withdrawing } from './withdrawn.ts'

export interface LoadContext extends Delivery {
  readonly firstContact: FirstContact
  readonly memory: Pick<
    Ledger,
    | 'delivered'
    | 'held'
    | 'heldSeries'
    | 'batchesOf'
    | 'exceptionsOf'
    | 'listedCareTeams'
    | 'exportRecord'
    | 'exportsWithContent'
    | 'chunksOf'
    | 'left'
  >
  readonly accounts: AccountsContext
  readonly careTeams: CareTeamContext
  readonly claims: Claims
  readonly medicalRecords: MedicalRecordsContext
  readonly assessment: AssessmentContext
  readonly jobId: number
  readonly limits: BatchLimits
  /** Whether the gateway is known to take care teams of several accounts in one request. */
  readonly careTeamsAcrossAccounts: boolean
  /**
   * What is done with records that are in doubt since an earlier run. `hold`: they are not sent. `look`: the profile is read once more; what
   * it shows is not sent, what it lacks is. `resend`: as `look`, and what nobody can tell is sent, too.
   */
  readonly held: 'hold' | 'look' | 'resend'
  /**
   * Until when more may have been sent than the ledger, being a copy, knows. Then profiles are read before anything is sent that it does
   * not know, once the gateway can no longer be late with that.
   */
  readonly behindSince: number | undefined
  /** By runs that were given up: what was taken is not sent, and for what was never answered profiles are read, likewise. */
  readonly perhapsSent: PerhapsSent
}

export interface ChunkToLoad extends ChunkKey, Withdrawing {
  readonly exportId: string
  readonly entries: readonly Entry[]
  /** Results that the source has taken back. */
  readonly withdrawn: readonly WithdrawnEntry[]
  /** People whose rows are rejected, as they give several birth dates under one reference. */
  readonly shared: readonly AccountKey[]
  /** Whose care teams it lists, also where it lists nobody; empty where it does not list all. */
  readonly listed: readonly AccountKey[]
  /** Whether an earlier process may have sent some of it. */
  readonly resumed: boolean
  /** Of entries, those that are the last word of the export. */
  readonly lastWords: (entries: readonly Entry[]) => Promise<ReadonlySet<Entry>>
}

export interface LoadedChunk {
  /** One for each entry, in the order of the entries. */
  readonly outcomes: readonly EntryOutcome[]
  readonly followUpFailures: readonly FollowUpFailure[]
  /** Rows whose key was delivered, or stood before in the chunk, with other content. */
  readonly rowsCorrected: number
  readonly accounts: ResolvedAccounts['counts']
  readonly names?: ResolvedAccounts['names']
  /** What the ledger knew under its row keys before. */
  readonly memory: Memory
  /** Withdrawn results that the gateway has, or may have. */
  readonly takenBack?: readonly TakenBack[]
}

/** @throws WaybillError where the run must stop */
export async function loadChunk(context: LoadContext, chunk: ChunkToLoad): Promise<LoadedChunk> {
  const { entries, resumed } = chunk
  const kind = entries[0]?.kind
  const { ledger, gatewayName, runLedger } = context.accounts
  if (chunk.shared.length > 0)
    await runLedger.saveBirths(gatewayName, new Map(), new Set(chunk.shared.map(context.identity.account)))
  await renewRowKeys(ledger, gatewayName, context.identity, entries)
  // A mapping makes no record of a profile beside these.
  if (kind === 'account')
    return { ...NOTHING_OF_PROFILES, ...(await loadRoster(context.accounts, entries, resumed)) }
  if (kind === 'medicalRecords')
    return {
      ...NOTHING_OF_PROFILES,
      outcomes: await loadMedicalRecords(context.medicalRecords, entries, chunk.arrival),
    }
  if (kind === 'assessment')
    return { ...NOTHING_OF_PROFILES, ...(await loadAssessments(context.assessment, chunk)) }
  await context.firstContact(entries)
  const words = lastWordsIn(entries, chunk.withdrawn)
  return words.replaced.length + words.withdrawn.length === 0
    ? load(context, chunk)
    : loadLastWords(context, chunk, words)
}

/** Sends no record that the chunk itself replaces, unless the ledger does not know yet what became of it. */
async function loadLastWords(
  context: LoadContext,
  chunk: ChunkToLoad,
  { replaced, withdrawn }: ChunkWords,
): Promise<LoadedChunk> {
  const { memory, jobId, perhapsSent, accounts } = context
  await renewRowKeys(accounts.ledger, accounts.gatewayName, context.identity, withdrawn)
  const rowKeys = rowKeysOf([...replaced, ...withdrawn])
  const known = {
    delivered: await memory.delivered(jobId, rowKeys),
    held: await memory.held(jobId, rowKeys),
  }
  const begun = replaced.length > 0 && chunk.resumed ? await memory.batchesOf(chunk) : []
  const sent = new Set(begun.flatMap(({ holds }) => unpackHolds(holds)).map(({ content }) => content))
  const passed = replaced.filter(
    ({ rowKey, content }) =>
      !known.held.get(rowKey)?.has(content) && !perhapsSent.unanswered.has(content) && !sent.has(content),
  )
  const isPassed = new Set(passed)
  const entries = isPassed.size === 0 ? chunk.entries : chunk.entries.filter((entry) => !isPassed.has(entry))
  const loaded = await load(context, { ...chunk, entries })
  const outcomes = new Outcomes()
  outcomes.note(loaded.outcomes)
  outcomes.note(
    passed.map((entry) => {
      const stands = standingOf(known.delivered.get(entry.rowKey) ?? [], entry.ruleHash)
      return stands !== undefined && hasSameContent(stands, entry)
        ? { entry, outcome: 'unchanged' }
        : { entry, outcome: 'unchanged', passedOver: 'outdated' }
    }),
  )
  // Rows of which something is left, and rows of known keys, are counted with that.
  const counted = new Set(entries.map(({ row }) => row))
  const corrected = passed.filter(({ row, rowKey }) => !counted.has(row) && !known.delivered.has(rowKey))
  return {
    ...loaded,
    outcomes: outcomes.all(),
    rowsCorrected: loaded.rowsCorrected + new Set(corrected.map(({ row }) => row)).size,
    memory: {
      delivered: new Map([...known.delivered, ...loaded.memory.delivered]),
      held: new Map([...known.held, ...loaded.memory.held]),
    },
    takenBack: await takenBackOf(memory, jobId, withdrawn, known, chunk),
  }
}

const NOTHING_OF_PROFILES = {
  ...{ followUpFailures: [], rowsCorrected: 0 },
  accounts: { known: 0, refused: 0 },
  memory: { delivered: new Map(), held: new Map() },
} as const

/** First the others, then those whose registration fails again and again, or who were another job's: they keep nobody else waiting. */
async function loadApart(
  context: LoadContext,
  chunk: ChunkToLoad,
  first: ResolvedAccounts,
): Promise<LoadedChunk> {
  const parts: LoadedChunk[] = []
  for (let accounts = first, open: Pick<ChunkToLoad, 'entries' | 'listed'> = chunk; ; ) {
    const { isLate, isBusy, late } = accounts
    const part = (is: boolean): typeof open => ({
      entries: open.entries.filter(({ account }) => isLate(account) === is),
      listed: open.listed.filter((account) => isLate(account) === is),
    })
    const others = part(false)
    if (others.entries.length + others.listed.length > 0)
      parts.push(await load(context, { ...chunk, ...others }, accounts))
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
    memory: {
      delivered: new Map(parts.flatMap(({ memory }) => [...memory.delivered])),
      held: new Map(parts.flatMap(({ memory }) => [...memory.held])),
    },
  }
}

/** Loads records of profiles. @param given accounts that are resolved already */
async function load(
  context: LoadContext,
  chunk: ChunkToLoad,
  given?: ResolvedAccounts,
): Promise<LoadedChunk> {
  const { memory, jobId, perhapsSent } = context
  const { entries, exportRow, exportId } = chunk
  const outcomes = new Outcomes()
  const note = (ended: readonly EntryOutcome[]): void => outcomes.note(ended)

  const rowKeys = rowKeysOf(entries)
  const held = await memory.held(jobId, rowKeys)
  const isHeld = ({ rowKey, content }: Entry): boolean => held.get(rowKey)?.has(content) === true
  const delivered = await memory.delivered(jobId, rowKeys)
  const inDispute = disputed(entries, { delivered, held }, chunk)
  const lastWords = inDispute.length === 0 ? new Set<Entry>() : await chunk.lastWords(inDispute)
  const holds = context.held === 'hold'
  // What is in doubt is looked for, though the same was delivered before and has been replaced.
  const news = holds ? lastWords : new Set([...lastWords, ...entries.filter(isHeld)])
  const recognised = recognise(
    entries,
    { delivered, held },
    { arrival: chunk.arrival, news, doubts: context.held },
  )
  const teams = entries.filter((entry) => entry.kind === 'careTeam')
  const listing = await listingOf(context, teams, chunk)
  const listedAgain = recognised.unchanged.filter(listing.isListedAgain)
  const again = new Set(listedAgain)
  const unchanged =
    again.size === 0 ? recognised.unchanged : recognised.unchanged.filter((entry) => !again.has(entry))
  note(unchanged.map((entry) => ({ entry, outcome: 'unchanged' })))
  note(recognised.held.map(stillInDoubt))
  note(
    recognised.unclear.map((entry) => ({
      ...notSent(entry, 'waits-for-older', WAITS_FOR_OLDER),
      isUnclear: true,
    })),
  )
  const said = joined(
    recognised.fresh,
    recognised.restated.map(({ entry }) => entry),
  )
  const unlisted = said.filter(listing.isUnlisted)
  note(unlisted.map((entry) => ({ entry, outcome: 'unchanged', passedOver: 'care-team-outdated' })))
  const fresh = joined(outcomes.without(said), listedAgain)
  const earlier = chunk.resumed ? await recallChunk(memory, chunk, fresh) : nothingEarlier(fresh)
  note(earlier.outcomes)
  const isTaken = ({ content }: Entry): boolean => perhapsSent.taken.has(content)
  const taken = perhapsSent.taken.size === 0 ? [] : earlier.unsent.filter(isTaken)
  note(taken.map((entry) => ({ entry, outcome: 'unchanged', found: true })))
  const unsent = taken.length === 0 ? earlier.unsent : earlier.unsent.filter((entry) => !isTaken(entry))
  const toResolve = joined(
    earlier.unanswered.flatMap((batch) => batch.entries),
    earlier.unsent,
  )
  const saidOfTeams = {
    entries: teams.filter((entry) => !listing.isUnlisted(entry)),
    listed: chunk.listed,
    arrival: chunk.arrival,
    isReplaced: (entry: Entry) => isReplaced(entry, delivered),
  }
  const isUnchanged = (entry: Entry): boolean => {
    const outcome = outcomes.of(entry)
    return outcome?.outcome === 'unchanged' && outcome.found !== true
  }
  const accounts =
    given ??
    (await resolveAccounts(
      context.accounts,
      toResolve,
      'leave',
      chunk.resumed ? earlier.outcomes : undefined,
      await careTeamsToClaim(context.careTeams, saidOfTeams, isUnchanged),
    ))
  const place = { exportRow, chunk: chunk.chunk, exportId, accountIds: accounts.accountIds }
  const settleEarlier = () =>
    settleUnanswered(
      context,
      earlier.unanswered.map(({ batch, kind, entries: sent }) => ({
        batch: { ...place, kind, entries: sent },
        row: batch.id,
        batchId: batch.batch_id,
        records: batch.records,
      })),
      accounts.accountIds,
    )
  if (given === undefined && accounts.late.size > 0) {
    // A batch is settled as a whole: its parts would each forget what the other people have of it.
    await settleEarlier()
    return loadApart(context, chunk, accounts)
  }

  const isDoubtful = (entry: Entry): boolean =>
    context.behindSince !== undefined ||
    perhapsSent.unanswered.has(entry.content) ||
    isHeld(entry) ||
    accounts.isPerhapsSent(entry)
  await waitForLate(context, unsent)
  /** Nothing can be said of any that would keep it from being sent. */
  const allUsual =
    accounts.areUsual &&
    delivered.size + held.size + perhapsSent.unanswered.size === 0 &&
    context.behindSince === undefined
  // Of care teams the whole list tells more than a look for each of them.
  const doubtful = allUsual ? [] : unsent.filter((entry) => entry.kind !== 'careTeam' && isDoubtful(entry))
  const verdicts =
    doubtful.length === 0
      ? new Map<Entry, Verdict | StoredAs>()
      : await context.reconciler.readBackAny(doubtful, accounts.accountIds, context.stale.judge)
  const inDoubtStill = (entry: Entry, isAsked: boolean): EntryOutcome => ({
    ...(isHeld(entry) ? stillInDoubt(entry) : notSent(entry, 'perhaps-sent', PERHAPS_SENT)),
    ...(isAsked ? { isAsked } : {}),
  })
  /** Of one that is not to be sent; undefined for all others. */
  const withheld = (entry: Entry): EntryOutcome | undefined => {
    const verdict = verdicts.get(entry)
    if (verdict === 'unreadable' && context.stale.has(entry)) return unclearByStale(entry, null)
    if (verdict === 'stored') return { entry, outcome: 'unchanged', found: true, readBack: true }
    if (typeof verdict === 'object')
      return { entry, outcome: 'unchanged', found: true, readBack: true, ...verdict }
    if (verdict !== undefined && verdict !== 'absent' && context.held !== 'resend')
      return inDoubtStill(entry, verdict === 'unreadable')
    const reason = accounts.refusalOf(entry)
    if (reason !== undefined) return { entry, outcome: 'rejected', batchId: null, reason }
    const isLate = !isHeld(entry) && isOutdated(entry, delivered, chunk, lastWords)
    return isLate ? { entry, outcome: 'unchanged', passedOver: 'outdated' } : undefined
  }
  if (!allUsual) note(unsent.flatMap((entry) => withheld(entry) ?? []))
  const sendable = outcomes.without(unsent)

  // What an earlier process left open is judged first: sending newer records of the same series would hide it.
  const settled = await settleEarlier()
  note(settled.outcomes)
  // In the order of the rows: of two at one instant the later one corrects the first.
  const later = new Set(recognised.restated.map(({ entry }) => entry))
  const isInOrder = settled.toSend.length + later.size === 0
  const unsettled = new Set(isInOrder ? [] : [...sendable, ...settled.toSend])
  const inRowOrder = isInOrder ? sendable : entries.filter((entry) => unsettled.has(entry))

  const careTeams = await careTeamsOf(
    context.careTeams,
    saidOfTeams,
    accounts,
    (entry) => chunk.resumed || isDoubtful(entry),
  )
  const selected = await careTeams.select(
    inRowOrder.filter((entry) => entry.kind === 'careTeam'),
    outcomes,
  )
  note(selected.outcomes)
  if (context.held !== 'resend') note(selected.doubtful.map((entry) => inDoubtStill(entry, true)))

  const waiting = await seriesThatWait(context, outcomes.all())
  const sendAll = async (open: readonly Entry[]): Promise<void> => {
    const plan = planBatches(open, context.limits, context.careTeamsAcrossAccounts)
    const batches = plan.map((one) => ({ ...place, ...one, hidesOlder: one.after.length > 0 }))
    const rows = await planned(context, batches)
    const deliveries: Promise<void>[] = []
    for (const [at, { kind, entries: ofOne, after }] of plan.entries()) {
      const send = async (): Promise<void> => {
        const late = waiting.isEmpty() ? [] : ofOne.filter(waiting.has)
        note(late.map((entry) => ({ ...notSent(entry, 'waits-for-older', WAITS_FOR_OLDER), isAsked: true })))
        const ready = late.length === 0 ? ofOne : ofOne.filter((entry) => !late.includes(entry))
        if (ready.length === 0) return
        const ended = await deliver(
          context,
          { ...place, kind, entries: ready },
          late.length === 0 ? rows[at] : undefined,
        )
        note(ended)
        waiting.add(ended)
      }
      const before = after.flatMap((position) => deliveries[position] ?? [])
      deliveries.push(before.length === 0 ? send() : Promise.all(before).then(send))
    }
    await allDone(deliveries)
  }
  const twins = new Set(selected.twins.map(({ entry }) => entry))
  const isForNow = (entry: Entry): boolean => !twins.has(entry) && !later.has(entry)
  const open = outcomes.without(inRowOrder)
  await sendAll(twins.size + later.size === 0 ? open : open.filter(isForNow))
  // What stood before another record of the chunk goes out again where that one has taken its place.
  for (const one of recognised.restated) {
    const { entry } = one
    if (outcomes.of(entry) !== undefined || twins.has(entry)) continue
    const fate = fateOfRestated(one, (earlier) => outcomes.of(earlier)?.outcome)
    if (fate === 'send') await sendAll([entry])
    else if (fate === 'wait') note([notSent(entry, 'waits-for-older', WAITS_FOR_OLDER)])
    else note([{ entry, outcome: 'unchanged' }])
  }
  for (const { entry, first } of [...selected.twins, ...recognised.twins]) {
    const fate = outcomes.of(first)
    if (fate !== undefined) note([shareFate(entry, fate)])
  }

  leaveStale(context.stale, entries, outcomes)
  const { failures, known } = await careTeams.finish(outcomes)
  await context.claims.letGo(accounts.claimed, known)
  await renewRowKeys(context.accounts.ledger, context.accounts.gatewayName, context.identity, entries)
  return {
    outcomes: outcomes.all(),
    followUpFailures: failures,
    rowsCorrected: recognised.rowsCorrected,
    accounts: accounts.counts,
    names: accounts.names,
    memory: { delivered, held },
  }
}

/** One after the other; as it is where the other holds nothing. */
const joined = (one: readonly Entry[], other: readonly Entry[]): readonly Entry[] =>
  one.length === 0 ? other : other.length === 0 ? one : [...one, ...other]

const HELD = 'the record is in doubt since an earlier run; it is not sent again until that is decided'

const PERHAPS_SENT = 'not sent: it may have been sent before, and the profile cannot tell'

const WAITS_FOR_OLDER = 'not sent: an older record of its kind is in doubt, and this one would hide it'

type InDoubt = Extract<EntryOutcome, { readonly outcome: 'in-doubt' }>

const notSent = (
  entry: Entry,
  code: 'held' | 'perhaps-sent' | 'waits-for-older',
  message: string,
): InDoubt => ({
  entry,
  outcome: 'in-doubt',
  batchId: null,
  reason: { stage: 'submit', code, message, scrubbed: message },
})

const stillInDoubt = (entry: Entry): InDoubt => notSent(entry, 'held', HELD)
