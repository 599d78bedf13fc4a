/**
 * Marks the primary care physician, after the entry is known to exist (interface, "Care team PCP flag": the mark moves, so one
 * call an account is enough). The mark goes to the entry observed last of all that are known: a late delivery does not take it away.
 */
import type { CareTeamReturned } from '../gateway/contract/care-team.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { CareTeamMark, KnownCareTeam } from '../ledger/ledger.ts'
import { allDone } from './all-done.ts'
import { type DateOf, isListedAs } from './care-team-plan.ts'
import type { Entry, EntryOutcome, Reason } from './entry.ts'
import { refusalWords, secretsOf, told } from './gateway-words.ts'
import type { CareTeamContext, FollowUpFailure, KnownCareTeams } from './known-care-teams.ts'

export interface Marked {
  readonly failures: readonly FollowUpFailure[]
  /** What the accounts have now, for the ledger. */
  readonly careTeams: readonly KnownCareTeam[]
}

/** @param outcomes of the chunk. @throws WaybillError where the run must stop */
export async function markPrimaryCare(
  context: CareTeamContext,
  known: KnownCareTeams,
  outcomes: readonly EntryOutcome[],
): Promise<Marked> {
  const { identity } = context
  const failures: FollowUpFailure[] = []
  const careTeams: KnownCareTeam[] = []
  const ofAccount = Map.groupBy(
    outcomes.filter(({ entry }) => entry.record.kind === 'careTeam'),
    ({ entry }) => entry.record.account.reference,
  )
  const markOne = async (ofOne: readonly EntryOutcome[]): Promise<void> => {
    const [first] = ofOne
    if (first === undefined) return
    const delivered = known.delivered(first.entry)
    const rowOf = ({ record }: Entry): KnownCareTeam | undefined => {
      const npi = identity.npi(record.evidence.npi ?? '')
      return delivered.find((one) => one.npi === npi)
    }
    const candidate = newest(
      ofOne.filter((one) => one.entry.record.primary && isToBeMarked(one, rowOf(one.entry))),
    )
    const mark = candidate && (await markEntry(context, known, candidate, ofOne, failures))
    const account = identity.account(first.entry.record.account)
    for (const { entry } of newestOfEach(ofOne.filter((one) => isStored(one) || one === candidate))) {
      const npi = identity.npi(entry.record.evidence.npi ?? '')
      const before = rowOf(entry)?.mark ?? 'none'
      const isCandidate = entry.record.evidence.npi === candidate?.entry.record.evidence.npi
      const other = mark === 'set' && before === 'set' ? 'none' : before
      careTeams.push({
        account,
        npi,
        observedAt: entry.record.observedAt,
        // Another entry of the same NPI may bear it.
        mark: isCandidate && (mark !== 'none' || before !== 'set') ? (mark ?? before) : other,
      })
    }
  }
  await allDone([...ofAccount.values()].map(markOne))
  return { failures, careTeams }
}

/** Accepted, or found to be there; of what was delivered before, that alone whose mark was refused. */
function isToBeMarked(one: EntryOutcome, delivered: KnownCareTeam | undefined): boolean {
  if (isStored(one)) return true
  if (one.outcome !== 'unchanged') return false
  return one.passedOver === 'care-team-kept' || delivered?.mark === 'refused'
}

const isStored = (one: EntryOutcome): boolean =>
  one.outcome === 'accepted' || (one.outcome === 'unchanged' && one.found === true)

/** Of equal dates the last. */
function newest(outcomes: readonly EntryOutcome[]): EntryOutcome | undefined {
  let found: EntryOutcome | undefined
  for (const one of outcomes)
    if (found === undefined || found.entry.record.observedAt <= one.entry.record.observedAt) found = one
  return found
}

const newestOfEach = (outcomes: readonly EntryOutcome[]): EntryOutcome[] =>
  [...Map.groupBy(outcomes, ({ entry }) => entry.record.evidence.npi).values()].flatMap(
    (same) => newest(same) ?? [],
  )

async function markEntry(
  context: CareTeamContext,
  known: KnownCareTeams,
  candidate: EntryOutcome,
  ofAccount: readonly EntryOutcome[],
  failures: FollowUpFailure[],
): Promise<CareTeamMark> {
  const { entry } = candidate
  const { account, evidence } = entry.record
  const listed = await known.list(entry)
  const kept = candidate.outcome === 'unchanged' && candidate.passedOver !== undefined
  const decision = decideMark(entry, kept, listed, known.dateOf(entry), known.delivered(entry))
  if (decision === 'has') return 'set'
  if (decision === 'leave') return 'none'

  const request = {
    account: { reference: account.reference, type: account.type },
    ...nameOf(candidate, listed ?? [], ofAccount),
  }
  try {
    await context.sending.idempotent('mark primary care physician', () =>
      context.gateway.careTeams.setPrimary(request),
    )
    context.tallies.primaryCare.marked++
    return 'set'
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    context.tallies.primaryCare.refused++
    const words = told(refusalWords(error), [...secretsOf(request), evidence.name])
    const reason: Reason = { stage: 'primary-care', code: 'mark-refused', ...words }
    failures.push({ entry, reason })
    return 'refused'
  }
}

/**
 * Whether the entry is to be marked, bears the mark, or leaves it where it is: on one that was observed later. Pure.
 * @param isOther it is not sent, and another entry of its NPI stands for it
 * @param listed what the account had before; undefined where nobody can tell
 */
export function decideMark(
  entry: Entry,
  isOther: boolean,
  listed: readonly CareTeamReturned[] | undefined,
  dateOf: DateOf,
  delivered: readonly KnownCareTeam[],
): 'give' | 'has' | 'leave' {
  const { evidence, observedAt } = entry.record
  const marked = listed?.find(({ pcp }) => pcp === true)
  const isOfProvider = marked !== undefined && marked.npi === evidence.npi
  if (isOfProvider && (isOther || isListedAs(entry, marked))) return 'has'
  // A list may be late.
  if (delivered.some((one) => one.mark === 'set' && one.observedAt > observedAt)) return 'leave'
  const markedAt = marked && dateOf(marked)
  return markedAt !== undefined && markedAt > observedAt ? 'leave' : 'give'
}

/**
 * By NPI: what is sent comes from the export alone. Where the account has several entries of the NPI it would name one of them, and
 * nobody knows which (it is not documented): there it is the gateway's id.
 */
function nameOf(
  candidate: EntryOutcome,
  listed: readonly CareTeamReturned[],
  ofAccount: readonly EntryOutcome[],
): { readonly npi: string | undefined } | { readonly id: string } {
  const { entry } = candidate
  const { npi } = entry.record.evidence
  const ofProvider = listed.filter((one) => one.npi === npi)
  const added = ofAccount.filter(
    (one) => one.outcome === 'accepted' && one.entry.record.evidence.npi === npi,
  ).length
  const id =
    candidate.outcome === 'accepted'
      ? candidate.gatewayId
      : ofProvider.find((one) => isListedAs(entry, one))?.id
  return ofProvider.length + added > 1 && id !== undefined ? { id } : { npi }
}
