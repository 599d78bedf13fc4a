/**
 * Wanted state of an account's care team. Derives the entries to create, and the mark, from a chunk's entries, the account's entries and the ledger;
 * care-team-deletions.ts derives the deletions. Called again after the entries are created, it returns the remaining steps. Pure; the rules are in
 * docs/delivery.md.
 * The hash of the NPI identifies a provider, and the sent fields identify an entry (interface, "Care team record, as sent"): dates and source make no
 * difference.
 */
import { z } from 'zod'
import { documented } from '../gateway/contract/shared-objects.ts'
import type { KnownCareTeam } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import type { PassedOver } from '../model/outcome.ts'
import { recordText } from './batch-text.ts'

/** Handling of an entry whose NPI the account has with different fields. */
export type ChangedCareTeam = 'add' | 'replace' | 'keep'

/** Rules of the job. */
export interface CareTeamRules {
  readonly changed: ChangedCareTeam
  /** Handling of an entry that a later export no longer lists. */
  readonly missing: 'keep' | 'delete'
}

/** Field of text. A value of an undocumented type was never sent, and counts as absent. */
const text = z.string().optional().catch(undefined)
const Fields = z.object({
  npi: text,
  name: text,
  type: text,
  address: text,
  city: text,
  zip: text,
  phoneNumber: text,
  location: text,
  profile: text,
})
export type CareTeamFields = z.infer<typeof Fields>
const COMPARED = Fields.keyof().options

/** Fields of a record as sent or as listed. */
export const fieldsOf = (record: unknown): CareTeamFields => Fields.parse(record)
export const fieldsSent = (entry: Entry): CareTeamFields => fieldsOf(JSON.parse(recordText(entry, '')))

/** Compares sent fields alone: the gateway may fill in the rest. */
export const isSame = (sent: CareTeamFields, stored: CareTeamFields): boolean =>
  COMPARED.every((key) => sent[key] === undefined || sent[key] === stored[key])

/** Our id in a listed entry, where the gateway keeps it. */
const Ours = z.object({ source: z.object({ meta: z.object({ persistentRecordId: z.string() }) }) })
export const oursOf = (record: unknown): string | undefined =>
  documented(Ours, record)?.source.meta.persistentRecordId

/** Entry of the chunk. */
export interface WantedCareTeam {
  readonly entry: Entry
  /** Hash of the NPI. */
  readonly npi: string
  readonly fields: CareTeamFields
  /**
   * `open`: no outcome yet. `stored`: the gateway took the entry, as this chunk has learned. `delivered`: settled with its mark by an earlier chunk
   * or run. `doubtful`: unknown.
   */
  readonly status: 'open' | 'stored' | 'delivered' | 'doubtful'
  /** Place by `placeOfWord`. */
  readonly place: number
  /** True where the entry's statement on the mark was heard before. */
  readonly isHeard: boolean
}

/** More rows than an export has. */
const ROWS = 2 ** 31

/**
 * Order of rows of the same date: the later one counts, in whatever order exports are read again.
 * @param arrival of the export: a later export has a higher number
 * @param row in the export
 */
export const placeOfWord = (arrival: number, row: number): number => arrival * ROWS + row

/** True where a row without news was heard before: delivered before, or passed over again. */
export const wasHeard = (
  known: readonly KnownCareTeam[],
  { npi, at, place }: { readonly npi: string; readonly at: number; readonly place: number },
): boolean => known.some((one) => one.npi === npi && one.observedAt >= at && one.heardAt >= place)

/** Entry of the account. */
export interface HadCareTeam {
  /** The gateway's id, by its list or its answer. */
  readonly id: string | undefined
  /** True where a list shows the entry: an answer alone does not justify a deletion. */
  readonly isListed: boolean
  readonly npi: string
  readonly fields: CareTeamFields
  /** Later date of list and ledger, milliseconds since the epoch; undefined where both lack one. */
  readonly observedAt: number | undefined
  /** Date in the list alone. */
  readonly listedAt: number | undefined
  readonly isMarked: boolean
  /** `source.meta.persistentRecordId`, where the gateway keeps it. */
  readonly ours: string | undefined
}

export interface CareTeamAccount {
  /** Entries of one account, in the order of the rows, without rejected ones. */
  readonly wanted: readonly WantedCareTeam[]
  readonly has: readonly HadCareTeam[]
  readonly known: readonly KnownCareTeam[]
}

/** Step for an open entry. */
export type CareTeamStep =
  | { readonly step: 'create' }
  /** The account has the entry. */
  | { readonly step: 'known' }
  /** An equal entry of the chunk decides the outcome. */
  | { readonly step: 'share'; readonly first: Entry }
  | { readonly step: 'omit'; readonly why: PassedOver }

