/** Fit report for people (docs/judging.md): values by rule beside usual values, keys, people, dates, and suspicions. */

import type { NewReasons } from '../runs/new-reasons.ts'
import { counted, iso, n } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import { type FitFacts, LOOKED_AT_FIRST, type RuleFacts, THEN_EVERY } from '../watch/fit-facts.ts'
import { type FitReport, rounded, type Suspicion, unexpected } from '../watch/judge-fit.ts'

export const isSuspicious = ({ suspicions }: Pick<FitReport, 'suspicions'>): boolean =>
  unexpected(suspicions).length > 0

/** Lines of the report. Quantiles of few values are values of people: use `withoutFew` before the lines are stored. @param columns of the terminal */
export function fitLines({ facts, suspicions }: FitReport, columns?: number): string[] {
  const lines = [
    ...sampleLine(facts),
    ...valuesTable(facts.rules, columns),
    ...conditionsLine(facts),
    `Keys     ${counted(facts.keys.different, 'row key')}`,
    `People   ${n(facts.people.different)}${registeredWords(facts)}`,
    ...datesLine(facts),
    ...(Object.keys(facts.sexes).length === 0 ? [] : [`Sexes    ${byCount(facts.sexes)}`]),
    ...suspicionLines(suspicions),
  ]
  return lines.map((line) => line.trimEnd())
}

/** Says how many rows were sampled for values, dates and person; empty if all were. */
function sampleLine({ dates, rows }: FitFacts): string[] {
  if (dates.rows === 0 || rows.read <= LOOKED_AT_FIRST) return []
  const rest = `the first ${n(LOOKED_AT_FIRST)}, then each ${THEN_EVERY}rd`
  return [
    `Sample   values, registrations, dates and sexes are from ${n(dates.rows)} of ${n(rows.mapped)} rows: ${rest}`,
  ]
}

function valuesTable(rules: readonly RuleFacts[], columns: number | undefined): string[] {
  const rows = rules.flatMap(({ rule, values, usual, unit = '', unusual }) => {
    if (values === undefined) return []
    const { count, min, q1, median, q3, max } = values
    const quantiles = [min, q1, median, q3, max].map(rounded)
    const outside = usual === undefined ? '-' : `${Math.round((unusual / count) * 100)} %`
    return [[rule, n(count), ...quantiles, outside, `${usual?.join(' to ') ?? ''} ${unit}`.trim()]]
  })
  const head = ['values of', 'count', 'min', '1/4', 'median', '3/4', 'max', 'unusual', 'usually']
  return rows.length === 0 ? [] : fittedTable(head, rows, 'rest', columns)
}

/** Share of the mapped rows with each condition, most frequent first. */
function conditionsLine({ rules, rows }: FitFacts): string[] {
  const shares = rules
    .filter(({ kind, made }) => kind === 'condition' && made > 0)
    .sort((a, b) => b.made - a.made)
    .slice(0, MOST_CONDITIONS)
    .map(({ rule, made }) => `${rule} ${((made / rows.mapped) * 100).toFixed(1)} %`)
  return shares.length === 0 ? [] : [`Have     ${shares.join(', ')}`]
}

const MOST_CONDITIONS = 10

function registeredWords({ people: { registered, incomplete } }: FitFacts): string {
  const missing = Object.keys(incomplete).length === 0 ? '' : `, incomplete: ${byCount(incomplete)}`
  return registered === 0 && missing === ''
    ? ''
    : `; registration complete in ${counted(registered, 'row')}${missing}`
}

function datesLine({ dates: { first, last, days, midnight, night, rows } }: FitFacts): string[] {
  if (first === undefined || last === undefined) return []
  const day = (at: number): string => iso(at).slice(0, 10)
  const share = (part: number): string => `${Math.round((part / rows) * 100)} %`
  return [
    `Dates    ${day(first)} to ${day(last)}, ${counted(days, 'day')}; ${share(midnight)} at midnight, ${share(night)} at night`,
  ]
}

/** Suspicions, then findings that the mapping expects. */
export function suspicionLines(suspicions: readonly Suspicion[]): string[] {
  const words = ({ rule, message, finding }: Suspicion): string =>
    `${rule === null ? '' : `${rule}: `}${message} (${finding})`
  const odd = unexpected(suspicions)
  const known = suspicions.filter(({ expected }) => expected !== undefined)
  return [
    ...(odd.length === 0 ? [] : ['Suspicious', ...odd.map((one) => `  ${words(one)}`)]),
    ...known.map((one) => `Expected ${words(one)}, because: ${one.expected}`),
  ]
}

/** `date-invalid 12, code-unknown 3`: most frequent first. */
export const byCount = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${code} ${n(count)}`)
    .join(', ')

/** Reasons that the last run did not have; empty without a run to compare with. */
export function newReasonsLines(found: NewReasons | undefined): string[] {
  if (found === undefined || found.reasons.length === 0) return []
  const { run, reasons } = found
  return [
    `Not rejected by the last run, ${run}:`,
    ...reasons.map(({ code, rule, count }) =>
      rule === null
        ? `  ${counted(count, 'row')}: ${code}`
        : `  ${counted(count, 'record')} of ${rule}: ${code}`,
    ),
  ]
}
