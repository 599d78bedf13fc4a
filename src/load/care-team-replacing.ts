/**
 * Which entries go once others have taken their place, and what of that is owed. Nothing goes before the list shows what replaces it, and
 * nothing that is newer; of an NPI that nobody says anything new of, nothing. Pure; the rules are in docs/delivery.md.
 */
import { type KnownCareTeam, type OwedDeletion, UNDATED } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { parseTransactionId } from '../model/ids.ts'
import { isMissing } from './care-team-marks.ts'
import {
  type CareTeamAccount,
  type HadCareTeam,
  isOutdated,
  isSame,
  newestRow,
  type WantedCareTeam,
} from './care-team-state.ts'

/** What a chunk's newest entries of a provider do to the older ones of the account. */
export interface Replacing {
  readonly npi: string
  /** The first of those that replace. */
  readonly by: Entry
  /** Empty before every entry that replaces them is listed. */
  readonly remove: readonly HadCareTeam[]
  /** What replaces and is not listed. */
  readonly unlisted: readonly WantedCareTeam[]
  /** Whether nothing is to go, as the list shows. */
  readonly isDone: boolean
  /** What is owed unless it is done. */
  readonly owed: OwedDeletion
}

/** @param isRead whether the account's list was read: where it was not, nobody knows whether it has older entries */
export function planReplacing({ wanted, has }: CareTeamAccount, isRead: boolean): Replacing[] {
  return [...Map.groupBy(wanted, ({ npi }) => npi)].flatMap(([npi, ofProvider]) =>
    replacingOf(
      npi,
      ofProvider,
      has.filter((one) => one.npi === npi),
      isRead,
    ),
  )
}

/** One without a date stays, since nobody can tell. Where the list shows the new one under the old id, the gateway has updated in place. */
function replacingOf(
  npi: string,
  wanted: readonly WantedCareTeam[],
  has: readonly HadCareTeam[],
  isRead: boolean,
): Replacing[] {
  const kept = newestRow(wanted)
  const [first] = kept
  const isNew = wanted.some(({ status }) => status !== 'delivered')
  if (first === undefined || !isNew || isOutdated(kept, has)) return []
  const until = first.entry.observedAt
  const listed = kept.map((one) => listedAs(one, has))
  const stands = new Set(listed)
  const older = has.filter((one) => one.isListed && !stands.has(one) && (one.observedAt ?? Infinity) <= until)
  const unlisted = kept.filter((_, at) => listed[at] === undefined)
  const doubtful = kept.filter(({ status }, at) => status === 'doubtful' && listed[at] === undefined)
  const by = kept.map(({ entry, fields }, at) => {
    const had = listed[at] ?? has.find((one) => !one.isListed && isSame(fields, one.fields))
    return [entry.transactionId, ...(had?.id === undefined ? [] : [had.id])]
  })
  return [
    {
      npi,
      by: first.entry,
      remove: unlisted.length > 0 ? [] : older,
      unlisted,
      isDone: isRead && older.length === 0,
      owed: {
        ...{ by, until, isSeen: older.length > 0 },
        inDoubt: doubtful.map(({ entry }) => entry.content),
      },
    },
  ]
}

/** The entry as the list shows it: by our id, else the one that bears the mark, else the newest of the same fields. */
function listedAs({ entry, fields }: WantedCareTeam, has: readonly HadCareTeam[]): HadCareTeam | undefined {
  const same = has.filter((one) => one.isListed && isSame(fields, one.fields))
  const newest = same.toSorted((a, b) => (b.observedAt ?? 0) - (a.observedAt ?? 0))
  return (
    same.find(({ ours }) => ours === entry.transactionId) ??
    same.find(({ isMarked }) => isMarked) ??
    newest[0]
  )
}

/**
 * What is owed of a provider once a chunk has had its say. A new entry that stands takes the place of what was owed for older ones; one in
 * doubt may not be there, so that what was owed before stays. A record that was in doubt before may still turn out to be there, and goes then.
 */
