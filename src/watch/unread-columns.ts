/** Columns of an export that a mapping does not read. */
import type { ReadName } from '../transform/compile-context.ts'
import type { MappingDefinition } from '../transform/mapping-definition.ts'

/** Columns of the export that the mapping does not read. A column without a name cannot be read. */
export function unreadColumns(reads: readonly ReadName[], columns: readonly string[]): string[] {
  const read = new Set(reads.map(({ name }) => name))
  return columns.filter((column) => column !== '' && !read.has(column))
}

/** Column named as the unit of another: `weight_unit`, `unit of weight`. */
const UNIT =
  /^(?:(.+?)[\s_.-]*(?:units?|uom|einheit(?:en)?|unit[eé]s?|unidad(?:es)?)|(?:units?|uom|einheit|unit[eé]|unidad)[\s_.-]+(?:(?:of|de|von|der)[\s_.-]+)?(.+))$/i

/** Wide rules with a fixed unit for all rows, although an unread column holds units. */
export function unreadUnits(
  { row, biometrics = {} }: MappingDefinition,
  unread: readonly string[],
): { readonly rule: string; readonly column: string }[] {
  if (Array.isArray(biometrics)) return []
  const units = new Map(
    unread.flatMap((column) => {
      const [, before, behind] = UNIT.exec(column) ?? []
      const named = before ?? behind
      return named === undefined ? [] : [[named.toLowerCase(), column] as const]
    }),
  )
  return Object.entries(biometrics).flatMap(([rule, written]) => {
    const [from, unit] = typeof written === 'string' ? [written, undefined] : [written.from, written.unit]
    const name = from?.toLowerCase() ?? ''
    // German joins words with an s: `Gewichtseinheit`.
    const column = typeof unit === 'object' ? undefined : (units.get(name) ?? units.get(`${name}s`))
    const ignore = [...(row.ignore ?? []), ...((typeof written === 'object' && written.ignore) || [])]
    return column === undefined || ignore.includes(column) ? [] : [{ rule, column }]
  })
}
