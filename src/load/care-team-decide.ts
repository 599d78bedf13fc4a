/**
 * Decides the next steps for the care team of one account by its slot: entries to create, then replaced or missing entries to delete, then the mark
 * of the primary care physician. Pure; the first matching line of the table gives the step. The table: docs/delivery.md.
 */
import { isDeepStrictEqual } from 'node:util'
import { type KnownCareTeam, type OwedDeletion, UNDATED } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { parseTransactionId } from '../model/ids.ts'
import type { PassedOver } from '../model/outcome.ts'
import {
  type CareTeam,
  type CareTeamJob,
  type CareTeamRules,
  type HadCareTeam,
  hadBy,
  isMissing,
  isOutdated,
  isSame,
  newestFirst,
  newestRow,
  owesDeletion,
  owesMark,
  rowNow,
  type WantedCareTeam,
} from './care-team-slot.ts'

/** Step for an entry without an outcome. */
type EntryStep =
  /** May be stored. */
  | { step: 'doubt' }
  /** The account has the entry. */
  | { step: 'known' }
  /** An equal entry of the chunk decides the outcome. */
  | { step: 'share'; first: Entry }
  /** A newer entry of the chunk goes first: refused, it replaces nothing. */
  | { step: 'behind' }
  | { step: 'omit'; why: PassedOver }
  /** The list may be late: read it again after a wait, in milliseconds. */
  | { step: 'look'; waitMs: number }
  | { step: 'create' }

type EntrySteps = ReadonlyMap<Entry, EntryStep>

/** Most further reads of a list without a stored entry. */
const LOOKS = 2

const KNOWN: EntryStep = { step: 'known' }
const OUTDATED: EntryStep = { step: 'omit', why: 'care-team-outdated' }
const BEHIND: EntryStep = { step: 'behind' }

/** @returns the step for each open entry */
export function decideEntries(team: CareTeam, { changed }: Pick<CareTeamRules, 'changed'>): EntrySteps {
  const steps = new Map<Entry, EntryStep>()
  const has = hadBy(team)
  const isUnclear = ({ npi, status, isUncertain }: WantedCareTeam): boolean =>
    status === 'open' &&
    team.listed === 'unreadable' &&
    (isUncertain || team.isAbandoned || team.known.some((one) => one.npi === npi))
  const wanted = team.wanted.map((one): WantedCareTeam => {
    if (!isUnclear(one)) return one
    steps.set(one.entry, { step: 'doubt' })
    return { ...one, status: 'doubtful' }
  })
  for (const [npi, ofProvider] of Map.groupBy(wanted, (one) => one.npi)) {
    const provider = { wanted: ofProvider, has: has.filter((one) => one.npi === npi), steps }
    const waitMs = lateMs(team, npi)
    for (const one of newestFirst(ofProvider)) {
      if (one.status !== 'open') continue
      const step = decideEntry(one, provider, changed)
      steps.set(one.entry, step.step === 'create' && waitMs > 0 ? lookOrDoubt(team, waitMs) : step)
    }
  }
  return steps
}

const lookOrDoubt = ({ looks }: CareTeam, waitMs: number): EntryStep =>
  looks < LOOKS ? { step: 'look', waitMs } : { step: 'doubt' }

/** Milliseconds by which the list may be too late to show an entry of the provider. */
const lateMs = ({ known, shownUntil, listed }: CareTeam, npi: string): number =>
  typeof listed === 'string' ? 0 : (known.find((one) => one.npi === npi)?.storedAt ?? 0) - shownUntil

interface Provider {
  readonly wanted: readonly WantedCareTeam[]
  readonly has: readonly HadCareTeam[]
  /** Steps decided before. */
  readonly steps: EntrySteps
}

/** Steps of entries sent, or perhaps sent: an equal entry shares the outcome. */
const SENT: ReadonlySet<EntryStep['step'] | undefined> = new Set(['create', 'look', 'doubt'])

