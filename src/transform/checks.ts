/**
 * Checks of a row's content (docs/mapping.md, "Checks"). By the mapping, a finding rejects the record or adds a warning, or the
 * check is off. Pure.
 */
import { z } from 'zod'
import type { Entry } from '../model/entry.ts'
import type { Issue, RecordKind, RejectedRecord, Warning } from '../model/record.ts'

const Effect = z.enum(['reject', 'warn', 'off'], 'is one of: reject, warn, off').default('reject')

/** `row.checks` of a mapping. */
export const Checks = z.strictObject({
  'plausible-range': Effect,
  'systolic-above-diastolic': Effect,
  'future-date': Effect,
  'before-birth': Effect,
  'loinc-check-digit': Effect,
  'snomed-check-digit': Effect,
  'npi-check-digit': Effect,
  'damaged-code': Effect,
  'damaged-key': Effect,
})
export type Checks = z.infer<typeof Checks>
export type Check = keyof Checks

const NONE: readonly Warning[] = []

/** Decides the effect of a finding, and keeps the warnings of the current row. */
export class Checker {
  readonly effects: Checks
  /** Last instant that is not in the future, in milliseconds. */
  latest = Number.POSITIVE_INFINITY
  #warnings: Warning[] = []

  constructor(effects: Checks = Checks.parse({})) {
    this.effects = effects
  }

