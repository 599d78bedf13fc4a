/** In which forms the dates of a column are written. */
import { compileInstant } from '../../transform/dates.ts'

export interface DateForms {
  /** In the order in which a mapping is to try them. */
  readonly forms: readonly string[]
  /** Day and month could change places in all of them: no number above 12 tells. */
  readonly ambiguous: boolean
  /** A time of day stands there. */
  readonly timed: boolean
  /** Every time tells its offset. */
  readonly offset: boolean
}

const DAYS = [
  ...[
    'MM/dd/yyyy',
    'M/d/yyyy',
    'dd/MM/yyyy',
    'd/M/yyyy',
    'dd.MM.yyyy',
    'd.M.yyyy',
    'MM-dd-yyyy',
    'dd-MM-yyyy',
  ],
  ...[
    'yyyy/MM/dd',
    'dd-MMM-yyyy',
    'd-MMM-yyyy',
    'dd MMM yyyy',
    'MMM d, yyyy',
    'MM/dd/yy',
    'M/d/yy',
    'dd/MM/yy',
  ],
]
const TIMES = [
  '',
  ' HH:mm',
  ' H:mm',
  ' HH:mm:ss',
  ' H:mm:ss',
  ' hh:mm a',
  ' h:mm a',
  ' h:mm:ss a',
  ' HH:mm:ss.SSS',
]

/** Forms by how strict they are: of two that read the same cells, the first is taken. */
const FORMS = [
  ...[
    'HL7',
    'ISO',
    'yyyy-MM-dd HH:mm',
    'yyyy-MM-dd HH:mm:ss',
    'yyyy-MM-dd HH:mm:ss.SSS',
    'yyyy-MM-dd h:mm a',
  ],
  ...DAYS.flatMap((day) => TIMES.map((time) => day + time)),
]
/** Cells looked at, and forms a column may mix. */
const LOOKED_AT = 150
const MOST_FORMS = 3
const FEW = 0.02

const LOOKS_LIKE_A_DATE =
  /^(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}(?:\d{4,6})?(?:\.\d+)?(?:[+-]\d{4})?$|\d{1,2}[- ][A-Za-z]{3}[- ]\d{4}|[A-Z][a-z]{2} \d{1,2}, \d{4})/
const SAYS_DATE = new Set([
  'date',
  'time',
  'datetime',
  'timestamp',
  'at',
  'on',
  'dob',
  'collected',
  'ts',
  'epoch',
])

/** @param words of the column's name: numbers alone are dates only where it says so */
export function findDateForms(
  distinct: ReadonlySet<string>,
  words: readonly string[],
): DateForms | undefined {
  const cells = [...distinct].slice(0, LOOKED_AT)
  if (cells.length === 0) return undefined
  if (words.some((word) => SAYS_DATE.has(word))) {
    if (cells.every((cell) => /^1\d{12}$/.test(cell)))
      return { forms: ['EPOCH_MS'], ambiguous: false, timed: true, offset: true }
    if (cells.every((cell) => /^[2-6]\d{4}(?:\.\d+)?$/.test(cell)))
      return {
        forms: ['EXCEL'],
        ambiguous: true,
        timed: cells.some((cell) => cell.includes('.')),
        offset: false,
      }
  }
  if (cells.filter((cell) => LOOKS_LIKE_A_DATE.test(cell)).length < cells.length * (1 - FEW)) return undefined
  const forms = coveringForms(cells)
  if (forms === undefined) return undefined
  return {
    forms,
    ambiguous: forms.some((form) => form !== swapped(form)) && coversAll(forms.map(swapped), cells),
    timed: cells.some((cell) => cell.includes(':') || /^\d{10,}/.test(cell)),
    offset: cells.every((cell) => /(?:Z|[+-]\d{2}:?\d{2})$/.test(cell.replace(/^\d{4}-\d{2}-\d{2}$/, ''))),
  }
}

/** The fewest forms, each reading the most of what those before it leave. */
function coveringForms(cells: readonly string[]): string[] | undefined {
  const forms: string[] = []
  let left = cells
  while (left.length > cells.length * FEW && forms.length < MOST_FORMS) {
    let best: { form: string; left: readonly string[] } | undefined
    for (const form of FORMS) {
      const rest = left.filter(unreadBy(form))
      if (rest.length < (best?.left.length ?? left.length)) best = { form, left: rest }
      if (rest.length === 0) break
    }
    if (best === undefined) return undefined
    forms.push(best.form)
    left = best.left
  }
  return left.length <= cells.length * FEW ? forms : undefined
}

const coversAll = (forms: readonly string[], cells: readonly string[]): boolean =>
  cells.filter((cell) => forms.every((form) => unreadBy(form)(cell))).length <= cells.length * FEW

/** A form takes longer to compile than to read a column. */
const READERS = new Map<string, (text: string) => boolean>()

function unreadBy(form: string): (cell: string) => boolean {
  let reads = READERS.get(form)
  if (reads === undefined) {
    const parse = compileInstant([form])
    reads = (cell) => {
      const instant = parse(cell)
      const year = instant.ok ? new Date(instant.at).getUTCFullYear() : 0
      return year >= 1880 && year <= 2100
    }
    READERS.set(form, reads)
  }
  const read = reads
  return (cell) => !read(cell)
}

/** Day and month in each other's place; forms that name the month, or begin with the year, stay. */
function swapped(form: string): string {
  if (form.includes('MMM') || form.startsWith('yyyy')) return form
  return form.replace(/M+|d+/g, (token) => (token.startsWith('M') ? 'd' : 'M').repeat(token.length))
}
