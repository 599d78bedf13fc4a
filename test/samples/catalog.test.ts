import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ucum from '@lhncbc/ucum-lhc'
import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { SAMPLE_FILES } from '../../samples/generate.ts'
import { createUnits } from '../../src/transform/units.ts'

const ROOT = join(import.meta.dirname, '../..')
const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const pairs = (path: string): [string, string][] =>
  z.array(z.tuple([z.string(), z.string()])).parse(parse(text(path), { fromLine: 2 }))

/** Luhn, written by another way than the program's: digits from the right, every second one looked up doubled. */
function luhn(digits: string): boolean {
  const doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    return total + (at % 2 === 1 ? Number(doubled[Number(digit)]) : Number(digit))
  }, 0)
  return sum % 10 === 0
}

/** Verhoeff, by the dihedral group itself rather than by its tables: d5 as pairs of rotation and reflection. */
function verhoeff(digits: string): boolean {
  const multiply = (a: number, b: number): number => {
    const rotation = a < 5 ? (a + b) % 5 : (a - b + 10) % 5
    return b < 5 ? (a < 5 ? rotation : 5 + rotation) : a < 5 ? 5 + rotation : rotation
  }
  const permute = (digit: number, times: number): number =>
    times === 0 ? digit : permute(Number('1576283094'[digit]), times - 1)
  return (
    [...digits].reverse().reduce((check, digit, at) => multiply(check, permute(Number(digit), at % 8)), 0) ===
    0
  )
}

const utilities = ucum.UcumLhcUtils.getInstance()
/** No message: the library takes some near misses (`mmHg`), but says so. */
function isUcum(unit: string): boolean {
  const { unit: found, retMsg } = utilities.getSpecifiedUnit(unit, 'validate')
  return found !== null && found !== undefined && retMsg.length === 0
}

const Key = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
const biometrics = z
  .record(
    Key,
    z.strictObject({
      name: z.string().min(3),
      loinc: z.string().regex(/^\d{3,6}-\d$/),
      alsoLoinc: z
        .record(
          z
            .string()
            .regex(/^\d{3,6}-\d$/)
            .refine((code) => luhn(code.replace('-', ''))),
          z.string(),
        )
        .optional(),
      unit: z.string(),
      range: z.tuple([z.number(), z.number()]),
      usual: z.tuple([z.number(), z.number()]).optional(),
      decimals: z.int().min(0).max(3),
      molarMass: z.number().min(10).max(2000).optional(),
    }),
  )
  .parse(parseYaml(text('mappings/catalog/biometrics.yaml')))

