/** Questions about rows that are no visits, by their texts: cancelled, no show, tests, previews. */
import { WORDS_OF_WHEN } from './match-wide.ts'
import { isCalled, type Vocabulary, type Words } from './names.ts'
import type { ColumnProfile } from './profile-columns.ts'
import { type DraftLine, decide, quoted, scalar } from './write-draft.ts'

/** Length of a text that can be a state alone. */
const LONGEST = 80
/** Different texts that are written out. */
const MOST_TEXTS = 8

interface Found {
  readonly column: ColumnProfile
  readonly condition: string
  readonly rows: number
}

export interface LeftOut {
  readonly lines: readonly DraftLine[]
  /** Columns of yes and no named after such rows. */
  readonly flags: readonly ColumnProfile[]
}

/** @param columns without values, which a condition on rows may read */
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
    lines: [decide(`rows that seem to be no visits: ${counted}. Leave these rows out? skipWhen: ${when}`)],
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

/** Looks for states of rows among the texts of a column; a state of every row divides none. */
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
    // Other text of a cell is unknown, and is not shown.
    const isShown = texts.length <= MOST_TEXTS && texts.every((text) => entire.test(text) && !/\d/.test(text))
    const patterns = [...whole.map((one) => `^(?:${one})$`), ...within].filter((one) =>
      texts.some((text) => new RegExp(one, 'i').test(text)),
    )
    const matches = `{ matches: ${JSON.stringify(`(?i)${patterns.join('|')}`)} }`
    return { column, rows, condition: `${scalar(path)}: ${isShown ? quoted(texts) : matches}` }
  }
}
