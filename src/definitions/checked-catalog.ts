/**
 * The shipped catalog as the install has checked it: `build/bundle.ts` puts it into this module, as parsing and checking the files takes a
 * tenth of a small run. It is believed for the very texts that it was made of, and for no others.
 */
import { hash } from 'node:crypto'
import type { BiometricEntry, ConditionEntry } from '../transform/catalog.ts'

export interface CheckedCatalog {
  /** Of the texts that it was made of. */
  readonly digest: string
  readonly biometrics: Readonly<Record<string, BiometricEntry>>
  readonly conditions: Readonly<Record<string, ConditionEntry>>
}

/** None where the sources are started as they stand, and not by the tests. */
export const CHECKED: CheckedCatalog | undefined = undefined

/** SHA-256 of all that a catalog hangs on. */
export const digestOf = (texts: {
  readonly biometrics: string
  readonly conditions: string
  readonly unitSpellings: string
}): string => hash('sha256', JSON.stringify([texts.biometrics, texts.conditions, texts.unitSpellings]), 'hex')
