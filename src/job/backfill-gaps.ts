/** What a backfill leaves out: files that fit no pattern of its job, and days of its range without an export. Pure. */
import { DateTime } from 'luxon'
import type { JobSource } from '../definitions/export-definition.ts'
import { compilePattern, matchExportName } from '../extract/discover.ts'
import type { BackfillRange } from '../ledger/ledger.ts'

export interface Gaps {
  /** Months where no pattern of the job has a day. */
  readonly unit: 'day' | 'month'
  readonly count: number
  /** Of how many. */
  readonly of: number
  /** `2026-01-31`, or `2026-01`; both ends are included. */
  readonly ranges: readonly { readonly from: string; readonly to: string; readonly count: number }[]
}

type Rules = Pick<JobSource, 'match' | 'marker' | 'manifest' | 'checksum'>

/**
 * @param listed what lies at each source of the job
 * @param all whether every file is meant to be an export, as in a folder that was named; else those alone that fit a pattern but for the date
 * @param joins patterns of files that lie beside exports to be joined with them
 * @returns names of files that are no export of any day, sorted
 */
export function unmatchedNames(
  listed: readonly { readonly rules: Rules; readonly names: readonly string[] }[],
  all: boolean,
  joins: readonly string[],
): string[] {
  const rules = listed.map((one) => one.rules)
  const fits = fitsOneOf(rules.map(({ match }) => match))
  const isBeside = fitsOneOf([...joins, ...rules.flatMap(({ manifest }) => manifest ?? [])])
  const unmatched = new Set<string>()
  for (const { rules: own, names } of listed) {
    const fitsButForDate = fitsOneOf([own.match.replace(/\{date:[^{}]*\}/, '*')])
    const companions = new Set(
      names.flatMap((name) =>
        rules.flatMap(({ marker, checksum }) =>
          [marker, checksum].flatMap((pattern) => pattern?.replaceAll('{name}', name) ?? []),
        ),
      ),
    )
    for (const name of names) {
      const meant = all ? !name.startsWith('.') : fitsButForDate(name)
      if (meant && !fits(name) && !isBeside(name) && !companions.has(name)) unmatched.add(name)
    }
  }
  return [...unmatched].sort()
}

function fitsOneOf(patterns: readonly string[]): (name: string) => boolean {
  const compiled = patterns.map(compilePattern)
  return (name) => compiled.some((pattern) => matchExportName(pattern, name) !== undefined)
}

/** @param dates of exports: ISO dates, of a month its first */
export function gapsOf(
  { from, to }: Pick<BackfillRange, 'from' | 'to'>,
  matches: readonly string[],
  dates: Iterable<string>,
): Gaps {
  const unit = matches.some(hasDay) ? 'day' : 'month'
  const length = unit === 'day' ? '2026-01-31'.length : '2026-01'.length
  const there = new Set(dates)
  const ranges: { from: string; to: string; count: number }[] = []
  let of = 0
  let open: (typeof ranges)[number] | undefined
  const first = DateTime.fromISO(from, { zone: 'utc' })
  let at = unit === 'day' || first.day === 1 ? first : first.startOf('month').plus({ month: 1 })
  for (; (at.toISODate() ?? '') <= to; at = at.plus({ [unit]: 1 })) {
    of += 1
    const date = at.toISODate() ?? ''
    if (there.has(date)) {
      open = undefined
      continue
    }
    const shown = date.slice(0, length)
    if (open === undefined) {
      open = { from: shown, to: shown, count: 0 }
      ranges.push(open)
    }
    open.to = shown
    open.count += 1
  }
  return { unit, count: ranges.reduce((sum, { count }) => sum + count, 0), of, ranges }
}

function hasDay(match: string): boolean {
  const { dateFormat } = compilePattern(match)
  const written = [23, 24].map((day) =>
    DateTime.utc(1987, 11, day).toFormat(dateFormat ?? '', { locale: 'en-US' }),
  )
  return new Set(written).size > 1
}