export function owedAfter(before: readonly OwedDeletion[], { isDone, owed }: Replacing): OwedDeletion[] {
  if (owed.inDoubt.length > 0) {
    const isKnown = before.some(({ inDoubt }) => owed.inDoubt.every((content) => inDoubt.includes(content)))
    return isDone || isKnown ? [...before] : [...before, owed]
  }
  const own = new Set(owed.by.flat())
  const earlier = before.filter(({ until }) => until <= owed.until)
  const inDoubt = earlier
    .filter(({ by }) => !by.flat().some((id) => own.has(id)))
    .flatMap((one) => one.inDoubt)
  return [
    ...(isDone && inDoubt.length === 0 ? [] : [{ ...owed, inDoubt }]),
    ...before.filter(({ until }) => until > owed.until),
  ]
}

export interface DueDeletion {
  readonly remove: readonly HadCareTeam[]
  /** Whether what was to go is there no longer. */
  readonly isGone: boolean
  /** What is owed once it is done. */
  readonly left: readonly OwedDeletion[]
}

/**
 * What of the deletions owed of a provider can be done now, the newest word first: while that waits, nothing older is carried out, as it may
 * have wanted back what was to go. A record in doubt that is decided and not there replaces nothing.
 * @param has what the list shows of the provider
 * @param isInDoubt whether the content is still in doubt
 */
export function dueDeletion(
  { deletions, observedAt }: Pick<KnownCareTeam, 'deletions' | 'observedAt'>,
  has: readonly HadCareTeam[],
  isInDoubt: (content: string) => boolean,
): DueDeletion {
  const left = [...deletions]
  for (;;) {
    const owed = left.at(-1)
    if (owed === undefined) return { remove: [], isGone: false, left }
    const standing = standingOf(owed, has)
    const inDoubt = owed.inDoubt.filter(isInDoubt)
    if (standing !== undefined) {
      const byLedger = observedAt === UNDATED ? Number.POSITIVE_INFINITY : observedAt
      const isOlder = ({ listedAt }: HadCareTeam): boolean => (listedAt ?? byLedger) <= owed.until
      const earlier = left.slice(0, -1).flatMap((one) => one.inDoubt.filter(isInDoubt))
      const open = [...earlier, ...inDoubt.filter((content) => !isOf(content, owed))]
      const isOthers = ({ ours }: HadCareTeam): boolean =>
        isMissing(owed) && ours !== undefined && parseTransactionId(ours) === undefined
      const remove = has.filter((one) => !standing.includes(one) && isOlder(one) && !isOthers(one))
      return {
        remove,
        isGone: remove.length === 0 && left.some(({ isSeen }) => isSeen),
        left: open.length === 0 ? [] : [{ ...owed, isSeen: false, inDoubt: open }],
      }
    }
    if (owed.inDoubt.length === 0 || inDoubt.length > 0) return { remove: [], isGone: false, left }
    left.pop()
  }
}

/** Whether the record of that content is one of those that replace: it stands, though nobody has decided its doubt yet. */
const isOf = (content: string, { by }: OwedDeletion): boolean =>
  by.flat().some((id) => {
    const parts = parseTransactionId(id)
    return parts !== undefined && content.startsWith(parts.content)
  })

/** The entries that replace, where the list shows every one of them; by its date where the gateway keeps no ids of ours. */
function standingOf({ by, until }: OwedDeletion, has: readonly HadCareTeam[]): HadCareTeam[] | undefined {
  const ofDate = has.filter(({ ours, listedAt }) => ours === undefined && listedAt === until)
  const standing = by.flatMap((ids) => {
    const named = has.find(({ id, ours }) => ids.includes(id ?? '') || ids.includes(ours ?? ''))
    return named ?? (by.length === 1 && ofDate.length === 1 ? ofDate : [])
  })
  return standing.length === by.length ? standing : undefined
}
