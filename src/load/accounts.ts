/**
 * Accounts: registers a person with something to send first, once, and keeps the gateway's id (interface, "Accounts": user-centric calls need the
 * id). A chunk of a roster registers people and sends nothing else: only the crosswalk shows who is known.
 */

import { GatewayError, orRefusal } from '../gateway/gateway-error.ts'
import type { KnownAccount, Ledger, RunLedger, Tallies } from '../ledger/ledger.ts'
import type { Entry, MappedRow } from '../model/entry.ts'
import { allDone } from '../model/errors.ts'
import { type Identity, parseTransactionId } from '../model/ids.ts'
import {
  type AccountIds,
  type EntryOutcome,
  ownReason,
  type Reason,
  type ShownRecord,
} from '../model/outcome.ts'
import type { AccountKey, Registration } from '../model/record.ts'
import type { Claims } from './claims.ts'
import type { Delivery, Reconciler } from './delivery.ts'
import { ACCOUNT_STALE, folded, messageOf, refusalWords } from './gateway-words.ts'

export interface AccountsContext
  extends Pick<Delivery, 'gateway' | 'sending' | 'identity' | 'now' | 'stale'> {
  readonly reconciler: Pick<Reconciler, 'profile'>
  /** Name of the gateway in the ledger: its address. */
  readonly gatewayName: string
  readonly ledger: Pick<Ledger, 'people'>
  readonly runLedger: RunLedger
  readonly register: 'missing' | 'never'
  readonly tallies: Tallies
  readonly claims: Claims
  /** Registrations that fail on every try, by hashed reference. The results hold for all chunks of the run. */
  readonly late: Map<string, Promise<KnownAccount | Reason>>
}

export interface ResolvedAccounts {
  readonly accountIds: AccountIds
  /** People who were known, and people whom the gateway refuses. */
  readonly counts: { known: number; refused: number }
  /** Names missing in the crosswalk, by hashed reference. */
  readonly names: ReadonlyMap<string, ExportedName>
  /** True where nobody is late, refused, or perhaps sent before. */
  readonly areUsual: boolean
  /** Recognises people whose registration keeps failing, or whom another job has claimed. The rest of the chunk does not wait for them. */
  isLate(account: AccountKey): boolean
  /** Hashes of late people. */
  readonly late: ReadonlySet<string>
  /** True where another job has claimed a late person. */
  readonly isBusy: boolean
  /** Hashes of people whose claims the caller must release. */
  readonly claimed: ReadonlySet<string>
  /** Hashes of people registered under these claims: the gateway has no records of them. */
  readonly registered: ReadonlySet<string>
  /** Recognises people whom this run registered and the gateway did not know before. */
  isNew(entry: Entry): boolean
  /** Reason why nothing can be sent for the entry's person; undefined where there is none. */
  refusalOf(entry: Entry): Reason | undefined
  /**
   * Recognises records that this installation may have sent before its ledger knew the person: their profile is read first. Later records were not
   * sent.
   */
  isPerhapsSent(entry: Entry): boolean
}

interface ExportedName {
  /** Keyed hash of the last name that the rows give (`Identity.named`). */
  readonly named: number
  /** First row with a name unlike the one before: people marry. */
  readonly changedAt: MappedRow | undefined
}

/**
 * @param late leave late people, or wait for them
 * @param settled outcomes that an earlier process of the run has of this chunk. Their people count, too; a person registered then was not known
 * @param toClaim hashes of accounts whose data is read and then written, beyond the registration
 * @throws WaybillError where the run must stop
 */
