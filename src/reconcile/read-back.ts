/**
 * Read-back: what became of records whose answer never came, learned from the profile. The gateway returns only the latest record
 * by observation date for each code and source type, so a newer one hides ours (interface, "the service: biometrics").
 */
import { epochMsOf } from '../gateway/contract/shared-objects.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError } from '../gateway/gateway-error.ts'
import type { AccountIds, Entry, SentAs, Verdict } from '../model/entry.ts'
import { type AccountKey, RECORD_KINDS, type RecordKind } from '../model/record.ts'
import { codesOf, isObject, persistentId, textOf } from './match.ts'

/** A record of a profile in the form in which it is compared. */
export interface ProfileRecord {
  readonly persistentId: string | undefined
  readonly codes: readonly string[]
  readonly npi: string | undefined
  readonly name: string | undefined
  readonly sourceType: string | undefined
  readonly observedAt: number | undefined
  readonly value: number | undefined
  readonly unit: string | undefined
  /** Of a care-team entry: whether it bears the mark of the primary care physician. */
  readonly isMarked?: boolean
}

/** A read that may be repeated, under the run's concurrency and patience. */
export type Read = <Item>(operation: string, call: () => Promise<readonly Item[]>) => Promise<readonly Item[]>

export async function readBack(
  gateway: Gateway,
  read: Read,
  entries: readonly Entry[],
  accountIds: AccountIds,
  sentAs: SentAs = 'own',
): Promise<Map<Entry, Verdict>> {
  const verdicts = new Map<Entry, Verdict>()
  const byAccount = Map.groupBy(
    entries,
    ({ record }) => `${record.kind}\n${record.account.type}\n${record.account.reference}`,
  )
  const reads = await Promise.allSettled(
    [...byAccount.values()].map(async (open) => {
      const profile = await readProfile(gateway, read, open, accountIds)
      for (const entry of open)
        verdicts.set(entry, profile === undefined ? 'unreadable' : judge(entry, profile, sentAs))
    }),
  )
  for (const one of reads) if (one.status === 'rejected') throw one.reason
  return verdicts
}

/** All that the account's profile shows; undefined where a part of it cannot be read. */
export async function readWholeProfile(
  gateway: Gateway,
  read: Read,
  account: AccountKey,
): Promise<ProfileRecord[] | undefined> {
  const parts = await Promise.all(RECORD_KINDS.map((kind) => readKind(gateway, read, kind, account)))
  return parts.includes(undefined) ? undefined : parts.flatMap((part) => part ?? [])
}

/** The profile of the account that all of these entries belong to; undefined where it cannot be read. */
export async function readProfile(
  gateway: Gateway,
  read: Read,
  [first]: readonly Entry[],
  accountIds: AccountIds,
): Promise<ProfileRecord[] | undefined> {
  if (first === undefined) return []
  const { account: key, kind } = first.record
  const id = accountIds(key)
  return readKind(gateway, read, kind, id === undefined ? key : { reference: id, type: 'accountId' as const })
}

async function readKind(
  gateway: Gateway,
  read: Read,
  kind: RecordKind,
  account: AccountKey,
): Promise<ProfileRecord[] | undefined> {
  try {
    switch (kind) {
      case 'biometric':
        return (await read('read biometrics', () => gateway.biometrics.read(account))).map(toProfileRecord)
      case 'condition':
        return (await read('read conditions', () => gateway.conditions.read(account))).map(toProfileRecord)
      case 'careTeam':
        return (await read('list care teams', () => gateway.careTeams.list(account))).map(toProfileRecord)
    }
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

/** A field of another type than documented tells nothing: it counts as not there. */
function toProfileRecord(record: { readonly [key: string]: unknown }): ProfileRecord {
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
  }
}

/** What a profile says of one record. Pure; the rule is in docs/delivery.md. */
export function judge(
  { record, transactionId }: Entry,
  profile: readonly ProfileRecord[],
  sentAs: SentAs = 'own',
): Verdict {
  if (profile.some((found) => found.persistentId === transactionId)) return 'stored'
  const { evidence, observedAt, kind, sourceType } = record
  const sameSeries = profile.filter((found) =>
    kind === 'careTeam'
      ? found.npi === evidence.npi
      : found.codes.some((code) => evidence.codes.includes(code)) &&
        (found.sourceType ?? sourceType) === sourceType,
  )
  const sameRecord = sameSeries.filter(
    (found) => found.observedAt === observedAt && sameContent(found, record.evidence),
  )
  // Only a gateway that trims source.meta leaves this to contents; one that keeps it would have shown our id.
  if (sameRecord.some((found) => found.persistentId === undefined)) return 'stored'
  if (sentAs === 'any' && sameRecord.some((found) => isOfOtherExport(found.persistentId, transactionId)))
    return 'stored'
  // Care teams are listed in full: what is not there was not taken.
  if (kind === 'careTeam') return 'absent'
  const hides = sameSeries.some((found) => found.observedAt === undefined || found.observedAt >= observedAt)
  return hides ? 'hidden' : 'absent'
}

/** Whether it is the id that the same record, by rule and keyed hash of its content, had in another export. */
function isOfOtherExport(id: string | undefined, transactionId: string): boolean {
  const [[, there, found], [, here, record]] = [partsOf(id ?? ''), partsOf(transactionId)]
  return found !== undefined && found === record && there !== here
}

const partsOf = (transactionId: string): readonly string[] =>
  /^([0-9a-f]{16})-\d{6,}-(.+)$/.exec(transactionId) ?? []

function sameContent(found: ProfileRecord, evidence: Entry['record']['evidence']): boolean {
  if (evidence.value !== undefined && found.value !== Number(evidence.value)) return false
  if (evidence.unit !== undefined && found.unit !== undefined && found.unit !== evidence.unit) return false
  return evidence.npi === undefined || found.name === evidence.name
}
