/** Manifests of the workspaces: the tarball is the root, and an installation of it has the root's dependencies alone. */
import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { PROJECT, page } from './pages.ts'

const Ranges = z.record(z.string(), z.string())
const Manifest = z.looseObject({
  name: z.string(),
  version: z.string(),
  private: z.literal(true),
  type: z.literal('module'),
  dependencies: Ranges.default({}),
  devDependencies: Ranges.default({}),
})

const manifestOf = (file: string) => Manifest.parse(JSON.parse(page(file)))
const root = manifestOf('package.json')
const files = globSync('packages/*/package.json', { cwd: PROJECT })

it('are three', () => {
  expect(files.map((file) => manifestOf(file).name).sort()).toEqual([
    '@waybill/conformance',
    '@waybill/mapping-tools',
    '@waybill/reference-gateway',
  ])
})

describe.each(files)('%s', (file) => {
  const manifest = manifestOf(file)

  it('has the name of its folder, the version of the program, and a README', () => {
    expect([`packages/${manifest.name.replace('@waybill/', '')}`, manifest.version]).toEqual([
      dirname(file),
      root.version,
    ])
    expect(existsSync(join(PROJECT, dirname(file), 'README.md'))).toBe(true)
  })

  it('needs at run time what the root installs, in the same range', () => {
    expect(root.dependencies).toMatchObject(manifest.dependencies)
  })

  it('declares tools for its tests that the root does not declare', () => {
    const twice = Object.keys(manifest.devDependencies).filter((name) => name in root.devDependencies)
    expect(twice).toEqual([])
  })
})
