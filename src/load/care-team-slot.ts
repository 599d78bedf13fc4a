/**
 * Slot of one account's care team: wanted by the chunk, listed at the gateway, known to the ledger, owed. Reading order: this file,
 * care-team-decide.ts (slot → step), care-team-learn.ts (event → slot), care-team-work.ts (requests), care-teams.ts (a chunk), care-team-owed.ts (end
 * of a run).
 * The hash of the NPI identifies a provider, and the sent fields identify an entry (interface, "Care team record, as sent"): dates and source make no
 * difference.
 */
import { z } from 'zod'
import { type CareTeamMark, type KnownCareTeam, type OwedDeletion, UNDATED } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import { recordText } from './batch-text.ts'

/** Rules of the job. */
export interface CareTeamRules {
  /** Handling of an entry whose NPI the account has with different fields. */
  readonly changed: 'add' | 'replace' | 'keep'
  /** Handling of an entry that a later export no longer lists. */
  readonly missing: 'keep' | 'delete'
}

/** Rules of a job, and its id. */
export interface CareTeamJob extends CareTeamRules {
  readonly jobId: number
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
type CareTeamFields = z.infer<typeof Fields>
const COMPARED = Fields.keyof().options

/** Fields of a record as sent or as listed. */
export const fieldsOf = (record: unknown): CareTeamFields => Fields.parse(record)
export const fieldsSent = (entry: Entry): CareTeamFields => fieldsOf(JSON.parse(recordText(entry, '')))

interface WithFields {
  readonly fields: CareTeamFields
}

/** Compares sent fields alone: the gateway may fill in the rest. */
export const isSame = ({ fields: sent }: WithFields, { fields: stored }: WithFields): boolean =>
  COMPARED.every((key) => sent[key] === undefined || sent[key] === stored[key])

/** Entry of the chunk. */
export interface WantedCareTeam extends WithFields {
  readonly entry: Entry
  readonly npi: string
  /**
   * `open`: no outcome yet. `created`: the gateway took the entry in this chunk. `stored`: the gateway has the entry, as this chunk has learned.
   * `delivered`: settled with its mark by an earlier chunk or run. `doubtful`: unknown.
   */
  readonly status: 'open' | 'created' | 'stored' | 'delivered' | 'doubtful'
  /** The gateway's id of a created entry. */
  readonly id?: string | undefined
  /** Place by `placeOfWord`. */
  readonly place: number
  /** True where the entry's word on the mark was heard before. */
  readonly isHeard: boolean
  /** True where this run, or an earlier one of the job, may have sent the entry without the ledger's knowledge. */
  readonly isUncertain: boolean
}

/** Entry of the account. */
export interface HadCareTeam extends WithFields {
  /** The gateway's id, by its list or its answer. */
  readonly id: string | undefined
  /** True where a list shows the entry: an answer alone does not justify a deletion. */
  readonly isListed: boolean
  readonly npi: string
  /** Later date of list and ledger, milliseconds since the epoch; undefined where both lack one. */
  readonly observedAt: number | undefined
  /** Date in the list alone. */
  readonly listedAt: number | undefined
  /** Place of the entry with the ledger's date; 0 for another date. */
  readonly place: number
  readonly isMarked: boolean
  /** `source.meta.persistentRecordId`, where the gateway keeps it. */
  readonly ours: string | undefined
}

type DatedCareTeam = Pick<HadCareTeam, 'fields' | 'observedAt' | 'place'>

export interface CareTeam {
  /** Entries of the chunk, in the order of the rows, without rejected ones. Empty at the end of a run. */
  readonly wanted: readonly WantedCareTeam[]
  readonly listed: readonly HadCareTeam[] | 'unread' | 'unreadable'
  /** Time until which the list is sure to show all entries, milliseconds since the epoch. */
  readonly shownUntil: number
  /** Number of further reads of the list since the entries went out. */
  readonly looks: number
  /** Rows of the ledger before the work began. */
  readonly known: readonly KnownCareTeam[]
  /** Deletions and marks changed since, by the hash of the NPI. */
  readonly deletions: ReadonlyMap<string, readonly OwedDeletion[]>
  readonly marks: ReadonlyMap<string, CareTeamMark>
  /** Contents of records in doubt, as far as deletions and marks wait for them. */
  readonly doubts: ReadonlySet<string>
  readonly refused: ReadonlySet<string>
  /** True where another run may have sent entries, and nobody knows which. */
  readonly isAbandoned: boolean
  /** True where all debts of the job are due; false where a later row of the export may change them. */
  readonly isWhole: boolean
  /** True once the mark is dealt with. */
  readonly isMarkDone: boolean
}

/** @param inDoubt contents still in doubt; all contents that the rows wait for, where nothing else is known */
export const careTeamOf = (
  known: readonly KnownCareTeam[],
  { isWhole, inDoubt = waitedFor(known) }: { isWhole: boolean; inDoubt?: Iterable<string> },
): CareTeam => ({
  wanted: [],
  listed: 'unread',
  looks: 0,
  shownUntil: 0,
  known,
  isWhole,
  isAbandoned: false,
  isMarkDone: false,
  deletions: new Map(),
  marks: new Map(),
  refused: new Set(),
  doubts: new Set(inDoubt),
})

/** Contents of records that may be in doubt. */
export const waitedFor = (known: readonly KnownCareTeam[]): string[] =>
  known.flatMap(({ content, deletions }) => [
    ...(content === null ? [] : [content]),
    ...deletions.flatMap(({ inDoubt }) => inDoubt),
  ])

/** Entries of the account: listed, and accepted by the gateway but not listed yet. */
export function hadBy({ listed, wanted }: Pick<CareTeam, 'listed' | 'wanted'>): HadCareTeam[] {
  const has = typeof listed === 'string' ? [] : [...listed]
  for (const one of wanted) {
    if (one.status !== 'created' || has.some((had) => isSame(one, had))) continue
    const { id, npi, fields, place, entry } = one
    const own = { id, npi, fields, place, observedAt: entry.observedAt, ours: entry.transactionId }
    has.push({ ...own, isListed: false, listedAt: undefined, isMarked: false })
  }
  return has
}

/** Newest first; for equal dates the later row first. */
export const newestFirst = (wanted: readonly WantedCareTeam[]): WantedCareTeam[] =>
  wanted.toReversed().toSorted((a, b) => b.entry.observedAt - a.entry.observedAt)

/** Entries of the newest row: a provider may appear twice in a row, with two types. */
export function newestRow(wanted: readonly WantedCareTeam[]): WantedCareTeam[] {
  const [newest] = newestFirst(wanted)
  if (newest === undefined) return []
  const { row, observedAt } = newest.entry
  return wanted.filter(({ entry }) => entry.row.row === row.row && entry.observedAt === observedAt)
}

/** True where the account has a newer, different entry of the NPI. */
export const isOutdated = (kept: readonly WantedCareTeam[], has: readonly DatedCareTeam[]): boolean =>
  has.some((had) => isBehind(kept, had) && !kept.some((one) => isSame(one, had)))

/** True where the entry is newer than the row, or as new and of a later place: a refused row may be sent late. */
function isBehind([row]: readonly WantedCareTeam[], { observedAt, place }: DatedCareTeam): boolean {
  if (row === undefined || observedAt === undefined) return false
  const { observedAt: at } = row.entry
  return observedAt > at || (observedAt === at && place > row.place)
}

/** Row of an account without a word about a provider. */
export const NOTHING_SAID: Omit<KnownCareTeam, 'account' | 'npi' | 'accountId'> = {
  observedAt: UNDATED,
  storedAt: 0,
  heardAt: 0,
  place: 0,
  mark: 'none',
  content: null,
  deletions: [],
  markBy: null,
  deletionsBy: null,
}

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
  { npi, at, place }: { npi: string; at: number; place: number },
): boolean => known.some((one) => one.npi === npi && one.observedAt >= at && one.heardAt >= place)

