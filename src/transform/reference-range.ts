/** Reference ranges, which laboratories write as text (HL7 v2.5.1, 7.4.2.7: `lower-upper`, `> lower`, `< upper`). */
import { compareNumbers, type NumberReader } from './number-text.ts'

/** Bounds as JSON numbers, in the unit that stands behind them (as spelled; '' where there is none). */
export interface ReferenceRange {
  readonly low?: string
  readonly high?: string
  readonly unit: string
}

/** No range is longer; what is longer is a comment. */
const LONGEST = 100
const NUMBER = String.raw`([+-]?\d[\d.,'\u00a0\u2009\u202f]*)`
/** A unit right behind the number must not begin like one. */
const UNIT = String.raw`(\s+\S.*|[^\d\s.,-].*)?`
const BETWEEN = new RegExp(String.raw`^${NUMBER}\s*(?:-|–|to)\s*${NUMBER}${UNIT}$`, 'i')
const BOUND = new RegExp(String.raw`^(<=|>=|[<>≤≥])\s*${NUMBER}${UNIT}$`)

/** The bounds that a text tells, or undefined where it is none of `3.5-5.0`, `60 - 100 mg/dL`, `<200`, `>=40`. */
export function parseReferenceRange(text: string, read: NumberReader): ReferenceRange | undefined {
  if (text.length > LONGEST) return undefined
  const bound = BOUND.exec(text)
  if (bound !== null) {
    const [, sign = '', number = '', unit = ''] = bound
    const limit = read(number)
    if (!limit.ok) return undefined
    return /[<≤]/.test(sign)
      ? { high: limit.text, unit: unit.trim() }
      : { low: limit.text, unit: unit.trim() }
  }
  const between = BETWEEN.exec(text)
  if (between === null) return undefined
  const [, first = '', second = '', unit = ''] = between
  const [low, high] = [read(first), read(second)]
  if (!low.ok || !high.ok || compareNumbers(low.text, high.text) > 0) return undefined
  return { low: low.text, high: high.text, unit: unit.trim() }
}
