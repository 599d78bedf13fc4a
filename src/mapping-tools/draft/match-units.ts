/** Which unit a measurement is in: as its name says, or as its values tell. */
import type { BiometricEntry } from '../../transform/catalog.ts'
import { parseFeetAndInches } from '../../transform/numbers.ts'
import { type ColumnProfile, MOST, median } from './profile-columns.ts'
import type { Vocabulary } from './vocabulary.ts'

export type UnitMatch =
  /** `unit` is undefined where it is the catalog's. */
  | { readonly kind: 'found'; readonly unit: string | undefined; readonly how?: string | undefined }
  /** Each row tells its own, in a column. */
  | { readonly kind: 'column'; readonly path: string; readonly how?: string | undefined }
  | { readonly kind: 'feet-and-inches' }
  /** All of these would make plausible values. */
  | { readonly kind: 'unclear'; readonly units: readonly string[] }
  | { readonly kind: 'implausible'; readonly unit: string }

/** How much nearer to the middle of the plausible range the median must be to tell. */
const CLEARLY_NEARER = Math.log(4)

/** @param told the unit that stands in the name, resolved or not */
export function matchUnit(
  key: string,
  entry: BiometricEntry,
  { filled, numbers }: ColumnProfile,
  told: string | undefined,
  { units, words }: Vocabulary,
): UnitMatch {
  const convert = (unit: string): ((value: number) => number) => {
    const conversion = units.conversion(unit, entry.unit, entry.molarMass)
    return conversion.ok ? conversion.convert : () => Number.NaN
  }
  /** Most values lie in the catalog's range once they are converted. */
  const plausible = (unit: string): boolean => {
    const inCatalogs = convert(unit)
    return numbers.filter((value) => within(inCatalogs(value), entry.range)).length >= numbers.length * MOST
  }
  const found = (unit: string, how?: string): UnitMatch => ({
    kind: 'found',
    unit: unit === entry.unit ? undefined : unit,
    how,
  })
  const heights = filled.filter((cell) => typeof parseFeetAndInches(cell) === 'string')
  if (entry.unit === 'cm' && heights.length >= filled.length * MOST) return { kind: 'feet-and-inches' }
  if (told !== undefined) return plausible(told) ? found(told) : { kind: 'implausible', unit: told }
  const fitting = [entry.unit, ...(words.units.alternatives.get(entry.unit) ?? [])].filter(plausible)
  const [only, another] = fitting
  if (only === undefined) return { kind: 'implausible', unit: entry.unit }
  if (another === undefined)
    return found(
      only,
      only === entry.unit
        ? undefined
        : `DECIDE: the name tells no unit; the values are plausible in ${only} alone`,
    )
  const middle = median(numbers)
  const usual = words.units.usual.get(key)
  if (usual !== undefined) {
    const [likely, other] = fitting.filter((unit) => within(middle, usual.get(unit) ?? [0, -1]))
    return likely !== undefined && other === undefined
      ? found(likely, `DECIDE: unit by what is usual in people; ${fitting.join(' or ')} would be plausible`)
      : { kind: 'unclear', units: fitting }
  }
  const [first, second] = fitting
    .map((unit) => ({ unit, distance: distance(entry, convert(unit)(middle)) }))
    .sort((a, b) => a.distance - b.distance)
  return first !== undefined && second !== undefined && second.distance - first.distance > CLEARLY_NEARER
    ? found(first.unit, `DECIDE: the name tells no unit; ${first.unit} by the size of the values`)
    : { kind: 'unclear', units: fitting }
}

const within = (value: number, [low, high]: readonly [number, number]): boolean =>
  value >= low && value <= high

/** From the geometric middle of the range, in powers of e. */
function distance({ range: [low, high] }: BiometricEntry, value: number): number {
  return Math.abs(Math.log(value) - Math.log(Math.sqrt(Math.max(low, high / 1000) * high)))
}
