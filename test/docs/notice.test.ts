import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { PROJECT, page } from './pages.ts'

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ dev: z.boolean().optional(), optional: z.boolean().optional() }),
  ),
})
/** `licenses` is how packages said it long ago. */
const Manifest = z.looseObject({
  name: z.string(),
  license: z.union([z.string(), z.object({ type: z.string() })]).optional(),
  licenses: z.array(z.object({ type: z.string() })).optional(),
})

const Catalog = z.record(z.string(), z.looseObject({}))

const notice = page('NOTICE')
const [written = '', told = ''] = notice.split('\nParts\n')

/** The program itself and its packages, of which node_modules has links. */
const isOwn = (path: string): boolean => /^($|packages\/|node_modules\/@waybill\/)/.test(path)

/** `name: licence` of what an installation without the tools of development holds, and what may be missing of it by the machine. */
function installedParts(): { readonly parts: Set<string>; readonly optional: Set<string> } {
  const { packages } = Lock.parse(JSON.parse(page('package-lock.json')))
  const parts = new Set<string>()
  const optional = new Set<string>()
  for (const [path, { dev, optional: mayMiss }] of Object.entries(packages)) {
    if (isOwn(path) || dev === true) continue
    const name = path.replace(/^.*node_modules\//, '')
    if (mayMiss === true) optional.add(name)
    const file = join(PROJECT, path, 'package.json')
    if (!existsSync(file)) continue
    const { license, licenses } = Manifest.parse(JSON.parse(readFileSync(file, 'utf8')))
    const types = [license ?? licenses ?? []].flat().map((one) => (typeof one === 'string' ? one : one.type))
    parts.add(`${name}: ${types.join(' OR ')}`)
  }
  return { parts, optional }
}

describe('NOTICE', () => {
  it('has every part that is installed with its licence, as the part itself says it, and no other', () => {
    const { parts, optional } = installedParts()
    const listed = told.split('\n').filter((line) => /^\S+: /.test(line))
    const isThere = (line: string): boolean => parts.has(line) || !optional.has(line.replace(/: .*$/, ''))
    expect(listed.filter(isThere)).toEqual([...parts].sort())
  })

  it('has the notice of every code system whose codes are shipped', () => {
    const catalog = ['biometrics', 'conditions'].map((name) => page(`mappings/catalog/${name}.yaml`))
    const entries = catalog.flatMap((text) => Object.values(Catalog.parse(parse(text))))
    const systems = {
      loinc: 'LOINC',
      unit: 'UCUM',
      icd9: 'ICD-9-CM',
      icd10: 'ICD-10-CM',
      snomed: 'SNOMED CT',
    }
    const plain = ['name', 'alsoLoinc', 'range', 'decimals', 'molarMass', 'usual']
    const fields = new Set(entries.flatMap(Object.keys).filter((field) => !plain.includes(field)))
    expect([...fields].sort()).toEqual(Object.keys(systems).sort())
    for (const system of Object.values(systems)) expect(written).toMatch(new RegExp(`^${system}\\n`, 'm'))
  })

  it('goes with the package', () => {
    expect(JSON.parse(page('package.json'))).toMatchObject({
      files: expect.arrayContaining(['NOTICE', 'SECURITY.md']),
    })
  })
})
