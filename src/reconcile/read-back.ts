/**
 * Read-back: outcome of records without an answer, learned from the profile. The gateway returns only the latest record by observation date
 * for each code and source type, hence a newer record hides ours (interface, "the service: biometrics").
 */

import { epochMsOf } from '../gateway/contract/shared-objects.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError, saysNotFound } from '../gateway/gateway-error.ts'
import type { Entry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { parseTransactionId, recordOfId } from '../model/ids.ts'
import type { AccountIds, InItsPlace, OnAccountSign, StoredAs, Verdict } from '../model/outcome.ts'
import {
  type AccountKey,
  type Evidence,
  isOfProfile,
  PROFILE_KINDS,
  type ProfileKind,
} from '../model/record.ts'
import { codesOf, idNamed, isObject, persistentId, textOf } from './match.ts'

/** A record of a profile, prepared for comparison. */
export interface ProfileRecord {
  readonly persistentId: string | undefined
  readonly codes: readonly string[]
  readonly npi: string | undefined
  readonly name: string | undefined
  readonly sourceType: string | undefined
  readonly observedAt: number | undefined
  readonly value: number | undefined
  readonly unit: string | undefined
  /** Care-team entry with the mark of the primary care physician. */
  readonly isMarked?: boolean
  /** Id of the account, if the record names the account by id. */
  readonly accountId?: string | undefined
}

/** A read with retries, under the run's limits of concurrency and patience. */
type Read = <Item>(operation: string, call: () => Promise<readonly Item[]>) => Promise<readonly Item[]>

/**
 * @param judged `judge`, or `judgeAny` if an earlier export may have sent the records under different ids
 * @param onSign receives signs against the known account id
 */
export async function readBack<Judged extends Verdict | InItsPlace | StoredAs>(
  gateway: Gateway,
  read: Read,
  entries: readonly Entry[],
  accountIds: AccountIds,
  judged: (entry: Entry, profile: readonly ProfileRecord[]) => Judged,
  onSign?: OnAccountSign,
): Promise<Map<Entry, Judged | 'unreadable'>> {
  const verdicts = new Map<Entry, Judged | 'unreadable'>()
  const byAccount = Map.groupBy(
    entries,
    (entry) => `${entry.kind}\n${entry.account.type}\n${entry.account.reference}`,
  )
  await allDone(
    [...byAccount.values()].map(async (open) => {
      const profile = await readProfile(gateway, read, open, accountIds, onSign)
      for (const entry of open)
        verdicts.set(entry, profile === undefined ? 'unreadable' : judged(entry, profile))
    }),
  )
  return verdicts
}

/** Whole profile of the account; undefined if any part cannot be read. */
export async function readWholeProfile(
  gateway: Gateway,
  read: Read,
  account: AccountKey,
): Promise<ProfileRecord[] | undefined> {
  try {
    return (await allDone(PROFILE_KINDS.map((kind) => readKind(gateway, read, kind, account)))).flat()
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

/**
 * Profile of the account of all entries; undefined if unreadable. The request names the person like the export does, since an id may have
 * been reassigned. If the profile names an unexpected id, and the known id is not stale, one more read follows.
 */
export async function readProfile(
  gateway: Gateway,
  read: Read,
  [first]: readonly Entry[],
  accountIds: AccountIds,
  onSign?: OnAccountSign,
): Promise<ProfileRecord[] | undefined> {
  if (first === undefined) return []
  const { account, kind } = first
  if (!isOfProfile(kind)) return []
  const known = accountIds(account)
  try {
    for (let isAgain = false; ; isAgain = true) {
      const profile = await readKind(gateway, read, kind, account)
      const isOther = ({ accountId = known }: ProfileRecord): boolean => accountId !== known
      if (onSign === undefined || known === undefined || !profile.some(isOther)) return profile
      if (isAgain || (await onSign(first, 'other-id'))) return undefined
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (saysNotFound(error)) await onSign?.(first, 'not-found')
    return undefined
  }
}

/** @throws GatewayError */
async function readKind(
  gateway: Gateway,
  read: Read,
  kind: ProfileKind,
  account: AccountKey,
): Promise<ProfileRecord[]> {
  const records = async (): Promise<readonly { readonly [key: string]: unknown }[]> => {
    switch (kind) {
      case 'biometric':
        return read('read biometrics', () => gateway.biometrics.read(account))
      case 'condition':
        return read('read conditions', () => gateway.conditions.read(account))
      case 'careTeam':
        return read('list care teams', () => gateway.careTeams.list(account))
    }
  }
  return (await records()).map((record) => toProfileRecord(kind, record))
}

/** A field of an undocumented type counts as absent. */
function toProfileRecord(kind: ProfileKind, record: { readonly [key: string]: unknown }): ProfileRecord {
  const { codes, npi, name, source, observationDate, value, unit } = record
  return {
    persistentId: persistentId(record),
    codes: codesOf(codes),
    npi: textOf(npi),
    name: textOf(name),
    sourceType: isObject(source) ? textOf(source['type']) : undefined,
    observedAt: epochMsOf(observationDate),
    value: typeof value === 'number' ? value : undefined,
    unit: textOf(unit),
    ...(record['pcp'] === true ? { isMarked: true } : {}),
    accountId: idNamed(kind, record),
  }
}

/** Finding of a profile about a record. Pure; docs/delivery.md has the rule. */
export function judge(entry: Entry, profile: readonly ProfileRecord[]): Verdict {
  const { transactionId, observedAt, kind } = entry
  if (profile.some((found) => found.persistentId === transactionId)) return 'stored'
  const sameSeries = profile.filter(isOfSeries(entry))
  // Contents decide only for a gateway that trims source.meta; any other gateway would show our id.
  if (sameSeries.some((found) => found.persistentId === undefined && isSameRecord(entry, found)))
    return 'stored'
  // Care teams are listed in full: a missing entry was not accepted.
  if (kind === 'careTeam') return 'absent'
  const hides = sameSeries.some((found) => found.observedAt === undefined || found.observedAt >= observedAt)
  return hides ? 'hidden' : 'absent'
}

/** Like `judge`, for a record that an earlier export may have sent under a different id. */
export const judgeAny = (entry: Entry, profile: readonly ProfileRecord[]): Verdict | InItsPlace | StoredAs =>
  judgeById(entry, profile, isOfOtherExport)

/** Like `judgeAny`, for a record that may have been sent under another key. */
export const judgeOfAnyKey = (
  entry: Entry,
  profile: readonly ProfileRecord[],
): Verdict | InItsPlace | StoredAs => judgeById(entry, profile, isOfOtherKey)

function judgeById(
  entry: Entry,
  profile: readonly ProfileRecord[],
  isId: (id: string, transactionId: string) => boolean,
): Verdict | InItsPlace | StoredAs {
  const verdict = judge(entry, profile)
  if (verdict === 'stored') return verdict
  const other = profile
    .filter(isOfSeries(entry))
    .find((found) => isSameRecord(entry, found) && isId(found.persistentId ?? '', entry.transactionId))
  if (other?.persistentId !== undefined) return { storedAs: other.persistentId }
  return verdict === 'hidden' ? (inItsPlace(entry, profile) ?? verdict) : verdict
}

function inItsPlace(entry: Entry, profile: readonly ProfileRecord[]): InItsPlace | undefined {
  const sameSeries = profile.filter(isOfSeries(entry))
  const isNewer = ({ observedAt }: ProfileRecord): boolean =>
    observedAt === undefined || observedAt > entry.observedAt
  const [shown] = sameSeries.filter(({ observedAt }) => observedAt === entry.observedAt)
  if (shown?.persistentId === undefined || sameSeries.some(isNewer)) return undefined
  return { inItsPlace: shown.persistentId }
}

const isOfSeries =
  ({ kind, evidence, sourceType }: Entry) =>
  (found: ProfileRecord): boolean =>
    kind === 'careTeam'
      ? found.npi === evidence.npi
      : found.codes.some((code) => evidence.codes.includes(code)) &&
        (found.sourceType ?? sourceType) === sourceType

const isSameRecord = ({ observedAt, evidence }: Entry, found: ProfileRecord): boolean =>
  found.observedAt === observedAt && sameContent(found, evidence)

/** True if the id belongs to the record in another export, by rule and keyed content hash. */
function isOfOtherExport(id: string, transactionId: string): boolean {
  const [there, here] = [parseTransactionId(id), parseTransactionId(transactionId)]
  return there?.exportId !== here?.exportId && recordOfId(id) === recordOfId(transactionId)
}

/** True if the id may belong to the record under another key: same rule, and no different row of the export. */
function isOfOtherKey(id: string, transactionId: string): boolean {
  const [there, here] = [parseTransactionId(id), parseTransactionId(transactionId)]
  return there?.rule === here?.rule && (there?.exportId !== here?.exportId || there?.row === here?.row)
}

function sameContent(found: ProfileRecord, evidence: Evidence): boolean {
  if (evidence.value !== undefined && found.value !== Number(evidence.value)) return false
  if (evidence.unit !== undefined && found.unit !== undefined && found.unit !== evidence.unit) return false
  return evidence.npi === undefined || found.name === evidence.name
}
