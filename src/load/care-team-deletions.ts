/**
 * Deletes replaced care-team entries, by the gateway's ids alone (interface, "DELETE /health-profile/care-teams"). Reports a deletion that fails, and
 * owes it.
 * Decides the entries to delete after a replacement, and the deletions owed. Deletes nothing before the list shows the replacement, nothing newer,
 * and nothing of an NPI without news. Pure; the rules are in docs/delivery.md.
 */

import { GatewayError, orRefusal } from '../gateway/gateway-error.ts'
import { type KnownCareTeam, type OwedDeletion, UNDATED } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { parseTransactionId } from '../model/ids.ts'
import {
  type CareTeamContext,
  type Deletions,
  type FollowUpFailure,
  isMissing,
  listCareTeams,
  type MarkedAccount,
  reasonOf,
} from './care-team-marks.ts'
import {
  type CareTeamAccount,
  type HadCareTeam,
  isOutdated,
  isSame,
  newestRow,
  type WantedCareTeam,
} from './care-team-state.ts'
import { refusalWords, type Words } from './gateway-words.ts'

export interface ListedAccount extends MarkedAccount {
  /** True where this chunk has registered the account under its claim: the gateway has no entries of the account. */
  readonly isEmpty: boolean
  /** Entries in the list; undefined before a read, null where the list is unreadable. */
  listed: readonly HadCareTeam[] | null | undefined
}

interface Replaced {
  readonly failures: readonly FollowUpFailure[]
  /** Deletions that the account owes now, by provider of the chunk. */
  readonly deletions: Deletions
}

/**
 * Deletes the entries that a chunk's entries replace, once the list shows the new ones; reads a late list a second time.
 * @param accountOf returns the current state of the account
 */
export async function replaceAll<Person extends ListedAccount>(
  context: CareTeamContext,
  people: readonly Person[],
  accountOf: (person: Person) => CareTeamAccount,
): Promise<ReadonlyMap<Person, Replaced>> {
  const plan = (person: Person): Replacing[] =>
    planReplacing(accountOf(person), person.isEmpty || (person.listed ?? null) !== null)
  const refused = new Map<Person, Map<string, FollowUpFailure>>()
  /** @returns people whose list does not show the replacement yet */
  const replaceListed = async (open: readonly Person[]): Promise<Person[]> => {
    const late: Person[] = []
    await allDone(
      open.map(async (person) => {
        for (const { npi, by, remove, unlisted, isDone } of plan(person)) {
          if (!isDone && unlisted.some(({ status }) => status === 'stored') && !late.includes(person))
            late.push(person)
          if (remove.length === 0 || refused.get(person)?.has(npi)) continue
          const error = await deleteEntries(context, person, remove, 'replaced')
          if (error === undefined) {
            person.listed = person.listed?.filter((one) => !remove.includes(one))
            continue
          }
          const reason = reasonOf('replace', 'replaced-not-deleted', refusalWords(error), by)
          const ofPerson = refused.get(person) ?? new Map<string, FollowUpFailure>()
          refused.set(person, ofPerson.set(npi, { entry: by, reason }))
        }
      }),
    )
    return late
  }
  let late = await replaceListed(people)
  for (const waitMs of [0, context.readLagMs]) {
    if (late.length === 0) break
    if (waitMs > 0) await context.pause(waitMs)
    await allDone(
      late.map(async (person) => {
        // Fallback where the list is unreadable now: the entries shown before.
        person.listed = (await listCareTeams(context, person)) ?? person.listed
      }),
    )
    late = await replaceListed(late)
  }
  return new Map(people.map((person) => [person, owedOf(context, person, plan(person), refused.get(person))]))
}

