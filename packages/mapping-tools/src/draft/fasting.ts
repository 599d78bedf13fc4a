/** Glucose with a column of fasting: two rules, by the texts of the column. */
import { counted } from '../../../../src/system/shown-text.ts'
import { isCalled, nameWords } from '../../../../src/watch/names.ts'
import type { ColumnProfile } from './profile-columns.ts'
import type { Vocabulary } from './vocabulary.ts'
import { ask, type Question, quoted, scalar } from './write-draft.ts'

/** Column of fasting, with its texts by meaning. */
export interface Fasting {
  readonly column: ColumnProfile
  readonly yes: readonly string[]
  readonly no: readonly string[]
  readonly others: readonly string[]
}

/** Finds the column by its name; or a column named like fasting glucose, without numbers. */
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
  // Numbers other than 0 and 1 are codes, or hours. F without T may mean fasting instead of false.
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

/** Maximum length of shown texts. Longer texts are counted: their content is unknown. */
const SHORT = 3
/** Hours without food after which glucose counts as fasting. */
const LONG = 8

/**
 * Rules for a glucose value, with questions. Rows with unknown texts have neither rule, and get a question.
 *
 * @param measured members of either rule
 */
export function glucoseRules(
  measured: string,
  { column, yes, no, others }: Fasting,
): (readonly [key: string, yaml: string, asked: Question | undefined])[] {
  const path = scalar(column.path)
  const short = others.filter(({ length }) => length <= SHORT)
  const longer = others.length - short.length
  const named = [short.map(scalar).join(', '), longer === 0 ? '' : counted(longer, 'longer text')]
    .filter((text) => text !== '')
    .join(' and ')
  const rule = (key: string, when: string): string => `${key}: { ${measured}, when: { ${path}: ${when} } }`
  if (yes.length === 0) {
    const isHours = column.numbers.some((hours) => hours >= LONG)
    const fasting = rule('glucose-fasting', isHours ? `{ ">=": ${LONG} }` : quoted(['…']))
    const which = `which texts of ${path} mean fasting${named === '' ? '' : ` (${named})`}?`
    return [['glucose', `glucose: { ${measured} }`, ask(which, `For these, write ${fasting}`)]]
  }
  const asked = `${named} of ${path}: fasting, or not? Their rows have no glucose until a rule has these texts`
  return [
    ['glucose-fasting', rule('glucose-fasting', quoted(yes)), undefined],
    ['glucose', rule('glucose', quoted([...no, ''])), ask(others.length > 0 && asked)],
  ]
}