/** Decides an entry, after all newer entries of the provider. */
function decideEntry(
  one: WantedCareTeam,
  { wanted, has, steps }: Provider,
  changed: CareTeamRules['changed'],
): EntryStep {
  const isThere = has.some((had) => isSame(one, had))
  const kept = newestRow(wanted)
  const isSent = ({ entry }: WantedCareTeam): boolean => SENT.has(steps.get(entry)?.step)
  if (changed === 'replace' && !kept.some((other) => isSame(one, other)))
    return kept.some(isSent) ? BEHIND : OUTDATED
  if (isThere) return KNOWN
  if (changed === 'replace' && isOutdated(kept, has)) return OUTDATED
  const first = wanted.find((other) => (other.status === 'doubtful' || isSent(other)) && isSame(one, other))
  if (first !== undefined) return { step: 'share', first: first.entry }
  if (changed !== 'keep') return { step: 'create' }
  const isTaken = has.length > 0 || wanted.some(({ status }) => status !== 'open')
  if (isTaken) return { step: 'omit', why: 'care-team-kept' }
  return wanted.some(isSent) ? BEHIND : { step: 'create' }
}

/** Step once the entries of the chunk have an outcome. */
type FollowUp = Extract<DeletionStep, { step: 'look' | 'delete' | 'over' }> | MarkStep

export function decideFollowUp(team: CareTeam, job: CareTeamJob): FollowUp {
  for (const npi of new Set([...team.known.map((one) => one.npi), ...team.deletions.keys()])) {
    const step = decideDeletion(team, npi, job)
    if (step.step !== 'nothing' && step.step !== 'wait') return step
  }
  return decideMark(team, job)
}

type DeletionStep =
  | { step: 'nothing' }
  /** @see unlisted entries of the chunk, absent from the list */
  | { step: 'wait'; unlisted: readonly WantedCareTeam[] }
  /** Read the list again after a wait, in milliseconds. */
  | { step: 'look'; waitMs: number }
  | { step: 'delete'; npi: string; remove: readonly HadCareTeam[] }
  /** @see left deletions owed from now on */
  | {
      readonly step: 'over'
      readonly npi: string
      readonly left: readonly OwedDeletion[]
      readonly isGone: boolean
    }

const NOTHING = { step: 'nothing' } as const

/**
 * Decides the deletions owed for a provider, newest first: while the newest waits, no older one is carried out, as the newest may have wanted those
 * entries back.
 */
export function decideDeletion(team: CareTeam, npi: string, job: CareTeamJob): DeletionStep {
  const before = team.known.find((one) => one.npi === npi)
  const deletions = team.deletions.get(npi) ?? before?.deletions ?? []
  const owed = deletions.at(-1)
  if (owed === undefined || !isDue(team, npi, job)) return NOTHING
  const has = hadBy(team).filter((one) => one.npi === npi && one.isListed)
  const said = newestRow(team.wanted.filter((one) => one.npi === npi))
  const replacing = said.filter(({ entry }) => owed.by.flat().includes(entry.transactionId))
  const standing = standingOf(owed, has, replacing)
  const unlisted = replacing.filter((one) => !has.some((had) => isSame(one, had)))
  const isInDoubt = (content: string): boolean => team.doubts.has(content)
  const wait = { step: 'wait', unlisted } as const
  if (team.refused.has(npi)) return { step: 'wait', unlisted: [] }
  const looksOrWaits = canLook(team, unlisted)
    ? ({ step: 'look', waitMs: team.looks === 0 ? 0 : Number.POSITIVE_INFINITY } as const)
    : wait
  if (typeof team.listed === 'string') return looksOrWaits
  const remove = has.filter((one) => !standing.includes(one) && isReplaced(one, owed, before))
  const isWhole = standing.length === owed.by.length
  const inDoubt = owed.inDoubt.filter(isInDoubt)
  const waitMs = lateMs(team, npi)
  if (remove.length === 0 && waitMs > 0 && (!isWhole || isMissing(owed)))
    return team.looks < LOOKS ? { step: 'look', waitMs } : wait
  if (remove.length === 0) {
    const isStanding = isWhole || owed.inDoubt.length === 0
    const left = leftOver(deletions, isInDoubt, isStanding)
    const isGone = isStanding && deletions.some(({ isSeen }) => isSeen)
    return isDeepStrictEqual(left, deletions) ? wait : { step: 'over', npi, left, isGone }
  }
  if (isWhole) return { step: 'delete', npi, remove }
  // An entry created by the chunk ends the doubt, and comes with the next list.
  const isComing = unlisted.some(({ status }) => status === 'created')
  if (owed.inDoubt.length > 0 && inDoubt.length === 0 && !isComing)
    return { step: 'over', npi, left: deletions.slice(0, -1), isGone: false }
  return looksOrWaits
}

