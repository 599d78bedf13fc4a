/** Patterns for the names of exports. */
import { DateTime } from 'luxon'
import { WaybillError } from '../model/errors.ts'

/** Nothing in a pattern depends on the machine: not its zone, not its language. */
const NEUTRAL = { zone: 'utc', locale: 'en-US' } as const
/** A date whose year, month and day cannot be taken for one another, to try formats with. */
const PROBE = DateTime.fromObject({ year: 1987, month: 11, day: 23 }, NEUTRAL)
const PIECES = /\*+|\{[^{}]*\}|[{}]|[^*{}]+/g

/** `*` is any run of characters, `{date:FORMAT}` a date in Luxon's tokens. */
export interface ExportPattern {
  readonly names: RegExp
  readonly dateFormat?: string
}

/**
 * Compiles `acme_screening_{date:yyyyMMdd}.csv*`.
 * @throws WaybillError `job-invalid`: empty, with a folder in it, with braces that are no `{date:FORMAT}`, with two dates,
 *   or with a format that does not give a year and month
 */
export function compilePattern(pattern: string): ExportPattern {
  if (pattern === '') throw invalidPattern('is empty')
  if (/[/\\\0]/.test(pattern)) throw invalidPattern('names a folder; it is for file names alone')
  let dateFormat: string | undefined
  const parts = (pattern.match(PIECES) ?? []).map((piece) => {
    if (piece.startsWith('*')) return '.*'
    if (!/^[{}]/.test(piece)) return piece.replace(/[\\^$.+?()[\]|-]/g, '\\$&')
    const format = /^\{date:(.+)\}$/.exec(piece)?.[1]
    if (format === undefined) throw invalidPattern(`has "${piece}" where only {date:FORMAT} is known`)
    if (dateFormat !== undefined) throw invalidPattern('has two dates')
    dateFormat = format
    return `(?<date>${dateSource(format)})`
  })
  const names = new RegExp(`^${parts.join('')}$`, 's')
  return dateFormat === undefined ? { names } : { names, dateFormat }
}

/**
 * What the name says, or undefined when it does not match: its date as `YYYY-MM-DD`, where the pattern has one (a format without a day
 * gives the first of the month). A date that does not exist does not match.
 */
export function matchExportName(pattern: ExportPattern, name: string): { date?: string } | undefined {
  const found = pattern.names.exec(name)
  if (found === null) return undefined
  if (pattern.dateFormat === undefined) return {}
  const date = DateTime.fromFormat(found.groups?.['date'] ?? '', pattern.dateFormat, NEUTRAL)
  return date.isValid ? { date: date.toISODate() } : undefined
}

/** Luxon's own regular expression for a format, without its anchors. */
function dateSource(format: string): string {
  const sample = PROBE.toFormat(format, { locale: NEUTRAL.locale })
  const { regex } = DateTime.fromFormatExplain(sample, format, NEUTRAL)
  const date = DateTime.fromFormat(sample, format, NEUTRAL)
  // Without a year Luxon takes today's; without a month, January.
  if (regex === undefined || !date.hasSame(PROBE, 'month'))
    throw invalidPattern(`has a date format that gives no year and month: "${format}"`)
  // Y is no token of Luxon and D a whole localised date: YYYYMMDD would compile and match no name.
  if (/[YD]/.test(format.replace(/'[^']*'/g, '')))
    throw invalidPattern(`has Y or D in its date format, "${format}": years are y, days are d`)
  return inAnyCase(regex.source.replace(/^\^|\$$/g, ''))
}

/** Of names of months: `JAN`, `Jan`. The pattern around them stays as it is written. */
const inAnyCase = (source: string): string =>
  source.replaceAll(/\\.|\[[^\]]*\]|[a-z]/gi, (piece) =>
    piece.length === 1 ? `[${piece.toLowerCase()}${piece.toUpperCase()}]` : piece,
  )

function invalidPattern(problem: string): WaybillError {
  return new WaybillError('job-invalid', `The pattern for exports ${problem}.`, {
    place: { key: 'exports.match' },
    remedy: 'Write it like acme_screening_{date:yyyyMMdd}.csv*',
  })
}

/** Those whose name matches, oldest date in the name first, then by name (in code-unit order). */
export function inOrder<Item extends { readonly name: string }>(
  pattern: ExportPattern,
  items: Iterable<Item>,
): Item[] {
  const dated: { item: Item; date: string }[] = []
  for (const item of items) {
    const matched = matchExportName(pattern, item.name)
    if (matched !== undefined) dated.push({ item, date: matched.date ?? '' })
  }
  return dated
    .sort((a, b) => compare(a.date, b.date) || compare(a.item.name, b.item.name))
    .map(({ item }) => item)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
