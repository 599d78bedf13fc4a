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
  /** Mapped rows whose key was known with different content. */
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

/** Outcomes of the people whose data a run was to collect. */
export interface PeopleCounts {
  asked: number
  collected: number
  /** Unchanged since the last run, where a job collects changes only. */
  unchanged: number
  /** The gateway holds no data of the person. */
  none: number
  refused: number
  pending: number
}

export interface Counts {
  readonly rows: RowCounts
  readonly records: Readonly<Record<RecordKind, RecordCounts>>
  /** Set only for a run that collects. */
  people?: PeopleCounts
  /** Problems that checks found in accepted rows and records: code → count. */
  readonly warnings: Record<string, number>
  /** Rows and values that the mapping leaves out on purpose: reason → count. */
  readonly leftOut: Record<string, number>
}

/** Replaces codes that are not tokens, and codes beyond the limit of a count. */
export const OTHER_CODES = 'other codes'

/** Limit of different reasons: a column of free text must not grow the counts without bound. */
const REASONS_KEPT = 200

const noRecords = (): RecordCounts => ({
  made: 0,
  accepted: 0,
  rejected: 0,
  unchanged: 0,
  inDoubt: 0,
  pending: 0,
})

/** Builds a value for each kind of record. */
export const byKind = <Value>(make: (kind: RecordKind) => Value): Record<RecordKind, Value> =>
  Object.fromEntries(RECORD_KINDS.map((kind) => [kind, make(kind)])) as Record<RecordKind, Value>

/** Returns the kinds to show in a table: every kind that was made, and all profile kinds if a profile record was made. */
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
  asked: 0,
  collected: 0,
  unchanged: 0,
  none: 0,
  refused: 0,
  pending: 0,
})

/** Adds the second counts to the first. */
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
      // A record with two outcomes would make `pending` negative.
      return pending >= 0 && made === accepted + rejected + unchanged + inDoubt + pending
    })
  )
}

/** Counts the values that the mapping leaves out of a row. */
export function countLeftOut(counts: Pick<Counts, 'leftOut'>, row: MappedRow | SkippedRow): void {
  for (const why of row.leftOut) addLeftOut(counts, why, 1)
}

/** Sentence on the balance of a run. @param soFar true if the run has not ended */
export function balanceWords({
  balanced,
  soFar,
}: {
  readonly balanced: boolean
  readonly soFar?: true
}): string {
  if (!balanced) return 'NOT BALANCED: this is a defect; keep the ledger and report it.'
  if (soFar)
    return 'Balanced so far: every counted row and record has exactly one outcome. The run has not reached the end of its exports.'
  return 'Balanced: every row and every record has exactly one outcome.'
}

/** Sum over all kinds. */
export function allRecords({ records }: Pick<Counts, 'records'>): RecordCounts {
  const total = noRecords()
  for (const kind of RECORD_KINDS) addTo(total, records[kind])
  return total
}

/** A code and the number of times a run met the code. */
export interface CodeCount {
  readonly code: string
  readonly count: number
}

/** Warnings, most frequent first. */
export const warningCounts = ({ warnings }: Pick<Counts, 'warnings'>): CodeCount[] => mostFirst(warnings)

/** Reasons for leaving rows or values out, most frequent first. */
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
 * Counts the outcomes of a chunk's rows and records.
 * @param outcomes of the chunk's records; a record without an outcome is pending
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
    if (outcome.known !== undefined) countKnown(counts, outcome.known)
    for (const { kind } of outcome.rejected) {
      counts.records[kind].made++
      counts.records[kind].rejected++
    }
  }
  countOutcomes(counts, outcomes)
  return counts
}

// Records of a kind follow each other: one look-up of the counts serves all of them.

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

function countKnown({ records }: Counts, { biometrics, conditions }: NonNullable<MappedRow['known']>): void {
  records.biometric.made += biometrics
  records.biometric.unchanged += biometrics
  records.condition.made += conditions
  records.condition.unchanged += conditions
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
  /** Absent in counts of earlier versions. */
  leftOut: z.record(z.string(), count).default({}),
})

/** Reads counts from the JSON text of the ledger. @throws ZodError */
export function readCounts(text: string | null): Counts {
  if (text === null) return noCounts()
  const { people, ...counts } = CountsText.parse(JSON.parse(text))
  return { ...counts, ...(people === undefined ? {} : { people }) }
}
