/**
 * The wanted state of an account's care team: from what a chunk's entries say, what the account has and what the ledger knows follow the
 * entries to create, and the mark; what goes for them is in care-team-deletions.ts. Asked again once the entries are created, it gives what
 * is left to do. Pure; the rules are in docs/delivery.md.
 *
 * A provider is known by the hash of its NPI, an entry by the fields that are sent (interface, "Care team record, as sent"): dates and
 * source do not make it another.
 */
import { z } from 'zod'
import { documented } from '../gateway/contract/shared-objects.ts'
import type { KnownCareTeam } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import type { PassedOver } from '../model/outcome.ts'
import { recordText } from './batch-text.ts'

/** What is done with an entry whose NPI the account has with other fields. */
export type ChangedCareTeam = 'add' | 'replace' | 'keep'

/** By the job. */
export interface CareTeamRules {
  readonly changed: ChangedCareTeam
  /** What is done with an entry that a later export no longer lists. */
  readonly missing: 'keep' | 'delete'
}

/** A field of another type than documented is none that was sent: it counts as not there. */
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

/** Of a record as sent, or as listed. */
export const fieldsOf = (record: unknown): CareTeamFields => Fields.parse(record)
export const fieldsSent = (entry: Entry): CareTeamFields => fieldsOf(JSON.parse(recordText(entry, '')))

/** What was not sent is the gateway's own affair. */
export const isSame = (sent: CareTeamFields, stored: CareTeamFields): boolean =>
  COMPARED.every((key) => sent[key] === undefined || sent[key] === stored[key])

/** Our id in what is listed, where the gateway keeps it. */
const Ours = z.object({ source: z.object({ meta: z.object({ persistentRecordId: z.string() }) }) })
export const oursOf = (record: unknown): string | undefined =>
  documented(Ours, record)?.source.meta.persistentRecordId

/** What the chunk says. */
export interface WantedCareTeam {
  readonly entry: Entry
  /** Hash of the NPI. */
  readonly npi: string
  readonly fields: CareTeamFields
  /**
   * `open`: it has no outcome yet. `stored`: the gateway took it, as this chunk has learned. `delivered`: an earlier chunk or run has
   * settled it, mark and all. `doubtful`: nobody can tell.
   */
  readonly status: 'open' | 'stored' | 'delivered' | 'doubtful'
  /** `placeOfWord`. */
  readonly place: number
  /** Whether what it says of the mark was heard before. */
  readonly isHeard: boolean
}

/** More rows than an export has. */
const ROWS = 2 ** 31

/**
 * Of two rows of the same date the later one counts, in whatever order they are read again.
 * @param arrival of the export: a later one has a higher number
 * @param row of its rows
 */
export const placeOfWord = (arrival: number, row: number): number => arrival * ROWS + row

/** Whether a word was heard, of a row that brings nothing new: it was delivered before, or is passed over again. */
export const wasHeard = (
  known: readonly KnownCareTeam[],
  { npi, at, place }: { readonly npi: string; readonly at: number; readonly place: number },
): boolean => known.some((one) => one.npi === npi && one.observedAt >= at && one.heardAt >= place)

/** What the account has. */
export interface HadCareTeam {
  /** The gateway's id, by its list or its answer. */
  readonly id: string | undefined
  /** Whether a list shows it: an answer alone is no ground to delete another one. */
  readonly isListed: boolean
  readonly npi: string
  readonly fields: CareTeamFields
  /** By list or ledger, whichever is later; milliseconds since the epoch. Undefined where neither tells it. */
  readonly observedAt: number | undefined
  /** By the list alone. */
  readonly listedAt: number | undefined
  readonly isMarked: boolean
  /** `source.meta.persistentRecordId`, where the gateway keeps it. */
  readonly ours: string | undefined
}

export interface CareTeamAccount {
  /** Of one account, in the order of the rows; nothing that was rejected. */
  readonly wanted: readonly WantedCareTeam[]
  readonly has: readonly HadCareTeam[]
  readonly known: readonly KnownCareTeam[]
}

