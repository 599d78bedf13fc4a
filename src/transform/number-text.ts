/** Numbers as text: what stood in the export goes to the gateway digit by digit, never through a float. */

export type NumberText =
  | { readonly ok: true; readonly text: string }
  | {
      readonly ok: false
      readonly code: 'value-not-a-number' | 'value-with-comparator' | 'value-in-scientific-notation'
    }

/** Reads a number in the form that the mapping says it has. */
export type NumberReader = (raw: string) => NumberText

const PLAIN = /^([+-]?)(\d+)(?:\.(\d*))?$|^([+-]?)\.(\d+)$/

/**
 * A decimal number as a JSON number token (RFC 8259, section 6) with the digits that it had: `5.10` stays `5.10`,
 * `+7` becomes `7`, `.5` becomes `0.5`, `007` becomes `7`.
 * Thousands separators, comparators (`<5`) and exponents (a spreadsheet's `1.2E+14`) are not numbers here.
 */
export function parseNumberText(raw: string): NumberText {
  const match = PLAIN.exec(raw)
  if (match === null) {
    if (/^[<>≤≥]/.test(raw)) return { ok: false, code: 'value-with-comparator' }
    if (/^[+-]?\d+(\.\d+)?[eE][+-]?\d+$/.test(raw)) return { ok: false, code: 'value-in-scientific-notation' }
    return NOT_A_NUMBER
  }
  const sign = (match[1] ?? match[4]) === '-' ? '-' : ''
  const whole = (match[2] ?? '0').replace(/^0+(?=\d)/, '')
  const fraction = match[3] ?? match[5] ?? ''
  return { ok: true, text: fraction === '' ? sign + whole : `${sign}${whole}.${fraction}` }
}

const NOT_A_NUMBER: NumberText = { ok: false, code: 'value-not-a-number' }

/** How a vendor's country writes numbers: the mark before the fraction, and the one between thousands, if there is one. */
export interface NumberFormat {
  readonly decimal: '.' | ','
  readonly group?: '.' | ',' | ' ' | "'" | undefined
}

/**
 * A reader of numbers in a format. Marks are never guessed: `1.234` is no number where the mark is a comma and thousands
 * have none; where they have one, each group behind it must have three digits. A space stands for any kind of space.
 */
export function compileNumber(format: NumberFormat | undefined): NumberReader {
  if (format === undefined) return parseNumberText
  const { decimal, group } = format
  const mark = group === ' ' ? '[ \\u00a0\\u2009\\u202f]' : group === undefined ? undefined : `\\${group}`
  const grouped = mark === undefined ? undefined : new RegExp(`^[+-]?\\d{1,3}(?:${mark}\\d{3})+$`)
  const marks = mark === undefined ? undefined : new RegExp(mark, 'g')
  return (raw) => {
    const at = raw.indexOf(decimal)
    const whole = at < 0 ? raw : raw.slice(0, at)
    const fraction = at < 0 ? '' : raw.slice(at + 1)
    const plain = marks !== undefined && grouped?.test(whole) ? whole.replace(marks, '') : whole
    // What is left of either mark was not where it may be.
    if (plain.includes('.') || fraction.includes('.')) return NOT_A_NUMBER
    return parseNumberText(at < 0 ? plain : `${plain}.${fraction}`)
  }
}

/** The order of two numbers as parseNumberText gives them, exact at any length. */
export function compareNumbers(a: string, b: string): number {
  const [left, right] = [Number(a), Number(b)]
  // Rounding to a double keeps the order, but for numbers that fall together.
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
