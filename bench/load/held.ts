/** What a gateway holds, as a count and a sum that does not depend on order: equal sums of equal counts are the same records, none twice. */

export interface Held {
  records: number
  /** Of hashes of person, code, instant and value, modulo 2^32 each. */
  low: number
  high: number
}

export const nothingHeld = (): Held => ({ records: 0, low: 0, high: 0 })

/** @param instant as it is sent: ISO 8601, or milliseconds @param value NaN where the record has none */
export function addRecord(held: Held, person: string, code: string, instant: string, value: number): void {
  const text = `${person}|${code}|${instant}|${value}`
  // FNV-1a, and one more with another offset and prime.
  let low = 0x811c9dc5
  let high = 0x9747b28c
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ unit, 0x5bd1e995)
  }
  held.records++
  held.low = (held.low + (low >>> 0)) >>> 0
  held.high = (held.high + (high >>> 0)) >>> 0
}

export const isSame = (one: Held, other: Held): boolean =>
  one.records === other.records && one.low === other.low && one.high === other.high
