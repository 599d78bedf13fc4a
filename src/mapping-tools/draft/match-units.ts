/** Which unit a measurement is in: as its name says, or as its values tell. */
import type { BiometricEntry } from '../../transform/catalog.ts'
import { parseFeetAndInches } from '../../transform/numbers.ts'
import type { Units } from '../../transform/units.ts'
import { type ColumnProfile, MOST, median } from './profile-columns.ts'

export type UnitMatch =
  /** `unit` is undefined where it is the catalog's. */
  | { readonly kind: 'found'; readonly unit: string | undefined; readonly how?: string }
  | { readonly kind: 'feet-and-inches' }
  /** All of these would make plausible values. */
  | { readonly kind: 'unclear'; readonly units: readonly string[] }
  | { readonly kind: 'implausible'; readonly unit: string }

/** Last words of a name that say a unit, as people abbreviate them in headers. */
const UNIT_WORDS: Readonly<Record<string, string>> = {
  ...{
    lb: 'lb',
    lbs: 'lb',
    pounds: 'lb',
    kg: 'kg',
    kgs: 'kg',
    in: 'in',
    inch: 'in',
    inches: 'in',
    cm: 'cm',
    cms: 'cm',
  },
  ...{ m: 'm', ft: 'ft', f: '[degF]', degf: '[degF]', c: 'Cel', degc: 'Cel', mgdl: 'mg/dL', mmoll: 'mmol/L' },
  ...{ mmol: 'mmol/L', umoll: 'umol/L', umol: 'umol/L', nmoll: 'nmol/L', pmoll: 'pmol/L', ngml: 'ng/mL' },
  ...{
    ngdl: 'ng/dL',
    pgml: 'pg/mL',
    ugdl: 'ug/dL',
    gdl: 'g/dL',
    gl: 'g/L',
    ul: 'U/L',
    iul: '[IU]/L',
    mgl: 'mg/L',
  },
  ...{
    meql: 'meq/L',
    mmhg: 'mm[Hg]',
    bpm: '/min',
    pct: '%',
    percent: '%',
    perc: '%',
    mlmin: 'mL/min',
    kgm2: 'kg/m2',
  },
}

/** A name without the words of its unit, in the ways in which it can be taken apart; the whole name first. */
export function withoutUnit(words: readonly string[]): { words: readonly string[]; unit?: string }[] {
  const cut = [3, 2, 1].flatMap((length) => {
    const unit = words.length > length ? UNIT_WORDS[words.slice(-length).join('')] : undefined
    return unit === undefined ? [] : [{ words: words.slice(0, -length), unit }]
  })
  return [{ words }, ...cut]
}

/** Units in which values are often reported, beside the catalog's. */
const ALTERNATIVES: Readonly<Record<string, readonly string[]>> = {
  kg: ['lb'],
  cm: ['in', 'm'],
  Cel: ['[degF]'],
  'mg/dL': ['mmol/L', 'umol/L'],
  'g/dL': ['g/L'],
  'ng/dL': ['nmol/L', 'pmol/L'],
  'pg/mL': ['pmol/L'],
  'ug/dL': ['umol/L'],
}
/** Medians of adults: where two units would do, one of them makes what is usual. */
const USUAL: Readonly<Record<string, Readonly<Record<string, readonly [number, number]>>>> = {
  'body-weight': { kg: [45, 120], lb: [130, 260] },
  'body-height': { cm: [130, 200], in: [55, 77], m: [1.3, 2] },
  triglycerides: { 'mg/dL': [40, 400], 'mmol/L': [0.5, 4.5] },
  'waist-circumference': { cm: [62, 140], in: [25, 55], m: [0.6, 1.4] },
}
/** How much nearer to the middle of the plausible range the median must be to tell. */
const CLEARLY_NEARER = Math.log(4)

/** @param told the unit that stands in the name, resolved or not */
export function matchUnit(
  key: string,
  entry: BiometricEntry,
  column: ColumnProfile,
  told: string | undefined,
  units: Units,
): UnitMatch {
  const heights = column.filled.filter((cell) => typeof parseFeetAndInches(cell) === 'string')
  if (entry.unit === 'cm' && heights.length >= column.filled.length * MOST) return { kind: 'feet-and-inches' }
  if (told !== undefined) {
    const unit = told === entry.unit ? undefined : told
    if (!plausible(entry, column.numbers, told, units)) return { kind: 'implausible', unit: told }
    return { kind: 'found', unit }
  }
  const fitting = [entry.unit, ...(ALTERNATIVES[entry.unit] ?? [])].filter((unit) =>
    plausible(entry, column.numbers, unit, units),
  )
  const [only] = fitting
  if (only === undefined) return { kind: 'implausible', unit: entry.unit }
  if (fitting.length === 1)
    return found(
      entry,
      only,
      only === entry.unit ? undefined : `the name tells no unit; the values are plausible in ${only} alone`,
    )
  const middle = median(column.numbers)
  const usual = USUAL[key]
  if (usual !== undefined) {
    const likely = fitting.filter((unit) => within(middle, usual[unit] ?? [0, -1]))
    return likely.length === 1 && likely[0] !== undefined
      ? found(entry, likely[0], `unit by what is usual in people; ${fitting.join(' or ')} would be plausible`)
      : { kind: 'unclear', units: fitting }
  }
  const ranked = fitting
    .map((unit) => ({ unit, distance: distance(entry, convert(entry, unit, units)(middle)) }))
    .sort((a, b) => a.distance - b.distance)
  const [first, second] = ranked
  return first !== undefined && second !== undefined && second.distance - first.distance > CLEARLY_NEARER
    ? found(entry, first.unit, `the name tells no unit; ${first.unit} by the size of the values`)
    : { kind: 'unclear', units: fitting }
}

const found = (entry: BiometricEntry, unit: string, how: string | undefined): UnitMatch => ({
  kind: 'found',
  unit: unit === entry.unit ? undefined : unit,
  ...(how === undefined ? {} : { how }),
})

const within = (value: number, [low, high]: readonly [number, number]): boolean =>
  value >= low && value <= high

function convert(entry: BiometricEntry, unit: string, units: Units): (value: number) => number {
  const conversion = units.conversion(unit, entry.unit, entry.molarMass)
  return conversion.ok ? conversion.convert : () => Number.NaN
}

/** Most values lie in the catalog's range once they are converted. */
function plausible(entry: BiometricEntry, numbers: readonly number[], unit: string, units: Units): boolean {
  const inCatalogs = convert(entry, unit, units)
  return numbers.filter((value) => within(inCatalogs(value), entry.range)).length >= numbers.length * MOST
}

/** From the geometric middle of the range, in powers of e. */
function distance({ range: [low, high] }: BiometricEntry, value: number): number {
  return Math.abs(Math.log(value) - Math.log(Math.sqrt(Math.max(low, high / 1000) * high)))
}
