/**
 * Does what earlier runs, or earlier chunks of this one, have left owed on care teams: marks and deletions, by the gateway's ids alone. It
 * needs no export. Of a person whose account id is not known it is done when the person comes again.
 */
import { isDeepStrictEqual } from 'node:util'
import type { KnownCareTeam } from '../ledger/ledger.ts'
import { deleteEntries } from './care-team-deletions.ts'
import {
  type CareTeamContext,
  carryOutMark,
  isMarkOwed,
  isMissing,
  knownNow,
  listCareTeams,
  type MarkedAccount,
  noteOwed,
  owesDeletion,
} from './care-team-marks.ts'
import { dueDeletion } from './care-team-replacing.ts'
import { type HadCareTeam, planCareTeam } from './care-team-state.ts'
import { allDone } from './dispatcher.ts'

/** Accounts asked about together. */
const ACCOUNTS_AT_ONCE = 100

/**
 * @param save writes down what the accounts have now
 * @throws WaybillError where the run must stop
 */
export async function settleOwed(
  context: CareTeamContext,
  save: (known: readonly KnownCareTeam[]) => Promise<void>,
): Promise<void> {
  const { gatewayName, ledger } = context
  let after = ''
  for (;;) {
    const hashes = await ledger.owedCareTeams(gatewayName, after, ACCOUNTS_AT_ONCE)
    const last = hashes.at(-1)
    if (last === undefined) return
    after = last
    const known = await ledger.careTeams(gatewayName, hashes)
    const inDoubt = await ledger.heldContents(waitedFor([...known.values()].flat()))
    const saved: KnownCareTeam[] = []
    await allDone(
      [...known].map(async ([hash, ofOne]) => {
        if (!ofOne.some((one) => isMarkOwed(one) || owesDeletion(one, context))) return
        noteOwed(context.owed, ofOne, context)
        const accountId = ofOne.find((one) => one.accountId !== null)?.accountId ?? null
        if (accountId === null) return
        const owner = { reference: accountId, type: 'accountId' as const }
        const person = { hash, owner, accountId, known: ofOne }
        const listed = await listCareTeams(context, person)
        if (listed !== null) saved.push(...(await settleAccount(context, person, listed, inDoubt)))
      }),
    )
    if (saved.length > 0) await save(saved)
  }
}

/** The same for one whose account id nobody knows, when one of their rows comes by. */
export async function settleOwedOf(
  context: CareTeamContext,
  person: MarkedAccount,
): Promise<readonly KnownCareTeam[]> {
  const listed = await listCareTeams(context, person)
  if (listed === null) return []
  return settleAccount(context, person, listed, await context.ledger.heldContents(waitedFor(person.known)))
}

/** Records that are perhaps in doubt. */
const waitedFor = (known: readonly KnownCareTeam[]): string[] =>
  known.flatMap(({ content, deletions }) => [
    ...(content === null ? [] : [content]),
    ...deletions.flatMap(({ inDoubt }) => inDoubt),
  ])

/** @returns what the account has now, as far as that is another */
async function settleAccount(
  context: CareTeamContext,
  person: MarkedAccount,
  listed: readonly HadCareTeam[],
  inDoubt: ReadonlySet<string>,
): Promise<KnownCareTeam[]> {
  const { changed, now } = context
  const isInDoubt = (content: string): boolean => inDoubt.has(content)
  const { has, known, without } = await settleDeletions(context, person, listed, isInDoubt)
  const before = new Map(person.known.map((one) => [one.npi, one.deletions]))
  const deletions = new Map(
    known.flatMap(({ npi, deletions: left }) => (left === before.get(npi) ? [] : [[npi, left] as const])),
  )
  const account = { wanted: [], has, known }
  const written = (marks: Parameters<typeof knownNow>[2]): KnownCareTeam[] =>
    knownNow(person, { ...account, known: person.known }, marks, deletions, now()).map((one) =>
      without.has(one.npi) ? { ...one, isGone: true } : one,
    )
  if (!known.some(isMarkOwed)) return written(new Map())

  const { mark } = planCareTeam(account, changed)
  const isGone = ({ npi, content }: KnownCareTeam): boolean =>
    mark.step === 'wait' && mark.npi === npi && (content === null || !inDoubt.has(content))
  const gone = known.filter(isGone)
  if (gone.length > 0) {
    // The record was not stored after all: it comes with its mark when it is sent again.
    context.owed.mark(person.hash, false)
    return written(new Map(gone.map(({ npi }) => [npi, 'none'])))
  }
  if (mark.step === 'wait') return written(new Map())
  const { marks } = await carryOutMark(context, person, account, mark)
  return written(marks)
}

/** Where a deleted entry bore the mark, what stands in its place is to bear it. */
async function settleDeletions(
  context: CareTeamContext,
  person: MarkedAccount,
  listed: readonly HadCareTeam[],
  isInDoubt: (content: string) => boolean,
): Promise<{
  readonly has: readonly HadCareTeam[]
  readonly known: readonly KnownCareTeam[]
  /** Providers of whom the account has nothing any more. */
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
    // A deletion that was never answered, or that somebody else has done.
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
