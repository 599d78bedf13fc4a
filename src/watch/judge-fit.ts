/**
 * Suspicions about a mapping, from the facts of an export (fit-facts.ts), with their possible meaning: docs/judging.md has the rules.
 */
import type { RowOutcome } from '../model/entry.ts'
import type { BiometricEntry, Catalog } from '../transform/catalog.ts'
import type { ReadName, Word } from '../transform/compile-context.ts'
import type { FitFinding, MappingDefinition } from '../transform/mapping-definition.ts'
import type { Units } from '../transform/units.ts'
import { createFit, FEWEST_VALUES, type FitFacts, HIGHER_IN_MEN, type RuleFacts } from './fit-facts.ts'
import { unreadColumns, unreadUnits } from './unread-columns.ts'

/** Suspicion about an export as mapped: medians and shares of many rows, no value of a person. */
export interface Suspicion {
  readonly finding: FitFinding
  /** Name of the rule; null for rows, people or dates. */
  readonly rule: string | null
  readonly message: string
  /** Reason under `expected`, which clears the suspicion. */
  readonly expected?: string
}

export interface FitReport {
  readonly facts: FitFacts
  readonly suspicions: readonly Suspicion[]
}

interface FittedMapping {
  readonly definition: MappingDefinition
  readonly resources: { readonly catalog: Catalog; readonly units: Units }
  readonly compiled: { readonly reads: readonly ReadName[]; readonly words: readonly Word[] }
}

/**
 * Watches the rows of an export as they are mapped.
 *
 * @param columns of the header; undefined for JSON
 * @param doubts about the mapping itself (doubtful-columns.ts)
 */
export function createFitWatch(
  { definition, resources: { catalog, units }, compiled }: FittedMapping,
  columns: readonly string[] = [],
  doubts: readonly Suspicion[] = [],
): { add(outcome: RowOutcome): void; report(): FitReport } {
  const fit = createFit(definition, catalog.biometrics)
  const unread = unreadColumns(compiled.reads, columns)
  return {
    add: fit.add,
    report() {
      const facts = fit.facts()
      const odd = judgeFit(facts, { definition, catalog: catalog.biometrics, units, unread })
      const all = [...doubts, ...wordsOfColumns(compiled.words, columns), ...odd]
      return { facts, suspicions: withReasons(all, definition) }
    },
  }
}

/** Bare words sent unchanged although a column has the same name. */
const wordsOfColumns = (words: readonly Word[], columns: readonly string[]): Suspicion[] =>
  words.flatMap(({ word, at }) => {
    const [section, name] = at
    const rule = section === 'row' || typeof name !== 'string' ? null : name
    const message = `${at.join('.')} is the word "${word}" in every row, but a column has this name: write { from: "${word}" } to read it, or { constant: "${word}" }`
    return columns.includes(word) ? [{ finding: 'word-is-column', rule, message }] : []
  })

interface FitMeasure {
  readonly definition: MappingDefinition
  readonly catalog: ReadonlyMap<string, BiometricEntry>
  readonly units: Units
  /** Columns of CSV that the mapping does not read. */
  readonly unread: readonly string[]
}

const FEW = 10
const SOME = 30
const MANY = 100
const RARE = 300

const [TENTH, QUARTER, THIRD, HALF] = [0.1, 0.25, 0.3, 0.5]
/** Share of values outside the usual range; for adults, a tenth is normal. */
const MIXED = 0.4
/** Ratio of third to first quartile: reached by two mixed units, not by illness. */
const APART = 1.8
const NEARLY_ALL = 0.9
/** Maximum share of screened people with any condition of the catalog. */
const MOST = 0.6
/** Minimum span of birth dates in an export, in days. */
const YEARS_OF_BIRTH = 25 * 365

function judgeFit(facts: FitFacts, measure: FitMeasure): Suspicion[] {
  const found: Suspicion[] = []
  const tellOf =
    (rule: string | null): Tell =>
    (finding, message) => {
      found.push({ finding, rule, message })
    }
  for (const rule of facts.rules) judgeRule(rule, facts, measure, tellOf(rule.rule))
  for (const { rule, column } of unreadUnits(measure.definition, measure.unread)) {
    const message = `the column "${column}" is not read: do all values have the same unit? If not, write unit: { from: ${column} }`
    tellOf(rule)('unit-unread', message)
  }
  const tell = tellOf(null)
  judgeRows(facts, tell)
  judgePeople(facts, tell)
  judgeDates(facts, measure, tell)
  return found
}

