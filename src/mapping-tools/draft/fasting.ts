/** Glucose beside a column that says who had fasted: two rules, by the texts of that column. */
import { counted } from '../../shown-text.ts'
import { isCalled, nameWords, type Vocabulary } from './names.ts'
import type { ColumnProfile } from './profile-columns.ts'
import { type DraftLine, line, quoted, scalar } from './write-draft.ts'

/** A column of fasting, and which of its texts say so. */
export interface Fasting {
  readonly column: ColumnProfile
  readonly yes: readonly string[]
  readonly no: readonly string[]
  /** Neither, as far as is known. */
  readonly others: readonly string[]
}

/** By its name; or called like fasting glucose, with no number in it. */
export function findFasting(
  columns: readonly ColumnProfile[],
  { words: { wide, cells }, naming, measurements }: Vocabulary,
): Fasting | undefined {
  const isFlag = (column: ColumnProfile): boolean =>
    column.numbers.length === 0 && measurements.match(column)?.keys.join() === 'glucose-fasting'
  const column = columns.find(
    (one) => one.filled.length > 0 && (isCalled(one.words, wide.fasting) || isFlag(one)),
  )
  if (column === undefined) return undefined
  const texts = [...column.distinct]
  const says = (text: string, known: readonly string[], names: readonly string[]): boolean =>
    known.includes(text) || isCalled(nameWords(text, naming).outside, names)
  // Numbers other than 0 and 1 are codes, or hours. An F is no false without a T: it may be fasting.
  const isCoded = column.numbers.length === column.filled.length && column.numbers.some((one) => one > 1)
  const isOpen = (text: string): boolean =>
    isCoded || (/^[FT]$/.test(text) && !['F', 'T'].every((one) => column.distinct.has(one)))
  const isNo = (text: string): boolean => !isOpen(text) && says(text, cells.no, wide.notFasting)
  const isYes = (text: string): boolean => !isOpen(text) && !isNo(text) && says(text, cells.yes, wide.fasting)
  return {
    column,
    yes: texts.filter(isYes),
    no: texts.filter(isNo),
    others: texts.filter((text) => !isYes(text) && !isNo(text)),
  }
}

/** Longer texts could be anything, and are counted alone. */
const SHORT = 3
/** Hours without food after which glucose counts as fasting. */
const LONG = 8

/**
 * The rules of a value of glucose, by key. Rows of texts that are not known have neither, and are asked about.
 * @param measured members of either rule
 */
export function glucoseRules(
  measured: string,
  { column, yes, no, others }: Fasting,
): (readonly [key: string, line: DraftLine])[] {
  const path = scalar(column.path)
  const short = others.filter(({ length }) => length <= SHORT)
  const named = [
    ...(short.length === 0 ? [] : [short.map(scalar).join(', ')]),
    ...(short.length === others.length ? [] : [counted(others.length - short.length, 'longer text')]),
  ].join(' and ')
  const rule = (key: string, when: string): string => `${key}: { ${measured}, when: { ${path}: ${when} } }`
  if (yes.length === 0) {
    const isHours = column.numbers.some((hours) => hours >= LONG)
    const fasting = rule('glucose-fasting', isHours ? `{ ">=": ${LONG} }` : quoted(['…']))
    const asked = `DECIDE: which texts of ${path} say that somebody had fasted${named === '' ? '' : ` (${named})`}? Of these it is ${fasting}`
    return [['glucose', line(`glucose: { ${measured} }`, asked)]]
  }
  const asked = `DECIDE: ${named} of ${path}: fasting, or not? Until one of both rules has them, their rows have no glucose`
  return [
    ['glucose-fasting', line(rule('glucose-fasting', quoted(yes)))],
    ['glucose', line(rule('glucose', quoted([...no, ''])), others.length === 0 ? undefined : asked)],
  ]
}
