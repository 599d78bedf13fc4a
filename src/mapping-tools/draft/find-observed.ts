/** The column of dates that says when something was observed: by its name, confirmed by its dates, and never guessed. */
import { compileInstant } from '../../transform/dates.ts'
import { A_DATE, NOT_OBSERVED, OBSERVED } from './person-words.ts'
import type { ColumnProfile } from './profile-columns.ts'

export interface Observed {
  /** Undefined where no name tells it from the others. */
  readonly column: ColumnProfile | undefined
  /** Without a column: those that it could be. */
  readonly candidates: readonly ColumnProfile[]
}

/** @param reference the column that names the person */
export function findObserved(
  columns: readonly ColumnProfile[],
  reference: ColumnProfile | undefined,
): Observed {
  const dated = columns.filter(({ dates }) => dates !== undefined)
  const instants = new Map(dated.map((column) => [column, instantsOf(column)]))
  const newest = Math.max(
    ...[...instants.values()].map((sorted) => sorted.at(-1) ?? Number.NEGATIVE_INFINITY),
  )
  const candidates = dated.filter(
    (column) =>
      !column.words.some((word) => NOT_OBSERVED.test(word)) &&
      !(looksLikeBirths(instants.get(column) ?? [], newest) && !changesWithin(column, reference)),
  )
  const ranks = candidates.map((column) => ({ column, rank: rankOf(column) }))
  const best = Math.min(...ranks.map(({ rank }) => rank))
  const winners = ranks.filter(({ rank }) => rank === best)
  const [winner] = winners
  const certain = winner !== undefined && winners.length === 1 && best < UNKNOWN
  return certain ? { column: winner.column, candidates: [] } : { column: undefined, candidates }
}

const SOME_DATE = OBSERVED.length
const UNKNOWN = SOME_DATE + 1

function rankOf({ words }: ColumnProfile): number {
  const at = OBSERVED.findIndex((word) => words.includes(word))
  if (at !== -1) return at
  return words.some((word) => A_DATE.test(word)) ? SOME_DATE : UNKNOWN
}

/** In order. */
function instantsOf({ distinct, dates }: ColumnProfile): number[] {
  const parse = compileInstant(dates?.forms ?? [])
  return [...distinct]
    .flatMap((cell) => {
      const instant = parse(cell)
      return instant.ok ? [instant.at] : []
    })
    .sort((a, b) => a - b)
}

const YEAR = 365.25 * 86_400_000
/** An export of visits reaches back some years; people are born over decades, and most of them long before its newest date. */
const BIRTHS_SPAN = 20
const BIRTHS_LIE_BACK = 15

function looksLikeBirths(sorted: readonly number[], newest: number): boolean {
  const [first = 0] = sorted
  const last = sorted.at(-1) ?? 0
  const middle = sorted[Math.floor(sorted.length / 2)] ?? newest
  return last - first > BIRTHS_SPAN * YEAR && newest - middle > BIRTHS_LIE_BACK * YEAR
}

/** Nobody is born twice: where most people with several rows have several dates, these are no dates of birth. */
function changesWithin({ filled }: ColumnProfile, reference: ColumnProfile | undefined): boolean {
  // Only whole columns lie row by row beside each other.
  if (reference === undefined || reference.filled.length !== filled.length) return false
  const people = Map.groupBy(filled.keys(), (at) => reference.filled[at])
  const several = [...people.values()].filter(({ length }) => length > 1)
  const changing = several.filter((rows) => new Set(rows.map((at) => filled[at])).size > 1)
  return changing.length > 0 && changing.length > several.length / 2
}