export const isMarkOwed = ({ mark }: { mark: CareTeamMark }): boolean =>
  mark === 'to-set' || mark === 'to-unset'

/** True for a deletion without a replacement: an export no longer lists the entry. */
export const isMissing = ({ by }: OwedDeletion): boolean => by.length === 0

/** Checks for deletions that the job must carry out: only the owing job does, while its rules replace entries or delete missing ones. */
export const owesDeletion = (
  { deletions, deletionsBy }: Pick<KnownCareTeam, 'deletions' | 'deletionsBy'>,
  { changed, missing, jobId }: CareTeamJob,
): boolean =>
  deletionsBy === jobId &&
  deletions.some((one) => (isMissing(one) ? missing === 'delete' : changed === 'replace'))

export const owesMark = (
  known: Pick<KnownCareTeam, 'mark' | 'markBy'>,
  { jobId }: Pick<CareTeamJob, 'jobId'>,
): boolean => isMarkOwed(known) && known.markBy === jobId

export function rowNow(team: CareTeam, row: KnownCareTeam, jobId: number): KnownCareTeam {
  const mark = team.marks.get(row.npi)
  const deletions = team.deletions.get(row.npi)
  return {
    ...row,
    ...(mark === undefined ? {} : { mark, markBy: isMarkOwed({ mark }) ? jobId : null }),
    ...(deletions === undefined ? {} : { deletions, deletionsBy: deletions.length > 0 ? jobId : null }),
  }
}