const conditions = z
  .record(
    Key,
    z.strictObject({
      name: z.string().min(3),
      icd9: z.array(z.string().regex(/^(\d{3}|V\d{2})(\.\d{1,2})?$/)).optional(),
      icd10: z.string().regex(/^[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?$/),
      // A string: identifiers of extensions do not fit into a JavaScript number.
      snomed: z.union([z.string(), z.array(z.string()).min(2)]).transform((code) => [code].flat()),
    }),
  )
  .parse(parseYaml(text('mappings/catalog/conditions.yaml')))

describe('catalog of biometrics', () => {
  const entries = Object.entries(biometrics)

  it.each(entries)('%s has a LOINC check digit that holds, a UCUM unit, and a range', (_, entry) => {
    expect(luhn(entry.loinc.replace('-', ''))).toBe(true)
    expect(isUcum(entry.unit)).toBe(true)
    expect(entry.range[0]).toBeLessThan(entry.range[1])
  })

  it('has usual ranges within the plausible ones, with room on both sides but at the end of a scale', () => {
    for (const [key, { usual, range }] of Object.entries(biometrics)) {
      if (usual === undefined) continue
      expect(usual[0], key).toBeLessThan(usual[1])
      expect(usual[0], key).toBeGreaterThanOrEqual(range[0])
      expect(usual[1], key).toBeLessThanOrEqual(range[1])
    }
    expect(Object.values(biometrics).filter(({ usual }) => usual !== undefined).length).toBeGreaterThan(70)
  })

  it('has other LOINCs in units that convert to that of the entry', () => {
    const units = createUnits(new Map())
    const others = Object.values(biometrics).flatMap(({ alsoLoinc = {}, unit, molarMass }) =>
      Object.entries(alsoLoinc).map(([code, own]) => ({ code, ...units.conversion(own, unit, molarMass) })),
    )
    expect(others.filter(({ ok }) => !ok)).toEqual([])
    expect(others.length).toBeGreaterThan(10)
  })

  it('has units that are alike for ions with one charge and enzymes, each by a LOINC', () => {
    const alike = text('mappings/catalog/units-alike.csv')
      .split('\n')
      .filter((line) => /^\d/.test(line))
    const rows = alike.map((line) => line.split(','))
    expect(rows.filter((cells) => cells.length !== 4)).toEqual([])
    const codes = rows.map(([loinc = '']) => loinc)
    expect(codes.filter((code) => !/^\d{3,6}-\d$/.test(code) || !luhn(code.replace('-', '')))).toEqual([])
    expect(new Set(codes).size).toBe(codes.length)
    for (const [loinc = '', , unit, other] of rows) {
      const entry = Object.values(biometrics).find((one) => one.loinc === loinc)
      expect([
        ['eq', 'mol'],
        ['[IU]', 'U'],
      ]).toContainEqual([unit, other])
      if (entry !== undefined) expect(entry.unit, loinc).toBe(unit === 'eq' ? 'mmol/L' : 'U/L')
    }
    // What is reported in either unit.
    for (const key of ['sodium', 'potassium', 'chloride', 'carbon-dioxide', 'lithium', 'alt', 'ast', 'ggt'])
      expect(codes).toContain(biometrics[key]?.loinc)
  })

  it('has at least 60 measurements', () => {
    expect(entries.length).toBeGreaterThanOrEqual(60)
  })

  it('keeps digits enough to tell plausible values apart after a conversion', () => {
    for (const [key, { range, decimals }] of entries)
      expect((range[1] - range[0]) * 10 ** decimals, key).toBeGreaterThanOrEqual(4)
  })

  it('has no percentage above 100 and no negative bound', () => {
    for (const [key, { unit, range }] of entries) {
      expect(range[0], key).toBeGreaterThanOrEqual(0)
      if (unit === '%') expect(range[1], key).toBeLessThanOrEqual(100)
    }
  })

  it('has one key a LOINC', () => {
    expect(new Set(entries.map(([, entry]) => entry.loinc)).size).toBe(entries.length)
  })

  it('keeps a molar mass only where the unit is a mass concentration', () => {
    for (const [, entry] of entries)
      if (entry.molarMass !== undefined) expect(entry.unit).toMatch(/^[munp]?g\/[dm]?L$/)
  })
})

describe('catalog of conditions', () => {
  it('has at least 40, each SNOMED CT code with a check digit that holds', () => {
    const all = Object.entries(conditions)
    expect(all.length).toBeGreaterThanOrEqual(40)
    for (const [key, { snomed }] of all) for (const code of snomed) expect(verhoeff(code), key).toBe(true)
  })

  it('has one key a SNOMED CT code', () => {
    const codes = Object.values(conditions).flatMap((entry) => entry.snomed)
    expect(new Set(codes).size).toBe(codes.length)
  })

  it('has one key an ICD-9-CM code, and most conditions of adults have one', () => {
    const codes = Object.values(conditions).flatMap(({ icd9 = [] }) => icd9)
    expect(codes.length).toBe(new Set(codes).size)
    expect(codes.length).toBeGreaterThan(50)
  })

  it('shares no ICD-10-CM code but E11.9', () => {
    const codes = Object.values(conditions).map((entry) => entry.icd10)
    expect(codes.filter((code, at) => codes.indexOf(code) !== at)).toEqual(['E11.9'])
  })
})

describe('tables', () => {
  it('spell units that are UCUM, each once', () => {
    const spellings = pairs('mappings/catalog/unit-spellings.csv')
    for (const [, unit] of spellings) expect(isUcum(unit), unit).toBe(true)
    expect(new Set(spellings.map(([spelling]) => spelling)).size).toBe(spellings.length)
  })

  // What laboratories mean by them: a thousand, a million in a microlitre; a billion, a trillion in a litre.
  it.each([
    ['THOU/uL', 5, '10*9/L', 5],
    ['K/cumm', 5, '/uL', 5_000],
    ['MIL/uL', 4.5, '10*12/L', 4.5],
    ['x10(3)/mcL', 5, '10*9/L', 5],
    ['10e9/L', 250, '10*3/uL', 250],
    ['T/L', 4.5, '10*6/uL', 4.5],
    ['G/L', 250, '10*3/uL', 250],
    ['UMOLL', 88, 'mmol/L', 0.088],
    ['gm%', 14, 'g/L', 140],
    ['stone', 10, 'kg', 63.5029318],
    ['mm/hr', 12, 'mm/h', 12],
  ])('%s: %d is %s %d', (spelling, value, unit, expected) => {
    const conversion = createUnits(new Map(pairs('mappings/catalog/unit-spellings.csv'))).conversion(
      spelling,
      unit,
      undefined,
    )
    expect(conversion.ok && conversion.convert(value)).toBeCloseTo(expected, 9)
  })

  it('lead from each lab code to a key of the catalog', () => {
    const codes = pairs('mappings/tables/lab-codes.csv')
    for (const [, key] of codes) expect(biometrics, key).toHaveProperty([key])
    expect(new Set(codes.map(([code]) => code)).size).toBe(codes.length)
  })
})

describe('provider numbers of the samples', () => {
  it('hold their check digit, but for the faulty ones, and are none that was issued', () => {
    const rows = z.array(z.record(z.string(), z.string())).parse(
      parse(text(`samples/inbox/${SAMPLE_FILES.acme}`), {
        columns: true,
        relaxColumnCountLess: true,
        skipRecordsWithError: true,
      }),
    )
    const numbers = rows.map((row) => row['pcp_npi'] ?? '').filter((npi) => npi !== '')
    expect(numbers.length).toBeGreaterThan(3000)
    expect(numbers.every((npi) => /^2\d{9}$/.test(npi))).toBe(true)
    expect(numbers.filter((npi) => !luhn(`80840${npi}`)).length).toBe(5)
  })
})