type Tell = (finding: FitFinding, message: string) => void

function withReasons(found: readonly Suspicion[], { expected = [] }: MappingDefinition): Suspicion[] {
  return found.map((one) => {
    const known = expected.find(
      ({ finding, rule }) => finding === one.finding && (rule === undefined || rule === one.rule),
    )
    return known === undefined ? one : { ...one, expected: known.reason }
  })
}

/** Suspicions without a reason. */
export const unexpected = (suspicions: readonly Suspicion[]): Suspicion[] =>
  suspicions.filter(({ expected }) => expected === undefined)

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

const mostOf = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts).sort(([, a], [, b]) => b - a)[0]?.[0] ?? ''

const percent = (share: number): string => `${Math.round(share * 100)} %`

/** Three digits: the precision of a median of a group. */
export const rounded = (value: number): string => String(Number(value.toPrecision(3)))

function judgeRule(rule: RuleFacts, facts: FitFacts, measure: FitMeasure, tell: Tell): void {
  const { made, kind, named, rejected } = rule
  const { mapped } = facts.rows
  // Future dates have a separate finding.
  const refused = total(rejected) - (rejected['date-in-future'] ?? 0)
  if (rule.rule === 'unmapped') {
    const all = facts.rules.reduce((sum, one) => sum + one.made + total(one.rejected), 0)
    const unknown = `${percent(refused / all)} of the results have an unknown code`
    if (refused >= FEWEST_VALUES && refused / all >= HALF)
      tell('codes-unknown', `${unknown}: check the column and the table`)
    return
  }
  const rows = kind === 'condition' ? RARE : MANY
  if (made === 0 && refused >= FEW)
    tell('always-rejected', `always rejected, as ${mostOf(rejected)}${hintOf(rule, facts, measure)}`)
  else if (refused >= FEW && refused / (made + refused) >= THIRD) {
    const most = `${percent(refused / (made + refused))} rejected, most as ${mostOf(rejected)}`
    tell('often-rejected', `${most}: does the column mean the same in all rows?`)
    judgeValues(rule, facts, measure, tell)
  } else if (made + total(rejected) === 0 && named && mapped >= rows)
    tell('never-set', `never set in ${mapped} rows: check the column and the condition`)
  else if (kind === 'condition' && named && mapped >= SOME && made / mapped > MOST)
    tell(
      'condition-of-most',
      `${percent(made / mapped)} of the rows have it: check the column and the condition`,
    )
  else judgeValues(rule, facts, measure, tell)
}

function judgeValues(rule: RuleFacts, facts: FitFacts, measure: FitMeasure, tell: Tell): void {
  const { values, key, unusual } = rule
  const entry = measure.catalog.get(key)
  if (values === undefined || entry === undefined || values.count < FEWEST_VALUES) return
  const { median, min, max, count, q1, q3 } = values
  if (min === max && count >= SOME && !entry.unit.startsWith('{')) {
    tell('one-value', `all ${count} values are the same: is it a measurement?`)
    return
  }
  if (entry.usual === undefined) return
  const [low, high] = entry.usual
  const usual = `${low} to ${high} ${entry.unit}`
  if (median < low || median > high)
    tell(
      'median-unusual',
      `the median is ${rounded(median)}, usually ${usual}${hintOf(rule, facts, measure)}`,
    )
  else if (unusual / count >= MIXED && q3 >= q1 * APART)
    tell(
      'values-mixed',
      `${percent(unusual / count)} of the values are outside the usual range (${usual}): are they in different units?`,
    )
}

