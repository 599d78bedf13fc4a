/**
 * Deletes the entries that new ones of the same NPI replace: by their ids, never by NPI, and only once the list shows the new one
 * (interface, "DELETE /health-profile/care-teams"). Whether a gateway updates in place is not documented: then the list shows the new
 * one under the old id, and nothing is deleted.
 */
import { GatewayError } from '../gateway/gateway-error.ts'
import type { ResolvedAccounts } from './accounts.ts'
import { allDone } from './all-done.ts'
import { findListed, replacedBy } from './care-team-plan.ts'
import type { Entry, EntryOutcome, Reason } from './entry.ts'
import { refusalWords, secretsOf, told, type Words } from './gateway-words.ts'
import type { CareTeamContext, FollowUpFailure, KnownCareTeams } from './known-care-teams.ts'
import { recordText } from './record-text.ts'

type Accepted = EntryOutcome & { readonly outcome: 'accepted' }

/**
 * @param outcomes of the chunk
 * @throws WaybillError where the run must stop
 */
export async function replaceCareTeams(
  context: CareTeamContext,
  known: KnownCareTeams,
  outcomes: readonly EntryOutcome[],
  accounts: Pick<ResolvedAccounts, 'accountIds'>,
): Promise<FollowUpFailure[]> {
  if (context.changed !== 'replace') return []
  const careTeams = outcomes.filter(({ entry }) => entry.record.kind === 'careTeam')
  const fellowsOf = Map.groupBy(
    careTeams.map(({ entry }) => entry),
    ({ record }) => record.account.reference,
  )
  const fellows = ({ record }: Entry): readonly Entry[] => fellowsOf.get(record.account.reference) ?? []

  const toReplace: Accepted[] = []
  for (const accepted of newestOfProvider(careTeams)) {
    const { entry } = accepted
    const { npi } = entry.record.evidence
    // Of one that an earlier process got accepted the list may show the entry itself.
    const before = await known.list(entry)
    const mayReplace =
      before?.some((one) => one.npi === npi) === true ||
      fellows(entry).some((one) => one !== entry && one.record.evidence.npi === npi)
    if (mayReplace) toReplace.push(accepted)
  }

  /** Those whose new entry the list does not show. */
  const replaceAll = async (open: readonly Accepted[], failures: FollowUpFailure[]): Promise<Accepted[]> => {
    const unseen: Accepted[] = []
    await allDone(
      open.map(async (accepted) => {
        const { entry, gatewayId } = accepted
        const listed = (await known.listNow(entry)) ?? []
        const dateOf = known.dateOf(entry)
        const kept = findListed(entry, gatewayId, listed, dateOf)
        if (kept === undefined) {
          unseen.push(accepted)
          return
        }
        const ids = replacedBy(entry, kept, listed, without(fellows(entry), entry), dateOf)
        if (ids.length === 0) return
        const failure = await remove(context, entry, ids, accounts)
        if (failure === undefined) context.tallies.careTeams.replaced++
        else failures.push({ entry, reason: failure })
      }),
    )
    return unseen
  }
  const failures: FollowUpFailure[] = []
  let unseen = await replaceAll(toReplace, failures)
  if (unseen.length > 0) {
    await context.pause(context.readLagMs)
    unseen = await replaceAll(unseen, failures)
  }
  failures.push(
    ...unseen.map(({ entry }) => ({ entry, reason: reasonOf('replacement-not-listed', UNLISTED, []) })),
  )
  context.tallies.careTeams.notReplaced += failures.length
  return failures
}

const UNLISTED: Words = {
  ours: 'the list of care teams cannot be read, or does not show the new entry; the old one stays',
}

/** Of several entries of one account and NPI the one observed last stays. */
function newestOfProvider(outcomes: readonly EntryOutcome[]): Accepted[] {
  const newest = new Map<string, Accepted>()
  for (const one of outcomes) {
    if (one.outcome !== 'accepted') continue
    const { account, evidence, observedAt } = one.entry.record
    const key = `${account.reference}\n${evidence.npi}`
    const before = newest.get(key)
    if (before === undefined || before.entry.record.observedAt <= observedAt) newest.set(key, one)
  }
  return [...newest.values()]
}

async function remove(
  { gateway, sending }: CareTeamContext,
  entry: Entry,
  ids: readonly string[],
  { accountIds }: Pick<ResolvedAccounts, 'accountIds'>,
): Promise<Reason | undefined> {
  const { account } = entry.record
  const id = accountIds(account)
  const owner = id === undefined ? account : { reference: id, type: 'accountId' as const }
  try {
    // Not found: an attempt without an answer has deleted it.
    await sending.idempotent('delete care team', () => gateway.careTeams.delete(owner, { id: [...ids] }))
    return undefined
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const secrets = secretsOf(JSON.parse(recordText(entry, '')))
    return reasonOf('replaced-not-deleted', refusalWords(error), secrets)
  }
}

const reasonOf = (code: string, words: Words, secrets: readonly string[]): Reason => ({
  stage: 'replace',
  code,
  ...told(words, secrets),
})

const without = (entries: readonly Entry[], entry: Entry): Entry[] => entries.filter((one) => one !== entry)
