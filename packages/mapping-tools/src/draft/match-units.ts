/** Unit of a measurement: from its name, its values, or a column of units (`glu, glu_units`). */

import type { BiometricEntry } from '../../../../src/transform/catalog.ts'
import { parseFeetAndInches } from '../../../../src/transform/numbers.ts'
import { isCalled, nameWords } from '../../../../src/watch/names.ts'
import { type ColumnProfile, MOST, median } from './profile-columns.ts'
import type { Vocabulary } from './vocabulary.ts'
import { ask, type Question } from './write-draft.ts'

export type UnitMatch =
  /** Unit of all values; undefined for the catalog's. */
  | { readonly kind: 'found'; readonly unit: string | undefined; readonly how: Question | undefined }
  /** Units row by row, in a column. */
  | { readonly kind: 'column'; readonly path: string; readonly how: Question | undefined }
  | { readonly kind: 'feet-and-inches' }
  /** Units that all give plausible values. */
  | { readonly kind: 'unclear'; readonly units: readonly string[] }
  | { readonly kind: 'implausible'; readonly unit: string }

/** Minimum difference of distances to the middle of the plausible range that decides between two units. */
const CLEARLY_NEARER = Math.log(4)

/** Finds the unit. @param named unit in the name, resolved or not */
export function matchUnit(
  key: string,
  entry: BiometricEntry,
  { filled, numbers }: Pick<ColumnProfile, 'filled' | 'numbers'>,
  named: string | undefined,
  { units, words }: Vocabulary,
): UnitMatch {
  const convert = (unit: string): ((value: number) => number) => {
    const conversion = units.conversion(unit, entry.unit, entry.molarMass, entry.loinc)
    return conversion.ok ? conversion.convert : () => Number.NaN
  }
  const plausible = (unit: string): boolean => {
    const inCatalogs = convert(unit)
    return numbers.filter((value) => within(inCatalogs(value), entry.range)).length >= numbers.length * MOST
  }
  const found = (unit: string, how?: string | false): UnitMatch => ({
    kind: 'found',
    unit: unit === entry.unit ? undefined : unit,
    how: ask(how),
  })
  const heights = filled.filter((cell) => typeof parseFeetAndInches(cell) === 'string')
  if (entry.unit === 'cm' && heights.length >= filled.length * MOST) return { kind: 'feet-and-inches' }
  if (named !== undefined) return plausible(named) ? found(named) : { kind: 'implausible', unit: named }
  const fitting = [entry.unit, ...(words.units.alternatives.get(entry.unit) ?? [])].filter(plausible)
  const [only, another] = fitting
  const other = words.units.unconverted.get(key)
  if (only === undefined) return { kind: 'implausible', unit: entry.unit }
  if (another === undefined)
    return found(
      only,
      other === undefined
        ? only !== entry.unit && `the name has no unit; the values are plausible only in ${only}`
        : `the name has no unit; is it ${only}, or ${other}, which nothing converts?`,
    )
  const middle = median(numbers)
  const usual = words.units.usual.get(key)
  if (usual !== undefined) {
    const [likely, other] = fitting.filter((unit) => within(middle, usual.get(unit) ?? [0, -1]))
    return likely !== undefined && other === undefined
      ? found(likely, `unit by usual values of people; ${fitting.join(' or ')} would be plausible`)
      : { kind: 'unclear', units: fitting }
  }
  const [usualIn, alsoUsual] = fitting.filter(
    (unit) => entry.usual && within(convert(unit)(middle), entry.usual),
  )
  const bySize = (unit: string): UnitMatch =>
    found(unit, `the name has no unit; ${unit} by the size of the values`)
  if (usualIn !== undefined && alsoUsual === undefined) return bySize(usualIn)
  const [first, second] = fitting
    .map((unit) => ({ unit, distance: distance(entry, convert(unit)(middle)) }))
    .sort((a, b) => a.distance - b.distance)
  return first !== undefined && second !== undefined && second.distance - first.distance > CLEARLY_NEARER
    ? bySize(first.unit)
    : { kind: 'unclear', units: fitting }
}

