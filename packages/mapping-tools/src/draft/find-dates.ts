/** Forms of the dates in a column. */
import { compileInstant } from '../../../../src/transform/dates.ts'

export interface DateForms {
  readonly forms: readonly string[]
  /** Day and month could be swapped in all of them: no number exceeds 12. */
  readonly ambiguous: boolean
  readonly timed: boolean
  readonly offset: boolean
  readonly unread: number
}

/** Maximum numbers of different cells examined, and of forms in a column. */
const LOOKED_AT = 150
const MOST_FORMS = 3
/** Shares of the cells: minimum gain from another form; and maximum of cells that are not dates. */
const FEW = 0.02
const WRONG = 0.05

const LOOKS_LIKE_A_DATE =
  /^(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{8}(?:\d{4,6})?(?:\.\d+)?(?:[+-]\d{4})?$|\d{8}[T ]\d{4}|\d{1,2}[- ][A-Za-z]{3}[- ]\d{2}|[A-Za-z]{3} +\d{1,2},? \d{4})/

/** Dates as numbers, in a column named after dates. */
const NUMBERED = [
  { form: 'EPOCH_MS', looksLike: /^1\d{12}$/, ambiguous: false, timed: () => true, offset: true },
  {
    form: 'EXCEL',
    looksLike: /^[2-6]\d{4}(?:\.\d+)?$/,
    ambiguous: true,
    timed: (cells: readonly Counted[]) => cells.some(([cell]) => cell.includes('.')),
    offset: false,
  },
]

type Counted = readonly [cell: string, count: number]

const total = (cells: readonly Counted[]): number => cells.reduce((sum, [, count]) => sum + count, 0)

/**
 * Finds the forms of a column's dates.
 *
 * @param column its filled cells, with repetitions
 * @param named true if the column's name is a date's
 */
export type FindDateForms = (column: Iterable<string>, named: boolean) => DateForms | undefined

/** Creates the finder. @param known forms, the strictest first; of forms that read the same cells, the first is chosen */
export function createDateFinder(known: readonly string[]): FindDateForms {
  // Compiling a form takes longer than reading a column.
  const readers = new Map<string, (cell: string) => boolean>()
  const reads = (form: string): ((cell: string) => boolean) => {
    const before = readers.get(form)
    if (before !== undefined) return before
    const parse = compileInstant([form])
    const reader = (cell: string): boolean => {
      const instant = parse(cell)
      const year = instant.ok ? new Date(instant.at).getUTCFullYear() : 0
      return year >= 1880 && year <= 2100
    }
    readers.set(form, reader)
    return reader
  }
  const unreadBy = (forms: readonly string[], cells: readonly Counted[]): readonly Counted[] =>
    cells.filter(([cell]) => !forms.some((form) => reads(form)(cell)))

  /** Fewest forms, each reading the most remaining cells. */
  const coveringForms = (cells: readonly Counted[]): string[] => {
    const forms: string[] = []
    let left = cells
    while (total(left) > total(cells) * FEW && forms.length < MOST_FORMS) {
      let best: { form: string; left: readonly Counted[] } | undefined
      for (const form of known) {
        const rest = unreadBy([form], left)
        if (total(rest) < total(best?.left ?? left)) best = { form, left: rest }
        if (rest.length === 0) break
      }
      if (best === undefined) break
      forms.push(best.form)
      left = best.left
    }
    return forms
  }

  return (column, named) => {
    const counts = new Map<string, number>()
    for (const cell of column) counts.set(cell, (counts.get(cell) ?? 0) + 1)
    const cells = [...counts].slice(0, LOOKED_AT)
    const all = total(cells)
    if (all === 0) return undefined
    for (const { form, looksLike, ambiguous, timed, offset } of named ? NUMBERED : []) {
      const unread = total(cells.filter(([cell]) => !looksLike.test(cell)))
      if (unread <= all * WRONG) return { forms: [form], ambiguous, timed: timed(cells), offset, unread }
    }
    if (total(cells.filter(([cell]) => !LOOKS_LIKE_A_DATE.test(cell))) > all * WRONG) return undefined
    const forms = coveringForms(cells)
    const others = unreadBy(forms, cells)
    const unread = total(others)
    if (forms.length === 0 || unread > all * WRONG) return undefined
    const turned = forms.map(swapped)
    const read = cells.filter((cell) => !others.includes(cell)).map(([cell]) => cell)
    return {
      forms,
      ambiguous:
        turned.some((form, at) => form !== forms[at]) && total(unreadBy(turned, cells)) <= unread + all * FEW,
      timed:
        forms.some(tellsTime) || read.some((cell) => cell.includes(':') || /^\d{10,}|^\d{8}T/.test(cell)),
      // The end of `02-04-2026` looks like an offset; an offset must follow a time of day.
      offset: read.every((cell) =>
        /(?:\d:\d{2}[\d:.]*|^\d{10,}(?:\.\d+)?|^\d{8}T\d{4,}[\d.]*)(?:Z|[+-]\d{2}(?::?\d{2})?)$/.test(cell),
      ),
      unread,
    }
  }
}

/** True if a form has tokens of a time of day, outside quotes. */
const tellsTime = (form: string): boolean => form !== 'HL7' && /[Hh]/.test(form.replaceAll(/'[^']*'/g, ''))

/** Swaps day and month in a form; forms with a named month, or the year first, stay. */
function swapped(form: string): string {
  if (form.includes('MMM') || form.startsWith('yyyy')) return form
  return form.replace(/M+|d+/g, (token) => (token.startsWith('M') ? 'd' : 'M').repeat(token.length))
}
