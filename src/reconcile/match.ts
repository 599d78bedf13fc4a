/**
 * Meaning of a success answer for the sent records: which records the gateway accepted, and which records an error puts in doubt. Echoes of
 * biometrics carry the transactionId; the answers for conditions and care teams carry none (interface, "Condition record, as returned",
 * "Care team record, as returned"). Those echoes match by source.meta, and if a gateway trims source.meta, by account, code or NPI, and
 * date. Pure. An echo that fits two records matches neither; an echo with a value that was not sent matches none.
 */
import type { CreateAnswer, Echo } from '../gateway/answer.ts'
import { AccountReferenceAsRead, accountIdOfEntity } from '../gateway/contract/account.ts'
import { CareTeamReturned, ConditionReturned } from '../gateway/contract/health-profile.ts'
import { documented, type EnvelopeError, epochMsOf, placesIn } from '../gateway/contract/shared-objects.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { GatewayError, saysNotFound } from '../gateway/gateway-error.ts'
import type { Entry } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { parseTransactionId, recordOfId } from '../model/ids.ts'
import type { AccountIds, InItsPlace, Matched, OnAccountSign, StoredAs, Verdict } from '../model/outcome.ts'
import {
  type AccountKey,
  type Evidence,
  isOfProfile,
  PROFILE_KINDS,
  type ProfileKind,
  type RecordKind,
} from '../model/record.ts'

/** @param entries in the order of the request */
export function matchAnswer(
  entries: readonly Entry[],
  { echoes, errors }: Pick<CreateAnswer, 'echoes' | 'errors'>,
  accountIds: AccountIds,
): Matched {
  const { doubted, named } = doubtedBy(errors, entries)
  const accepted = new Map<Entry, string | undefined>()
  const elsewhere: Entry[] = []
  const found = echoesByEntry(entries, echoes, accountIds)
  const isDisputed = disputesOf(found, accountIds)
  for (const [entry, echo] of found) {
    if (echo === SEVERAL || doubted.has(entry) || isDisputed(entry, echo)) continue
    if (saysWhatWasSent(entry, echo, accountIds)) accepted.set(entry, textOf(echo.id))
    else if (saysWhatWasSent(entry, echo, NOBODY_KNOWS)) elsewhere.push(entry)
  }
  for (const entry of found.keys()) named.delete(entry)
  return { accepted, doubted, elsewhere, named, ...learnedFrom([...accepted.keys()], found, accountIds) }
}

/** Lets an echo name the account by any id. */
const NOBODY_KNOWS: AccountIds = () => undefined

/** Learns ids of unknown accounts from the accepted echoes. */
function learnedFrom(
  accepted: readonly Entry[],
  found: ReadonlyMap<Entry, Echo | typeof SEVERAL>,
  accountIds: AccountIds,
): Pick<Matched, 'learned' | 'unconfirmed'> {
  const named = accepted.flatMap((entry) => {
    const { account, kind } = entry
    const echo = found.get(entry)
    const isUnknown = accountIds(account) === undefined && echo !== undefined && echo !== SEVERAL
    const id = isUnknown ? idNamed(kind, echo) : undefined
    return id === undefined ? [] : [{ entry, id }]
  })
  const people = Map.groupBy(named, ({ entry }) => entry.account.reference)
  const ofPeople = [...people].flatMap(([reference, [first, second]]) =>
    first === undefined ? [] : [{ reference, ...first, isAlone: second === undefined }],
  )
  return {
    learned: new Map(ofPeople.flatMap(({ reference, id, isAlone }) => (isAlone ? [] : [[reference, id]]))),
    unconfirmed: new Map(ofPeople.flatMap(({ entry, id, isAlone }) => (isAlone ? [[entry, id]] : []))),
  }
}

const SEVERAL = Symbol('several echoes of one record')

/** Echo of each entry, found by our ids, else by contents. */
function echoesByEntry(
  entries: readonly Entry[],
  echoes: readonly Echo[],
  accountIds: AccountIds,
): Map<Entry, Echo | typeof SEVERAL> {
  const found = new Map<Entry, Echo | typeof SEVERAL>()
  const claim = (entry: Entry, echo: Echo | typeof SEVERAL): void => {
    found.set(entry, found.has(entry) ? SEVERAL : echo)
  }
  const byTransaction = new Map(entries.map((entry) => [entry.transactionId, entry]))
  const withoutId: Echo[] = []
  for (const echo of echoes) {
    const transactionId = textOf(echo.transactionId) ?? persistentId(echo)
    if (transactionId === undefined) {
      withoutId.push(echo)
      continue
    }
    const entry = byTransaction.get(transactionId)
    if (entry !== undefined) claim(entry, echo)
    // An echo that names two records belongs to neither.
    const other = byTransaction.get(persistentId(echo) ?? transactionId)
    if (other === entry) continue
    if (entry !== undefined) claim(entry, SEVERAL)
    if (other !== undefined) claim(other, SEVERAL)
  }
  if (withoutId.length === 0 || found.size === entries.length) return found

  const byContent = new Map<string, Entry | typeof SEVERAL>()
  for (const entry of entries) {
    if (found.has(entry)) continue
    for (const key of new Set(contentKeys(entry, accountIds)))
      byContent.set(key, byContent.has(key) ? SEVERAL : entry)
  }
  for (const echo of withoutId) {
    const candidates = new Set(echoKeys(echo).flatMap((key) => byContent.get(key) ?? []))
    const [only] = candidates
    if (candidates.size === 1 && only !== undefined && only !== SEVERAL) claim(only, echo)
  }
  return found
}