export type MarkStep =
  | { readonly step: 'none' }
  /** `had`: the entry to mark. */
  | {
      readonly step: 'mark' | 'unmark'
      readonly npi: string
      readonly had: HadCareTeam
      readonly entry?: Entry
    }
  /** The entry bears the mark already. */
  | { readonly step: 'marked'; readonly npi: string }
  /** Unknown yet whether the entry is stored. */
  | { readonly step: 'wait'; readonly npi: string; readonly entry?: Entry }

export interface CareTeamPlan {
  readonly steps: ReadonlyMap<Entry, CareTeamStep>
  readonly mark: MarkStep
  /** Providers last reported as not, or no longer, the primary care physician. */
  readonly withdrawn: ReadonlySet<string>
}

export function planCareTeam(account: CareTeamAccount, changed: ChangedCareTeam): CareTeamPlan {
  const steps = new Map<Entry, CareTeamStep>()
  for (const [npi, wanted] of Map.groupBy(account.wanted, (one) => one.npi)) {
    const has = account.has.filter((one) => one.npi === npi)
    for (const [entry, step] of PLANS[changed](wanted, has)) steps.set(entry, step)
  }
  return { steps, ...planMark(account) }
}

type Steps = [Entry, CareTeamStep][]
type PlanOfProvider = (wanted: readonly WantedCareTeam[], has: readonly HadCareTeam[]) => Steps

const opened = (wanted: readonly WantedCareTeam[]): WantedCareTeam[] =>
  wanted.filter(({ status }) => status === 'open')

/** Newest first; for equal dates the later row first. */
const newestFirst = (wanted: readonly WantedCareTeam[]): WantedCareTeam[] =>
  wanted.toReversed().toSorted((a, b) => b.entry.observedAt - a.entry.observedAt)

const known = (fields: CareTeamFields, has: readonly HadCareTeam[]): boolean =>
  has.some((one) => isSame(fields, one.fields))

/** Creates every entry that differs in a field, once. */
const addAll: PlanOfProvider = (wanted, has) => {
  const doubtful = wanted.filter(({ status }) => status === 'doubtful')
  const created: WantedCareTeam[] = []
  return newestFirst(opened(wanted)).map((one): [Entry, CareTeamStep] => {
    if (known(one.fields, has)) return [one.entry, { step: 'known' }]
    const first = [...doubtful, ...created].find((other) => isSame(one.fields, other.fields))
    if (first !== undefined) return [one.entry, { step: 'share', first: first.entry }]
    created.push(one)
    return [one.entry, { step: 'create' }]
  })
}

/** Wants the entries of the newest row alone. */
const replaceOlder: PlanOfProvider = (wanted, has) => {
  const kept = newestRow(wanted)
  const newer = isOutdated(kept, has)
  const steps = new Map(newer ? [] : addAll(kept, has))
  return opened(wanted).map((one): [Entry, CareTeamStep] => {
    const own = steps.get(one.entry)
    if (own !== undefined) return [one.entry, own]
    if (newer && kept.includes(one) && known(one.fields, has)) return [one.entry, { step: 'known' }]
    const same = newer ? undefined : kept.find((other) => isSame(one.fields, other.fields))
    if (same === undefined) return [one.entry, { step: 'omit', why: 'care-team-outdated' }]
    const shared = steps.get(same.entry)
    const isShared = shared?.step === 'create' || same.status === 'doubtful'
    return [one.entry, isShared ? { step: 'share', first: same.entry } : (shared ?? KNOWN)]
  })
}

const KNOWN: CareTeamStep = { step: 'known' }

/** Keeps the account's entries of an NPI; creates the newest entry of an absent NPI. */
const keepFirst: PlanOfProvider = (wanted, has) => {
  const there = has.length > 0 || wanted.some(({ status }) => status !== 'open')
  const [newest, ...others] = newestFirst(opened(wanted))
  const created = there || newest === undefined ? [] : [newest]
  const rest = there ? opened(wanted) : others
  return [
    ...created.map(({ entry }): [Entry, CareTeamStep] => [entry, { step: 'create' }]),
    ...rest.map((one): [Entry, CareTeamStep] => {
      if (known(one.fields, has)) return [one.entry, KNOWN]
      const same = [...created, ...wanted.filter(({ status }) => status === 'doubtful')].find((other) =>
        isSame(one.fields, other.fields),
      )
      if (same !== undefined) return [one.entry, { step: 'share', first: same.entry }]
      return [one.entry, { step: 'omit', why: 'care-team-kept' }]
    }),
  ]
}

const PLANS: Readonly<Record<ChangedCareTeam, PlanOfProvider>> = {
  add: addAll,
  replace: replaceOlder,
  keep: keepFirst,
}

/** Entries of the newest row: a provider may appear twice in a row, with two types. */
export function newestRow(wanted: readonly WantedCareTeam[]): WantedCareTeam[] {
  const [newest] = newestFirst(wanted)
  if (newest === undefined) return []
  const { row, observedAt } = newest.entry
  return wanted.filter(({ entry }) => entry.row.row === row.row && entry.observedAt === observedAt)
}

