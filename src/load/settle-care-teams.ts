/** The care-team part of a chunk: what is sent of it, and what follows once the rest is known to be stored. */
import type { KnownCareTeam } from '../ledger/ledger.ts'
import type { ResolvedAccounts } from './accounts.ts'
import { allDone } from './all-done.ts'
import { planCareTeams } from './care-team-plan.ts'
import type { Entry, EntryOutcome } from './entry.ts'
import type { CareTeamContext, FollowUpFailure, KnownCareTeams } from './known-care-teams.ts'
import { markPrimaryCare } from './primary-care.ts'
import { replaceCareTeams } from './replace-care-teams.ts'

export interface SelectedCareTeams {
  readonly sendable: readonly Entry[]
  /** Of those that are not sent. */
  readonly outcomes: readonly EntryOutcome[]
  /** Another one of the chunk is the same: it shares the fate of that one. */
  readonly twins: readonly { readonly entry: Entry; readonly first: Entry }[]
}

/** Leaves out what the accounts have already. @throws WaybillError where the run must stop */
export async function selectCareTeams(
  { changed }: Pick<CareTeamContext, 'changed'>,
  known: KnownCareTeams,
  entries: readonly Entry[],
): Promise<SelectedCareTeams> {
  const outcomes: EntryOutcome[] = []
  const twins: { entry: Entry; first: Entry }[] = []
  const left = new Set<Entry>()
  const ofAccount = Map.groupBy(
    entries.filter(({ record }) => record.kind === 'careTeam'),
    ({ record }) => record.account.reference,
  )
  await allDone(
    [...ofAccount.values()].map(async (own) => {
      const [first] = own
      const listed = (first && (await known.list(first))) ?? []
      if (first === undefined || (own.length === 1 && listed.length === 0)) return
      for (const [entry, plan] of planCareTeams(own, listed, known.dateOf(first), changed)) {
        if (plan.step === 'send') continue
        left.add(entry)
        if (plan.step === 'share') twins.push({ entry, first: plan.first })
        else if (plan.step === 'known') outcomes.push({ entry, outcome: 'unchanged', found: true })
        else outcomes.push({ entry, outcome: 'unchanged', passedOver: plan.why })
      }
    }),
  )
  return { sendable: entries.filter((entry) => !left.has(entry)), outcomes, twins }
}

/**
 * Replaces first: of what is deleted no mark is needed.
 * @param outcomes of the chunk
 * @throws WaybillError where the run must stop
 */
export async function followUpCareTeams(
  context: CareTeamContext,
  known: KnownCareTeams,
  outcomes: readonly EntryOutcome[],
  accounts: Pick<ResolvedAccounts, 'accountIds'>,
): Promise<{ failures: FollowUpFailure[]; careTeams: readonly KnownCareTeam[] }> {
  const notReplaced = await replaceCareTeams(context, known, outcomes, accounts)
  const { failures, careTeams } = await markPrimaryCare(context, known, outcomes)
  return { failures: [...notReplaced, ...failures], careTeams }
}
