/** Numbers as text: what stood in the export goes to the gateway digit by digit, never through a float. */

export type NumberText =
  | { readonly ok: true; readonly text: string }
  | {
      readonly ok: false
      readonly code: 'value-not-a-number' | 'value-with-comparator' | 'value-in-scientific-notation'
    }

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
    return { ok: false, code: 'value-not-a-number' }
  }
  const sign = (match[1] ?? match[4]) === '-' ? '-' : ''
  const whole = (match[2] ?? '0').replace(/^0+(?=\d)/, '')
  const fraction = match[3] ?? match[5] ?? ''
  return { ok: true, text: fraction === '' ? sign + whole : `${sign}${whole}.${fraction}` }
}
