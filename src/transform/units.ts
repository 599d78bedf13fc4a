/**
 * Units of measure (UCUM, ucum.org) through @lhncbc/ucum-lhc. Each conversion is computed once for a pair of units and kept as
 * `value * slope + offset`.
 */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Ucum from '@lhncbc/ucum-lhc'
import type * as UnitStrings from '@lhncbc/ucum-lhc/source-cjs/unitString.js'
import { shipped } from '../system/shipped.ts'

/** Converts a value from the source unit to the target unit, in IEEE doubles. */
export type Conversion =
  | { readonly ok: true; readonly same: boolean; readonly convert: (value: number) => number }
  | { readonly ok: false; readonly code: 'unit-unknown' | 'unit-mismatch'; readonly message: string }

/** Units for mappings, and their conversion. */
export interface Units {
  /** UCUM codes of the spellings, each with its usual spelling. */
  readonly codes: ReadonlyMap<string, string>
  /** UCUM code of a unit as vendors spell it (`mmHg` → `mm[Hg]`); undefined if neither UCUM nor a known spelling. */
  resolve(spelling: string): string | undefined
  /**
   * Conversion between two units.
   * @param from unit as spelled in the export; the others as in `Target`
   */
  conversion(from: string, to: string, molarMass: number | undefined, loinc?: string): Conversion
}

const UNKNOWN: Conversion = {
  ok: false,
  code: 'unit-unknown',
  message: 'the unit is neither UCUM nor a known spelling',
}

/** No unit is longer; a longer text is free text. */
const LONGEST_UNIT = 100
const KEPT = 10_000

const IU = '[IU]'

const ALIKE = shipped('mappings/catalog/units-alike.csv')

/** By LOINC: a unit, and its equivalent. */
function readAlike(): ReadonlyMap<string, readonly [unit: string, alike: string]> {
  const lines = readFileSync(ALIKE, 'utf8').split(/\r?\n/)
  return new Map(
    lines
      .filter((line) => /^\d/.test(line))
      .map((line) => {
        const [loinc = '', , unit = '', alike = ''] = line.split(',')
        return [loinc, [unit, alike]]
      }),
  )
}
/** Read with the first unit to convert. */
let known: ReturnType<typeof readAlike> | undefined
const alike = (): ReturnType<typeof readAlike> => (known ??= readAlike())
const alikeOf = (loinc: string | undefined): readonly [unit: string, alike: string] | undefined =>
  loinc === undefined ? undefined : alike().get(loinc)

/** Loads the library with the first unit to check or convert: most exports use the units of the catalog. */
function loadUcum() {
  const ucum: typeof Ucum = createRequire(import.meta.url)('@lhncbc/ucum-lhc')
  const unitStrings: typeof UnitStrings = createRequire(import.meta.url)(
    '@lhncbc/ucum-lhc/source-cjs/unitString.js',
  )
  return {
    utilities: ucum.UcumLhcUtils.getInstance(),
    unitStrings: unitStrings.UnitString.getInstance(),
  }
}
let loaded: ReturnType<typeof loadUcum> | undefined
const ucum = (): ReturnType<typeof loadUcum> => (loaded ??= loadUcum())

/** A unit in terms of another one: `value * slope + offset`. */
type Factor = readonly [slope: number, offset: number]

/** Units worked out at build time: the library of UCUM is loaded only for others. */
export interface WorkedUnits {
  /** Texts that are UCUM codes. */
  readonly codes: ReadonlySet<string>
  /** Factors between units that convert, by `pairOf`. */
  readonly factors: Readonly<Record<string, Factor>>
}

const NOTHING_WORKED: WorkedUnits = { codes: new Set(), factors: {} }

/** Target of a conversion. */
interface Target {
  /** UCUM code. */
  readonly unit: string
  /** g/mol, where mass and amount of substance may be converted into each other. */
  readonly molarMass?: number | undefined
  /** Code of the measurement, for units that are equal under two names for it (`mappings/catalog/units-alike.csv`). */
  readonly loinc?: string | undefined
}

interface UnitPair {
  readonly source: string
  readonly target: string
  readonly molarMass: number | undefined
}

const pairOf = ({ source, target, molarMass }: UnitPair): string => `${source} ${target} ${molarMass ?? ''}`

/** @param code UCUM code of the source */
function unitPair(code: string, { unit, molarMass, loinc }: Target): UnitPair {
  const pair = code === unit ? undefined : alikeOf(loinc)
  return pair === undefined
    ? { source: code, target: unit, molarMass }
    : { source: code.replace(...pair), target: unit.replace(...pair), molarMass }
}

