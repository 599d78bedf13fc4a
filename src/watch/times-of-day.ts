/** Shift of an export's times of day against earlier exports, in hours: shifted opening hours suggest another zone. Pure. */

/** Times of day of many rows, as counts alone. */
export interface Clock {
  /** Rows by half hour of standard time in UTC, so that the season has no effect. */
  readonly rows: readonly number[]
  /** True for a zone without a place, like UTC: summer time at the place shifts the rows by an hour. */
  readonly placeless: boolean
}

/** Half hours of a day: zones differ by half hours. */
export const HALVES = 48

/** Minimum shift in mean hours; and maximum mean hours within the same pattern. */
const [FAR, ALIKE] = [0.75, 0.5]
/** Multiple of the standard error of a mean, in mean deviations: more than three. */
const BEYOND_CHANCE = 4

/**
 * Hours by which times are later than usual, negative for earlier; undefined without a shift, or for another pattern.
 *
 * @param after minimum number of earlier exports
 */
export function hoursMoved(now: Clock, earlier: readonly Clock[], after: number): number | undefined {
  if (earlier.length < after) return undefined
  const mine = shares(now.rows)
  const known = earlier.map(({ rows }) => shares(rows))
  const usual = TIMES.map((at) => total(known.map((one) => one[at] ?? 0)) / known.length)
  const far = apart(mine, usual)
  const spread = Math.min(...TIMES.map((at) => apart(usual, moved([1], at))))
  const usually = middle(known.map((one) => apart(one, usual)))
  const counts = [total(now.rows), total(earlier.flatMap(({ rows }) => rows))]
  const chance = BEYOND_CHANCE * spread * Math.sqrt(total(counts.map((count) => 1 / count)))
  // A shift of an earlier export was reported then, or is another kind of day.
  if (far < Math.max(FAR, usually * 2, chance) || known.some((one) => apart(mine, one) < far / 2))
    return undefined
  const left = TIMES.map((by) => apart(mine, moved(usual, by)))
  const best = left.indexOf(Math.min(...left))
  const whole = left.indexOf(Math.min(...left.filter((_, half) => half % 2 === 0)))
  // Few zones differ by half hours.
  const by = (left[best] ?? 0) < (left[whole] ?? 0) / 2 ? best : whole
  const hours = (by > HALVES / 2 ? by - HALVES : by) / 2
  const isSummer = Math.abs(hours) === 1 && [now, ...earlier].every(({ placeless }) => placeless)
  return isSummer || (left[by] ?? ALIKE) >= ALIKE ? undefined : hours
}

const TIMES = Array.from({ length: HALVES }, (_, at) => at)

const total = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0)

const shares = (rows: readonly number[]): number[] => {
  const all = total(rows)
  return rows.map((count) => count / all)
}

const moved = (rows: readonly number[], by: number): number[] =>
  TIMES.map((at) => rows[(at - by + HALVES) % HALVES] ?? 0)

/** Mean hours between two distributions of times (Wasserstein distance on a circle). */
function apart(one: readonly number[], other: readonly number[]): number {
  const sums = TIMES.map((at) => total(one.slice(0, at + 1)) - total(other.slice(0, at + 1)))
  const between = middle(sums)
  return total(sums.map((sum) => Math.abs(sum - between))) / 2
}

/** Upper median. */
const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
