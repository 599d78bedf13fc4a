/**
 * Catalog: known measurements and conditions (`mappings/catalog/biometrics.yaml`, `conditions.yaml`), and the changes that a mapping or a
 * job makes to it (docs/mapping.md, "A catalog of your own").
 */
import { z } from 'zod'
import type { KeyPath } from '../system/yaml-file.ts'
import {
  CODE_SYSTEM_OID,
  type CodeSystem,
  icd9WithPoint,
  icd10WithPoint,
  isIcd9Cm,
  isIcd10Cm,
  isLoinc,
  isSnomed,
} from './codes.ts'
import type { Units } from './units.ts'

const CatalogKey = z
  .string()
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case: lower-case letters, digits, hyphens')

const Loinc = z.string().refine(isLoinc, 'is no LOINC number: invalid check digit')

/** Form of a code, for each system with a known OID. */
const FORMS: Readonly<Record<CodeSystem, (code: string) => boolean>> = {
  LOINC: isLoinc,
  SNOMED: isSnomed,
  'ICD-10-CM': isIcd10Cm,
  'ICD-9-CM': isIcd9Cm,
}

/** Code sent beside the codes of an entry (interface, "Code object"); no export is read by it. */
const FurtherCode = z
  .strictObject({
    code: z.string().min(1),
    system: z.string().min(1).meta({ description: 'Name of the code system: LOINC, CPT, ICD-10-GM …' }),
    oid: z.string().min(1).optional().meta({ description: 'OID or URL of a system unknown to Waybill.' }),
    name: z.string().min(1).optional().meta({ description: 'Default: the name of the entry.' }),
  })
  .superRefine(({ code, system, oid }, context) => {
    const refuse = (key: string, message: string) =>
      context.addIssue({ code: 'custom', path: [key], message })
    const known = isSystem(system)
    if (known && !FORMS[system](code))
      refuse('code', `does not have the form, or the check digit, of ${system}`)
    if (known === (oid !== undefined))
      refuse(
        'oid',
        known ? `is known of ${system}: leave it out` : 'is missing: the identifier of the code system',
      )
  })
type FurtherCode = z.infer<typeof FurtherCode>

const FurtherCodes = z.array(FurtherCode).min(1).optional()

/** A measurement. `range` is in `unit`; a value outside it counts as a data error, not as illness. */
const BiometricEntry = z.strictObject({
  name: z.string().min(1),
  /** LOINC code that is sent. */
  loinc: Loinc,
  codes: FurtherCodes,
  /** Further codes of this measurement that an export may use, each with its usual unit. */
  alsoLoinc: z.record(Loinc, z.string().min(1)).optional(),
  unit: z.string().min(1),
  range: z
    .tuple([z.number(), z.number()])
    .refine(([low, high]) => low < high, 'the lower bound must be below the upper'),
  /** In `unit`: the median of a group of adults lies within. A rule with its median outside is reported as suspicious. */
  usual: z
    .tuple([z.number(), z.number()])
    .refine(([low, high]) => low < high, 'the lower bound must be below the upper')
    .optional(),
  /** Decimals to which a converted value is rounded; a value without conversion keeps its digits. */
  decimals: z.int().min(0).max(6),
  /** g/mol, where mass and amount of substance may be converted into each other. */
  molarMass: z.number().positive().optional(),
})
export type BiometricEntry = z.infer<typeof BiometricEntry>

const Snomed = z.string().refine(isSnomed, 'is no SNOMED CT identifier: invalid check digit')

const ConditionKeys = z.strictObject({
  name: z.string().min(1),
  icd10: z.string().refine(isIcd10Cm, 'is not in the form of an ICD-10-CM code').optional(),
  icd9: z.array(z.string().refine(isIcd9Cm, 'is not in the form of an ICD-9-CM code')).min(1).optional(),
  snomed: z.union([Snomed, z.array(Snomed).min(1)]).optional(),
  codes: FurtherCodes,
})
/** A condition. Of a list in `snomed` the first code is sent; ICD-9-CM is read and never sent. */
const ConditionEntry = ConditionKeys.refine(
  ({ icd10, snomed, codes }) => [icd10, snomed, codes].some((one) => one !== undefined),
  'needs icd10, snomed or codes',
)
export type ConditionEntry = z.infer<typeof ConditionEntry>

