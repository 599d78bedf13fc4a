/** The import rules of `.dependency-cruiser.cjs` count a folder within another one as part of it: a circle between the two is seen here. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, it } from 'vitest'

const IMPORT = /\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g

/** A file in src/ itself stands for itself, and a package is one folder. */
const folderOf = (file: string): string =>
  /^packages\/[^/]+/.exec(file)?.[0] ?? (dirname(file) === 'src' ? file : dirname(file))

function importsOfFolders(): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>()
  for (const file of globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'])) {
    const from = folderOf(file)
    const to = imports.get(from) ?? new Set()
    imports.set(from, to)
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const folder = folderOf(normalize(join(dirname(file), path)))
      if (folder !== from) to.add(folder)
    }
  }
  return imports
}

/** Takes out what imports nothing that is left, again and again: what stays lies on a circle, or leads to one. */
function circlesIn(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const left = new Map(imports)
  for (;;) {
    const done = [...left].filter(([, to]) => [...to].every((folder) => !left.has(folder)))
    if (done.length === 0) return [...left.keys()]
    for (const [folder] of done) left.delete(folder)
  }
}

it('no folder of src/ and no package imports itself by way of others', () => {
  const imports = importsOfFolders()
  expect(imports.get('src/cli')?.has('src/runs')).toBe(true)
  expect(imports.get('src/cli')?.has('packages/conformance')).toBe(true)
  expect(circlesIn(imports)).toEqual([])
})