export async function resolveAccounts(
  context: AccountsContext,
  entries: readonly Entry[],
  late: 'leave' | 'await' = 'await',
  settled?: readonly EntryOutcome[],
  toClaim: ReadonlySet<string> = NOBODY,
): Promise<ResolvedAccounts> {
  const { identity } = context
  const { hashes, people, births } = peopleIn(identity, entries)
  const before = peopleOf(identity, settled ?? [])
  const known = await context.ledger.people.accounts(context.gatewayName, [
    ...new Set([...people.keys(), ...before.all]),
  ])
  const shared = await sharedPeople(context, [...people.keys()], known, births)
  for (const hashed of shared) people.delete(hashed)
  const { runId } = context.runLedger.lease
  const own =
    settled === undefined
      ? NOBODY
      : await context.ledger.people.registeredBy(context.gatewayName, [...known.keys()], runId)
  const { refusals, left, registered, open } = await registerMissing(
    context,
    { people, known, births, toClaim },
    late,
  )
  for (const hashed of shared) refusals.set(hashed, REFERENCE_SHARED)
  const registeredNow = own.union(registered)
  const counted = new Set(known.keys()).difference(left)
  return {
    counts: {
      known: counted.difference(registeredNow).size,
      refused: new Set([...refusals.keys(), ...before.refused]).size,
    },
    names: newNames(identity, people, known),
    areUsual:
      left.size === 0 &&
      refusals.size === 0 &&
      !entries.some(context.stale.has) &&
      known.values().every(({ sentBefore }) => sentBefore === null),
    late: left,
    isBusy: open.size > 0,
    claimed: toClaim.difference(left),
    registered,
    isLate: (account) =>
      left.size > 0 && left.has(hashes.get(account.reference) ?? identity.account(account)),
    accountIds: ({ reference, type }) =>
      type === 'accountId' ? reference : (known.get(hashes.get(reference) ?? '')?.accountId ?? undefined),
    isNew: (entry) => registeredNow.has(hashes.get(entry.account.reference) ?? ''),
    refusalOf(entry) {
      if (context.stale.has(entry)) return ACCOUNT_STALE
      return refusals.size === 0 ? undefined : refusals.get(hashes.get(entry.account.reference) ?? '')
    },
    isPerhapsSent(entry) {
      const until = known.get(hashes.get(entry.account.reference) ?? '')?.sentBefore ?? null
      return until !== null && entry.observedAt <= until + DATE_ONLY_MS
    },
  }
}

/** People of entries by hashed reference: an entry of each of their rows, and keyed hashes of their birth dates. */
function peopleIn(identity: Identity, entries: readonly Entry[]) {
  const hashes = new Map<string, string>()
  const people = new Map<string, Entry[]>()
  let last: Entry['row'] | undefined
  for (const entry of entries) {
    if (entry.row === last) continue
    last = entry.row
    const { reference, type } = entry.account
    if (type !== 'partnerAccountId') continue
    const hashed = hashes.get(reference)
    if (hashed !== undefined) people.get(hashed)?.push(entry)
    else {
      const first = identity.account(entry.account)
      hashes.set(reference, first)
      people.set(first, [entry])
    }
  }
  const births = new Map<string, number>()
  for (const [hashed, [first]] of people) {
    const born = first?.row.born ?? Number.NEGATIVE_INFINITY
    if (born !== Number.NEGATIVE_INFINITY) births.set(hashed, identity.born(hashed, born))
  }
  return { hashes, people, births }
}

/** @returns hashed references of people whose name differs from the crosswalk, but whose birth date does not */
export async function renamedPeople(
  ledger: Pick<Ledger, 'people'>,
  gatewayName: string,
  identity: Identity,
  entries: readonly Entry[],
): Promise<string[]> {
  const { people, births } = peopleIn(identity, entries)
  const known = await ledger.people.accounts(gatewayName, [...people.keys()])
  return [...newNames(identity, people, known)].flatMap(([hashed, { changedAt }]) => {
    const { born = null } = known.get(hashed) ?? {}
    return changedAt === undefined || (born !== null && born !== births.get(hashed)) ? [] : hashed
  })
}

/**
 * Compares birth dates with the crosswalk, and keeps new ones.
 * @param births keyed hashes of birth dates, by hashed reference
 * @returns references used for people with several birth dates: nothing is sent under them
 */