/** What becomes of an open entry. */
export type CareTeamStep =
  | { readonly step: 'create' }
  /** The account has it. */
  | { readonly step: 'known' }
  /** It is the same as another one of the chunk, and shares its fate. */
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
  /** It bears the mark already. */
  | { readonly step: 'marked'; readonly npi: string }
  /** Nobody knows yet whether the entry is there. */
  | { readonly step: 'wait'; readonly npi: string; readonly entry?: Entry }

export interface CareTeamPlan {
  readonly steps: ReadonlyMap<Entry, CareTeamStep>
  readonly mark: MarkStep
  /** Providers of whom it was said last that they are not, or no longer, the primary care physician. */
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

/** Newest first; of equal dates the later row. */
const newestFirst = (wanted: readonly WantedCareTeam[]): WantedCareTeam[] =>
  wanted.toReversed().toSorted((a, b) => b.entry.observedAt - a.entry.observedAt)

const known = (fields: CareTeamFields, has: readonly HadCareTeam[]): boolean =>
  has.some((one) => isSame(fields, one.fields))

/** Every entry that differs in a field is wanted, and created once. */
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

/** The newest is wanted alone. */
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

/** What is there of the NPI stays; of an NPI that is not there the newest is wanted. */
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

/** The entries of the newest row: a provider may stand in a row twice, with two types. */
export function newestRow(wanted: readonly WantedCareTeam[]): WantedCareTeam[] {
  const [newest] = newestFirst(wanted)
  if (newest === undefined) return []
  const { row, observedAt } = newest.entry
  return wanted.filter(({ entry }) => entry.row.row === row.row && entry.observedAt === observedAt)
}

/** Whether the account has another entry of the NPI that is newer. */
export function isOutdated(kept: readonly WantedCareTeam[], has: readonly HadCareTeam[]): boolean {
  const at = kept[0]?.entry.observedAt ?? Number.NEGATIVE_INFINITY
  return has.some(
    ({ observedAt, fields }) => (observedAt ?? at) > at && !kept.some((one) => isSame(one.fields, fields)),
  )
}

/** That a provider is, or is no longer, the primary care physician. */
interface Statement {
  readonly npi: string
  readonly at: number
  /** Of equal dates the higher one counts. */
  readonly order: number
  readonly isPrimary: boolean
  readonly from: 'chunk' | 'ledger' | 'list'
  readonly wanted?: WantedCareTeam
}

/**
 * Who bears the mark follows from all that was said, in the order of its dates: that a provider is the primary one takes the mark from
 * every other (interface, "Care team PCP flag"); that the bearer is no longer it leaves nobody with it. It stays where a newer entry bears
 * it, whoever set it.
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
  { npi, from, wanted: said }: Statement,
  has: readonly HadCareTeam[],
  ledger: readonly KnownCareTeam[],
): MarkStep {
  if (from === 'list')
    return ledger.some((one) => one.npi === npi) ? { step: 'marked', npi } : { step: 'none' }
  const ofProvider = has.filter((one) => one.npi === npi)
  const target = said === undefined ? undefined : ofProvider.find((one) => isSame(said.fields, one.fields))
  const had = target ?? ofProvider.find(({ isMarked }) => isMarked) ?? ofProvider[0]
  if (had?.isMarked === true) return { step: 'marked', npi }
  if (from === 'ledger' && ledger.some((one) => one.npi === npi && one.mark === 'set'))
    return { step: 'none' }
  const entry = said === undefined ? {} : { entry: said.entry }
  if (had === undefined || (said?.status === 'doubtful' && target === undefined))
    return { step: 'wait', npi, ...entry }
  return { step: 'mark', npi, had, ...entry }
}

/**
 * Nobody is to bear the mark: whoever does loses it, also one from whom another had taken it in between.
 * @param cleared what has taken the mark from its last bearer
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
    // The ledger knows what came of it.
    if (primary === undefined || one.isHeard) continue
    yield { npi: one.npi, at, order, isPrimary: primary, from: 'chunk', wanted: one }
  }
}

/** Of one row, that it is primary counts: a provider may stand there a second time, in another part. */
function inOrder(one: Statement, other: Statement): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  const sameRow = one.wanted !== undefined && one.wanted.entry.row.row === other.wanted?.entry.row.row
  if (sameRow && one.isPrimary !== other.isPrimary) return one.isPrimary ? 1 : -1
  return one.order - other.order
}
