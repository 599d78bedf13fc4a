/**
 * Compares what the measurements of an export come to with earlier deliveries: medians, shares of what is rejected, days; and finds what is
 * strange in what the mapping made of its rows: all of them skipped, or more that a check warns of (docs/jobs.md, "Drift"). Pure.
 */
import type { DriftDefinition } from '../definitions/job-definition.ts'
import type { Suspicion } from '../mapping-tools/judge-fit.ts'
import { counted, n } from '../shown-text.ts'
import { type DriftFinding, type EarlierDelivery, judge, knownOf, percent, share } from './drift.ts'
import { type ExportProfile, type MeasuredProfile, median } from './export-profile.ts'

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

/** How many standard errors a median must move before it is called moved: chance hardly ever makes four. */
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
  // The standard error of a median of normal values, by the distance of their quartiles.
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

/** Dates that spread over as many times the days as this, and over more than a month more, may have day and month swapped. */
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
      ...{ after, limits: { warn: 0, stop: Number.POSITIVE_INFINITY }, row: after },
      distance: (one, other) =>
        one > other * SPREAD && one > other + MONTH ? (one - other) / Math.max(other, 1) : 0,
    },
    (_, usual) =>
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