/** Possible meaning of an unusual median: `; in kg it would be 80: is that the unit?` */
function hintOf(rule: RuleFacts, facts: FitFacts, measure: FitMeasure): string {
  const { catalog, units } = measure
  const entry = catalog.get(rule.key)
  if (entry?.usual === undefined || rule.values === undefined || rule.values.count < FEWEST_VALUES) return ''
  const { median } = rule.values
  if (isUsual(entry, median)) return ''
  const swapped = facts.rules.find((other) => {
    const its = catalog.get(other.key)
    if (other === rule || its?.usual === undefined || other.values === undefined) return false
    const alone = !isUsual(its, other.values.median)
    return alone && isUsual(its, median) && isUsual(entry, other.values.median)
  })
  if (swapped !== undefined)
    return `; the median of ${swapped.rule} would fit here, and this median there: are they swapped?`
  const raw = rawMedian(rule, median, entry, measure)
  if (raw !== undefined)
    for (const [code, unit] of [[entry.unit, entry.unit], ...units.codes] as const) {
      const conversion = units.conversion(code, entry.unit, entry.molarMass, entry.loinc)
      if (!conversion.ok || code === raw.unit) continue
      const then = conversion.convert(raw.value)
      if (isUsual(entry, then))
        return `; looks like ${unit}: in ${unit} it would be ${rounded(then)} ${entry.unit}`
    }
  const other = [...catalog].find(
    ([key, one]) => isNear(key, rule.key) && one.unit !== entry.unit && isUsual(one, raw?.value ?? median),
  )
  const large = [10, 100, 1000].find((by) => isUsual(entry, median / by))
  const small = [10, 100, 1000].find((by) => isUsual(entry, median * by))
  const looks = [
    ...(other === undefined ? [] : [`like ${other[0]}, in ${other[1].unit}`]),
    ...(large === undefined ? [] : [`${large} times too large`]),
    ...(small === undefined ? [] : [`${small} times too small`]),
  ]
  return looks.length === 0 ? '' : `; looks ${looks.join(', or ')}`
}

const isUsual = ({ usual }: BiometricEntry, value: number): boolean =>
  usual !== undefined && value >= usual[0] && value <= usual[1]

/** True if one name begins with the other: another way to measure the same. */
export const isNear = (one: string, other: string): boolean =>
  one !== other && (one.startsWith(`${other}-`) || other.startsWith(`${one}-`))

/** Median in the export's unit, if the mapping names the unit. */
function rawMedian(
  { rule, named }: RuleFacts,
  median: number,
  entry: BiometricEntry,
  { definition: { biometrics }, units }: FitMeasure,
): { value: number; unit: string } | undefined {
  if (!named || biometrics === undefined || Array.isArray(biometrics)) return undefined
  const written = biometrics[rule]
  const unit = typeof written === 'object' ? (written.unit ?? entry.unit) : entry.unit
  if (typeof unit !== 'string') return undefined
  const conversion = units.conversion(unit, entry.unit, entry.molarMass, entry.loinc)
  if (!conversion.ok) return undefined
  const zero = conversion.convert(0)
  return { value: (median - zero) / (conversion.convert(1) - zero), unit: units.resolve(unit) ?? unit }
}

function judgeRows({ rows, reasons, leftOut, keys, rules }: FitFacts, tell: Tell): void {
  const made = rules.reduce((sum, one) => sum + one.made, 0)
  const refused = rules.reduce((sum, one) => sum + total(one.rejected), 0)
  if (rows.read >= FEWEST_VALUES) {
    if (rows.rejected / rows.read >= THIRD)
      tell(
        'rows-rejected',
        `${percent(rows.rejected / rows.read)} of the rows are rejected, most as ${mostOf(reasons)}`,
      )
    // The catalog may know few of a hospital's codes.
    const left = rows.skipped - leftOut.rowsByCode
    if (left / rows.read >= NEARLY_ALL)
      tell(
        'rows-left-out',
        `${percent(left / rows.read)} of the rows are left out: check skipWhen and the list of states`,
      )
    else if (made + refused === 0) tell('rows-left-out', 'the rows give no records')
  }
  const states = leftOut.all + made + refused
  if (leftOut.byStatus >= FEWEST_VALUES && leftOut.byStatus / states >= HALF)
    tell(
      'status-left-out',
      `${percent(leftOut.byStatus / states)} of the results are left out by their status: check the column, and that \`keep\` lists all final states`,
    )
  if (keys.rows >= FEWEST_VALUES && keys.replaced / keys.rows >= TENTH * 2)
    tell(
      'key-shared',
      `${percent(keys.replaced / keys.rows)} of the rows have the key of an earlier row but other content, and replace it: does the key identify a row?`,
    )
}

