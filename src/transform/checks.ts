/**
 * Checks of what a row says (docs/mapping.md, "Checks"). A check that finds something rejects the record, or lets it go on
 * with a warning, or is not made at all, as the mapping has it. Pure.
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

/** Decides what follows from a check's finding, and keeps the warnings of the row that is being mapped. */
export class Checker {
  readonly effects: Checks
  #warnings: Warning[] = []

  constructor(effects: Checks = Checks.parse({})) {
    this.effects = effects
  }

  /** Forgets the row before. */
  begin(): void {
    if (this.#warnings.length > 0) this.#warnings = []
  }

  /**
   * @param kind null, and `rule` null: what was found concerns the row
   * @returns the issue where it is to be rejected; undefined where it goes on
   */
  found(check: Check, kind: RecordKind | null, rule: string | null, issue: Issue): Issue | undefined {
    const effect = this.effects[check]
    if (effect === 'reject') return issue
    if (effect === 'warn') this.#warnings.push({ kind, rule, issue })
    return undefined
  }

  /** Notes of the row what somebody should know, whatever the mapping checks. */
  note(issue: Issue): void {
    this.#warnings.push({ kind: null, rule: null, issue })
  }

  /** The warnings of the row, but for those of records that were rejected for something else. */
  warnings(rejected: readonly RejectedRecord[]): readonly Warning[] {
    if (this.#warnings.length === 0) return NONE
    const gone = new Set<string | null>(rejected.map(({ rule }) => rule))
    return this.#warnings.filter(({ rule }) => !gone.has(rule))
  }
}

const HOUR = 3_600_000
/** Clocks go wrong, and a zone may be told wrongly: nothing is called future before a day has passed. */
const TOLERANCE = 24 * HOUR
/** The day of birth begins nowhere earlier than 14 hours before it does in UTC (Pacific/Kiritimati). */
const EARLIEST_ZONE = 14 * HOUR

const FUTURE: Issue = {
  stage: 'transform',
  code: 'date-in-future',
  message: 'the date lies more than a day in the future',
}
const UNBORN: Issue = {
  stage: 'transform',
  code: 'date-before-birth',
  message: "the date lies before the person's date of birth",
}

/** @param born first instant of the day of birth in UTC, milliseconds; -Infinity where it is not known */
type DateCheck = (record: Entry, born: number) => Issue | undefined

/** Whether a record's date can be right. @param now milliseconds since the epoch */
export function compileDateCheck(checks: Checker, now: number): DateCheck {
  const latest = checks.effects['future-date'] === 'off' ? Number.POSITIVE_INFINITY : now + TOLERANCE
  return ({ kind, rule, observedAt }, born) => {
    if (observedAt > latest) return checks.found('future-date', kind, rule, FUTURE)
    if (observedAt < born - EARLIEST_ZONE) return checks.found('before-birth', kind, rule, UNBORN)
    return undefined
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
 * Takes the records of crossed pairs out of those of a row, and puts them with the rejected ones. Where several stand at one
 * time, the first belongs to the first; where there are more of one than of the other, nobody can tell.
 */
export function checkBloodPressure(checks: Checker, records: Entry[], rejected: RejectedRecord[]): void {
  if (checks.effects['systolic-above-diastolic'] === 'off') return
  // Nearly all rows have one of each at most, so nothing is collected before there is a second.
  let systolic: Entry | undefined
  let diastolic: Entry | undefined
  let more = false
  for (const record of records) {
    const [code] = record.frame.codes
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
