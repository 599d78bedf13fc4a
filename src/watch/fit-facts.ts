/**
 * Facts of an export that show whether its mapping is right, in bounded memory: quantiles are sketched (DDSketch, within 0.1 %), keys and
 * people are sampled by hash, all rows of a key or none.
 */
import { DDSketch } from '@datadog/sketches-js'
import { IANAZone } from 'luxon'
import { OTHER_CODES } from '../model/balance.ts'
import type { Entry, MappedRow, RowOutcome } from '../model/entry.ts'
import type { RecordKind } from '../model/record.ts'
import type { BiometricEntry } from '../transform/catalog.ts'
import { isRoster, type MappingDefinition } from '../transform/mapping-definition.ts'
import { type Clock, HALVES } from './times-of-day.ts'

/** Quantiles in the catalog's unit; `low` and `high` are the 5th and 95th percentile. */
interface Spread {
  readonly count: number
  readonly min: number
  readonly low: number
  readonly q1: number
  readonly median: number
  readonly q3: number
  readonly high: number
  readonly max: number
}

export interface RuleFacts {
  /** Name of the rule, or the catalog key of a rule in a list. */
  readonly rule: string
  readonly kind: RecordKind
  /** Catalog key of a measurement or condition. */
  readonly key: string
  /** True if named in the mapping; only then can the rule be missed. */
  readonly named: boolean
  readonly made: number
  readonly rejected: Readonly<Record<string, number>>
  /** Values of measurements, including implausible ones; a sample for large exports. */
  readonly values: Spread | undefined
  /** Catalog's unit and usual range of a measurement, and the number of values outside. */
  readonly unit: string | undefined
  readonly usual: readonly [number, number] | undefined
  readonly unusual: number
}

interface RowCounts {
  readonly read: number
  readonly mapped: number
  readonly skipped: number
  readonly rejected: number
}

export interface FitFacts extends PeopleFacts {
  readonly rows: RowCounts
  readonly reasons: Readonly<Record<string, number>>
  /** Elements left out, the part left out by status, and rows skipped only for unknown codes. */
  readonly leftOut: { readonly all: number; readonly byStatus: number; readonly rowsByCode: number }
  readonly rules: readonly RuleFacts[]
  readonly keys: {
    /** Estimated if there are many. */
    readonly different: number
    /** Rows examined, of sampled keys. */
    readonly rows: number
    /** Rows whose content differs from the previous row of the same key. */
    readonly replaced: number
  }
  readonly dates: DateFacts
}

interface FitCounter {
  add(outcome: RowOutcome): void
  facts(): FitFacts
}

const KEPT = 5_000
/** Rows examined individually for values, person and date; after these, one row in every `THEN_EVERY`. */
export const LOOKED_AT_FIRST = 2_000
export const THEN_EVERY = 23

/** Bounds of values in any unit of the catalog, apart from 0. */
const [LEAST, MOST] = [1e-6, 1e9]

type RuleCounter = Omit<RuleFacts, 'values' | 'made' | 'unusual' | 'rejected'> & {
  made: number
  unusual: number
  readonly rejected: Record<string, number>
  readonly sketch: DDSketch
}

function addValue(counter: RuleCounter, value: number): void {
  if (Number.isNaN(value)) return
  // A sketch has a bin for each hundredth between its extremes: a typing error must not create millions.
  const size = Math.abs(value)
  counter.sketch.accept(size < LEAST ? 0 : size > MOST ? Math.sign(value) * MOST : value)
  const { usual } = counter
  if (usual !== undefined && (value < usual[0] || value > usual[1])) counter.unusual++
}

