/** Heights as people say them in the United States. */

/** UCUM code of the unit that the value is then in. */
export const INCH = '[in_i]'

const FEET = String.raw`(?:'|’|′|ft\.?|foot|feet)`
const INCHES = String.raw`(?:"|”|″|''|’’|′′|in\.?|inch|inches)`
const FORM = new RegExp(
  String.raw`^(\d{1,2})\s*(?:${FEET}\s*(?:-?\s*(\d{1,2})(?:\.(\d+))?\s*${INCHES}?)?|-\s*(\d{1,2})(?:\.(\d+))?)$`,
  'i',
)

/** No height is longer. */
const LONGEST = 30

/**
 * `5'11"`, `5 ft 11 in`, `5-11`, `6'`, `5' 10.5"` in inches, digit by digit: 71, 71, 71, 72, 70.5. A foot has 12 inches, so
 * there are fewer than 12 beside it.
 */
export function parseFeetAndInches(
  raw: string,
):
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: 'value-not-feet-and-inches' } {
  const match = raw.length > LONGEST ? null : FORM.exec(raw)
  const inches = Number(match?.[2] ?? match?.[4] ?? '0')
  if (match === null || inches > 11) return { ok: false, code: 'value-not-feet-and-inches' }
  const whole = String(Number(match[1]) * 12 + inches)
  const fraction = match[3] ?? match[5]
  return { ok: true, text: fraction === undefined ? whole : `${whole}.${fraction}` }
}
