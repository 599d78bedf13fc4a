/**
 * Finds values mirrored or moved as a whole since earlier deliveries: flags read the other way round, swapped names, times of another zone
 * (docs/jobs.md, "Drift"). A single export shows none of these. Pure.
 */
import type { DriftDefinition } from '../definitions/job-definition.ts'
import { counted } from '../system/shown-text.ts'
import { type DriftFinding, type EarlierDelivery, FEWEST_VALUES, percent } from './drift.ts'
import { type ExportProfile, median } from './export-profile.ts'
import { hoursMoved } from './times-of-day.ts'

/** @param earlier latest first */
export function swappedDrift(
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { after, mix, values }: Pick<DriftDefinition, 'mix' | 'values' | 'after'>,
): DriftFinding[] {
  const before = earlier.map(({ profile }) => profile)
  const flags = Object.keys(current.rules).flatMap((rule) => {
    const found = mirrored(current, before, after, ({ rules, taken }) => {
      const rows = Object.hasOwn(rules, rule) ? rules[rule] : undefined
      return rows === undefined ? undefined : [rows, taken]
    })
    // A larger change is reported by its size.
    if (found === undefined || Math.abs(found.now - found.usual) > mix.warn) return []
    const [now, usual] = [percent(found.now), percent(found.usual)]
    return `rows with ${rule} ${now}, usually ${usual}: is its flag the other way round?`
  })
  const names = mirrored(current, before, after, (profile) =>
    profile.names === undefined ? undefined : [profile.names.first, profile.names.first + profile.names.last],
  )
  const clocks = before.flatMap(({ clock }) => clock ?? [])
  const hours = current.clock && hoursMoved(current.clock, clocks, after)
  const others = [
    ...(names === undefined
      ? []
      : [
          'people have as many different first names as last names before, and the reverse: are they swapped?',
        ]),
    ...(hours === undefined
      ? []
      : [
          `times of day ${counted(Math.abs(hours), 'hour')} ${hours > 0 ? 'later' : 'earlier'} than usual, in the same pattern: is the zone right?`,
        ]),
  ]
  const tell =
    (measure: 'mix' | 'values') =>
    (message: string): DriftFinding => ({ measure, level: 'warn', message })
  return [
    ...(Number.isFinite(mix.warn) ? flags.map(tell('mix')) : []),
    ...(Number.isFinite(values.warn) ? others.map(tell('values')) : []),
  ]
}

/** Standard errors by which chance hardly ever moves a share. */
const BEYOND_CHANCE = 4

type Counts = readonly [part: number, whole: number]

/** Share now equal to the earlier rest, beyond chance, and steady before; undefined otherwise. */
function mirrored(
  current: ExportProfile,
  before: readonly ExportProfile[],
  after: number,
  countsOf: (profile: ExportProfile) => Counts | undefined,
): { readonly now: number; readonly usual: number } | undefined {
  const enough = (profile: ExportProfile): Counts[] => {
    const counts = countsOf(profile)
    return counts === undefined || counts[1] < FEWEST_VALUES ? [] : [counts]
  }
  const [[part, rows] = [0, 0]] = enough(current)
  const known = before.flatMap(enough)
  if (rows === 0 || known.length < after) return undefined
  const shares = known.map(([one, whole]) => one / whole)
  const [now, usual] = [part / rows, median(shares)]
  const moved = Math.abs(now - usual)
  const rowsBefore = known.reduce((sum, [, whole]) => sum + whole, 0)
  const error = Math.sqrt(usual * (1 - usual) * (1 / rows + 1 / rowsBefore))
  const away = [now - (1 - usual), ...shares.map((one) => one - usual)]
  const isMirror = moved > BEYOND_CHANCE * error && away.every((far) => Math.abs(far) < moved / 2)
  return isMirror ? { now, usual } : undefined
}
