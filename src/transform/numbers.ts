/**
 * Numbers as text, never converted through a float; also bounds (`<5`), heights in feet, reference ranges.
 */
import { type Fault, fault } from '../model/record.ts'

/** A JSON number token, or the fault. */
type NumberText = string | Fault

/** Reads a number in the mapping's format. */
export type NumberReader = (raw: string) => NumberText

const NOT_A_NUMBER = fault('value-not-a-number', 'not a number')
const WITH_COMPARATOR = fault(
  'value-with-comparator',
  'the value is a bound (below or above detection), not a number',
)
const SCIENTIFIC = fault(
  'value-in-scientific-notation',
  'the value is in scientific notation: damaged by a spreadsheet',
)

/** Matches texts that are JSON number tokens already, as nearly all are. */
const AS_IT_IS = /^(?:0|[1-9]\d*)(?:\.\d+)?$/
const PLAIN = /^([+-]?)(\d+)(?:\.(\d*))?$|^([+-]?)\.(\d+)$/

/**
 * Reads a decimal number as a JSON number token (RFC 8259, section 6), with its digits kept: `5.10` stays `5.10`, `+7` becomes `7`, `.5`
 * becomes `0.5`, `007` becomes `7`. Exponents (a spreadsheet's `1.2E+14`) are no numbers here.
 */
export function parseNumberText(raw: string): NumberText {
  if (AS_IT_IS.test(raw)) return raw
  const match = PLAIN.exec(raw)
  if (match === null) {
    if (/^[<>≤≥]/.test(raw)) return WITH_COMPARATOR
    return /^[+-]?\d+(\.\d+)?[eE][+-]?\d+$/.test(raw) ? SCIENTIFIC : NOT_A_NUMBER
  }
  const sign = (match[1] ?? match[4]) === '-' ? '-' : ''
  const whole = (match[2] ?? '0').replace(/^0+(?=\d)/, '')
  const fraction = match[3] ?? match[5] ?? ''
  return fraction === '' ? sign + whole : `${sign}${whole}.${fraction}`
}

const EXPONENT = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d+)$/
/** No double reaches further (IEEE 754). */
const LARGEST_EXPONENT = 400

/** Writes a number with an exponent in plain digits, without zeros at the end of its fraction; undefined beyond the range of a double. */
function withoutExponent(text: string): string | undefined {
  const [, sign = '', whole = '', fraction = '', power = ''] = EXPONENT.exec(text) ?? []
  const point = whole.length + Number(power)
  if (power === '' || Math.abs(point) > LARGEST_EXPONENT) return undefined
  const digits = `${'0'.repeat(Math.max(0, -point))}${whole}${fraction}`.padEnd(point, '0')
  const at = Math.max(0, point)
  const behind = digits.slice(at).replace(/0+$/, '')
  return `${sign}${digits.slice(0, at).replace(/^0+(?=\d)/, '') || '0'}${behind === '' ? '' : `.${behind}`}`
}

/**
 * Tokens that tell numbers from strings in JSON: a backslash with the next character occurs only in strings, a number counts only
 * outside.
 */
const OF_JSON = /\\.|"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const POINTED = /^-?\d+\.\d+$/

/**
 * JSON numbers in the current row, unlike texts, keep their exponent and have a decimal point. Values reach the mapping as texts: the row's
 * own text, searched once a value may be such a number, shows the numbers.
 */
export class Exponents {
  #document = ''
  #numbers: Set<string> | undefined
  readonly #texts = new Set<string>()

  /** @param document text of a JSON row; else '' */
  begin(document: string): void {
    this.#document = document
    this.#numbers = undefined
  }