export const BiometricCatalog = z.record(CatalogKey, BiometricEntry)
export const ConditionCatalog = z.record(CatalogKey, ConditionEntry)

/** Laid over the catalog: an entry with a known key may give some of its fields; a new entry must be whole. */
export const CatalogExtension = z.strictObject({
  biometrics: z.record(CatalogKey, BiometricEntry.partial()).optional(),
  conditions: z.record(CatalogKey, ConditionKeys.partial()).optional(),
})
type CatalogExtension = z.infer<typeof CatalogExtension>

export interface Catalog {
  readonly biometrics: ReadonlyMap<string, BiometricEntry>
  readonly conditions: ReadonlyMap<string, ConditionEntry>
  /** Catalog key of a code, or undefined. */
  keyOf(system: CodeSystem, code: string): string | undefined
}

/** Code object of a record (interface, "Code object"). */
interface Coding {
  readonly code: string
  readonly codeSystem: string
  readonly codeSystemName: string
  readonly name: string
}

const coding = (system: CodeSystem, code: string, name: string): Coding => ({
  code,
  codeSystem: CODE_SYSTEM_OID[system],
  codeSystemName: system === 'SNOMED' ? 'SNOMED CT' : system,
  name,
})

const further = ({
  codes = [],
  name,
}: {
  readonly codes?: FurtherCode[] | undefined
  name: string
}): Coding[] =>
  codes.map(({ code, system, oid = '', name: own = name }) =>
    isSystem(system)
      ? coding(system, code, own)
      : { code, codeSystem: oid, codeSystemName: system, name: own },
  )

/** Codes in the order of sending: the LOINC first, because a series goes by the first code. */
export const codingsOfMeasurement = (entry: BiometricEntry): readonly [Coding, ...Coding[]] => [
  coding('LOINC', entry.loinc, entry.name),
  ...further(entry),
]

/** Codes of a condition in the order of sending: ICD-10-CM, SNOMED CT, further systems. */
export const codingsOfCondition = (entry: ConditionEntry): readonly Coding[] => [
  ...(entry.icd10 === undefined ? [] : [coding('ICD-10-CM', entry.icd10, entry.name)]),
  ...snomedCodes(entry)
    .slice(0, 1)
    .map((code) => coding('SNOMED', code, entry.name)),
  ...further(entry),
]

const snomedCodes = ({ snomed = [] }: ConditionEntry): readonly string[] => [snomed].flat()

/** Codes in further systems, of an entry without ICD-10-CM and SNOMED CT. */
const otherCodes = ({ icd10, snomed, codes = [] }: ConditionEntry): readonly string[] =>
  icd10 === undefined && snomed === undefined ? codes.map(({ system, code }) => `${system}|${code}`) : []

const loincCodes = ({ loinc, alsoLoinc = {} }: BiometricEntry): readonly string[] => [
  loinc,
  ...Object.keys(alsoLoinc),
]

/** Adds the point: claims and registers write these codes without it. */
const WITH_POINT: Partial<Record<CodeSystem, (code: string) => string>> = {
  'ICD-10-CM': icd10WithPoint,
  'ICD-9-CM': icd9WithPoint,
}

