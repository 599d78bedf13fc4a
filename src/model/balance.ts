/**
 * The balance: rows read = mapped + skipped + rejected; records made = accepted + rejected + unchanged + in doubt + pending.
 * Pure.
 */
import { z } from 'zod'
import type { MappedRow, RowOutcome, SkippedRow } from './entry.ts'
import { WaybillError } from './errors.ts'
import type { EntryOutcome } from './outcome.ts'
import { isOfProfile, RECORD_KINDS, type RecordKind } from './record.ts'

export interface RowCounts {
  read: number
  mapped: number
  skipped: number
  rejected: number
  /** Of those mapped: rows whose key was known with other content. */
  corrected: number
}

export interface RecordCounts {
  made: number
  accepted: number
  rejected: number
  unchanged: number
  inDoubt: number
  pending: number
}

/** What became of the people of whom something was to be collected. */
export interface PeopleCounts {
  asked: number
  collected: number
  /** As they were the last time, where a job collects what has changed. */
  unchanged: number
  /** The gateway has nothing of them. */
  none: number
  refused: number
  pending: number
}

export interface Counts {
  readonly rows: RowCounts
  readonly records: Readonly<Record<RecordKind, RecordCounts>>
  /** Of a run that collects alone. */
  people?: PeopleCounts
  /** What checks have found in rows and records that went on all the same: code → how often. */
  readonly warnings: Record<string, number>
  /** What the mapping left out on purpose, of whole rows and within rows that gave records: why → how often. */
  readonly leftOut: Record<string, number>
}

/** Stands for codes that are no token, and for those beyond what counts can hold. */
export const OTHER_CODES = 'other codes'

/** Different reasons that counts hold at most: a column of free text must not grow them without bound. */
const REASONS_KEPT = 200

const noRecords = (): RecordCounts => ({
  made: 0,
  accepted: 0,
  rejected: 0,
  unchanged: 0,
  inDoubt: 0,
  pending: 0,
})

/** A value for each kind of record. */
export const byKind = <Value>(make: (kind: RecordKind) => Value): Record<RecordKind, Value> =>
  Object.fromEntries(RECORD_KINDS.map((kind) => [kind, make(kind)])) as Record<RecordKind, Value>

/** Those that a table shows: what a profile holds where there is any of it, and what else was made. */
export function kindsShown({ records }: Pick<Counts, 'records'>): RecordKind[] {
  const isMade = (kind: RecordKind): boolean => records[kind].made > 0
  const hasProfile = RECORD_KINDS.some((kind) => isOfProfile(kind) && isMade(kind))
  return RECORD_KINDS.filter((kind) => isMade(kind) || (hasProfile && isOfProfile(kind)))
}

export const noCounts = (): Counts => ({
  rows: { read: 0, mapped: 0, skipped: 0, rejected: 0, corrected: 0 },
  records: byKind(noRecords),
  warnings: {},
  leftOut: {},
})

export const noPeople = (): PeopleCounts => ({
  ...{ asked: 0, collected: 0, unchanged: 0, none: 0, refused: 0, pending: 0 },
})

/** Adds the second to the first. */
export function addCounts(total: Counts, more: Counts): void {
  addTo(total.rows, more.rows)
  for (const kind of RECORD_KINDS) addTo(total.records[kind], more.records[kind])
  if (more.people !== undefined) {
    total.people ??= noPeople()
    addTo(total.people, more.people)
  }
  addTo(total.warnings, more.warnings)
  for (const [why, count] of Object.entries(more.leftOut)) addLeftOut(total, why, count)
}

function addLeftOut({ leftOut }: Pick<Counts, 'leftOut'>, why: string, count: number): void {
  const kept = Object.hasOwn(leftOut, why) || Object.keys(leftOut).length < REASONS_KEPT ? why : OTHER_CODES
  leftOut[kept] = (leftOut[kept] ?? 0) + count
}

function addTo<T extends object>(total: T, more: T): void {
  for (const key of Object.keys(more) as (keyof T)[]) {
    const sum = Number(total[key] ?? 0) + Number(more[key])
    Object.assign(total, { [key]: sum })
  }
}

export function isBalanced({ rows, records, people }: Pick<Counts, 'rows' | 'records' | 'people'>): boolean {
  return (
    (people === undefined ||
      people.asked === people.collected + people.unchanged + people.none + people.refused + people.pending) &&
    rows.read === rows.mapped + rows.skipped + rows.rejected &&
    RECORD_KINDS.every((kind) => {
      const { made, accepted, rejected, unchanged, inDoubt, pending } = records[kind]
      // A record with two outcomes would make it negative.
      return pending >= 0 && made === accepted + rejected + unchanged + inDoubt + pending
    })
  )
}

/** Counts what the mapping left out of a row. */
export function countLeftOut(counts: Pick<Counts, 'leftOut'>, row: MappedRow | SkippedRow): void {
  for (const why of row.leftOut) addLeftOut(counts, why, 1)
}

