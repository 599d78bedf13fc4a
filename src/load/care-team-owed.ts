/**
 * Carries out marks and deletions of care teams owed by earlier runs, or by earlier chunks of this run, by the gateway's ids alone. Needs no export.
 * A person without a known account id waits for the person's next row.
 */
import type { KnownCareTeam, Ledger } from '../ledger/ledger.ts'
import { allDone } from '../model/errors.ts'
import { type CareTeamJob, careTeamOf, owesDeletion, owesMark, waitedFor } from './care-team-slot.ts'
import { type CareTeamContext, endWork, noteOwed, readList, workOff } from './care-team-work.ts'

/** Accounts read together from the ledger. */
const ACCOUNTS_AT_ONCE = 100

/** @throws WaybillError where the run must stop */
export async function settleOwed(context: CareTeamContext): Promise<void> {
  const { gatewayName, ledger, jobId } = context
  for (let after = ''; ; ) {
    const hashes = await ledger.careTeams.owed(gatewayName, jobId, after, ACCOUNTS_AT_ONCE)
    const last = hashes.at(-1)
    if (last === undefined) return
    after = last
    await claimEach(context, hashes, (claimed) => settleAccounts(context, claimed))
  }
}

async function settleAccounts(
  context: CareTeamContext,
  claimed: readonly string[],
): Promise<readonly KnownCareTeam[]> {
  const { gatewayName, ledger, owed } = context
  const known = await ledger.careTeams.ofAccounts(gatewayName, claimed)
  const owing = [...known].filter(([, rows]) => rows.some((one) => owes(one, context)))
  const inDoubt = await ledger.slots.heldContents(waitedFor(owing.flatMap(([, rows]) => rows)))
  // The person's next row gives the reference of the export.
  const waiting = await unreachable(
    context,
    owing.map(([, rows]) => rows),
  )
  const saved: KnownCareTeam[] = []
  await allDone(
    owing.map(async ([hash, rows]) => {
      noteOwed(owed, rows, context)
      const accountId = idOf(rows)
      if (accountId === null || waiting.has(rows)) return
      const owner = { reference: accountId, type: 'accountId' as const }
      const account = {
        hash,
        owner,
        accountId,
        entries: [],
        team: careTeamOf(rows, { isWhole: true, inDoubt }),
      }
      await readList(context, account)
      await workOff(context, account)
      saved.push(...endWork(context, account))
    }),
  )
  return saved
}

const idOf = (rows: readonly KnownCareTeam[]): string | null =>
  rows.find((one) => one.accountId !== null)?.accountId ?? null

/** @returns accounts whose id at the gateway is unusable: unknown, or given to somebody else */
export async function unreachable<Rows extends readonly KnownCareTeam[]>(
  { gatewayName, ledger }: Pick<CareTeamContext, 'gatewayName' | 'ledger'>,
  accounts: readonly Rows[],
): Promise<ReadonlySet<Rows>> {
  const ids = accounts.flatMap((rows) => idOf(rows) ?? [])
  const shared = ids.length === 0 ? new Set() : await ledger.people.sharedIds(gatewayName, ids)
  return new Set(accounts.filter((rows) => idOf(rows) === null || shared.has(idOf(rows))))
}

/** @param work called with the claimed accounts; returns their care teams now */
export async function claimEach(
  { claims }: Pick<CareTeamContext, 'claims'>,
  accounts: readonly string[],
  work: (claimed: readonly string[]) => Promise<readonly KnownCareTeam[]>,
): Promise<void> {
  for (let open = new Set(accounts); ; await claims.pause()) {
    const claimed = await claims.take([...open])
    if (claimed.size > 0) await claims.letGo(claimed, await work([...claimed]))
    open = open.difference(claimed)
    if (open.size === 0) return
  }
}

const owes = (one: KnownCareTeam, job: CareTeamJob): boolean => owesMark(one, job) || owesDeletion(one, job)

/** Entries with a mark or a deletion that the job owes. */
export async function owedBy(
  job: CareTeamJob & {
    readonly gatewayName: string
    readonly ledger: Pick<Ledger, 'careTeams'>
  },
): Promise<KnownCareTeam[]> {
  const { gatewayName, ledger, jobId } = job
  const accounts = await ledger.careTeams.owed(gatewayName, jobId, '', Number.MAX_SAFE_INTEGER)
  const known = await ledger.careTeams.ofAccounts(gatewayName, accounts)
  return [...known.values()].flat().filter((one) => owes(one, job))
}
