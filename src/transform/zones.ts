/**
 * Names of time zones: `UTC`, `GMT`, and the list in `mappings/catalog/zones.txt`, from one version of the tz database. Intl also accepts
 * old short names (`AST`, `IST`), with other places than the vendor means.
 */

import { readFileSync } from 'node:fs'
import { IANAZone } from 'luxon'
import { didYouMean } from '../system/schema-problems.ts'
import { shipped } from '../system/shipped.ts'

const FILE = shipped('mappings/catalog/zones.txt')

const readNames = (): ReadonlySet<string> =>
  new Set(
    readFileSync(FILE, 'utf8')
      .split(/\r?\n/)
      .filter((line) => /^[A-Z]/.test(line)),
  )

let names: ReadonlySet<string> | undefined
const named = (): ReadonlySet<string> => (names ??= readNames())

const isListed = (zone: string): boolean => zone === 'UTC' || zone === 'GMT' || named().has(zone)

/** `EST`, `CEST`: ambiguous between places; no similar name is suggested. */
const SHORT = /^[A-Z]{1,5}$/i

/** True where Intl can compute the offsets of a listed zone. Data of an older tz database lack the newest zones. */
const hasRules = (zone: string): boolean => IANAZone.isValidZone(zone)

/** True where local times can be read in the zone. */
export const isZone = (zone: string): boolean => isListed(zone) && hasRules(zone)

/**
 * Fault of the name of a zone, or undefined.
 * @param otherwise alternative to a name, for the message
 * @param isUsable true where Node.js has the rules of a zone
 */
export function zoneFault(zone: string, otherwise = '', isUsable = hasRules): string | undefined {
  if (isListed(zone))
    return isUsable(zone)
      ? undefined
      : 'is an IANA time zone unknown to this Node.js: install a newer Node.js with full ICU data'
  const hint = /^[+-]?\d/.test(zone)
    ? '; read an offset with the time, by ZZ in the form'
    : SHORT.test(zone)
      ? ''
      : didYouMean(zone.replaceAll(' ', '_'), named())
  return `is no IANA time zone; write it like America/New_York${otherwise}${hint}`
}
