/**
 * Which records an answer of success names. Biometrics are echoed with their transactionId; the answers for conditions and care
 * teams carry none (interface, "Condition record, as returned", "Care team record, as returned"): they are matched by
 * source.meta, and where a gateway trims that, by account, code or NPI, and date. Pure. What could be either of two is neither.
 */
import { accountIdOfEntity } from '../gateway/contract/account-reference.ts'
import { CareTeamReturned } from '../gateway/contract/care-team.ts'
import { ConditionReturned } from '../gateway/contract/condition.ts'
import { epochMsOf } from '../gateway/contract/observation-date.ts'
import type { CreateAnswer, Echo } from '../gateway/create-answer.ts'
import type { Entry } from '../load/entry.ts'
import type { AccountIds } from '../load/reconciler.ts'
import { accountNames, codesOf, persistentId } from './profile-record.ts'

/** Entries named by the answer → the gateway's id of the record, where it gives one. */
export function matchEchoes(
  entries: readonly Entry[],
  echoes: CreateAnswer['echoes'],
  accountIds: AccountIds,
): Map<Entry, string | undefined> {
  const matched = new Map<Entry, string | undefined>()
  const byTransaction = new Map(entries.map((entry) => [entry.transactionId, entry]))
  const without: Echo[] = []
  for (const echo of echoes) {
    const id = echo.transactionId ?? persistentId(echo)
    const entry = id === undefined ? undefined : byTransaction.get(id)
    if (entry !== undefined) matched.set(entry, echo.id)
    else if (id === undefined) without.push(echo)
  }
  if (without.length === 0 || matched.size === entries.length) return matched

  const byContent = new Map<string, Entry[]>()
  for (const entry of entries) {
    if (matched.has(entry)) continue
    for (const key of new Set(contentKeys(entry, accountIds))) {
      const same = byContent.get(key) ?? []
      byContent.set(key, same)
      same.push(entry)
    }
  }
  for (const echo of without) {
    const keys = echoKeys(echo)
    const candidates = new Set(
      keys.flatMap((key) => byContent.get(key) ?? []).filter((entry) => !matched.has(entry)),
    )
    const [only] = candidates
    if (candidates.size === 1 && only !== undefined) matched.set(only, echo.id)
  }
  return matched
}

/** Under what names an entry could come back: one for each way to name its account, and each code. */
function contentKeys({ record }: Entry, accountIds: AccountIds): string[] {
  const { evidence, observedAt, account } = record
  if (record.kind === 'careTeam') return [`${evidence.npi}\n${evidence.name}\n${observedAt}`]
  return accountNames(account, accountIds).flatMap((name) =>
    evidence.codes.map((code) => `${name}\n${code}\n${observedAt}`),
  )
}

function echoKeys(echo: Echo): string[] {
  const condition = ConditionReturned.safeParse(echo)
  if (condition.success) {
    const { account, codes, observationDate } = condition.data
    const at = epochMsOf(observationDate)
    const reference = account?.reference
    if (at === undefined || reference === undefined) return []
    // An entity names the account in URL form, ending in its id (interface, "Account reference").
    const names = new Set([reference, accountIdOfEntity(reference)])
    return [...names].flatMap((name) => codesOf(codes).map((code) => `${name}\n${code}\n${at}`))
  }
  const careTeam = CareTeamReturned.safeParse(echo)
  if (!careTeam.success) return []
  const { npi, name, observationDate } = careTeam.data
  return [`${npi}\n${name}\n${observationDate === undefined ? undefined : epochMsOf(observationDate)}`]
}
