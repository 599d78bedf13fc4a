/**
 * Shipped catalog, checked at build time. `build/bundle.ts` fills this module, because parsing and checking the files takes a tenth of a
 * small run. The result is used only if the digest matches the texts at hand.
 */
import { hash } from 'node:crypto'
import type { BiometricEntry, ConditionEntry } from '../transform/catalog.ts'
import type { WorkedUnits } from '../transform/units.ts'

export interface CheckedCatalog {
  /** Digest of the texts from which this catalog was made. */
  readonly digest: string
  readonly biometrics: Readonly<Record<string, BiometricEntry>>
  readonly conditions: Readonly<Record<string, ConditionEntry>>
  /** UCUM codes of the entries and of the spellings. */
  readonly units: readonly string[]
  /** Factors from these units to those of the entries. */
  readonly factors: WorkedUnits['factors']
}

/** Undefined when the sources run without a build, as in tests. */
export const CHECKED: CheckedCatalog | undefined = undefined

/** SHA-256 of all texts that determine a catalog. */
export const digestOf = (texts: {
  readonly biometrics: string
  readonly conditions: string
  readonly unitSpellings: string
}): string => hash('sha256', JSON.stringify([texts.biometrics, texts.conditions, texts.unitSpellings]), 'hex')
