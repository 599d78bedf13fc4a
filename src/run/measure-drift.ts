/**
 * Compares what the measurements of an export come to with earlier deliveries: medians, shares of what is rejected, days; and finds what is
 * strange in what the mapping made of its rows: all of them skipped, or more that a check warns of (docs/jobs.md, "Drift"). Pure.
 */
import type { DriftDefinition } from '../definitions/job-definition.ts'
import type { Suspicion } from '../mapping-tools/judge-fit.ts'
import { counted, n } from '../shown-text.ts'
import { type EarlierDelivery, percent, share } from './drift.ts'
import { changeFrom, type DriftFinding, judge, type Known } from './drift-finding.ts'
import { type ExportProfile, type MeasuredProfile, median } from './export-profile.ts'

type Limits = Pick<DriftDefinition, 'values' | 'rejects' | 'after'>

/** @param earlier latest first */
export function measureDrift(
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  rules: Limits,
): DriftFinding[] {
  const before = (rule: string): { measured: MeasuredProfile; accepted: boolean }[] =>
    earlier.flatMap(({ profile, accepted }) => {
      const measured = Object.hasOwn(profile.measured, rule) ? profile.measured[rule] : undefined
      return measured === undefined ? [] : [{ measured, accepted }]
    })
  return [
    ...rejectDrift('rows', { found: current.rows, rejected: current.rejectedRows, values: 0 }, rules, [
      ...earlier.map(({ profile: { rows, rejectedRows }, accepted }) => ({
        measured: { found: rows, rejected: rejectedRows, values: 0 },
        accepted,
      })),
    ]),
    ...Object.entries(current.measured).flatMap(([rule, measured]) => [
      ...rejectDrift(rule, measured, rules, before(rule)),
      ...medianDrift(rule, measured, rules, before(rule)),
    ]),
    ...daysDrift(current, earlier, rules),
  ]
}

type Before = readonly { readonly measured: MeasuredProfile; readonly accepted: boolean }[]

function rejectDrift(what: string, now: MeasuredProfile, rules: Limits, before: Before): DriftFinding[] {
  const shareOf = ({ found, rejected }: MeasuredProfile): number | undefined => share(rejected, found)
  const current = shareOf(now)
  if (current === undefined) return []
  const known = before.flatMap(({ measured, accepted }): Known[] => {
    const value = shareOf(measured)
    return value === undefined ? [] : [{ value, accepted }]
  })
  // Fewer rejects than ever are no trouble.
  const change = changeFrom(current, known, {
    ...{ after: rules.after, warn: rules.rejects.warn, row: rules.after },
    distance: (one, other) => Math.max(0, one - other),
  })
  return judge(
    'rejects',
    change,
    rules.rejects,
    (usual) => `of ${what} ${percent(current)} rejected, usually ${percent(usual)}`,
  )
}

/** How many standard errors a median must move before it is called moved: chance hardly ever makes four. */
const BEYOND_CHANCE = 4

function medianDrift(
  rule: string,
  { quartiles, values }: MeasuredProfile,
  rules: Limits,
  before: Before,
): DriftFinding[] {
  const known = before.flatMap(({ measured, accepted }) =>
    measured.quartiles === undefined ? [] : [{ quartiles: measured.quartiles, accepted }],
  )
  if (quartiles === undefined || known.length < rules.after) return []
  const [q1, now, q3] = quartiles
  const spread = median(known.map((one) => one.quartiles[2] - one.quartiles[0]))
  // The standard error of a median of normal values, by the distance of their quartiles.
  const error = (0.93 * Math.max(spread, q3 - q1)) / Math.sqrt(values)
  const medians = known.map(({ quartiles: [, value], accepted }): Known => ({ value, accepted }))
  const change = changeFrom(now, medians, {
    ...{ after: rules.after, warn: rules.values.warn, row: 1 },
    distance(one, other) {
      const moved = Math.abs(one - other)
      return moved <= BEYOND_CHANCE * error ? 0 : moved / Math.max(Math.abs(other), Number.EPSILON)
    },
  })
  const moved = judge('values', change, rules.values, (usual) => {
    const times = usual === 0 ? '' : ` (${Number((now / usual).toPrecision(3))} times)`
    return `the median of ${rule} is ${now}, usually ${usual}${times}`
  })
  const isConstant = q1 === q3 && spread > 0 && Number.isFinite(rules.values.warn)
  return isConstant
    ? [
        ...moved,
        {
          measure: 'values',
          level: 'warn',
          message: `${rule} is ${now} in most rows, and usually is not`,
          change: 1,
        },
      ]
    : moved
}

