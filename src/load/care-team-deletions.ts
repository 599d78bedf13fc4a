/**
 * Deletes entries that others have replaced, by the gateway's ids alone (interface, "DELETE /health-profile/care-teams"). What cannot be
 * deleted is told of, and owed.
 */
import { GatewayError } from '../gateway/gateway-error.ts'
import {
  type CareTeamContext,
  type Deletions,
  type FollowUpFailure,
  listCareTeams,
  type MarkedAccount,
  reasonOf,
} from './care-team-marks.ts'
import { owedAfter, planReplacing, type Replacing } from './care-team-replacing.ts'
import type { CareTeamAccount, HadCareTeam } from './care-team-state.ts'
import { allDone } from './dispatcher.ts'
import { refusalWords, type Words } from './gateway-words.ts'

export interface ListedAccount extends MarkedAccount {
  /** Whether this run has registered it, and given it nothing in earlier chunks. */
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
  try {
    // Not found: an attempt without an answer has deleted it.
    await sending.idempotent('delete care team', () => gateway.careTeams.delete(owner, { id: ids }))
    tallies.careTeams[because]++
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}
