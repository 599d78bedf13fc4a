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
  /** How many cells are no dates in these forms. */
  readonly unread: number
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
/** Different cells looked at, and forms a column may mix. */
const LOOKED_AT = 150
const MOST_FORMS = 3
/** Of the cells, so many more must be read by one more form for it to be one; and so many may be no dates at all. */
const FEW = 0.02
const WRONG = 0.05

const LOOKS_LIKE_A_DATE =
  /^(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}(?:\d{4,6})?(?:\.\d+)?(?:[+-]\d{4})?$|\d{1,2}[- ][A-Za-z]{3}[- ]\d{4}|[A-Z][a-z]{2} \d{1,2}, \d{4})/
const SAYS_DATE =
  /^(?:date|time|datetime|timestamp|at|on|dob|collected|ts|epoch|fecha|zeitpunkt|\w*datum|\w*zeit)$/

/** A cell, and how often it stands in the column. */
type Counted = readonly [cell: string, count: number]

const total = (cells: readonly Counted[]): number => cells.reduce((sum, [, count]) => sum + count, 0)

/**
 * @param column its cells that hold something, each as often as it stands there
 * @param words of the column's name: numbers alone are dates only where it says so
 */
export function findDateForms(column: Iterable<string>, words: readonly string[]): DateForms | undefined {
  const counts = new Map<string, number>()
  for (const cell of column) counts.set(cell, (counts.get(cell) ?? 0) + 1)
  const counted = [...counts].slice(0, LOOKED_AT)
  const all = total(counted)
  if (all === 0) return undefined
  const others = (fits: (cell: string) => boolean): number => total(counted.filter(([cell]) => !fits(cell)))
  const most = (unread: number): boolean => unread <= all * WRONG
  if (words.some((word) => SAYS_DATE.test(word))) {
    const epoch = others((cell) => /^1\d{12}$/.test(cell))
    if (most(epoch))
      return { forms: ['EPOCH_MS'], ambiguous: false, timed: true, offset: true, unread: epoch }
    const serial = others((cell) => /^[2-6]\d{4}(?:\.\d+)?$/.test(cell))
    if (most(serial))
      return {
        forms: ['EXCEL'],
        ambiguous: true,
        timed: counted.some(([cell]) => cell.includes('.')),
        offset: false,
        unread: serial,
      }
  }
  if (!most(others((cell) => LOOKS_LIKE_A_DATE.test(cell)))) return undefined
  const forms = coveringForms(counted)
  if (forms === undefined) return undefined
  const unread = unreadByAll(forms, counted)
  const read = counted.flatMap(([cell]) => (forms.every((form) => unreadBy(form)(cell)) ? [] : [cell]))
  const turned = forms.map(swapped)
  return {
    forms,
    ambiguous:
      forms.some((form) => form !== swapped(form)) && unreadByAll(turned, counted) <= unread + all * FEW,
    timed: read.some((cell) => cell.includes(':') || /^\d{10,}/.test(cell)),
    offset: read.every((cell) => /(?:Z|[+-]\d{2}:?\d{2})$/.test(cell.replace(/^\d{4}-\d{2}-\d{2}$/, ''))),
    unread,
  }
}

/** The fewest forms, each reading the most of what those before it leave. */
function coveringForms(cells: readonly Counted[]): string[] | undefined {
  const forms: string[] = []
  const all = total(cells)
  let left = cells
  while (total(left) > all * FEW && forms.length < MOST_FORMS) {
    let best: { form: string; left: readonly Counted[] } | undefined
    for (const form of FORMS) {
      const rest = left.filter(([cell]) => unreadBy(form)(cell))
      if (total(rest) < total(best?.left ?? left)) best = { form, left: rest }
      if (rest.length === 0) break
    }
    if (best === undefined) break
    forms.push(best.form)
    left = best.left
  }
  return forms.length > 0 && total(left) <= all * WRONG ? forms : undefined
}

const unreadByAll = (forms: readonly string[], cells: readonly Counted[]): number =>
  total(cells.filter(([cell]) => forms.every((form) => unreadBy(form)(cell))))

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