/** Keys by which an echo may name an entry: one for each name of the account and each code. */
function contentKeys({ kind, evidence, observedAt, account }: Entry, accountIds: AccountIds): string[] {
  if (kind === 'careTeam') return [`${evidence.npi}\n${evidence.name}\n${observedAt}`]
  return accountNames(account, accountIds).flatMap((name) =>
    evidence.codes.map((code) => `${name}\n${code}\n${observedAt}`),
  )
}

function echoKeys(echo: Echo): string[] {
  const condition = ConditionReturned.safeParse(echo)
  if (condition.success) {
    const { account, codes, observationDate } = condition.data
    const at = epochMsOf(observationDate)
    const reference = documented(AccountReferenceAsRead, account)?.reference
    if (at === undefined || reference === undefined) return []
    // An entity names the account in URL form, ending in its id (interface, "Account reference").
    const names = new Set([reference, accountIdOfEntity(reference)])
    return [...names].flatMap((name) => codesOf(codes).map((code) => `${name}\n${code}\n${at}`))
  }
  const careTeam = CareTeamReturned.safeParse(echo)
  if (!careTeam.success) return []
  const { npi, name, observationDate } = careTeam.data
  return [`${textOf(npi)}\n${textOf(name)}\n${epochMsOf(observationDate)}`]
}

/** True if every field of the echo equals the sent field, in any notation; a missing field proves nothing. */
function saysWhatWasSent(
  { evidence, observedAt, kind, account }: Entry,
  echo: Echo,
  accountIds: AccountIds,
): boolean {
  const { name, observationDate, value, unit, codes, npi, userId } = echo
  const isSame = (given: unknown, sent: string | undefined): boolean =>
    given === undefined || sent === undefined || given === sent
  if (!isSame(name, evidence.name) || !isSame(unit, evidence.unit)) return false
  if (observationDate !== undefined && epochMsOf(observationDate) !== observedAt) return false
  if (value !== undefined && evidence.value !== undefined && numberOf(value) !== Number(evidence.value))
    return false
  if (kind === 'careTeam') {
    const id = accountIds(account)
    return isSame(npi === undefined ? npi : String(npi), evidence.npi) && isSame(userId, id)
  }
  const hasCode =
    codes === undefined ||
    (Array.isArray(codes) &&
      codes.some((one) => isObject(one) && evidence.codes.includes(String(one['code']))))
  return hasCode && (echo['account'] === undefined || isAccount(echo['account'], account, accountIds))
}

/**
 * For an unknown account id, the answer must at least agree with itself: a person named by two ids, or an id shared by two people, may be
 * wrong.
 */
function disputesOf(
  found: ReadonlyMap<Entry, Echo | typeof SEVERAL>,
  accountIds: AccountIds,
): (entry: Entry, echo: Echo) => boolean {
  const ids = new Map<string, Set<string>>()
  const people = new Map<string, Set<string>>()
  const count = (into: Map<string, Set<string>>, key: string, value: string): void => {
    into.set(key, (into.get(key) ?? new Set()).add(value))
  }
  for (const [{ account, kind }, echo] of found) {
    for (const id of [accountIds(account), echo === SEVERAL ? undefined : idNamed(kind, echo)]) {
      if (id === undefined) continue
      count(ids, account.reference, id)
      count(people, id, account.reference)
    }
  }
  return ({ account, kind }, echo) => {
    const id = accountIds(account) === undefined ? idNamed(kind, echo) : undefined
    return (
      id !== undefined && ((ids.get(account.reference)?.size ?? 0) > 1 || (people.get(id)?.size ?? 0) > 1)
    )
  }
}

/** Id of the account, if the echo, or the record of a profile, names the account by id. */
function idNamed(
  kind: RecordKind,
  { accountReference, account = accountReference, userId }: { readonly [key: string]: unknown },
): string | undefined {
  if (kind === 'careTeam') return textOf(userId)
  if (!isObject(account) || (account['type'] !== 'accountId' && account['type'] !== 'entity'))
    return undefined
  return accountIdOfEntity(String(account['reference']))
}