function judgePeople({ people, rows, sexes, bySex }: FitFacts, tell: Tell): void {
  if (people.different === 1 && rows.mapped >= FEWEST_VALUES)
    tell('one-person', `all ${rows.mapped} rows are of one person: is it the right column?`)
  if (people.mixed >= 2 && people.mixed / people.repeated >= QUARTER)
    tell(
      'person-mixed',
      `${percent(people.mixed / people.repeated)} of the references in several rows have several dates of birth: does the column identify people, not places or events?`,
    )
  if (people.met >= FEW && people.split / people.met >= HALF)
    tell(
      'person-split',
      `${percent(people.split / people.met)} of the people in several rows have several references: does the column identify people, not visits?`,
    )
  const incomplete = total(people.incomplete)
  if (incomplete >= FEWEST_VALUES && incomplete / (incomplete + people.registered) >= HALF)
    tell(
      'registration-incomplete',
      `${percent(incomplete / (incomplete + people.registered))} of the people cannot be registered, most for ${mostOf(people.incomplete)}`,
    )
  const { five, short } = people.postalCodes
  if (short > 0 && five >= FEWEST_VALUES)
    tell(
      'postal-codes-short',
      `${short} postal codes have three or four digits, and ${five} have five: did a spreadsheet drop zeros?`,
    )
  const { FEMALE = 0, MALE = 0 } = sexes
  if ((FEMALE === 0 || MALE === 0) && total(sexes) >= MANY)
    tell(
      'one-sex',
      `nobody is registered as ${FEMALE === 0 ? 'FEMALE' : 'MALE'}: check the column and the table`,
    )
  const inverted = HIGHER_IN_MEN.filter((key) => {
    const { FEMALE, MALE } = bySex[key] ?? {}
    return FEMALE !== undefined && MALE !== undefined && FEMALE > MALE * 1.02
  })
  if (inverted.length > 0 && inverted.length * 2 > Object.keys(bySex).length)
    tell(
      'sexes-inverted',
      `the median of ${inverted.join(', ')} is higher in women than in men: is the table of the gender inverted?`,
    )
}

function judgeDates(
  { dates, rules, people }: FitFacts,
  { definition, unread }: FitMeasure,
  tell: Tell,
): void {
  const { rows, days, months } = dates
  const future = rules.reduce((sum, { rejected }) => sum + (rejected['date-in-future'] ?? 0), 0)
  const records = rules.reduce((sum, { made, rejected }) => sum + made + total(rejected), 0)
  if (future >= FEW && future / records >= TENTH / 2)
    tell(
      'dates-in-future',
      `${percent(future / records)} of the records are in the future: are day and month swapped, or is it another date?`,
    )
  if (rows < SOME) return
  if (dates.firstTwelve === rows && months >= 3 && days >= 5)
    tell(
      'first-twelve-days',
      `all dates lie on the first twelve days of ${months} months: are day and month swapped?`,
    )
  else if (dates.swapped >= FEW)
    tell(
      'first-twelve-days',
      `${dates.swapped} dates lie in months of their own, and with day and month swapped among the others: did a spreadsheet swap them?`,
    )
  if (dates.midnight === rows && days > 1 && (hasTimes(definition) || unread.some((name) => TIME.test(name))))
    tell('always-midnight', 'every time is midnight: is the time of day in another column?')
  if (dates.night / rows >= HALF && zoneMatters(definition))
    tell(
      'at-night',
      `${percent(dates.night / rows)} of the times are between 21:00 and 6:00: is the time zone right?`,
    )
  const perPerson = people.different / rows
  if (dates.aged >= FEWEST_VALUES && dates.newborn / dates.aged >= THIRD)
    tell(
      'born-when-observed',
      `${percent(dates.newborn / dates.aged)} of the people were born within a year of their observation: check the columns of birth and observation`,
    )
  else if (dates.aged === 0 && dates.span >= YEARS_OF_BIRTH && perPerson >= 0.8)
    tell(
      'born-when-observed',
      `the dates of people with a single row are ${Math.round(dates.span / 365)} years apart: are they dates of birth?`,
    )
}

/** Column with the time of day. */
const TIME = /(^|[^a-z])(time|uhrzeit|zeit|heure|hora)([^a-z]|$)/i

/** True if every form of the date has a time of day. */
function hasTimes({ row: { observedAt } }: MappingDefinition): boolean {
  const format = 'format' in observedAt ? [observedAt.format].flat() : []
  return (
    format.length > 0 &&
    format.every((one) => /[Hh]/.test(String(one).replaceAll(/'[^']*'/g, '')) && one !== 'HL7')
  )
}

/** True if times of day can be odd: UTC stands for instants, or for a zone that nobody chose. */
function zoneMatters({ row: { observedAt } }: MappingDefinition): boolean {
  const zone = 'zone' in observedAt ? observedAt.zone : undefined
  return typeof zone === 'string' && !/^(UTC|Etc\/.*)$/.test(zone)
}