/** Failures to report of a person's deletions, and deletions still owed. */
function owedOf(
  { owed }: CareTeamContext,
  { hash, known }: ListedAccount,
  plans: readonly Replacing[],
  refused: ReadonlyMap<string, FollowUpFailure> = new Map(),
): Replaced {
  const failures: FollowUpFailure[] = []
  const deletions = new Map(
    plans.map((replacing) => {
      const { npi, unlisted, isDone } = replacing
      if (!isDone) {
        const refusal = refused.get(npi)
        if (refusal !== undefined) failures.push(refusal)
        else
          for (const { entry } of unlisted)
            failures.push({ entry, reason: reasonOf('replace', 'replacement-not-listed', UNLISTED, entry) })
      }
      const left = owedAfter(known.find((one) => one.npi === npi)?.deletions ?? [], replacing)
      owed.deletion(hash, npi, left.length > 0)
      return [npi, left] as const
    }),
  )
  return { failures, deletions }
}

const UNLISTED: Words = {
  ours: 'the list of care teams is unreadable or lacks the new entry; a run that finds the new entry deletes the old one',
}

/** @returns the error where the gateway refused to delete them */
export async function deleteEntries(
  { gateway, sending, tallies }: CareTeamContext,
  { owner }: Pick<MarkedAccount, 'owner'>,
  had: readonly HadCareTeam[],
  because: 'replaced' | 'removed',
): Promise<GatewayError | undefined> {
  const ids = had.flatMap(({ id }) => id ?? [])
  // Not found: an unanswered attempt has deleted the entry.
  const call = () => gateway.careTeams.delete(owner, { id: ids })
  const deleted = await orRefusal(sending.idempotent('delete care team', call))
  if (deleted instanceof GatewayError) return deleted
  tallies.careTeams[because]++
  return undefined
}

/** Effect of a chunk's newest entries of a provider on the older ones of the account. */
export interface Replacing {
  readonly npi: string
  /** First of the replacing entries. */
  readonly by: Entry
  /** Entries to delete; empty until every replacing entry is listed. */
  readonly remove: readonly HadCareTeam[]
  /** Replacing entries not listed yet. */
  readonly unlisted: readonly WantedCareTeam[]
  /** True where the list shows nothing to delete. */
  readonly isDone: boolean
  /** Deletion owed unless done. */
  readonly owed: OwedDeletion
}

/** @param isRead true where the account's list was read: without a read, older entries may exist */
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

/** Keeps an entry of unknown date. Where the list shows the new entry under the old id, the gateway has updated in place. */
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

/** Listed form of an entry: by our id, else the one with the mark, else the newest of equal fields. */
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
 * Deletions owed for a provider after a chunk. A new stored entry supersedes earlier deletions. A new entry in doubt may be missing, so that earlier
 * deletions stay. An earlier record in doubt may still turn out stored, and is deleted then.
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
  /** True where the entries to delete are gone. */
  readonly isGone: boolean
  /** Deletions owed afterwards. */
  readonly left: readonly OwedDeletion[]
}

/**
 * Deletions owed for a provider, due now, newest first. While the newest waits, no older one is carried out: the newest may have wanted those entries
 * back. A record in doubt found absent replaces nothing.
 * @param has entries of the provider in the list
 * @param isInDoubt true where the content is still in doubt
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

/** True where the content belongs to a replacing entry: the entry is listed, though its doubt is not settled yet. */
const isOf = (content: string, { by }: OwedDeletion): boolean =>
  by.flat().some((id) => {
    const parts = parseTransactionId(id)
    return parts !== undefined && content.startsWith(parts.content)
  })

/** Replacing entries, where the list shows all of them; matched by date where the gateway keeps no ids of ours. */
function standingOf({ by, until }: OwedDeletion, has: readonly HadCareTeam[]): HadCareTeam[] | undefined {
  const ofDate = has.filter(({ ours, listedAt }) => ours === undefined && listedAt === until)
  const standing = by.flatMap((ids) => {
    const named = has.find(({ id, ours }) => ids.includes(id ?? '') || ids.includes(ours ?? ''))
    return named ?? (by.length === 1 && ofDate.length === 1 ? ofDate : [])
  })
  return standing.length === by.length ? standing : undefined
}
