/** Columns that belong to the value in another column: inches beside feet, sign, flag. */
import type { Units } from '../../../../src/transform/units.ts'
import type { ColumnProfile } from './profile-columns.ts'
import type { Vocabulary } from './vocabulary.ts'
import { ask, type DraftLine, decide, line, list, type Question, scalar } from './write-draft.ts'

/** Smaller unit of a second column, and its number in the larger unit, by larger unit. */
const PAIRS: Readonly<Record<string, readonly [smaller: string, per: number]>> = {
  '[ft_i]': ['[in_i]', 12],
  '[stone_av]': ['[lb_av]', 14],
  '[lb_av]': ['[oz_av]', 16],
  m: ['cm', 100],
}

/** Column with the meaning of its name. */
export interface NamedColumn {
  readonly column: ColumnProfile
  readonly key: string
  readonly unit: string | undefined
}

/** Value in two columns, and the line of a draft that asks about it. */
export interface ColumnPair {
  readonly key: string
  readonly columns: readonly [larger: ColumnProfile, smaller: ColumnProfile]
  readonly line: DraftLine
}

/** Finds two columns of a measurement in a larger and a smaller unit: 5 feet and 11 inches. */
export function columnPairs(named: readonly NamedColumn[], units: Units): ColumnPair[] {
  return named.flatMap(({ column, key, unit = '' }) => {
    const [smaller, per] = PAIRS[units.resolve(unit) ?? ''] ?? []
    const other = named.find(
      (one) =>
        one.key === key &&
        units.resolve(one.unit ?? '') === smaller &&
        per !== undefined &&
        one.column.numbers.length > 0 &&
        one.column.numbers.every((value) => value >= 0 && value < per),
    )
    if (other === undefined || smaller === undefined) return []
    const paths = [column.path, other.column.path]
    const both = `${paths.map(scalar).join(' and ')} are one value`
    const written =
      smaller === '[in_i]'
        ? line(`${key}: { concat: ${list(paths)}, separator: "-", form: feet-and-inches }`, ask(both))
        : decide(
            `${both}: ${key}: { expression: ${JSON.stringify(`$number(\`${paths[0]}\`) * ${per} + $number(\`${paths[1]}\`)`)}, unit: ${scalar(other.unit ?? smaller)} }`,
          )
    return [{ key, columns: [column, other.column], line: written }]
  })
}

const SIGNS = /^(?:[<>]=?|[≤≥=])$/

export const holdsSigns = ({ distinct }: ColumnProfile): boolean =>
  distinct.size > 0 && [...distinct].every((text) => SIGNS.test(text))

/** True for a column of signs with a name for signs alone. It belongs to the column before. */
export const isSignOf = (column: ColumnProfile, { words }: Pick<Vocabulary, 'words'>): boolean =>
  holdsSigns(column) &&
  column.words.every((word) => words.wide.beside.includes(word.replace(/\d$/, '') || 'sign'))

export interface Reading {
  readonly path: string
  /** Members of the rule after the column; undefined if no expression reads the column. */
  readonly rest: string | undefined
}

/** Proposes the mean of several readings in the same unit; empty otherwise. */
export function meanOf(key: string, readings: readonly Reading[]): string {
  const rest = readings[0]?.rest
  if (rest === undefined || readings.some((one) => one.rest !== rest)) return ''
  const numbers = readings.map(({ path }) => `$number(${path.startsWith('$') ? path : `\`${path}\``})`)
  const mean = JSON.stringify(`$round($average([${numbers.join(', ')}]), 2)`)
  return `; or the mean of all ${readings.length} instead of the first: ${key}: { expression: ${mean}${rest} }`
}

/**
 * Members of a rule for columns beside its value: a sign goes in front, all others are ignored.
 * @param isTable true where a mapping can name columns under `ignore`
 */
export function besideParts(
  { path }: ColumnProfile,
  beside: readonly ColumnProfile[],
  isTable: boolean,
): { readonly from: string; readonly ignore: string; readonly asked: Question | undefined } {
  const sign = beside.find(holdsSigns)
  const others = beside.filter((one) => one !== sign).map((one) => scalar(one.path))
  return {
    from:
      sign === undefined
        ? `from: ${scalar(path)}`
        : `concat: [{ from: ${scalar(sign.path)}, emptyWhen: ["="] }, ${scalar(path)}]`,
    ignore: others.length === 0 || !isTable ? '' : `, ignore: [${others.join(', ')}]`,
    asked: ask(
      sign && `is ${scalar(sign.path)} its sign?`,
      others.length > 0 && `${others.join(', ')}: does it change the meaning of the value?`,
    ),
  }
}
