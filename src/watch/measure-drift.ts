/**
 * Compares measurements of an export with earlier deliveries: medians, shares of rejects, days. Also finds oddities in the result of the mapping: all
 * rows skipped, or more warnings of a check (docs/jobs.md, "Drift"). Pure.
 */
import type { DriftDefinition } from '../definitions/job-definition.ts'
import { counted, n } from '../system/shown-text.ts'
import { type DriftFinding, type EarlierDelivery, judge, knownOf, percent, share } from './drift.ts'
import { type ExportProfile, type MeasuredProfile, median } from './export-profile.ts'
import type { Suspicion } from './judge-fit.ts'

type Limits = Pick<DriftDefinition, 'values' | 'rejects' | 'after'>

/** @param earlier latest first */
export const measureDrift = (
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  rules: Limits,
): DriftFinding[] => [
  ...rejectDrift('rows', ({ rows, rejectedRows }) => share(rejectedRows, rows), current, earlier, rules),
  ...Object.entries(current.measured).flatMap(([rule, now]) => {
    const measuredOf = ({ measured }: ExportProfile): MeasuredProfile | undefined =>
      Object.hasOwn(measured, rule) ? measured[rule] : undefined
    const shareOf = (profile: ExportProfile): number | undefined => {
      const { rejected, found } = measuredOf(profile) ?? { rejected: 0, found: 0 }
      return share(rejected, found)
    }
    return [
      ...rejectDrift(rule, shareOf, current, earlier, rules),
      ...medianDrift(rule, now, measuredOf, earlier, rules),
    ]
  }),
  ...daysDrift(current, earlier, rules),
]

function rejectDrift(
  what: string,
  shareOf: (profile: ExportProfile) => number | undefined,
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { after, rejects: limits }: Limits,
): DriftFinding[] {
  // Fewer rejects than ever are no trouble.
  const distance = (one: number, other: number): number => Math.max(0, one - other)
  const known = knownOf(earlier, shareOf)
  return judge('rejects', shareOf(current), known, { after, limits, row: after, distance }, (now, usual) => {
    return `of ${what} ${percent(now)} rejected, usually ${percent(usual)}`
  })
}

/** Standard errors that a median must move to count as moved: chance hardly ever makes four. */
const BEYOND_CHANCE = 4

function medianDrift(
  rule: string,
  { quartiles, values }: MeasuredProfile,
  measuredOf: (profile: ExportProfile) => MeasuredProfile | undefined,
  earlier: readonly EarlierDelivery[],
  { after, values: limits }: Limits,
): DriftFinding[] {
  const known = knownOf(earlier, (profile) => measuredOf(profile)?.quartiles?.[1])
  if (quartiles === undefined || known.length < after) return []
  const [q1, now, q3] = quartiles
  const spread = median(
    earlier.flatMap(({ profile }) => {
      const { quartiles: [first, , third] = [] } = measuredOf(profile) ?? {}
      return first === undefined || third === undefined ? [] : [third - first]
    }),
  )
  // Standard error of a median of normal values, from the distance of their quartiles.
  const error = (0.93 * Math.max(spread, q3 - q1)) / Math.sqrt(values)
  const distance = (one: number, other: number): number => {
    const moved = Math.abs(one - other)
    return moved <= BEYOND_CHANCE * error ? 0 : moved / Math.max(Math.abs(other), Number.EPSILON)
  }
  const moved = judge('values', now, known, { after, limits, row: 1, distance }, (_, usual) => {
    const times = usual === 0 ? '' : ` (${Number((now / usual).toPrecision(3))} times)`
    return `the median of ${rule} is ${now}, usually ${usual}${times}`
  })
  if (q1 !== q3 || spread <= 0 || !Number.isFinite(limits.warn)) return moved
  const message = `${rule} is ${now} in most rows, and usually is not`
  return [...moved, { measure: 'values', level: 'warn', message, change: 1 }]
}

/** Factor by which the usual span of days must grow, and by more than a month, before swapped day and month are suspected. */
const SPREAD = 2
const MONTH = 31

function daysDrift(
  { daysSpanned: now }: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { values, after }: Limits,
): DriftFinding[] {
  if (!Number.isFinite(values.warn)) return []
  return judge(
    'values',
    now,
    knownOf(earlier, ({ daysSpanned }) => daysSpanned),
    {
      after,
      limits: { warn: 0, stop: Number.POSITIVE_INFINITY },
      row: after,
      distance: (one, other) =>
        one > other * SPREAD && one > other + MONTH ? (one - other) / Math.max(other, 1) : 0,
    },
    (_, usual) =>
      `nine of ten dates lie within ${now} days, usually ${Math.round(usual)}: are day and month swapped?`,
  )
}

/** Suspicions about the export itself, as findings beside the changes. */
export const fitFindings = (suspicions: readonly Suspicion[], fit: DriftDefinition['fit']): DriftFinding[] =>
  fit === 'off'
    ? []
    : suspicions
        // For rows left out, earlier deliveries say more.
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

/** Finding that every row was skipped: strange without any history, except for exports that usually bring nothing. */
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

/** Warnings of a check, reported if no earlier delivery had as many, by share of the rows. */
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