/** True where the chunk has changed the deletion, or the job owes the deletion and no later row of the export may change the debt. */
const isDue = (team: CareTeam, npi: string, job: CareTeamJob): boolean =>
  team.deletions.has(npi) ||
  (team.isWhole && team.known.some((one) => one.npi === npi && owesDeletion(one, job)))

const canLook = ({ looks }: CareTeam, unlisted: readonly WantedCareTeam[]): boolean =>
  looks < LOOKS && unlisted.some(({ status }) => status !== 'doubtful')

/** An entry of unknown date stays, and so does an entry of others where no replacement is wanted. */
function isReplaced(
  { listedAt, ours }: HadCareTeam,
  owed: OwedDeletion,
  row: KnownCareTeam | undefined,
): boolean {
  const byLedger = row === undefined || row.observedAt === UNDATED ? undefined : row.observedAt
  const isOthers = isMissing(owed) && ours !== undefined && parseTransactionId(ours) === undefined
  return (listedAt ?? byLedger ?? Number.POSITIVE_INFINITY) <= owed.until && !isOthers
}

/** Deletions owed once the list shows nothing to delete. A record in doubt may still turn out stored, and is deleted then. */
function leftOver(
  deletions: readonly OwedDeletion[],
  isInDoubt: (content: string) => boolean,
  isStanding: boolean,
): readonly OwedDeletion[] {
  const owed = deletions.at(-1)
  if (owed === undefined || !isStanding) return deletions.slice(0, -1)
  const open = deletions.flatMap((one) => one.inDoubt).filter((one) => isInDoubt(one) && !isOf(one, owed))
  return open.length === 0 ? [] : [{ ...owed, isSeen: false, inDoubt: [...new Set(open)] }]
}

/** True where the content belongs to a replacing entry, listed before the doubt is settled. */
const isOf = (content: string, { by }: OwedDeletion): boolean =>
  by.flat().some((id) => {
    const parts = parseTransactionId(id)
    return parts !== undefined && content.startsWith(parts.content)
  })

/**
 * Replacing entries in the list: by ids, else by the fields sent by the chunk, else by date: a gateway may keep no ids of ours.
 * @param said replacing entries of the chunk
 */
function standingOf(
  { by, until }: OwedDeletion,
  has: readonly HadCareTeam[],
  said: readonly WantedCareTeam[],
): HadCareTeam[] {
  const ofDate = has.filter(({ ours, listedAt }) => ours === undefined && listedAt === until)
  return by.flatMap((ids) => {
    const named = has.find(({ id, ours }) => ids.includes(id ?? '') || ids.includes(ours ?? ''))
    const sent = said.find(({ entry }) => ids.includes(entry.transactionId))
    if (named !== undefined || sent !== undefined)
      return named ?? has.find((had) => sent !== undefined && isSame(sent, had)) ?? []
    return by.length === 1 && ofDate.length === 1 ? ofDate : []
  })
}

