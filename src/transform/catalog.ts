/**
 * The catalog: known measurements and conditions, with codes, canonical units and plausible ranges
 * (`mappings/catalog/biometrics.yaml`, `conditions.yaml`).
 */
import { z } from 'zod'
import { isIcd10Cm, isLoinc, isSnomed } from './identifiers.ts'

export const CatalogKey = z
  .string()
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case: lower-case letters, digits, hyphens')

/** A measurement. `range` is in `unit`; outside of it a value is taken for an error of data, not for illness. */
export const BiometricEntry = z.strictObject({
  name: z.string().min(1),
  loinc: z.string().refine(isLoinc, 'is no LOINC number: its check digit does not hold'),
  unit: z.string().min(1),
  range: z
    .tuple([z.number(), z.number()])
    .refine(([low, high]) => low < high, 'the lower bound must be below the upper'),
  /** Digits after the point that a converted value is rounded to; values that need no conversion keep their own. */
  decimals: z.int().min(0).max(6),
  /** g/mol, where mass and amount of substance may be converted into each other. */
  molarMass: z.number().positive().optional(),
})
export type BiometricEntry = z.infer<typeof BiometricEntry>

const Snomed = z.string().refine(isSnomed, 'is no SNOMED CT identifier: its check digit does not hold')

/** A condition. Where `snomed` is a list, the first is the one that is sent. */
export const ConditionEntry = z.strictObject({
  name: z.string().min(1),
  icd10: z.string().refine(isIcd10Cm, 'does not have the form of an ICD-10-CM code'),
  snomed: z.union([Snomed, z.array(Snomed).min(1)]),
})
export type ConditionEntry = z.infer<typeof ConditionEntry>

export const BiometricCatalog = z.record(CatalogKey, BiometricEntry)
export const ConditionCatalog = z.record(CatalogKey, ConditionEntry)

/** Code systems that a long export may be coded in, without a table of its own. */
export type CodeSystem = 'LOINC' | 'SNOMED' | 'ICD-10-CM'

export const CODE_SYSTEM_OID: Readonly<Record<CodeSystem, string>> = {
  LOINC: '2.16.840.1.113883.6.1',
  SNOMED: '2.16.840.1.113883.6.96',
  'ICD-10-CM': '2.16.840.1.113883.6.90',
}

export interface Catalog {
  readonly biometrics: ReadonlyMap<string, BiometricEntry>
  readonly conditions: ReadonlyMap<string, ConditionEntry>
  /** Catalog key of a code, or undefined. */
  keyOf(system: CodeSystem, code: string): string | undefined
}

export const snomedCodes = (entry: ConditionEntry): readonly string[] =>
  typeof entry.snomed === 'string' ? [entry.snomed] : entry.snomed

export function createCatalog(
  biometrics: z.infer<typeof BiometricCatalog>,
  conditions: z.infer<typeof ConditionCatalog>,
): Catalog {
  const measured = new Map(Object.entries(biometrics))
  const diagnosed = new Map(Object.entries(conditions))
  const byCode: Record<CodeSystem, Map<string, string>> = {
    LOINC: new Map([...measured].map(([key, entry]) => [entry.loinc, key])),
    SNOMED: new Map(
      [...diagnosed].flatMap(([key, entry]) => snomedCodes(entry).map((code) => [code, key] as const)),
    ),
    'ICD-10-CM': new Map([...diagnosed].map(([key, entry]) => [entry.icd10, key])),
  }
  return {
    biometrics: measured,
    conditions: diagnosed,
    keyOf: (system, code) => byCode[system].get(code),
  }
}
