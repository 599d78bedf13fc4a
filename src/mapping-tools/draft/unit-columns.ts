/** Columns of units beside those of values, as `glu, glu_units`: each row tells its own. */
import type { BiometricEntry } from '../../transform/catalog.ts'
import type { UnitMatch } from './match-units.ts'
import { isCalled, nameWords } from './names.ts'
import { type ColumnProfile, MOST } from './profile-columns.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Those whose names say so, and hold no numbers. */
export function unitColumns(columns: readonly ColumnProfile[], { words }: Vocabulary): ColumnProfile[] {
  const { ending } = words.long.unit
  return columns.filter(
    ({ words: called, filled, numbers }) =>
      filled.length > 0 &&
      numbers.length === 0 &&
      [called.at(0), bareOf(called).at(-1)].some((word) => ending.includes(word ?? '')),
  )
}

/** Without the number that tells names apart that stand twice: `unit_2`. */
const bareOf = (words: readonly string[]): readonly string[] =>
  words.length > 1 && /^\d+$/.test(words.at(-1) ?? '') ? words.slice(0, -1) : words

/** A column of units. */
export interface UnitColumn {
  readonly column: ColumnProfile
  /** Nothing but its place says of which values it is. */
  readonly byPlace: boolean
}

/** The column of the units of a measurement: under the same name, or the one right behind that is called `unit` alone. */
export function findUnitColumn(
  value: ColumnProfile,
  key: string,
  { columns, all }: { readonly columns: readonly ColumnProfile[]; readonly all: readonly ColumnProfile[] },
  { words, naming, measurements }: Vocabulary,
): UnitColumn | undefined {
  const { names, ending } = words.long.unit
  const rest = (column: ColumnProfile): readonly string[] =>
    ending.includes(column.words.at(-1) ?? '') ? column.words.slice(0, -1) : column.words.slice(1)
  const named =
    columns.find((column) => rest(column).join('') === value.words.join('')) ??
    columns.find((column) => {
      // It may be that of another column of the same measurement.
      if (all.some((other) => other.words.join('') === rest(column).join(''))) return false
      const match = measurements.match(nameWords(rest(column).join(' '), naming))
      return match?.kind === 'is' && match.keys.length === 1 && match.keys[0] === key
    })
  if (named !== undefined) return { column: named, byPlace: false }
  const behind = all[all.indexOf(value) + 1]
  return behind !== undefined && columns.includes(behind) && isCalled(bareOf(behind.words), names)
    ? { column: behind, byPlace: true }
    : undefined
}

/** The unit of each row, as far as they convert to the catalog's and make plausible values. */
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
    const conversion = units.conversion(column.cells[at] ?? '', entry.unit, entry.molarMass)
    return [conversion.ok ? conversion.convert(value) : undefined]
  })
  const converted = values.flatMap((value) => value ?? [])
  const lost = values.length - converted.length
  const plausible = converted.filter((value) => value >= low && value <= high).length
  if (converted.length === 0 || plausible < converted.length * MOST)
    return { kind: 'implausible', unit: `the units of ${column.path}` }
  const asked = [
    ...(byPlace ? [`${column.path} stands behind it: are these its units?`] : []),
    ...(lost === 0
      ? []
      : [
          `${lost} of ${values.length} values have no unit there that converts to ${entry.unit}: they are rejected`,
        ]),
  ]
  return {
    kind: 'column',
    path: column.path,
    how: asked.length === 0 ? undefined : `DECIDE: ${asked.join(' ')}`,
  }
}
