/**
 * Names of time zones: `UTC`, `GMT`, and those of the list in `mappings/catalog/zones.txt`, which is of one version of the tz database. Intl is
 * not asked which names there are. It takes old short ones, too (`AST`, `IST`), and means other places by them than the vendor does.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { IANAZone } from 'luxon'
import { didYouMean } from '../schema-problems.ts'

const FILE = fileURLToPath(new URL('../../mappings/catalog/zones.txt', import.meta.url))

const readNames = (): ReadonlySet<string> =>
  new Set(
    readFileSync(FILE, 'utf8')
      .split(/\r?\n/)
      .filter((line) => /^[A-Z]/.test(line)),
  )

let names: ReadonlySet<string> | undefined
const named = (): ReadonlySet<string> => (names ??= readNames())

const isListed = (zone: string): boolean => zone === 'UTC' || zone === 'GMT' || named().has(zone)

/** `EST`, `CEST`: of several places, and like the name of none. */
const SHORT = /^[A-Z]{1,5}$/i

/** Tells whether Intl can work out the offsets of a listed zone. Data of an older tz database lack the newest ones. */
const hasRules = (zone: string): boolean => IANAZone.isValidZone(zone)

/** Tells whether local times can be read in the zone. */
export const isZone = (zone: string): boolean => isListed(zone) && hasRules(zone)

/**
 * Fault of the name of a zone, or undefined.
 * @param otherwise what can be written instead
 * @param isUsable whether Node.js has the rules of a zone
 */
export function zoneFault(zone: string, otherwise = '', isUsable = hasRules): string | undefined {
  if (isListed(zone))
    return isUsable(zone)
      ? undefined
      : 'is an IANA time zone that this Node.js has no rules for: install a newer Node.js, with full ICU data'
  const hint = /^[+-]?\d/.test(zone)
    ? '; an offset is read with the time, by ZZ in its form'
    : SHORT.test(zone)
      ? ''
      : didYouMean(zone.replaceAll(' ', '_'), named())
  return `is no IANA time zone; write it like America/New_York${otherwise}${hint}`
}