/** True where the account has a newer, different entry of the NPI. */
export function isOutdated(kept: readonly WantedCareTeam[], has: readonly HadCareTeam[]): boolean {
  const at = kept[0]?.entry.observedAt ?? Number.NEGATIVE_INFINITY
  return has.some(
    ({ observedAt, fields }) => (observedAt ?? at) > at && !kept.some((one) => isSame(one.fields, fields)),
  )
}

/** Statement that a provider is, or is no longer, the primary care physician. */
interface Statement {
  readonly npi: string
  readonly at: number
  /** Order for equal dates: the higher number counts. */
  readonly order: number
  readonly isPrimary: boolean
  readonly from: 'chunk' | 'ledger' | 'list'
  readonly wanted?: WantedCareTeam
}

/**
 * Finds the bearer of the mark from all statements, by date. A statement that a provider is primary takes the mark from every other provider
 * (interface, "Care team PCP flag"). A statement that the bearer is no longer primary leaves nobody with the mark. The mark stays on a newer entry
 * that bears it, whoever set it.
 */
function planMark({ wanted, has, known: ledger }: CareTeamAccount): Pick<CareTeamPlan, 'mark' | 'withdrawn'> {
  let bearer: Statement | undefined
  let cleared: Statement | undefined
  const withdrawn = new Set<string>()
  for (const statement of [...statements(wanted, has, ledger)].sort(inOrder)) {
    const { npi, isPrimary } = statement
    if (isPrimary) {
      withdrawn.delete(npi)
      bearer = statement
    } else {
      withdrawn.add(npi)
      if (bearer?.npi !== npi) continue
      bearer = undefined
      cleared = statement
    }
  }
  const mark = bearer === undefined ? planUnmark(cleared, has, ledger) : planBearer(bearer, has, ledger)
  return { mark, withdrawn }
}

function planBearer(
  { npi, from, wanted }: Statement,
  has: readonly HadCareTeam[],
  ledger: readonly KnownCareTeam[],
): MarkStep {
  if (from === 'list')
    return ledger.some((one) => one.npi === npi) ? { step: 'marked', npi } : { step: 'none' }
  const ofProvider = has.filter((one) => one.npi === npi)
  const target =
    wanted === undefined ? undefined : ofProvider.find((one) => isSame(wanted.fields, one.fields))
  const had = target ?? ofProvider.find(({ isMarked }) => isMarked) ?? ofProvider[0]
  if (had?.isMarked === true) return { step: 'marked', npi }
  if (from === 'ledger' && ledger.some((one) => one.npi === npi && one.mark === 'set'))
    return { step: 'none' }
  const entry = wanted === undefined ? {} : { entry: wanted.entry }
  if (had === undefined || (wanted?.status === 'doubtful' && target === undefined))
    return { step: 'wait', npi, ...entry }
  return { step: 'mark', npi, had, ...entry }
}

/**
 * Removes the mark where nobody is to bear it, also from a provider who lost it to somebody else in between.
 * @param cleared statement that took the mark from its last bearer
 */
function planUnmark(
  cleared: Statement | undefined,
  has: readonly HadCareTeam[],
  ledger: readonly KnownCareTeam[],
): MarkStep {
  const bearing = new Set(
    ledger.flatMap(({ npi, mark }) =>
      mark === 'to-unset' || (mark === 'set' && cleared !== undefined) ? [npi] : [],
    ),
  )
  const marked =
    cleared === undefined && bearing.size === 0 ? undefined : has.find(({ isMarked }) => isMarked)
  const had = marked ?? has.find(({ npi }) => bearing.has(npi))
  if (had === undefined) return { step: 'none' }
  const entry = cleared?.wanted?.entry
  return { step: 'unmark', npi: had.npi, had, ...(entry === undefined ? {} : { entry }) }
}

function* statements(
  wanted: readonly WantedCareTeam[],
  has: readonly HadCareTeam[],
  ledger: readonly KnownCareTeam[],
): Generator<Statement> {
  for (const { npi, isMarked, observedAt } of has)
    if (isMarked) yield { npi, at: observedAt ?? -Infinity, order: -2, isPrimary: true, from: 'list' }
  for (const { npi, observedAt: at, mark } of ledger) {
    if (mark === 'none') continue
    yield { npi, at, order: -1, isPrimary: mark === 'set' || mark === 'to-set', from: 'ledger' }
  }
  for (const [order, one] of wanted.entries()) {
    const { primary, observedAt: at } = one.entry
    // The ledger has the result of the statement.
    if (primary === undefined || one.isHeard) continue
    yield { npi: one.npi, at, order, isPrimary: primary, from: 'chunk', wanted: one }
  }
}

/** Order of statements. Within a row, the statement "primary" counts: a provider may appear a second time, in another part. */
function inOrder(one: Statement, other: Statement): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  const sameRow = one.wanted !== undefined && one.wanted.entry.row.row === other.wanted?.entry.row.row
  if (sameRow && one.isPrimary !== other.isPrimary) return one.isPrimary ? 1 : -1
  return one.order - other.order
}
