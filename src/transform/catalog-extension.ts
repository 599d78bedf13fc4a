/** What a mapping or a job changes of the catalog (docs/mapping.md, "A catalog of your own"). Pure. */
import { z } from 'zod'
import type { KeyPath } from '../yaml-file.ts'
import {
  BiometricEntry,
  type Catalog,
  CatalogKey,
  ConditionEntry,
  createCatalog,
  snomedCodes,
} from './catalog.ts'
import type { Units } from './units.ts'

/** An entry of a known key may give some of its fields; another must be whole. */
export const CatalogExtension = z.strictObject({
  biometrics: z.record(CatalogKey, BiometricEntry.partial()).optional(),
  conditions: z.record(CatalogKey, ConditionEntry.partial()).optional(),
})
export type CatalogExtension = z.infer<typeof CatalogExtension>

type Report = (path: KeyPath, message: string) => void

/**
 * The catalog with the extension laid over it.
 * @param report told of each entry that cannot be used, with its path in the extension
 */
export function extendCatalog(
  catalog: Catalog,
  extension: CatalogExtension,
  units: Units,
  report: Report,
): Catalog {
  const { biometrics = {}, conditions = {} } = extension
  const measured = lay(catalog.biometrics, biometrics, BiometricEntry, 'biometrics', report)
  const diagnosed = lay(catalog.conditions, conditions, ConditionEntry, 'conditions', report)
  reportUnits(measured, units, Object.keys(biometrics), (key, message) =>
    report(['biometrics', key, 'unit'], message),
  )
  const loincs = owners(measured, (entry) => [entry.loinc])
  for (const key of Object.keys(biometrics)) {
    const other = loincs.get(measured[key]?.loinc ?? '')?.find((owner) => owner !== key)
    if (other !== undefined)
      report(['biometrics', key, 'loinc'], `is the code of "${other}" already: one LOINC, one key`)
  }
  const snomeds = owners(diagnosed, snomedCodes)
  for (const key of Object.keys(conditions)) {
    const entry = diagnosed[key]
    const other = (entry === undefined ? [] : snomedCodes(entry)).flatMap(
      (code) => snomeds.get(code)?.find((owner) => owner !== key) ?? [],
    )[0]
    if (other !== undefined)
      report(['conditions', key, 'snomed'], `has a code of "${other}": one SNOMED CT code, one key`)
  }
  return createCatalog(measured, diagnosed)
}

/** @param keys those of the entries to look at */
export function reportUnits(
  entries: Readonly<Record<string, BiometricEntry>>,
  units: Units,
  keys: readonly string[],
  report: (key: string, message: string) => void,
): void {
  for (const key of keys) {
    const unit = entries[key]?.unit
    if (unit !== undefined && units.resolve(unit) !== unit) report(key, `"${unit}" is no UCUM code`)
  }
}

/** Entries that are not whole are reported and left out. */
function lay<Entry extends object>(
  known: ReadonlyMap<string, Entry>,
  changes: Readonly<Record<string, object>>,
  schema: z.ZodType<Entry>,
  section: string,
  report: Report,
): Record<string, Entry> {
  const entries = Object.fromEntries(known)
  for (const [key, change] of Object.entries(changes)) {
    const whole = schema.safeParse({ ...known.get(key), ...change })
    if (whole.success) entries[key] = whole.data
    else {
      const missing = whole.error.issues.map(({ path }) => path.join('.')).join(', ')
      report([section, key], `is not in the catalog, so it must be whole: it lacks ${missing}`)
    }
  }
  return entries
}

/** Code → the keys that have it. */
function owners<Entry>(
  entries: Readonly<Record<string, Entry>>,
  codesOf: (entry: Entry) => readonly string[],
): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const [key, entry] of Object.entries(entries))
    for (const code of codesOf(entry)) found.set(code, [...(found.get(code) ?? []), key])
  return found
}