const within = (value: number, [low, high]: readonly [number, number]): boolean =>
  value >= low && value <= high

/** Distance from the geometric middle of the range, in powers of e. */
function distance({ range: [low, high] }: BiometricEntry, value: number): number {
  return Math.abs(Math.log(value) - Math.log(Math.sqrt(Math.max(low, high / 1000) * high)))
}

/** Columns of units by name, without numbers. */
export function unitColumns(columns: readonly ColumnProfile[], { words }: Vocabulary): ColumnProfile[] {
  const { ending } = words.long.unit
  return columns.filter(
    ({ words: called, filled, numbers }) =>
      filled.length > 0 &&
      numbers.length === 0 &&
      [called.at(0), bareOf(called).at(-1)].some((word) => ending.includes(word ?? '')),
  )
}

/** Removes the number of a repeated name: `unit_2`. */
const bareOf = (words: readonly string[]): readonly string[] =>
  words.length > 1 && /^\d+$/.test(words.at(-1) ?? '') ? words.slice(0, -1) : words

export interface UnitColumn {
  readonly column: ColumnProfile
  /** Only its position assigns it to the column of values. */
  readonly byPlace: boolean
}

/** Finds the column of units: with the name of the measurement, or directly after it and named `unit` alone. */
export function findUnitColumn(
  value: ColumnProfile,
  key: string,
  { columns, all }: { readonly columns: readonly ColumnProfile[]; readonly all: readonly ColumnProfile[] },
  { words, naming, measurements }: Vocabulary,
): UnitColumn | undefined {
  const { names, ending } = words.long.unit
  const rest = (column: ColumnProfile): readonly string[] =>
    ending.includes(column.words.at(-1) ?? '') ? column.words.slice(0, -1) : column.words.slice(1)
  /** Name, also without the s that joins German words: `Gewichtseinheit`. */
  const called = (column: ColumnProfile): readonly string[] => {
    const words = rest(column)
    return [words.join(' '), words.join(' ').replace(/s$/, '')]
  }
  const isOf = (one: ColumnProfile, column: ColumnProfile): boolean =>
    called(column).some((name) => name.replaceAll(' ', '') === one.words.join(''))
  const named =
    columns.find((column) => isOf(value, column)) ??
    columns.find((column) => {
      // Another column of the same measurement may own the units.
      if (all.some((other) => isOf(other, column))) return false
      return called(column).some((name) => {
        const match = measurements.match(nameWords(name, naming))
        return match?.kind === 'is' && match.keys.length === 1 && match.keys[0] === key
      })
    })
  if (named !== undefined) return { column: named, byPlace: false }
  const behind = all[all.indexOf(value) + 1]
  return behind !== undefined && columns.includes(behind) && isCalled(bareOf(behind.words), names)
    ? { column: behind, byPlace: true }
    : undefined
}

/** Units row by row, if most convert to the catalog's and give plausible values. */
export function unitsOf(
  { cells, numberOf }: ColumnProfile,
  { column, byPlace }: UnitColumn,
  entry: BiometricEntry,
  { units }: Vocabulary,
): UnitMatch {
  const [low, high] = entry.range
  const values = cells.flatMap((cell, at) => {
    const value = numberOf(cell)
    if (value === undefined) return []
    const conversion = units.conversion(column.cells[at] ?? '', entry.unit, entry.molarMass, entry.loinc)
    return [conversion.ok ? conversion.convert(value) : undefined]
  })
  const converted = values.flatMap((value) => value ?? [])
  const lost = values.length - converted.length
  const plausible = converted.filter((value) => value >= low && value <= high).length
  if (converted.length === 0 || plausible < converted.length * MOST)
    return { kind: 'implausible', unit: `the units of ${column.path}` }
  return {
    kind: 'column',
    path: column.path,
    how: ask(
      byPlace && `${column.path} follows it: are these its units?`,
      lost > 0 &&
        `${lost} of ${values.length} values have no unit there that converts to ${entry.unit}: they are rejected`,
    ),
  }
}