function createRuleCounters(definition: MappingDefinition, catalog: ReadonlyMap<string, BiometricEntry>) {
  const rules = new Map<string, RuleCounter>()
  const byName = new Map<string, RuleCounter>()
  const create = (rule: string, kind: RecordKind, key: string, named: boolean): RuleCounter => {
    const { unit, usual } = catalog.get(key) ?? {}
    const counter = {
      rule,
      kind,
      key,
      named,
      unit,
      usual,
      made: 0,
      unusual: 0,
      rejected: {},
      sketch: new DDSketch({ relativeAccuracy: 0.001 }),
    }
    rules.set(rule, counter)
    return counter
  }
  const named = (section: object | undefined, kind: RecordKind): void => {
    if (section === undefined || Array.isArray(section)) return
    for (const [name, written] of Object.entries(section)) {
      const key = typeof written === 'object' && 'catalog' in written ? String(written.catalog) : name
      create(name, kind, key, true)
    }
  }
  named(definition.biometrics, 'biometric')
  named(definition.conditions, 'condition')
  named(definition.careTeams, 'careTeam')
  const counterOf = (name: string, kind: RecordKind): RuleCounter => {
    const known = byName.get(name)
    if (known !== undefined) return known
    const rule = rules.has(name) ? name : withoutOrdinal(name)
    const counter = rules.get(rule) ?? create(rule, kind, rule, false)
    if (byName.size < KEPT) byName.set(name, counter)
    return counter
  }
  return { rules, counterOf }
}

/** Creates the counter. @param catalog its measurements */
export function createFit(
  definition: MappingDefinition,
  catalog: ReadonlyMap<string, BiometricEntry>,
): FitCounter {
  const { rules, counterOf } = createRuleCounters(definition, catalog)
  const places: { readonly name: string; readonly counter: RuleCounter }[] = []
  const rows = { read: 0, mapped: 0, skipped: 0, rejected: 0 }
  const reasons: Record<string, number> = {}
  const leftOut = { all: 0, byStatus: 0, rowsByCode: 0 }
  const keys = new HashSample<{ rows: number; replaced: number; content: number }>()
  const people = createPeople()
  const dates = createDates(definition)

  return {
    add(outcome) {
      rows.read++
      rows[outcome.outcome]++
      if (outcome.outcome === 'rejected') return increase(reasons, outcome.issue.code)
      leftOut.all += outcome.leftOut.length
      for (const why of outcome.leftOut) if (why === 'status') leftOut.byStatus++
      if (outcome.outcome === 'skipped') {
        if (outcome.leftOut.every(isCode)) leftOut.rowsByCode++
        return
      }
      const isMeasured = rows.read <= LOOKED_AT_FIRST || rows.read % THEN_EVERY === 0
      const { records } = outcome
      for (let at = 0; at < records.length; at++) {
        const record = records[at]
        if (record === undefined) continue
        // Rows of the same form have the same rules at the same positions, so most need no lookup.
        const before = places[at]
        const counter = before?.name === record.rule ? before.counter : counterOf(record.rule, record.kind)
        if (before?.name !== record.rule) places[at] = { name: record.rule, counter }
        counter.made++
        if (isMeasured && record.value !== undefined) addValue(counter, Number(record.value))
      }
      for (const { rule, kind, issue, value } of outcome.rejected) {
        const counter = counterOf(rule, kind)
        increase(counter.rejected, issue.code)
        if (isMeasured && value !== undefined) addValue(counter, value)
      }
      const key = keys.of(hashOf(outcome.key), () => ({ rows: 0, replaced: 0, content: -1 }))
      if (key !== undefined) {
        const content = contentOf(outcome.records)
        key.rows++
        if (key.content !== -1 && key.content !== content) key.replaced++
        key.content = content
      }
      const born = people.add(outcome, isMeasured)
      if (isMeasured && !isRoster(definition)) dates.add(outcome.records, born)
    },
    facts() {
      const sampled = [...keys.kept.values()]
      return {
        rows: { ...rows },
        reasons: { ...reasons },
        leftOut: { ...leftOut },
        rules: [...rules.values()].map(({ rejected, sketch, ...rule }) => ({
          ...rule,
          rejected: { ...rejected },
          values: spreadOf(sketch),
        })),
        keys: {
          different: keys.different(),
          rows: sampled.reduce((sum, one) => sum + one.rows, 0),
          replaced: sampled.reduce((sum, one) => sum + one.replaced, 0),
        },
        dates: dates.facts(),
        ...people.facts(),
      }
    },
  }
}

/** True for an unknown code, shown or not. */
const isCode = (why: string): boolean => why === OTHER_CODES || why.startsWith('code ')

