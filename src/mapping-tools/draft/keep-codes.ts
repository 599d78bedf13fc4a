/** Which texts of a sample may stand in cases: measurements and codes, which tell of nobody. */
import type { MappingResources } from '../../transform/compile-context.ts'
import type { MappingDefinition } from '../../transform/mapping-definition.ts'
import { parseFeetAndInches } from '../../transform/numbers.ts'
import { YES_OR_NO } from './profile-columns.ts'

/** Of a column of measurements or codes: whether this text is one, and no remark that somebody typed there. */
export type KeepsText = (text: string) => boolean

/** A number with or without comparator, with thousands, two numbers as of blood pressure, the bounds of a range. */
const MEASUREMENT =
  /^(?:[<>]?=?\s*[+-]?(?:\d{1,6}|\d{1,3}(?:[.,]\d{3})+)(?:[.,]\d+)?|\d{2,3}\s*\/\s*\d{2,3}|[\d.,]{1,6}\s*-\s*[\d.,]{1,6})$/

/** Beside measurements, what the mapping itself holds, units, and codes of the catalog. */
export function keepsCodes(
  definition: MappingDefinition,
  { catalog, units }: Pick<MappingResources, 'catalog' | 'units'>,
): KeepsText {
  const written = new Set(textsIn(definition))
  const systems = ['LOINC', 'SNOMED', 'ICD-10-CM'] as const
  return (text) =>
    text !== '' &&
    (MEASUREMENT.test(text) ||
      written.has(text) ||
      YES_OR_NO.has(text) ||
      typeof parseFeetAndInches(text) === 'string' ||
      // Of digits alone it would take anything.
      (/[A-Za-z%]/.test(text) && units.resolve(text) !== undefined) ||
      systems.some((system) => catalog.keyOf(system, text) !== undefined))
}

/** Every text and key in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)])
}
