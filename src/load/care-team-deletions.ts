/**
 * Deletes entries that others have replaced, by the gateway's ids alone (interface, "DELETE /health-profile/care-teams"). What cannot be
 * deleted is told of, and owed.
 *
 * Which entries go once others have taken their place, and what of that is owed. Nothing goes before the list shows what replaces it, and
 * nothing that is newer; of an NPI that nobody says anything new of, nothing. Pure; the rules are in docs/delivery.md.
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
  /** True where this chunk has registered the account under its claim: the gateway has nothing of it. */
  readonly isEmpty: boolean
  /** What the list shows; undefined where it was not asked for, null where it cannot be read. */
  listed: readonly HadCareTeam[] | null | undefined
}

interface Replaced {
  readonly failures: readonly FollowUpFailure[]
  /** What the account owes by now, where the chunk has said anything of it. */
  readonly deletions: Deletions
}

/**
 * Deletes what a chunk's entries have replaced, once the list shows what replaces it; a list that may be late is read a second time.
 * @param accountOf the account as it is by now
 */
export async function replaceAll<Person extends ListedAccount>(
  context: CareTeamContext,
  people: readonly Person[],
  accountOf: (person: Person) => CareTeamAccount,
): Promise<ReadonlyMap<Person, Replaced>> {
  const plan = (person: Person): Replacing[] =>
    planReplacing(accountOf(person), person.isEmpty || (person.listed ?? null) !== null)
  const refused = new Map<Person, Map<string, FollowUpFailure>>()
  /** Those of whom the list does not show yet what replaces. */
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
        // Where it cannot be read now, what it showed before is the best that is known.
        person.listed = (await listCareTeams(context, person)) ?? person.listed
      }),
    )
    late = await replaceListed(late)
  }
  return new Map(people.map((person) => [person, owedOf(context, person, plan(person), refused.get(person))]))
}

/** What is left of a person's deletions: told, and owed. */
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
  ours: 'the list of care teams cannot be read, or does not show the new entry; a run that finds it there deletes the old one',
}

/** @returns why they could not be deleted */
export async function deleteEntries(
  { gateway, sending, tallies }: CareTeamContext,
  { owner }: Pick<MarkedAccount, 'owner'>,
  had: readonly HadCareTeam[],
  because: 'replaced' | 'removed',
): Promise<GatewayError | undefined> {
  const ids = had.flatMap(({ id }) => id ?? [])
  // Not found: an attempt without an answer has deleted it.
  const call = () => gateway.careTeams.delete(owner, { id: ids })
  const deleted = await orRefusal(sending.idempotent('delete care team', call))
  if (deleted instanceof GatewayError) return deleted
  tallies.careTeams[because]++
  return undefined
}

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