const numberOf = (given: unknown): number =>
  typeof given === 'number' || (typeof given === 'string' && given.trim() !== '') ? Number(given) : Number.NaN

/** Compares the account as sent or as resolved, whichever the echo names. An unknown id compares with nothing; `learnedFrom` reports the id. */
function isAccount(given: unknown, account: AccountKey, accountIds: AccountIds): boolean {
  if (!isObject(given)) return false
  const { type, reference } = given
  const named = accountIdOfEntity(String(reference))
  if (type === 'accountId' || type === 'entity') return named === (accountIds(account) ?? named)
  if (type === account.type) return reference === account.reference
  return type === 'partnerAccountId' || accountNames(account, accountIds).includes(String(reference))
}

/**
 * Records that listed errors put in doubt, each with the texts of the errors. An error names a record by an id anywhere in the error, or by
 * the place in the request. An error that names none may concern any record. The interface does not say whether places count from 0 or 1:
 * unless an error decides, both count.
 */
function doubtedBy(
  errors: readonly EnvelopeError[],
  entries: readonly Entry[],
): { doubted: Map<Entry, string>; named: Map<Entry, string> } {
  const doubted = new Map<Entry, Set<string>>()
  const surely = new Map<Entry, string>()
  const places = errors.map(placesIn)
  const fromZero = places.some((of) => of.includes(0))
  const namedIn = finderOf(entries)
  let isAnyDoubted = false
  const ofAll = new Set<string>()
  for (const [at, error] of errors.entries()) {
    const text = JSON.stringify(error)
    const named = new Set(namedIn(text))
    const code = typeof error === 'string' ? undefined : error.code
    for (const entry of named) surely.set(entry, code === undefined ? '' : String(code))
    for (const place of places[at] ?? []) {
      for (const entry of [entries[place], fromZero ? undefined : entries[place - 1]])
        if (entry !== undefined) named.add(entry)
    }
    const words = textOf(typeof error === 'string' ? error : error.message) ?? ''
    if (named.size === 0) {
      isAnyDoubted = true
      if (words !== '' && ofAll.size < MOST_WORDS) ofAll.add(words)
    }
    for (const entry of named) {
      const about = doubted.get(entry) ?? new Set()
      doubted.set(entry, about)
      if (words !== '') about.add(words)
    }
  }
  if (isAnyDoubted)
    for (const entry of entries) {
      const about = doubted.get(entry) ?? new Set()
      doubted.set(entry, about)
      for (const words of ofAll) about.add(words)
    }
  return {
    doubted: new Map([...doubted].map(([entry, about]) => [entry, [...about].join('; ')])),
    named: surely,
  }
}

/** Texts of errors that may concern any record: every record gets these. */
const MOST_WORDS = 10

const EXPORT_ID_DIGITS = 16

/** Finds the entries whose id occurs in a text, in a single pass: ids of an export share a start and have few lengths. */
function finderOf(entries: readonly Entry[]): (text: string) => Entry[] {
  const byId = Map.groupBy(entries, ({ transactionId }) => transactionId)
  const ids = [...byId.keys()]
  const beginnings = new Set(ids.map((id) => id.slice(0, EXPORT_ID_DIGITS)))
  const lengths = new Set(ids.map((id) => id.length))
  return (text) => {
    const found: Entry[] = []
    for (const beginning of beginnings)
      for (let at = text.indexOf(beginning); at !== -1; at = text.indexOf(beginning, at + 1))
        for (const length of lengths) found.push(...(byId.get(text.slice(at, at + length)) ?? []))
    return found
  }
}

/** `source.meta.persistentRecordId`: the transaction id, if the gateway keeps it. */
function persistentId(record: { readonly [key: string]: unknown }): string | undefined {
  const { source } = record
  if (!isObject(source) || !isObject(source['meta'])) return undefined
  return textOf(source['meta']['persistentRecordId'])
}

/** Names that the gateway may use for the account: as sent, or as resolved. */
function accountNames(account: AccountKey, accountIds: AccountIds): string[] {
  const id = accountIds(account)
  return id === undefined || id === account.reference ? [account.reference] : [account.reference, id]
}

function codesOf(codes: unknown): string[] {
  if (!Array.isArray(codes)) return []
  return codes.flatMap((coding: unknown) => (isObject(coding) ? (textOf(coding['code']) ?? []) : []))
}

/** Returns the field if it is text, as documented. */
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null

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

/** True for a record of a profile that may hide the entry, or be replaced by it. */
export const isOfSeries =
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