/** Removes quantiles of few values, which would reveal values of people. For ledger and log. */
export const withoutFew = (facts: FitFacts): FitFacts => ({
  ...facts,
  rules: facts.rules.map((rule) =>
    rule.values === undefined || rule.values.count >= FEWEST_VALUES ? rule : { ...rule, values: undefined },
  ),
})

function contentOf(records: readonly Entry[]): number {
  let content = 0
  for (const { value, provider, observedAt, rule } of records)
    content = hashOf(value ?? provider?.npi ?? rule, (content ^ observedAt) >>> 0)
  return content
}

function spreadOf(sketch: DDSketch): Spread | undefined {
  if (sketch.count === 0) return undefined
  const { min, max, count } = sketch
  // The middle of a bin may lie beyond the extremes.
  const at = (share: number): number => Math.min(max, Math.max(min, sketch.getValueAtQuantile(share)))
  return { count, min, low: at(0.05), q1: at(0.25), median: at(0.5), q3: at(0.75), high: at(0.95), max }
}

interface DateFacts {
  readonly rows: number
  /** Local time in the mapping's zone, in milliseconds as if UTC; undefined without rows. */
  readonly first: number | undefined
  readonly last: number | undefined
  /** Numbers of different days and months, in the mapping's zone. */
  readonly days: number
  readonly months: number
  readonly span: number
  readonly firstTwelve: number
  /** Rows that `swappedIn` finds. */
  readonly swapped: number
  readonly midnight: number
  /** Rows from 21:00 to 5:59, except midnight. */
  readonly night: number
  /** Rows of people born within a year before; `aged`: rows with a known birth date. */
  readonly newborn: number
  readonly aged: number
  /** Times of day except midnight, of rows whose time differs from the previous row; undefined for few rows. */
  readonly clock: Clock | undefined
}

const DAY = 86_400_000
const HOUR = 3_600_000
/** Hours: start and end of the night. */
const [EVENING, MORNING] = [21, 6]
const ADULT_DAYS = 366

/** Days with and without summer time, in both hemispheres. */
const YEAR = [Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 1)]

/** Fewest months of swapped dates: the end of a period reaches into one month. */
const SWAPPED_MONTHS = 3

/**
 * Counts rows in which a spreadsheet probably swapped day and month. Days above 12, never swapped, show the months of the export; a swapped
 * date lies in another month, on the day with the number of a shown month.
 */
function swappedIn(days: Iterable<readonly [day: number, rows: number]>): number {
  const dates = [...days].map(([day, rows]) => {
    const date = new Date(day * DAY)
    const [year, month, number] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
    return { rows, number, month: `${year} ${month}`, swapped: `${year} ${number}` }
  })
  const shown = new Set(dates.flatMap(({ number, month }) => (number > 12 ? [month] : [])))
  const odd = dates.filter(({ month, swapped }) => !shown.has(month) && shown.has(swapped))
  const isEnough = new Set(odd.map(({ month }) => month)).size >= SWAPPED_MONTHS
  return isEnough ? odd.reduce((sum, { rows }) => sum + rows, 0) : 0
}

const zoneOf = ({ row: { observedAt } }: MappingDefinition): IANAZone | undefined => {
  const zone = typeof observedAt === 'object' && 'zone' in observedAt ? observedAt.zone : undefined
  return typeof zone === 'string' ? IANAZone.create(zone) : undefined
}