export function createCatalog(
  biometrics: z.infer<typeof BiometricCatalog>,
  conditions: z.infer<typeof ConditionCatalog>,
): Catalog {
  const measured = new Map(Object.entries(biometrics))
  const diagnosed = new Map(Object.entries(conditions))
  const byCode: Record<CodeSystem, Map<string, string>> = {
    LOINC: new Map(
      [...measured].flatMap(([key, entry]) => loincCodes(entry).map((code) => [code, key] as const)),
    ),
    SNOMED: new Map(
      [...diagnosed].flatMap(([key, entry]) => snomedCodes(entry).map((code) => [code, key] as const)),
    ),
    'ICD-10-CM': new Map(
      [...diagnosed].flatMap(([key, { icd10 }]) => (icd10 === undefined ? [] : [[icd10, key] as const])),
    ),
    'ICD-9-CM': new Map(
      [...diagnosed].flatMap(([key, { icd9 = [] }]) => icd9.map((code) => [code, key] as const)),
    ),
  }
  return {
    biometrics: measured,
    conditions: diagnosed,
    keyOf: (system, code) => byCode[system].get(WITH_POINT[system]?.(code.toUpperCase()) ?? code),
  }
}

/**
 * Lays the extension over the catalog.
 * @param report called for each unusable entry, with its path in the extension
 */
export function extendCatalog(
  catalog: Catalog,
  { biometrics = {}, conditions = {} }: CatalogExtension,
  units: Units,
  report: (path: KeyPath, message: string) => void,
): Catalog {
  const at = (section: string) => (key: string, message: string, field?: string) =>
    report(field === undefined ? [section, key] : [section, key, field], message)
  const [ofBiometrics, ofConditions] = [at('biometrics'), at('conditions')]
  const measured = lay(catalog.biometrics, biometrics, BiometricEntry, ofBiometrics)
  const diagnosed = lay(catalog.conditions, conditions, ConditionEntry, ofConditions)
  reportUnits(measured, units, Object.keys(biometrics), (key, message) => ofBiometrics(key, message, 'unit'))
  for (const [key, other] of sharing(measured, Object.keys(biometrics), loincCodes))
    ofBiometrics(key, `is already the code of "${other}": one LOINC, one key`, 'loinc')
  for (const [key, other] of sharing(diagnosed, Object.keys(conditions), snomedCodes))
    ofConditions(key, `has a code of "${other}": one SNOMED CT code, one key`, 'snomed')
  for (const [key, other] of sharing(diagnosed, Object.keys(conditions), ({ icd9 = [] }) => icd9))
    ofConditions(key, `has a code of "${other}": one ICD-9-CM code, one key`, 'icd9')
  for (const [key, other] of sharing(diagnosed, Object.keys(conditions), otherCodes))
    ofConditions(key, `has a code of "${other}", and neither has another: one code, one key`, 'codes')
  return createCatalog(measured, diagnosed)
}

/**
 * Reports canonical units that are no UCUM codes.
 * @param keys keys of the entries to check
 */
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

/** Lays changes over entries. Incomplete entries are reported and left out. */
function lay<Entry extends object>(
  known: ReadonlyMap<string, Entry>,
  changes: Readonly<Record<string, object>>,
  schema: z.ZodType<Entry>,
  report: (key: string, message: string) => void,
): Record<string, Entry> {
  const entries = Object.fromEntries(known)
  for (const [key, change] of Object.entries(changes)) {
    const whole = schema.safeParse({ ...known.get(key), ...change })
    if (whole.success) entries[key] = whole.data
    else {
      const missing = whole.error.issues
        .map(({ path, message }) => path.join('.') || message.replace(/^needs /, ''))
        .join(', ')
      report(key, `is not in the catalog, so it must be whole: it lacks ${missing}`)
    }
  }
  return entries
}

/** Keys of entries with a code of a second entry, each with the key of the second. */
function sharing<Entry>(
  entries: Readonly<Record<string, Entry>>,
  keys: readonly string[],
  codesOf: (entry: Entry) => readonly string[],
): (readonly [key: string, other: string])[] {
  return keys.flatMap((key) => {
    const entry = entries[key]
    const codes = entry === undefined ? [] : codesOf(entry)
    const other = Object.keys(entries).find((one) => {
      const theirs = entries[one]
      return one !== key && theirs !== undefined && codesOf(theirs).some((code) => codes.includes(code))
    })
    return other === undefined ? [] : [[key, other] as const]
  })
}

const isSystem = (name: string): name is CodeSystem => Object.hasOwn(CODE_SYSTEM_OID, name)
