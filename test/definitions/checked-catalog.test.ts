/** The catalog that the install has checked: the same as the files give, and believed for those files alone. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { bundle } from '../../build/bundle.ts'
import * as sources from '../../src/definitions/catalog-files.ts'
import { CHECKED, type CheckedCatalog, digestOf } from '../../src/definitions/checked-catalog.ts'

const PROJECT = join(import.meta.dirname, '../..')
const folder = await mkdtemp(join(tmpdir(), 'waybill-checked-'))
afterAll(() => rm(folder, { recursive: true }))

await bundle(folder, {
  files: join(PROJECT, 'src/definitions/catalog-files.ts'),
  checked: join(PROJECT, 'src/definitions/checked-catalog.ts'),
})
const bundled = (await import(join(folder, 'files.mjs'))) as typeof sources
const { CHECKED: checked } = (await import(join(folder, 'checked.mjs'))) as {
  readonly CHECKED: CheckedCatalog | undefined
}
const shipped = await sources.readCatalogFiles(join(PROJECT, 'mappings'), undefined)

it('is that of the shipped files, which the sources parse anew', () => {
  expect(CHECKED).toBeUndefined()
  expect(checked).toEqual(sources.checkCatalog(shipped))
  expect(checked?.digest).toBe(digestOf(shipped))
  const [known, parsed] = [bundled.resourcesOf(shipped).catalog, sources.resourcesOf(shipped).catalog]
  expect([known.biometrics, known.conditions]).toEqual([parsed.biometrics, parsed.conditions])
  expect(known.keyOf('LOINC', '8480-6')).toBe('systolic-bp')
})

it('is not believed for files in which anything is changed', () => {
  const other = { ...shipped, biometrics: shipped.biometrics.replace(/^systolic-bp:/m, 'upper-bp:') }
  expect(bundled.resourcesOf(other).catalog.keyOf('LOINC', '8480-6')).toBe('upper-bp')

  const wrong = { ...shipped, biometrics: shipped.biometrics.replaceAll('mm[Hg]', 'mmHg') }
  expect(wrong).not.toEqual(shipped)
  expect(() => bundled.resourcesOf(wrong)).toThrow('catalog/biometrics.yaml')

  // A spelling that leads a unit of the catalog elsewhere is a finding of the catalog.
  const misled = { ...shipped, unitSpellings: `${shipped.unitSpellings}\nmm[Hg],kPa\n` }
  expect(() => bundled.resourcesOf(misled)).toThrow('catalog/biometrics.yaml')
})

it('knows units of checked entries without a look at UCUM, and all others by it', () => {
  const { units } = bundled.resourcesOf(shipped)
  const units2 = sources.resourcesOf(shipped).units
  for (const unit of ['mm[Hg]', 'mg/dL', 'kPa', 'mmhg', 'furlong', 'constructor', ''])
    expect(units.resolve(unit)).toBe(units2.resolve(unit))
})