/** Counts days and times of day in the zone of the mapping, or UTC. */
function createDates(mapping: MappingDefinition) {
  const zone = zoneOf(mapping)
  const placeless = zone === undefined || !/^(?!Etc\/).+\//.test(zone.name)
  const [winter, summer] = YEAR.map((at) => (placeless ? 0 : zone.offset(at) * 60_000))
  const standard = Math.min(winter ?? 0, summer ?? 0)
  const halves = Array.from({ length: HALVES }, () => 0)
  let timed = 0
  let before = Number.NaN
  const offsets = new Map<number, number>()
  const days = new Map<number, number>()
  const facts = { rows: 0, firstTwelve: 0, midnight: 0, night: 0, newborn: 0, aged: 0 }
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  const offsetAt = (at: number): number => {
    if (zone === undefined) return 0
    const hour = Math.floor(at / HOUR)
    const known = offsets.get(hour)
    if (known !== undefined) return known
    const offset = zone.offset(at) * 60_000
    if (offsets.size < KEPT) offsets.set(hour, offset)
    return offset
  }
  return {
    add([record]: readonly Entry[], born: number | undefined): void {
      if (record === undefined) return
      const at = record.observedAt
      const local = at + offsetAt(at)
      facts.rows++
      first = Math.min(first, local)
      last = Math.max(last, local)
      const day = Math.floor(local / DAY)
      const time = local - day * DAY
      if (days.size < KEPT || days.has(day)) days.set(day, (days.get(day) ?? 0) + 1)
      if (new Date(local).getUTCDate() <= 12) facts.firstTwelve++
      if (time === 0) facts.midnight++
      else if (time >= EVENING * HOUR || time < MORNING * HOUR) facts.night++
      if (time !== 0 && at !== before) {
        const half = Math.floor((((local - standard) % DAY) + DAY) / (HOUR / 2)) % HALVES
        halves[half] = (halves[half] ?? 0) + 1
        timed++
      }
      before = at
      if (born === undefined) return
      facts.aged++
      if (Math.abs(day - Math.floor(born / DAY)) < ADULT_DAYS) facts.newborn++
    },
    facts(): DateFacts {
      const sorted = [...days].sort(([a], [b]) => a - b)
      const total = sorted.reduce((sum, [, count]) => sum + count, 0)
      const dayAt = (share: number): number => {
        let passed = 0
        const reached = sorted.find(([, count]) => {
          passed += count
          return passed >= total * share
        })
        return reached?.[0] ?? 0
      }
      const months = new Set(sorted.map(([day]) => new Date(day * DAY).toISOString().slice(0, 7)))
      const known = facts.rows === 0 ? undefined : { first, last }
      return {
        ...facts,
        first: known?.first,
        last: known?.last,
        days: days.size,
        months: months.size,
        swapped: swappedIn(days),
        span: dayAt(0.95) - dayAt(0.05),
        clock: timed < FEWEST_VALUES ? undefined : { rows: [...halves], placeless },
      }
    },
  }
}

/** Name of a rule without the ordinal of records of long and nested rules. */
export const withoutOrdinal = (rule: string): string => rule.replace(/-\d+$/, '')

