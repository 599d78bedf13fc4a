/** In what the columns of an export differ from those of earlier ones. Pure. */
import type { ColumnProfile } from './export-profile.ts'

export interface ColumnDrift {
  readonly missing: readonly string[]
  readonly added: readonly string[]
  readonly renamed: readonly Renamed[]
  /** The first column that stands elsewhere. */
  readonly reordered: string | undefined
}

interface Renamed {
  readonly from: string
  readonly to: string
  /** Known by its place between the same columns, or by what its values look like. */
  readonly by: 'place' | 'values'
}

/**
 * Compared with the latest earlier delivery, unless any of them had these very columns.
 * @param earlier columns of earlier deliveries, latest first
 */
export function compareColumns(
  current: readonly ColumnProfile[],
  earlier: readonly (readonly ColumnProfile[])[],
): ColumnDrift | undefined {
  const now = current.map(({ name }) => name)
  const [latest] = earlier
  if (
    latest === undefined ||
    earlier.some((columns) =>
      isSame(
        columns.map(({ name }) => name),
        now,
      ),
    )
  )
    return undefined
  const before = latest.map(({ name }) => name)
  const missing = before.filter((name) => !now.includes(name))
  const added = now.filter((name) => !before.includes(name))
  const inPlace = samePlace(before, now, missing, added)
  const left = (names: readonly string[], paired: readonly string[]) =>
    names.filter((name) => !paired.includes(name))
  const alike = likeValues(
    latest.filter(({ name }) =>
      left(
        missing,
        inPlace.map(({ from }) => from),
      ).includes(name),
    ),
    current.filter(({ name }) =>
      left(
        added,
        inPlace.map(({ to }) => to),
      ).includes(name),
    ),
  )
  const renamed = [...inPlace, ...alike]
  return {
    missing: left(
      missing,
      renamed.map(({ from }) => from),
    ),
    added: left(
      added,
      renamed.map(({ to }) => to),
    ),
    renamed,
    reordered: firstElsewhere(before, now),
  }
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((name, at) => name === other[at])

/** Columns missing and new behind the same column, if they are as many. */
function samePlace(
  before: readonly string[],
  now: readonly string[],
  missing: readonly string[],
  added: readonly string[],
): Renamed[] {
  const gone = behindKept(before, missing)
  const come = behindKept(now, added)
  return [...gone].flatMap(([place, names]) => {
    const others = come.get(place) ?? []
    return names.length === others.length
      ? names.map((from, at): Renamed => ({ from, to: others[at] ?? from, by: 'place' }))
      : []
  })
}

/** The column that a stretch of `apart` stands behind → that stretch. */
function behindKept(names: readonly string[], apart: readonly string[]): Map<string, string[]> {
  const stretches = new Map<string, string[]>()
  let behind = ''
  for (const name of names) {
    if (apart.includes(name)) stretches.set(behind, [...(stretches.get(behind) ?? []), name])
    else behind = name
  }
  return stretches
}

/** A pair is renamed if each looks like the other one and like no third. */
function likeValues(missing: readonly ColumnProfile[], added: readonly ColumnProfile[]): Renamed[] {
  return missing.flatMap((gone): Renamed[] => {
    const [come, ...others] = added.filter((one) => isLike(gone, one))
    if (come === undefined || others.length > 0) return []
    if (missing.filter((one) => isLike(one, come)).length > 1) return []
    return [{ from: gone.name, to: come.name, by: 'values' }]
  })
}

/** Values by which columns can be told apart at least. */
const FEWEST_ALIKE = 20

function isLike(one: ColumnProfile, other: ColumnProfile): boolean {
  const [a, b] = [one.sample, other.sample]
  if (a.values < FEWEST_ALIKE || b.values < FEWEST_ALIKE) return false
  const [long, short] = [a, b].map(({ characters, values }) => characters / values).sort((x, y) => y - x)
  return (
    Math.abs(one.empty / one.values - other.empty / other.values) < 0.1 &&
    Math.abs(a.numbers / a.values - b.numbers / b.values) < 0.1 &&
    (long ?? 0) <= (short ?? 0) * 1.2
  )
}

function firstElsewhere(before: readonly string[], now: readonly string[]): string | undefined {
  const kept = now.filter((name) => before.includes(name))
  const was = before.filter((name) => now.includes(name))
  return kept.find((name, at) => name !== was[at])
}
