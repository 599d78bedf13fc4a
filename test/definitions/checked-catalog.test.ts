/** The catalog that the install has checked: the same as the files give, and believed for those files alone. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { prepareCatalog, readCatalogFiles, resourcesOf } from '../../src/definitions/catalog-files.ts'
import { CHECKED, digestOf } from '../../src/definitions/checked-catalog.ts'
import { type Conversion, createUnits } from '../../src/transform/units.ts'

const shipped = await readCatalogFiles(join(import.meta.dirname, '../../mappings'), undefined)

it('is that of the shipped files', () => {
  expect(CHECKED).toEqual(prepareCatalog(shipped))
  expect(CHECKED?.digest).toBe(digestOf(shipped))
  const { catalog } = resourcesOf(shipped)
  expect([...catalog.biometrics.keys()]).toEqual(Object.keys(CHECKED?.biometrics ?? {}))
  expect(catalog.keyOf('LOINC', '8480-6')).toBe('systolic-bp')
})

it('is not believed for files in which anything is changed', () => {
  const other = { ...shipped, biometrics: shipped.biometrics.replace(/^systolic-bp:/m, 'upper-bp:') }
  expect(resourcesOf(other).catalog.keyOf('LOINC', '8480-6')).toBe('upper-bp')

  const wrong = { ...shipped, biometrics: shipped.biometrics.replaceAll('mm[Hg]', 'mmHg') }
  expect(wrong).not.toEqual(shipped)
  expect(() => resourcesOf(wrong)).toThrow('catalog/biometrics.yaml')

  // A spelling that leads a unit of the catalog elsewhere is a finding of the catalog.
  const misled = { ...shipped, unitSpellings: `${shipped.unitSpellings}\nmm[Hg],kPa\n` }
  expect(() => resourcesOf(misled)).toThrow('catalog/biometrics.yaml')
})

it('knows units of checked entries without a look at UCUM, and all others by it', () => {
  const { units } = resourcesOf(shipped)
  const byUcum = createUnits(new Map())
  for (const unit of [...(CHECKED?.units ?? []), 'mg/dL', 'kPa', 'furlong', 'constructor', ''])
    expect(units.resolve(unit)).toBe(byUcum.resolve(unit))
  expect(units.resolve('mmhg')).toBe('mm[Hg]')
})

it('converts between units that were worked out as the library of UCUM does', () => {
  const { units, catalog } = resourcesOf(shipped)
  const spellings = new Map([...units.codes].map(([code, spelling]) => [spelling, code]))
  const byUcum = createUnits(spellings)
  const of = (conversion: Conversion) => (conversion.ok ? [0, 1, 37.5].map(conversion.convert) : conversion)
  let converted = 0
  for (const { unit, molarMass, loinc } of catalog.biometrics.values())
    for (const spelling of spellings.keys()) {
      const [own, other] = [units, byUcum].map((one) => one.conversion(spelling, unit, molarMass, loinc))
      if (own === undefined || other === undefined) throw new Error('both convert')
      expect(of(own), `${spelling} ${unit}`).toEqual(of(other))
      if (own.ok && !own.same) converted++
    }
  expect(converted).toBeGreaterThan(100)
  const [pound] = [units.conversion('lb', 'kg', undefined)]
  // The avoirdupois pound is 0.45359237 kg (international yard and pound agreement, 1959).
  expect(of(pound)).toEqual([0, 0.45359237, 37.5 * 0.45359237])
})

it('a table of three columns is read through a join, by which its first column may come again', () => {
  const withTable = (text: string) => resourcesOf({ ...shipped, tables: { visits: text } })
  const { tables, sheets } = withTable('id,visit,site\n7,1,a\n7,2,b\n')
  expect([tables.has('visits'), sheets?.has('visits')]).toEqual([false, true])
  expect(withTable('id,site\n7,a\n8,b\n').tables.get('visits')?.get('8')).toBe('b')
  expect(() => withTable('id,site\n7,a\n7,b\n')).toThrow('has two lines for "7"')
})