async function sharedPeople(
  { ledger, runLedger, gatewayName }: AccountsContext,
  people: readonly string[],
  known: ReadonlyMap<string, KnownAccount>,
  births: ReadonlyMap<string, number>,
): Promise<ReadonlySet<string>> {
  const shared = await ledger.people.sharedReferences(gatewayName, people)
  const found = new Set<string>()
  const missing = new Map<string, number>()
  for (const [hashed, born] of births) {
    const account = known.get(hashed)
    if (account === undefined || account.born === born || shared.has(hashed)) continue
    if ((account.born ?? null) === null) missing.set(hashed, born)
    else found.add(hashed)
  }
  if (found.size + missing.size > 0) await runLedger.saveBirths(gatewayName, missing, found)
  return shared.union(found)
}

export const NAME_CHANGED = {
  code: 'name-changed',
  message: 'has a new name under the same reference; the summary counts such people as name-changed',
} as const

/** Keyed hash of the name that a row gives, without case, accents and blanks. */
const nameIn = (identity: Identity, hashed: string, name: string): number | null =>
  name === '' ? null : identity.named(hashed, folded(name).replaceAll(/\s+/g, ''))

/** Compares the names of a chunk's people with each other and with the crosswalk. */
function newNames(
  identity: Identity,
  people: MissingPeople['people'],
  known: ReadonlyMap<string, KnownAccount>,
): Map<string, ExportedName> {
  const names = new Map<string, ExportedName>()
  for (const [hashed, rows] of people) {
    // A person unknown to the ledger who has one row: nothing to compare, and no place to keep the name.
    if (rows.length === 1 && !known.has(hashed)) continue
    const before = known.get(hashed)?.named ?? null
    let named = before
    let text = ''
    let changedAt: MappedRow | undefined
    for (const { row } of rows) {
      const name = row.name()
      if (name === text) continue
      text = name
      const latest = nameIn(identity, hashed, name) ?? named
      if (named !== null && latest !== named) changedAt ??= row
      named = latest
    }
    if (named !== null && (named !== before || changedAt)) names.set(hashed, { named, changedAt })
  }
  return names
}

interface Registering {
  readonly refusals: Map<string, Reason>
  /** People still being registered, or claimed by another job. */
  readonly left: ReadonlySet<string>
  readonly registered: ReadonlySet<string>
  /** People claimed by another job. */
  readonly open: ReadonlySet<string>
}

/** Maps and sets by hash. */
interface MissingPeople {
  readonly people: ReadonlyMap<string, readonly Entry[]>
  readonly known: Map<string, KnownAccount>
  readonly births: ReadonlyMap<string, number>
  readonly toClaim: ReadonlySet<string>
}

async function registerMissing(
  context: AccountsContext,
  { people, known, births, toClaim }: MissingPeople,
  late: 'leave' | 'await',
): Promise<Registering> {
  const { claims } = context
  const refusals = new Map<string, Reason>()
  const left = new Set<string>()
  const registered = new Set<string>()
  const isMissing = (hashed: string): boolean =>
    context.register === 'missing' && people.has(hashed) && !known.has(hashed)
  const register = async (claimed: ReadonlySet<string>): Promise<void> => {
    const missing = [...claimed].filter(isMissing)
    if (missing.length === 0) return
    // Another job may have registered them before they were claimed.
    for (const account of (await context.ledger.people.accounts(context.gatewayName, missing)).values())
      known.set(account.reference, account)
    const forgotten = await context.ledger.people.forgotten(context.gatewayName, () => missing)
    const open = missing.filter(isMissing).flatMap((hashed) => {
      const rows = people.get(hashed) ?? []
      // A row complete enough to register takes precedence over an incomplete row of the person.
      const entry = (rows.length > 1 ? rows.find(canRegister) : undefined) ?? rows[0]
      const born = births.get(hashed) ?? null
      return entry === undefined
        ? []
        : [[hashed, { entry, wasForgotten: forgotten.has(hashed), born }] as const]
    })
    await allDone(
      open.map(async ([hashed, person]) => {
        const result = await startRegistering(context, hashed, person, late)
        if (result === LATE) left.add(hashed)
        else if ('stage' in result) refusals.set(hashed, result)
        else {
          known.set(hashed, result)
          if (result.isNew) registered.add(hashed)
        }
      }),
    )
    await claims.letGo(missing.filter((hashed) => !left.has(hashed) && !toClaim.has(hashed)))
  }
  let open: ReadonlySet<string> = new Set([...toClaim, ...[...people.keys()].filter(isMissing)])
  for (;;) {
    const claimed = await claims.take([...open])
    await register(claimed)
    open = open.difference(claimed)
    if (open.size === 0 || late === 'leave') break
    await claims.pause()
  }
  for (const hashed of open) left.add(hashed)
  return { refusals, left, registered, open }
}