export type MarkStep =
  /** @see left marks of providers whom the words leave without one */
  { left: ReadonlyMap<string, 'none' | 'withdrawn'> } & (
    | { step: 'nothing' }
    /** The mark is dealt with. */
    | { step: 'settled' }
    | { step: 'marked'; npi: string }
    /** The entry of the record is not there, and the record not in doubt: the next delivery brings the mark. */
    | { step: 'drop'; npi: string }
    /** Unknown yet which entry is to bear, or to lose, the mark. */
    | {
        readonly step: 'wait'
        readonly owed: 'to-set' | 'to-unset'
        readonly npi: string
        readonly entry?: Entry
      }
    /** @see had entry to mark */
    | {
        readonly step: 'mark' | 'unmark'
        readonly npi: string
        readonly had: HadCareTeam
        readonly entry?: Entry
      }
  )

/**
 * Finds the bearer of the mark from all words, by date. A word that a provider is primary takes the mark from every other provider (interface, "Care
 * team PCP flag"). A word that the bearer is no longer primary leaves nobody with the mark. The mark stays on a newer entry that bears it, whoever
 * set it.
 */
export function decideMark(team: CareTeam, job: Pick<CareTeamJob, 'jobId'>): MarkStep {
  const rows = team.known.map((one) => rowNow(team, one, job.jobId))
  const left = new Map<string, 'none' | 'withdrawn'>()
  const isOwed = rows.some((row) => owesMark(row, job))
  if (team.isMarkDone || (team.wanted.length === 0 && (!isOwed || team.listed === 'unreadable')))
    return { step: 'nothing', left }
  const has = hadBy(team)
  let bearer: Word | undefined
  /** Entry of the chunk that has left nobody with the mark. */
  let cleared: WantedCareTeam | undefined
  for (const word of [...wordsOf(team, has, rows)].sort(inOrder)) {
    const { npi, isPrimary } = word
    if (isPrimary) {
      left.delete(npi)
      bearer = word
    } else {
      if (word.wanted !== undefined) left.set(npi, 'withdrawn')
      // Another job may owe what the chunk says, too.
      const isUnset = bearer === undefined && rows.some((row) => row.npi === npi && row.mark === 'to-unset')
      if (bearer?.npi !== npi && !isUnset) continue
      cleared = word.wanted ?? bearer?.wanted ?? cleared
      bearer = undefined
    }
  }
  const around = { team, has, rows, isOwn: (row: KnownCareTeam) => owesMark(row, job) }
  const step = bearer === undefined ? unbear(cleared, around) : bear(bearer, around)
  // Debts of the job, overtaken by the words.
  for (const { npi, mark, markBy } of rows) {
    if (!owesMark({ mark, markBy }, job)) continue
    if (mark === 'to-unset' && step.step === 'settled') left.set(npi, 'withdrawn')
    if (mark === 'to-set' && !('npi' in step && step.npi === npi) && !left.has(npi)) left.set(npi, 'none')
  }
  return { ...step, left }
}

/** Word that a provider is, or is no longer, the primary care physician. */
interface Word {
  readonly npi: string
  readonly at: number
  /** Place of the word, by which of equal dates the later one counts. */
  readonly place: number
  readonly isPrimary: boolean
  readonly from: 'chunk' | 'ledger' | 'list'
  readonly wanted?: WantedCareTeam
}

interface MarkAround {
  readonly team: CareTeam
  readonly has: readonly HadCareTeam[]
  readonly rows: readonly KnownCareTeam[]
  readonly isOwn: (row: KnownCareTeam) => boolean
}

type WithoutLeft<One> = One extends unknown ? Omit<One, 'left'> : never
type Bearing = WithoutLeft<MarkStep>

