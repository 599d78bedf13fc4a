/** Columns that say something of a whole row: of its values, its time, its person, its units. */
import { isZone } from '../../../../src/transform/zones.ts'
import { type PartOfRow, partOfRow } from '../../../../src/watch/column-names.ts'
import { isCalled, type Words } from '../../../../src/watch/names.ts'
import { holdsStates } from './coded-rules.ts'
import type { ColumnProfile } from './profile-columns.ts'
import { ask, type DraftLine, decide, line, list, scalar } from './write-draft.ts'

const isAll = ({ distinct }: ColumnProfile, holds: (text: string) => boolean): boolean =>
  distinct.size > 0 && [...distinct].every(holds)

/** AM and PM, zones and offsets as a mapping reads them. */
export const holdsHalves = (column: ColumnProfile): boolean => isAll(column, (text) => /^[ap]m$/i.test(text))
export const holdsZones = (column: ColumnProfile): boolean => isAll(column, isZone)
export const holdsOffsets = (column: ColumnProfile): boolean =>
  isAll(column, (text) => /^[+-]\d{2}:?[0-5]\d$/.test(text))

/** Part of a row by the texts of a column, whatever it is called. */
function byTexts(column: ColumnProfile, words: Words): PartOfRow | undefined {
  const { texts, ordinal } = words.ofRow
  if (holdsZones(column)) return 'date'
  if (holdsStates(column, words)) return 'value'
  if (isCalled(column.words, ordinal) && isAll(column, (text) => /^\d{1,3}$/.test(text))) return 'person'
  return (['date', 'person', 'unit'] as const).find(
    (part) =>
      (part === 'date' || column.distinct.size > 1) &&
      isAll(column, (text) => new RegExp(`^(?:${texts[part]})$`, 'i').test(text)),
  )
}

const VOIDS = 'does one of these change the meaning of the values of a row, or void them?'
const ASKED = [
  ['date', 'part of the time of a row? Read a zone by zone: { from: … }, with a table for short names.'],
  ['person', 'several people with one reference? If so, join both columns by concat in reference and key.'],
  ['unit', 'the units of a row? If so, read the unit of each rule: unit: { from: …, table: { … } }'],
] as const

/**
 * Lines of the row block about unread columns, and the columns that they speak of.
 * @param isTable true where a mapping can name columns under `ignore`
 */
export function linesOfRow(
  unread: readonly ColumnProfile[],
  isTable: boolean,
  words: Words,
): { readonly lines: readonly DraftLine[]; readonly covered: readonly string[] } {
  const parts = Map.groupBy(unread, (column) =>
    column.filled.length === 0 ? undefined : (partOfRow(column, words) ?? byTexts(column, words)),
  )
  const of = (part: PartOfRow): string[] => (parts.get(part) ?? []).map(({ path }) => path)
  const asked = (paths: readonly string[], question: string): DraftLine[] =>
    paths.length === 0 ? [] : [decide(`${paths.map(scalar).join(', ')}: ${question}`)]
  const values = [...of('value'), ...of('remark')]
  const ignored = isTable && values.length > 0
  return {
    covered: [...values, ...ASKED.flatMap(([part]) => of(part))],
    lines: [
      ...(ignored ? [line(`ignore: ${list(values)}`, ask(VOIDS))] : asked(values, VOIDS)),
      ...ASKED.flatMap(([part, question]) => asked(of(part), question)),
    ],
  }
}