  /** Clears the warnings of the previous row. */
  begin(): void {
    if (this.#warnings.length > 0) this.#warnings = []
  }

  /**
   * Applies the effect of a check to its finding.
   * @param kind null, and `rule` null: the finding concerns the row
   * @returns the issue if the record is to be rejected; undefined if it goes on
   */
  found(check: Check, kind: RecordKind | null, rule: string | null, issue: Issue): Issue | undefined {
    const effect = this.effects[check]
    if (effect === 'reject') return issue
    if (effect === 'warn') this.#warnings.push({ kind, rule, issue })
    return undefined
  }

  /** Adds a warning to the row, independent of the mapping's checks. */
  note(issue: Issue): void {
    this.#warnings.push({ kind: null, rule: null, issue })
  }

  /** Warnings of the row, without warnings of records that were rejected for another reason. */
  warnings(rejected: readonly RejectedRecord[]): readonly Warning[] {
    if (this.#warnings.length === 0) return NONE
    const gone = new Set<string | null>(rejected.map(({ rule }) => rule))
    return this.#warnings.filter(({ rule }) => !gone.has(rule))
  }
}

const HOUR = 3_600_000
/** Tolerance for wrong clocks and zones: a date counts as future after a day. */
const TOLERANCE = 24 * HOUR
/** A day of birth begins at most 14 hours before the day in UTC (Pacific/Kiritimati). */
const EARLIEST_ZONE = 14 * HOUR

const FUTURE: Issue = {
  stage: 'transform',
  code: 'date-in-future',
  message: 'the date is more than a day in the future',
}
const UNBORN: Issue = {
  stage: 'transform',
  code: 'date-before-birth',
  message: "the date is before the person's date of birth",
}

/** @param born first instant of the day of birth in UTC, milliseconds; -Infinity where unknown */
type DateCheck = (record: Entry, born: number) => Issue | undefined

/** Compiles the check of a record's date. @param now milliseconds since the epoch */
export function compileDateCheck(checks: Checker, now: number): DateCheck {
  if (checks.effects['future-date'] !== 'off') checks.latest = now + TOLERANCE
  const { latest } = checks
  return ({ kind, rule, observedAt }, born) => {
    if (observedAt > latest) return checks.found('future-date', kind, rule, FUTURE)
    if (observedAt < born - EARLIEST_ZONE) return checks.found('before-birth', kind, rule, UNBORN)
    return undefined
  }
}

const CORRECTED: Issue = {
  stage: 'transform',
  code: 'corrected-beside',
  message:
    'a result of the same code and time in the row has a later state: it may correct or withdraw this one',
}

const placeOf = ({ frame: { listedAs = '' }, observedAt }: Entry): string => `${listedAs}\n${observedAt}`

/**
 * Moves results to the rejected records beside a result of their code and instant with a higher rank, or a withdrawn one: the row does not
 * tell which of them that one corrects.
 */
export function rejectCorrected(
  records: Entry[],
  withdrawn: readonly Entry[] | undefined,
  rejected: RejectedRecord[],
): void {
  // Nearly all rows have results of one rank.
  if (withdrawn === undefined && records.every(({ rank }) => rank === records[0]?.rank)) return
  const places = Map.groupBy([...records, ...(withdrawn ?? [])], placeOf)
  for (const results of places.values()) {
    const rankOf = (one: Entry): number =>
      withdrawn?.includes(one) === true ? Number.POSITIVE_INFINITY : one.rank
    const last = Math.max(...results.map(rankOf))
    const corrected = results.filter((one) => rankOf(one) < last)
    if (corrected.length === 0) continue
    for (const record of corrected) {
      records.splice(records.indexOf(record), 1)
      rejected.push({ kind: record.kind, rule: record.rule, issue: CORRECTED })
    }
    for (const [at, record] of results.filter((one) => rankOf(one) === last).entries()) record.before = at
  }
}

/** LOINC of systolic and diastolic blood pressure. */
const SYSTOLIC = '8480-6'
const DIASTOLIC = '8462-4'

const CROSSED: Issue = {
  stage: 'transform',
  code: 'systolic-not-above-diastolic',
  message: 'the systolic blood pressure is not above the diastolic one taken at the same time',
}

/**
 * Moves the records of crossed pairs to the rejected records. Several readings of one time are paired in order; of unequal numbers of
 * systolic and diastolic readings, none is checked.
 */
export function checkBloodPressure(checks: Checker, records: Entry[], rejected: RejectedRecord[]): void {
  if (checks.effects['systolic-above-diastolic'] === 'off') return
  // Nearly all rows have at most one systolic and one diastolic value: groups are built only for a second.
  let systolic: Entry | undefined
  let diastolic: Entry | undefined
  let more = false
  for (const record of records) {
    const code = record.frame.codes[0]
    if (code === SYSTOLIC) {
      more ||= systolic !== undefined
      systolic = record
    } else if (code === DIASTOLIC) {
      more ||= diastolic !== undefined
      diastolic = record
    }
  }
  if (systolic === undefined || diastolic === undefined) return
  const alone = systolic.observedAt === diastolic.observedAt ? [[systolic, diastolic] as const] : []
  for (const pair of more ? pressurePairs(records) : alone) {
    const [high, low] = pair
    if (high.frame.unit !== low.frame.unit) continue
    if (Number(high.value) > Number(low.value)) continue
    for (const record of pair) {
      const { kind, rule } = record
      const issue = checks.found('systolic-above-diastolic', kind, rule, CROSSED)
      if (issue === undefined) continue
      records.splice(records.indexOf(record), 1)
      rejected.push({ kind, rule, issue, value: Number(record.evidence.value) })
    }
  }
}

type PressurePair = readonly [systolic: Entry, diastolic: Entry]

function pressurePairs(records: readonly Entry[]): PressurePair[] {
  const byTime = (loinc: string): Map<number, Entry[]> =>
    Map.groupBy(
      records.filter(({ frame }) => frame.codes[0] === loinc),
      ({ observedAt }) => observedAt,
    )
  const diastolic = byTime(DIASTOLIC)
  return [...byTime(SYSTOLIC)].flatMap(([at, high]) => {
    const low = diastolic.get(at) ?? []
    if (high.length !== low.length) return []
    return high.flatMap((one, position): PressurePair[] => {
      const other = low[position]
      return other === undefined ? [] : [[one, other]]
    })
  })
}
