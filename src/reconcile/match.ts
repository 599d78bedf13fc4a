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
import type { Entry } from '../model/entry.ts'
import type { AccountIds, Matched } from '../model/outcome.ts'
import type { AccountKey, RecordKind } from '../model/record.ts'

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
export function idNamed(
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
): { readonly doubted: Map<Entry, string>; readonly named: Map<Entry, string> } {
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
export function persistentId(record: { readonly [key: string]: unknown }): string | undefined {
  const { source } = record
  if (!isObject(source) || !isObject(source['meta'])) return undefined
  return textOf(source['meta']['persistentRecordId'])
}

/** Names that the gateway may use for the account: as sent, or as resolved. */
function accountNames(account: AccountKey, accountIds: AccountIds): string[] {
  const id = accountIds(account)
  return id === undefined || id === account.reference ? [account.reference] : [account.reference, id]
}

export function codesOf(codes: unknown): string[] {
  if (!Array.isArray(codes)) return []
  return codes.flatMap((coding: unknown) => (isObject(coding) ? (textOf(coding['code']) ?? []) : []))
}

/** Returns the field if it is text, as documented. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null