  /** The number in plain digits; undefined where the text is not a number with an exponent in the row. */
  plain(text: string): string | undefined {
    if (this.#document === '' || !EXPONENT.test(text)) return undefined
    this.#numbers ??= this.#find()
    return this.#numbers.has(text) ? withoutExponent(text) : undefined
  }

  /** A number with a point, or the fault where the row has it as a text, too; undefined for any other text. */
  pointed(text: string): NumberText | undefined {
    if (this.#document === '' || !POINTED.test(text)) return undefined
    this.#numbers ??= this.#find()
    if (!this.#numbers.has(text)) return undefined
    return this.#texts.has(text) ? NOT_A_NUMBER : text
  }

  #find(): Set<string> {
    const found = new Set<string>()
    this.#texts.clear()
    let isString = false
    for (const [token] of this.#document.matchAll(OF_JSON)) {
      if (token === '"') isString = !isString
      else (isString ? this.#texts : found).add(token)
    }
    return found
  }
}

/** Number format of a vendor's country: the decimal mark, and an optional mark between thousands. */
export interface NumberFormat {
  readonly decimal: '.' | ','
  readonly group?: '.' | ',' | ' ' | "'" | undefined
}

/**
 * Compiles a reader of numbers in a format. Marks are never guessed: with a decimal comma and no thousands mark, `1.234` is not a number;
 * with one, groups have three digits, and no zero comes first: `0,250` is none. A space stands for any kind of space.
 */
export function compileNumber(format: NumberFormat | undefined, exponents = new Exponents()): NumberReader {
  const read = compileMarks(format)
  return (raw) => {
    const number = (format?.decimal === ',' ? exponents.pointed(raw) : undefined) ?? read(raw)
    return typeof number === 'string' ? number : (exponents.plain(raw) ?? number)
  }
}

function compileMarks(format: NumberFormat | undefined): NumberReader {
  if (format === undefined) return parseNumberText
  const { decimal, group } = format
  const mark = group === ' ' ? '[ \\u00a0\\u2009\\u202f]' : group === undefined ? undefined : `\\${group}`
  const grouped = mark === undefined ? undefined : new RegExp(`^[+-]?[1-9]\\d{0,2}(?:${mark}\\d{3})+$`)
  const marks = mark === undefined ? undefined : new RegExp(mark, 'g')
  return (raw) => {
    const at = raw.indexOf(decimal)
    const whole = at < 0 ? raw : raw.slice(0, at)
    const fraction = at < 0 ? '' : raw.slice(at + 1)
    const plain = marks !== undefined && grouped?.test(whole) ? whole.replace(marks, '') : whole
    // A mark left over was in a wrong place.
    if (plain.includes('.') || fraction.includes('.')) return NOT_A_NUMBER
    return parseNumberText(at < 0 ? plain : `${plain}.${fraction}`)
  }
}

/** Compares two numbers from parseNumberText, exact at any length. */
export function compareNumbers(a: string, b: string): number {
  const [left, right] = [Number(a), Number(b)]
  // Rounding to a double keeps the order, except for numbers with equal doubles.
  if (left !== right) return left < right ? -1 : 1
  const scale = Math.max(fractionOf(a), fractionOf(b))
  const difference = unscaled(a, scale) - unscaled(b, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

const fractionOf = (number: string): number => number.split('.')[1]?.length ?? 0

function unscaled(number: string, scale: number): bigint {
  const [whole = '', fraction = ''] = number.replace('-', '').split('.')
  const digits = BigInt(`${whole}${fraction.padEnd(scale, '0')}`)
  return number.startsWith('-') ? -digits : digits
}

/** Written form of a rule's value. */
interface ValueForm {
  readonly number?: NumberFormat | undefined
  /** Bounds are rejected, left out, or sent with the limit as value and the original in `source.notes`. */
  readonly comparators?: 'reject' | 'skip' | 'limit' | undefined
  readonly form?: 'feet-and-inches' | undefined
}

/** A value that lost a part of the export's text, with a note of the original. */
export interface NotedValue {
  readonly text: string
  readonly note: string
}

/** Reads a value; undefined where the mapping leaves it out. */
type ValueReader = (raw: string) => string | NotedValue | Fault | undefined

/** `<5`, `>= 200`; HL7 and FHIR write no further comparators (HL7 v2.5.1, 2.A.66; FHIR R4, quantity-comparator). */
const BOUND = /^(?:<=|>=|[<>≤≥])\s*(.*)$/

/** Compiles the reader of a rule's value. @param inRow settings of the `row` block for all values */
export function compileValue(rule: ValueForm, inRow: ValueForm, exponents: Exponents): ValueReader {
  if (rule.form !== undefined) return parseFeetAndInches
  const read = compileNumber(rule.number ?? inRow.number, exponents)
  const comparators = rule.comparators ?? inRow.comparators ?? 'reject'
  if (comparators === 'reject') return read
  return (raw) => {
    const number = read(raw)
    if (number !== WITH_COMPARATOR) return number
    const limit = read(BOUND.exec(raw)?.[1] ?? '')
    if (typeof limit !== 'string') return limit
    return comparators === 'skip' ? undefined : { text: limit, note: `reported as ${raw}` }
  }
}

const NO_FEET_AND_INCHES = fault('value-not-feet-and-inches', 'the value is not in feet and inches')
const FEET = String.raw`(?:'|’|′|ft\.?|foot|feet)`
const INCHES = String.raw`(?:"|”|″|''|’’|′′|in\.?|inch|inches)`
const HEIGHT = new RegExp(
  String.raw`^(\d{1,2})\s*(?:${FEET}\s*(?:-?\s*(\d{1,2})(?:\.(\d+))?\s*${INCHES}?)?|-\s*(\d{1,2})(?:\.(\d+))?)$`,
  'i',
)
/** No height is longer. */
const LONGEST_HEIGHT = 30

/**
 * Heights as spoken in the United States: `5'11"`, `5 ft 11 in`, `5-11`, `6'`, `5' 10.5"` in inches, digit by digit: 71, 71, 71,
 * 72, 70.5. A foot has 12 inches: at most 11 may follow the feet.
 */
export function parseFeetAndInches(raw: string): NumberText {
  const match = raw.length > LONGEST_HEIGHT ? null : HEIGHT.exec(raw)
  const inches = Number(match?.[2] ?? match?.[4] ?? '0')
  if (match === null || inches > 11) return NO_FEET_AND_INCHES
  const whole = String(Number(match[1]) * 12 + inches)
  const fraction = match[3] ?? match[5]
  return fraction === undefined ? whole : `${whole}.${fraction}`
}

/** Bounds as JSON numbers, in the unit behind them (as spelled; '' for none). */
interface ReferenceRange {
  readonly low?: string
  readonly high?: string
  readonly unit: string
}

/** No range is longer; a longer text is a comment. */
const LONGEST_RANGE = 100
const NUMBER = String.raw`([+-]?\d[\d.,'\u00a0\u2009\u202f]*)`
/** A unit directly behind a number must not begin with a character of a number. */
const UNIT = String.raw`(\s+\S.*|[^\d\s.,-].*)?`
const RANGE = new RegExp(String.raw`^${NUMBER}\s*(?:-|–|to)\s*${NUMBER}${UNIT}$`, 'i')
const LIMIT = new RegExp(String.raw`^(<=|>=|[<>≤≥])\s*${NUMBER}${UNIT}$`)

/**
 * Bounds of a reference range, written as text by laboratories (HL7 v2.5.1, 7.4.2.7); undefined for any form but `3.5-5.0`, `60 -
 * 100 mg/dL`, `<200`, `>=40`.
 */
export function parseReferenceRange(text: string, read: NumberReader): ReferenceRange | undefined {
  if (text.length > LONGEST_RANGE) return undefined
  const limited = LIMIT.exec(text)
  if (limited !== null) {
    const [, sign = '', number = '', unit = ''] = limited
    const limit = read(number)
    if (typeof limit !== 'string') return undefined
    return { [/[<≤]/.test(sign) ? 'high' : 'low']: limit, unit: unit.trim() }
  }
  const [found, first = '', second = '', unit = ''] = RANGE.exec(text) ?? []
  const [low, high] = [read(first), read(second)]
  if (found === undefined || typeof low !== 'string' || typeof high !== 'string') return undefined
  return compareNumbers(low, high) > 0 ? undefined : { low, high, unit: unit.trim() }
}