/** Dates that spread over as many times the days as this, and over more than a month more, may have day and month swapped. */
const SPREAD = 2
const MONTH = 31

function daysDrift(
  { daysSpanned: now }: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { values, after }: Limits,
): DriftFinding[] {
  const known = earlier.flatMap(({ profile: { daysSpanned }, accepted }): Known[] =>
    daysSpanned === undefined ? [] : [{ value: daysSpanned, accepted }],
  )
  if (now === undefined || !Number.isFinite(values.warn)) return []
  const change = changeFrom(now, known, {
    ...{ after, warn: 0, row: after },
    distance: (one, other) =>
      one > other * SPREAD && one > other + MONTH ? (one - other) / Math.max(other, 1) : 0,
  })
  return judge(
    'values',
    change,
    { warn: 0, stop: Number.POSITIVE_INFINITY },
    (usual) =>
      `nine of ten dates lie within ${now} days, usually ${Math.round(usual)}: are day and month swapped?`,
  )
}

/** What is suspicious of the export itself, as a finding beside what has changed. */
export const fitFindings = (suspicions: readonly Suspicion[], fit: DriftDefinition['fit']): DriftFinding[] =>
  fit === 'off'
    ? []
    : suspicions
        // Of rows that are left out, what was left out before says more.
        .filter(({ finding }) => finding !== 'rows-left-out')
        .map(({ rule, message, finding }) => ({
          measure: 'fit',
          level: fit,
          message: `${rule === null ? '' : `${rule}: `}${message} (${finding})`,
        }))

/** @param earlier latest first */
export const outcomeDrift = (
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  rules: DriftDefinition,
): DriftFinding[] => [...emptyHanded(current, earlier, rules), ...checkDrift(current, earlier, rules)]

/** Every row was skipped, which needs no history to be strange; but for exports of which nothing comes as a rule. */
function emptyHanded(
  { rows, skipped }: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { after, skipped: { warn } }: DriftDefinition,
): DriftFinding[] {
  if (rows === 0 || skipped < rows || !Number.isFinite(warn)) return []
  const shares = earlier.map(({ profile }) => profile.skipped / Math.max(1, profile.rows))
  if (shares.length >= after && median(shares) >= 1) return []
  return [
    { measure: 'empty-handed', level: 'warn', message: `all ${counted(rows, 'row')} skipped`, change: 1 },
  ]
}

/** What a check with `warn` finds is told where no earlier delivery had as much of it, by its share of the rows. */
function checkDrift(
  { rows, warnings }: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { checks }: DriftDefinition,
): DriftFinding[] {
  if (checks === 'off') return []
  return Object.entries(warnings).flatMap(([code, count]) => {
    const now = count / Math.max(1, rows)
    const most = Math.max(
      0,
      ...earlier.map(({ profile }) => (profile.warnings[code] ?? 0) / Math.max(1, profile.rows)),
    )
    if (now <= most) return []
    const usual = earlier.length === 0 ? '' : `, before ${percent(most)} at most`
    const message = `${code} ${n(count)} in ${counted(rows, 'row')}${usual}`
    return [
      {
        measure: 'checks' as const,
        level: 'warn' as const,
        message,
        change: Number((now - most).toFixed(3)),
      },
    ]
  })
}