/** Factors from each of the codes to each target that the code converts to, by `pairOf`. */
export function workOutFactors(
  codes: Iterable<string>,
  targets: readonly Target[],
): Readonly<Record<string, Factor>> {
  const pairs = [...codes].flatMap((code) => targets.map((target) => unitPair(code, target)))
  const factors: Record<string, Factor> = {}
  for (const pair of pairs) {
    const factor = pair.source === pair.target ? undefined : factorOf(pair)
    if (typeof factor === 'object') factors[pairOf(pair)] = factor
  }
  return factors
}

/** @returns the factor, or the reason why there is none */
function factorOf({ source, target, molarMass }: UnitPair): Factor | string {
  // Ratios of different things share the dimension 1 (HbA1c: mmol/mol and % are related by the NGSP equation, not by 0.1).
  if (isRatio(source) && isRatio(target))
    return ': ratios of different things have no factor (HbA1c: mmol/mol is IFCC, % is NGSP)'
  if (isRatio(source)) return ': it is a ratio, the measurement is not'
  if (isRatio(target)) return ': the measurement is a ratio, the unit is not'
  // No factor converts an international unit to another unit, but its multiples convert: uIU/mL is mIU/L. The library refuses
  // both; with an amount of substance in place of the unit, it computes the multiple.
  const multiples = source.includes(IU) && target.includes(IU)
  const plain = (code: string): string => (multiples ? code.replaceAll(IU, 'mol') : code)
  const options = molarMass === undefined || multiples ? {} : { molecularWeight: molarMass }
  const points = [0, 1, 2].map((value) => {
    const answer = ucum().utilities.convertUnitTo(plain(source), value, plain(target), options)
    return answer.status === 'succeeded' ? answer.toVal : null
  })
  const [zero, one, two] = points
  if (typeof zero !== 'number' || typeof one !== 'number' || typeof two !== 'number') return ''
  const slope = one - zero
  return Math.abs(zero + 2 * slope - two) > 1e-9 * Math.max(1, Math.abs(two)) ? '' : [slope, zero]
}

function isRatio(code: string): boolean {
  const unit = ucum().utilities.getSpecifiedUnit(code, 'validate').unit
  return unit?.dim_?.dimVec_?.every((exponent) => exponent === 0) ?? false
}

/**
 * Creates units from their spellings.
 * @param spellings vendor's spelling → UCUM code; matched exactly first, then without regard to case and spaces
 */
export function createUnits(
  spellings: ReadonlyMap<string, string>,
  worked: WorkedUnits = NOTHING_WORKED,
): Units {
  const folded = new Map([...spellings].map(([spelling, code]) => [fold(spelling), code]))
  const conversions = new Map<string, Conversion>()

  const resolve = (spelling: string): string | undefined => {
    const listed = spellings.get(spelling)
    if (listed !== undefined) return listed
    return worked.codes.has(spelling) || isUcum(spelling) ? spelling : folded.get(fold(spelling))
  }

  const workOut = (from: string, to: Target): Conversion => {
    const resolved = resolve(from)
    if (resolved === undefined) return UNKNOWN
    const pair = unitPair(resolved, to)
    if (pair.source === pair.target) return { ok: true, same: true, convert: (value) => value }
    const factor = worked.factors[pairOf(pair)] ?? factorOf(pair)
    if (typeof factor === 'string') {
      const message = `the unit cannot be converted to ${to.unit}${factor}`
      return { ok: false, code: 'unit-mismatch', message }
    }
    const [slope, offset] = factor
    // Equal units under two names (10*9/L, 10*3/uL) leave the digits unchanged.
    const same = offset === 0 && Math.abs(slope - 1) < 1e-12
    return { ok: true, same, convert: (value) => value * slope + offset }
  }

  return {
    // Codes with brackets get their first spelling; all others stay as codes.
    codes: new Map(
      [...spellings].reverse().map(([spelling, code]) => [code, code.includes('[') ? spelling : code]),
    ),
    resolve,
    conversion(from, to, molarMass, loinc) {
      if (from.length > LONGEST_UNIT) return UNKNOWN
      const key = `${from}\u0000${to}\u0000${molarMass ?? ''}\u0000${loinc ?? ''}`
      let found = conversions.get(key)
      if (found === undefined) {
        found = workOut(from, { unit: to, molarMass, loinc })
        // A column of free text must not grow the map without bound.
        if (conversions.size < KEPT) conversions.set(key, found)
      }
      return found
    },
  }
}

/** Checks a UCUM code. The library's public function prints failing texts: no content of an export may be printed. */
function isUcum(code: string): boolean {
  try {
    const [unit, , messages] = ucum().unitStrings.parseString(code, 'validate', false)
    // The parser accepts some near misses with a message. It also finds names that every object has (`constructor`), which are no
    // units.
    return unit?.csCode_ !== undefined && messages.length === 0
  } catch {
    return false
  }
}

const fold = (spelling: string): string => spelling.replaceAll(/\s+/g, '').toLowerCase()