const LATE = 'late'

const NOBODY: ReadonlySet<string> = new Set()

/** Hashed references of the people of outcomes, and of people whom the gateway refuses. */
function peopleOf(
  identity: Identity,
  outcomes: readonly EntryOutcome[],
): { all: ReadonlySet<string>; refused: ReadonlySet<string> } {
  const people = { all: new Set<string>(), refused: new Set<string>() }
  for (const one of outcomes) {
    const { account } = one.entry
    if (account.type !== 'partnerAccountId') continue
    const hashed = identity.account(account)
    people.all.add(hashed)
    if (one.outcome === 'rejected' && one.reason.stage === 'register') people.refused.add(hashed)
  }
  return people
}

/** A person whom the ledger does not know. */
interface Missing {
  readonly entry: Entry
  readonly born: number | null
  readonly wasForgotten: boolean
}

/** Registers a person, or joins the registration that an earlier chunk began. */
async function startRegistering(
  context: AccountsContext,
  hashed: string,
  person: Missing,
  late: 'leave' | 'await',
): Promise<KnownAccount | Reason | typeof LATE> {
  const begun = context.late.get(hashed)
  if (begun !== undefined && late === 'await') return begun
  const nextTurn = new Promise<typeof LATE>((resolve) => setImmediate(resolve, LATE))
  if (begun !== undefined) return Promise.race([begun, nextTurn])
  return new Promise((resolve, reject) => {
    const registering = registerOne(context, hashed, person, () => {
      context.late.set(hashed, registering)
      if (late === 'leave') resolve(LATE)
    })
    registering.then(resolve, reject)
  })
}

/** Tolerance: the instant of a date without a time may lie up to a day after the start of the day. */
export const DATE_ONLY_MS = 86_400_000

/**
 * Reads the profile of a person whom the gateway knows and the ledger does not, as after a lost ledger. `until` is now where the profile is
 * unreadable, shows a record of ours, or shows a record without an id, perhaps ours; else null.
 */
export async function perhapsSent(
  { reconciler, now }: Pick<AccountsContext, 'reconciler' | 'now'>,
  { account, sourceType: ours }: Entry,
): Promise<{ until: number | null; shown: readonly ShownRecord[] | undefined }> {
  const shown = await reconciler.profile(account)
  const isOurs = ({ persistentId, sourceType }: ShownRecord): boolean =>
    persistentId === undefined
      ? (sourceType ?? ours) === ours
      : parseTransactionId(persistentId) !== undefined
  return { until: shown === undefined || shown.some(isOurs) ? now() : null, shown }
}

export function registrationOf(entry: Entry): Registration | Reason {
  const draft = entry.row.register()
  if (draft === undefined)
    return ownReason(
      'register',
      'account-unknown',
      'the ledger does not know the person, and the mapping has no account.register',
    )
  if (draft.ok) return draft.registration
  const { code, message, field } = draft.issue
  return { ...ownReason('register', code, message), ...(field === undefined ? {} : { field }) }
}

