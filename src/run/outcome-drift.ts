/** Finds what is strange in what the mapping made of an export's rows: all of them skipped, or more that a check warns of. Pure. */
import type { DriftDefinition } from '../definitions/job-definition.ts'
import { counted, n } from '../shown-text.ts'
import { type DriftFinding, type EarlierDelivery, percent } from './drift.ts'
import { type ExportProfile, median } from './export-profile.ts'

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