/** What is said of a run. @param soFar whether it has not come to its end */
export function balanceWords({
  balanced,
  soFar,
}: {
  readonly balanced: boolean
  readonly soFar?: true
}): string {
  if (!balanced) return 'NOT BALANCED: this is a defect; keep the ledger and report it.'
  if (soFar)
    return 'Balanced so far: every row and every record that is counted has exactly one outcome; the run has not come to the end of its exports.'
  return 'Balanced: every row and every record has exactly one outcome.'
}

/** All kinds together. */
export function allRecords({ records }: Pick<Counts, 'records'>): RecordCounts {
  const total = noRecords()
  for (const kind of RECORD_KINDS) addTo(total, records[kind])
  return total
}

/** A code, and how often it was met. */
export interface CodeCount {
  readonly code: string
  readonly count: number
}

/** The warnings, most frequent first. */
export const warningCounts = ({ warnings }: Pick<Counts, 'warnings'>): CodeCount[] => mostFirst(warnings)

/** What was left out on purpose, most frequent first. */
export const leftOutCounts = ({ leftOut }: Pick<Counts, 'leftOut'>): CodeCount[] => mostFirst(leftOut)

const mostFirst = (counts: Readonly<Record<string, number>>): CodeCount[] =>
  Object.entries(counts)
    .map(([code, count]) => ({ code, count }))
    .sort((a, b) => b.count - a.count)

/** @throws WaybillError `not-balanced` */
export function assertBalanced(counts: Counts, what: string): void {
  if (!isBalanced(counts)) {
    throw new WaybillError('not-balanced', `${what} does not balance: ${JSON.stringify(counts)}`)
  }
}

/**
 * Counts what became of a chunk's rows and records.
 * @param outcomes of the chunk's records; a record without one is pending
 */
export function countChunk(
  rows: readonly { readonly outcome: RowOutcome }[],
  outcomes: readonly EntryOutcome[],
  rowsCorrected: number,
): Counts {
  const counts = noCounts()
  counts.rows.corrected = rowsCorrected
  for (const { outcome } of rows) {
    counts.rows.read++
    counts.rows[outcome.outcome]++
    if (outcome.outcome === 'rejected') continue
    for (const { issue } of outcome.warnings)
      counts.warnings[issue.code] = (counts.warnings[issue.code] ?? 0) + 1
    countLeftOut(counts, outcome)
    if (outcome.outcome === 'skipped') continue
    countKinds(counts, outcome.records)
    for (const { kind } of outcome.rejected) {
      counts.records[kind].made++
      counts.records[kind].rejected++
    }
  }
  countOutcomes(counts, outcomes)
  return counts
}

// Records of a kind follow each other: what is counted for each of them is looked up once for all of these.

function countKinds({ records }: Counts, made: readonly { readonly kind: RecordKind }[]): void {
  let kind: RecordKind | undefined
  let counts: RecordCounts | undefined
  for (let at = 0; at < made.length; at++) {
    const one = made[at]
    if (one === undefined) continue
    if (counts === undefined || one.kind !== kind) {
      kind = one.kind
      counts = records[kind]
    }
    counts.made++
    counts.pending++
  }
}

function countOutcomes({ records, warnings }: Counts, outcomes: readonly EntryOutcome[]): void {
  let kind: RecordKind | undefined
  let counts: RecordCounts | undefined
  for (let at = 0; at < outcomes.length; at++) {
    const one = outcomes[at]
    if (one === undefined) continue
    if (counts === undefined || one.entry.kind !== kind) {
      kind = one.entry.kind
      counts = records[kind]
    }
    counts.pending--
    counts[one.outcome === 'in-doubt' ? 'inDoubt' : one.outcome]++
    if (one.outcome === 'unchanged' && one.passedOver !== undefined)
      warnings[one.passedOver] = (warnings[one.passedOver] ?? 0) + 1
  }
}

const count = z.int()
const RecordCountsText = z.object({
  made: count,
  accepted: count,
  rejected: count,
  unchanged: count,
  inDoubt: count,
  pending: count,
})
const CountsText = z.object({
  rows: z.object({ read: count, mapped: count, skipped: count, rejected: count, corrected: count }),
  records: z.object(byKind(() => RecordCountsText.prefault(noRecords))),
  people: z
    .object({ asked: count, collected: count, unchanged: count, none: count, refused: count, pending: count })
    .optional(),
  warnings: z.record(z.string(), count),
  /** Earlier versions did not count it. */
  leftOut: z.record(z.string(), count).default({}),
})

/** Counts as the ledger keeps them: JSON. @throws ZodError */
export function readCounts(text: string | null): Counts {
  if (text === null) return noCounts()
  const { people, ...counts } = CountsText.parse(JSON.parse(text))
  return { ...counts, ...(people === undefined ? {} : { people }) }
}