const canRegister = (entry: Entry): boolean => !('stage' in registrationOf(entry))

/** Registers a person. With `wasForgotten`, the gateway may have records of theirs. */
async function registerOne(
  context: AccountsContext,
  reference: string,
  { entry, wasForgotten, born }: Missing,
  isLate: () => void,
): Promise<KnownAccount | Reason> {
  const registration = registrationOf(entry)
  if ('stage' in registration) return registration
  const save = (account: KnownAccount): Promise<void> =>
    context.runLedger.saveAccounts(context.gatewayName, [account], context.now())
  const account = await orRefusal(
    context.sending.register(
      'register account',
      async (): Promise<KnownAccount> => {
        const { accountId = null, known } = await context.gateway.accounts.register({ ...registration })
        const named = nameIn(context.identity, reference, entry.row.name())
        if (!known) context.tallies.accounts.registered++
        return { reference, accountId, isNew: !known, sentBefore: null, born, named }
      },
      isLate,
    ),
  )
  if (account instanceof GatewayError) {
    if (account.class !== 'ambiguous')
      return { stage: 'register', code: 'registration-refused', ...messageOf(refusalWords(account), entry) }
    const answer = account.status === undefined ? 'no answer' : `HTTP ${account.status}`
    const words = messageOf({ ours: `${answer} on every try; other requests succeed` }, entry)
    return { stage: 'register', code: 'registration-fails', ...words }
  }
  if (account.isNew && !wasForgotten) {
    // Committed with the count of the request that leaves next: after a kill, the ledger lacks only requests in flight.
    await save(account)
    return account
  }
  const { until } = await perhapsSent(context, entry)
  const known = { ...account, isNew: account.isNew === true && until === null, sentBefore: until }
  await save(known)
  return known
}

export interface LoadedRoster extends Pick<ResolvedAccounts, 'names'> {
  readonly outcomes: readonly EntryOutcome[]
  readonly accounts: ResolvedAccounts['counts']
}

/** @param resumed true where an earlier process may have registered some of the people. @throws WaybillError where the run must stop */
export async function loadRoster(
  context: AccountsContext,
  entries: readonly Entry[],
  resumed: boolean,
): Promise<LoadedRoster> {
  const accounts = await resolveAccounts(context, entries, 'await', resumed ? [] : undefined)
  const { ledger, gatewayName, identity } = context
  const hashes = entries.map((entry) => identity.account(entry.account))
  const known = await ledger.people.accounts(gatewayName, [...new Set(hashes)])
  const counted = new Set<string>()
  const outcomes = entries.map((entry, at): EntryOutcome => {
    const { account } = entry
    const hashed = hashes[at] ?? ''
    const reason = accounts.refusalOf(entry)
    if (reason !== undefined) return { entry, outcome: 'rejected', batchId: null, reason }
    if (account.type === 'partnerAccountId' && !known.has(hashed))
      return { entry, outcome: 'rejected', batchId: null, reason: NOT_REGISTERED }
    // Only the first row of a person counts as the registration.
    if (!accounts.isNew(entry) || counted.has(hashed)) return { entry, outcome: 'unchanged' }
    counted.add(hashed)
    const gatewayId = accounts.accountIds(account)
    return {
      entry,
      outcome: 'accepted',
      batchId: null,
      status: null,
      ...(gatewayId === undefined ? {} : { gatewayId }),
    }
  })
  return { outcomes, accounts: accounts.counts, names: accounts.names }
}

const REFERENCE_SHARED = ownReason(
  'register',
  'reference-shared',
  "not sent: exports give several birth dates for the person's reference, so several people share it",
)

const NOT_REGISTERED = ownReason(
  'register',
  'account-unknown',
  'the person is not registered, and the job registers nobody',
)
