/** Questions about rows that are not visits, by their texts: cancelled, no show, tests, previews. */

import { isCalled, type Words } from '../../../../src/watch/names.ts'
import { WORDS_OF_WHEN } from './match-wide.ts'
import type { ColumnProfile } from './profile-columns.ts'
import type { Vocabulary } from './vocabulary.ts'
import { type DraftLine, decide, quoted, scalar } from './write-draft.ts'

/** Maximum length of a text that can be a plain status. */
const LONGEST = 80
/** Maximum number of texts to write out. */
const MOST_TEXTS = 8

interface Found {
  readonly column: ColumnProfile
  readonly condition: string
  readonly rows: number
}

export interface LeftOut {
  readonly lines: readonly DraftLine[]
  /** Columns of yes and no named after these rows. */
  readonly flags: readonly ColumnProfile[]
}

/** Finds rows to leave out. @param columns without values; a condition on rows may read them */
export function rowsLeftOut(columns: readonly ColumnProfile[], { words }: Vocabulary): LeftOut {
  const free = columns.filter(({ path }) => !WORDS_OF_WHEN.includes(path))
  const flags = free.flatMap((column) => byHeading(column, words) ?? [])
  const isOf = createTexts(words.notHeld)
  const others = free.filter((column) => !flags.some((flag) => flag.column === column))
  const found = [...flags, ...others.flatMap((column) => isOf(column) ?? [])]
  const [first, another] = found
  if (first === undefined) return { lines: [], flags: [] }
  const counted = found.map(({ column, rows }) => `${rows} by ${scalar(column.path)}`).join(', ')
  const conditions = found.map(({ condition }) => `{ ${condition} }`)
  const when = another === undefined ? conditions.join() : `{ any: [${conditions.join(', ')}] }`
  return {
    lines: [decide(`rows that are probably not visits: ${counted}. Leave these rows out? skipWhen: ${when}`)],
    flags: flags.map(({ column }) => column),
  }
}

/** A column such as `no_show` with yes and no. */
function byHeading(column: ColumnProfile, { leftOut, wide }: Words): Found | undefined {
  const { path, filled, yesNo } = column
  const bare = column.words.filter((word) => !wide.diagnosed.includes(word))
  if (yesNo === undefined || !(isCalled(column.words, leftOut) || isCalled(bare, leftOut))) return undefined
  const rows = filled.filter((cell) => yesNo.yes.includes(cell)).length
  return { column, rows, condition: `${scalar(path)}: ${quoted(yesNo.yes)}` }
}

/** Finds row states among the texts of a column. A state of every row divides nothing. */
function createTexts({ whole, within }: Words['notHeld']): (column: ColumnProfile) => Found | undefined {
  const entire = new RegExp(`^(?:${whole.join('|')}|${within.join('|')})$`, 'i')
  const any = new RegExp(`^(?:${whole.join('|')})$|${within.join('|')}`, 'i')
  return (column) => {
    const { path, cells, filled, distinct, numbers, dates } = column
    if (filled.length === numbers.length || dates?.unread === 0) return undefined
    const texts = [...distinct].filter((text) => text.length <= LONGEST && any.test(text))
    const found = new Set(texts)
    const rows = filled.filter((cell) => found.has(cell)).length
    if (rows === 0 || rows === cells.length) return undefined
    // The rest of a cell is unknown, and is not shown.
    const isShown = texts.length <= MOST_TEXTS && texts.every((text) => entire.test(text) && !/\d/.test(text))
    const patterns = [...whole.map((one) => `^(?:${one})$`), ...within].filter((one) =>
      texts.some((text) => new RegExp(one, 'i').test(text)),
    )
    const matches = `{ matches: ${JSON.stringify(`(?i)${patterns.join('|')}`)} }`
    return { column, rows, condition: `${scalar(path)}: ${isShown ? quoted(texts) : matches}` }
  }
}
