/** Blood pressure: of two values taken at one time, the systolic must be above the diastolic. */
import type { Issue, PreparedRecord, RejectedRecord } from '../model/record.ts'
import type { Checker } from './checks.ts'

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
export function checkBloodPressure(
  checks: Checker,
  records: PreparedRecord[],
  rejected: RejectedRecord[],
): void {
  if (checks.effects['systolic-above-diastolic'] === 'off') return
  // Nearly all rows have one of each at most, so nothing is collected before there is a second.
  let systolic: PreparedRecord | undefined
  let diastolic: PreparedRecord | undefined
  let more = false
  for (const record of records) {
    const [code] = record.evidence.codes
    if (code === SYSTOLIC) {
      more ||= systolic !== undefined
      systolic = record
    } else if (code === DIASTOLIC) {
      more ||= diastolic !== undefined
      diastolic = record
    }
  }
  if (systolic === undefined || diastolic === undefined) return
  if (more) for (const [high, low] of pairs(records)) checkPair(checks, high, low, records, rejected)
  else if (systolic.observedAt === diastolic.observedAt)
    checkPair(checks, systolic, diastolic, records, rejected)
}

function pairs(records: readonly PreparedRecord[]): (readonly [PreparedRecord, PreparedRecord])[] {
  const of = (loinc: string): Map<number, PreparedRecord[]> =>
    Map.groupBy(
      records.filter(({ evidence }) => evidence.codes[0] === loinc),
      ({ observedAt }) => observedAt,
    )
  const diastolic = of(DIASTOLIC)
  return [...of(SYSTOLIC)].flatMap(([at, high]) => {
    const low = diastolic.get(at) ?? []
    if (high.length !== low.length) return []
    return high.flatMap((one, position) => {
      const other = low[position]
      return other === undefined ? [] : [[one, other] as const]
    })
  })
}

function checkPair(
  checks: Checker,
  high: PreparedRecord,
  low: PreparedRecord,
  records: PreparedRecord[],
  rejected: RejectedRecord[],
): void {
  if (high.evidence.unit !== low.evidence.unit) return
  if (Number(high.evidence.value) > Number(low.evidence.value)) return
  for (const record of [high, low]) {
    const { kind, rule } = record
    const issue = checks.found('systolic-above-diastolic', kind, rule, CROSSED)
    if (issue === undefined) continue
    records.splice(records.indexOf(record), 1)
    rejected.push({ kind, rule, issue })
  }
}