function bear({ npi, from, wanted: said }: Word, { team, has, rows, isOwn }: MarkAround): Bearing {
  const row = rows.find((one) => one.npi === npi)
  if (from === 'list') return { step: 'marked', npi }
  const ofProvider = has.filter((one) => one.npi === npi)
  const target = said === undefined ? undefined : ofProvider.find((one) => isSame(said, one))
  const had = target ?? ofProvider.find(({ isMarked }) => isMarked) ?? ofProvider[0]
  if (had?.isMarked === true) return { step: 'marked', npi }
  if (from === 'ledger' && (row === undefined || !isOwn(row))) return { step: 'settled' }
  const entry = said === undefined ? {} : { entry: said.entry }
  if (had !== undefined && (said?.status !== 'doubtful' || target !== undefined))
    return { step: 'mark', npi, had, ...entry }
  const isWaitedFor = lateMs(team, npi) > 0 || team.doubts.has(row?.content ?? '')
  return said === undefined && team.wanted.length === 0 && !isWaitedFor
    ? { step: 'drop', npi }
    : { step: 'wait', owed: 'to-set', npi, ...entry }
}

/** Removes the mark where nobody is to bear it, also from a provider who lost it to somebody else in between. */
function unbear(said: WantedCareTeam | undefined, { team, has, rows, isOwn }: MarkAround): Bearing {
  const owing = rows.find((row) => row.mark === 'to-unset' && (isOwn(row) || row.npi === said?.npi))
  if (said === undefined && owing === undefined) return { step: 'settled' }
  const bearing = rows.filter((row) => row === owing || (said !== undefined && row.mark === 'set'))
  const ofBearing = has.filter((one) => bearing.some(({ npi }) => npi === one.npi))
  const marked = (said === undefined ? ofBearing : has).find(({ isMarked }) => isMarked)
  const had = marked ?? ofBearing[0]
  const entry = said === undefined ? {} : { entry: said.entry }
  if (had !== undefined) return { step: 'unmark', npi: had.npi, had, ...entry }
  const npi = bearing[0]?.npi
  const isUnknown = npi !== undefined && typeof team.listed === 'string'
  return isUnknown ? { step: 'wait', owed: 'to-unset', npi, ...entry } : { step: 'settled' }
}

function* wordsOf(
  { wanted }: CareTeam,
  has: readonly HadCareTeam[],
  rows: readonly KnownCareTeam[],
): Generator<Word> {
  for (const { npi, isMarked, listedAt, observedAt } of has) {
    // The ledger's date may be the date of the word that took the mark away.
    const isTaken = rows.some((row) => row.npi === npi && ['withdrawn', 'to-unset'].includes(row.mark))
    const at = (isTaken ? listedAt : observedAt) ?? -Infinity
    if (isMarked) yield { npi, at, place: -1, isPrimary: true, from: 'list' }
  }
  for (const { npi, observedAt: at, heardAt: place, mark } of rows) {
    if (mark === 'none') continue
    yield { npi, at, place, isPrimary: mark === 'set' || mark === 'to-set', from: 'ledger' }
  }
  for (const one of wanted) {
    const { npi, place, entry } = one
    // The ledger has the result of a word that was heard.
    if (entry.primary === undefined || one.isHeard) continue
    yield { npi, at: entry.observedAt, place, isPrimary: entry.primary, from: 'chunk', wanted: one }
  }
}

/** Order of words. Within a row, the word "primary" counts: a provider may appear a second time, in another part. */
const inOrder = (one: Word, other: Word): number =>
  one.at - other.at || one.place - other.place || Number(one.isPrimary) - Number(other.isPrimary)

/** True where a record delivered before contradicts the last known mark. */
export function isNewWord(
  known: readonly KnownCareTeam[],
  { npi, entry, isHeard }: Pick<WantedCareTeam, 'npi' | 'entry' | 'isHeard'>,
): boolean {
  const { primary } = entry
  const { mark } = known.find((one) => one.npi === npi) ?? {}
  return !isHeard && primary !== undefined && primary !== (mark === 'set' || mark === 'to-set')
}