interface PeopleFacts {
  readonly people: {
    readonly different: number
    readonly registered: number
    /** Rows of people who cannot be registered, by reason code. */
    readonly incomplete: Readonly<Record<string, number>>
    /** Sampled references in several rows; references with several people by name and birth date. */
    readonly repeated: number
    readonly mixed: number
    /** People by name and birth date in several rows; people with several references. */
    readonly met: number
    readonly split: number
    /** Different names of people who can be registered, estimated for many. */
    readonly names: { readonly first: number; readonly last: number }
    /** Rows with a postal code of five digits, and of three or four digits alone. */
    readonly postalCodes: { readonly five: number; readonly short: number }
  }
  readonly sexes: Readonly<Record<string, number>>
  /** Medians of measurements by catalog key and gender, given enough values. */
  readonly bySex: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** Minimum number of values: fewer prove nothing, and their quantiles would reveal values of people. */
export const FEWEST_VALUES = 20

/** Measurements higher in men than in women in any adult population. They reveal an inverted table of sexes. */
export const HIGHER_IN_MEN = ['body-height', 'hemoglobin', 'hematocrit', 'creatinine'] as const

/** Values that a message may show; a wrong column could hold anything. */
const SEXES = ['FEMALE', 'MALE', 'OTHER', 'UNKNOWN'] as const

/**
 * People of an export by reference, and by name and birth date, with their sexes. Items are sampled by hash, all rows of an item or none,
 * so memory is bounded.
 */
function createPeople() {
  const byReference = new HashSample<{ rows: number; identity: number; mixed: boolean }>()
  const byIdentity = new HashSample<{ rows: number; reference: number; split: boolean }>()
  const incomplete: Record<string, number> = {}
  const sexes: Record<string, number> = {}
  const bySex = new Map<string, DDSketch>()
  const names = { first: new HashSample<true>(), last: new HashSample<true>() }
  const postalCodes = { five: 0, short: 0 }
  let registered = 0
  return {
    /** Counts a row. @returns the day of birth, if known */
    add(row: MappedRow, isLookedAt: boolean): number | undefined {
      const reference = hashOf(row.account.reference)
      const person = byReference.of(reference, () => ({ rows: 0, identity: -1, mixed: false }))
      if (person !== undefined) person.rows++
      const draft = isLookedAt ? row.register() : undefined
      if (draft === undefined) return undefined
      if (!draft.ok) {
        increase(incomplete, draft.issue.code)
        return undefined
      }
      registered++
      const { firstName, lastName, dateOfBirth, gender, postalCode } = draft.registration
      if (/^\d{5}(?:-?\d{4})?$/.test(postalCode)) postalCodes.five++
      else if (/^\d{3,4}$/.test(postalCode)) postalCodes.short++
      names.first.of(hashOf(firstName), seen)
      names.last.of(hashOf(lastName), seen)
      const identity = hashOf(`${firstName}|${lastName}|${dateOfBirth}`)
      if (person !== undefined) {
        // Spellings of names vary; another person usually has another birth date.
        const born = hashOf(dateOfBirth)
        if (person.identity === -1) person.identity = born
        else if (person.identity !== born) person.mixed = true
      }
      const met = byIdentity.of(identity, () => ({ rows: 0, reference, split: false }))
      if (met !== undefined) {
        met.rows++
        if (met.reference !== reference) met.split = true
      }
      const sex = SEXES.find((one) => one === gender) ?? 'another value'
      increase(sexes, sex)
      for (const { rule, value } of row.records) {
        if (value === undefined) continue
        const key = HIGHER_IN_MEN.find((one) => rule === one || rule.startsWith(one))
        if (key === undefined) continue
        const name = `${key} ${sex}`
        const sketch = bySex.get(name) ?? new DDSketch({ relativeAccuracy: 0.001 })
        bySex.set(name, sketch)
        sketch.accept(Number(value))
      }
      const born = Date.parse(dateOfBirth)
      return Number.isNaN(born) ? undefined : born
    },
    facts(): PeopleFacts {
      const repeated = [...byReference.kept.values()].filter((one) => one.rows > 1)
      const met = [...byIdentity.kept.values()].filter((one) => one.rows > 1)
      const medians: Record<string, Record<string, number>> = {}
      for (const [name, sketch] of bySex) {
        const [key = '', gender = ''] = name.split(' ')
        if (sketch.count < FEWEST_VALUES) continue
        medians[key] = { ...medians[key], [gender]: sketch.getValueAtQuantile(0.5) }
      }
      return {
        people: {
          different: byReference.different(),
          registered,
          incomplete: { ...incomplete },
          repeated: repeated.length,
          mixed: repeated.filter(({ mixed }) => mixed).length,
          met: met.length,
          split: met.filter(({ split }) => split).length,
          names: { first: names.first.different(), last: names.last.different() },
          postalCodes: { ...postalCodes },
        },
        sexes: { ...sexes },
        bySex: medians,
      }
    },
  }
}

const seen = (): true => true

export const increase = (counts: Record<string, number>, code: string): void => {
  counts[code] = (counts[code] ?? 0) + 1
}

/** Maximum number of remembered items. */
const SAMPLED = 1_000

/** Sample of items by hash: an item is counted completely, or not at all. */
export class HashSample<Item> {
  #bound = 2 ** 32
  readonly kept = new Map<number, Item>()

  of(hash: number, create: () => Item): Item | undefined {
    if (hash >= this.#bound) return undefined
    const known = this.kept.get(hash)
    if (known !== undefined) return known
    const item = create()
    this.kept.set(hash, item)
    while (this.kept.size > SAMPLED) {
      this.#bound /= 2
      for (const one of this.kept.keys()) if (one >= this.#bound) this.kept.delete(one)
    }
    return item
  }

  /** Number of different items, estimated once some are dropped. */
  different(): number {
    return Math.round((this.kept.size * 2 ** 32) / this.#bound)
  }
}

/** Hash FNV-1a with the finish of murmur3: even enough for sampling. */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
