/**
 * Finds the tests nearest to a mistake without running any: from the declaration that the mistake stands in, by the declarations that use it, to
 * test files.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { z } from 'zod'
import { ROOT } from './copy.ts'
import { declaredBy, type Place } from './reach.ts'
import { eachIn, type Node, programOf } from './syntax.ts'

/** A statement of a module, with what it declares. */
interface Unit {
  readonly file: string
  readonly start: number
  readonly end: number
  readonly names: readonly string[]
}

interface Module {
  readonly units: readonly (Unit & { readonly uses: readonly string[]; readonly loads: readonly string[] })[]
  /** Imported and re-exported names: the files they come from, and their names there; `*` for all. */
  readonly imports: ReadonlyMap<string, readonly [file: string, name: string]>
  /** Files of which all names are exported again. */
  readonly passedOn: readonly string[]
}

const EVERYTHING = '*'

const resolved = (from: string, to: string): string => normalize(join(dirname(from), to))

/** The name of an import or export; a string may stand there, too. */
const nameOf = (node: Node): string =>
  node.type === 'Identifier' ? node.name : node.type === 'Literal' ? String(node.value) : ''

function importsBy(statement: Node, file: string): (readonly [string, readonly [string, string]])[] {
  if (statement.type === 'ImportDeclaration' && statement.importKind !== 'type')
    return statement.specifiers.flatMap((one) => {
      if (one.type !== 'ImportSpecifier')
        return [[one.local.name, [resolved(file, statement.source.value), EVERYTHING]] as const]
      if (one.importKind === 'type') return []
      return [[one.local.name, [resolved(file, statement.source.value), nameOf(one.imported)]] as const]
    })
  if (statement.type !== 'ExportNamedDeclaration' || statement.source === null) return []
  const from = resolved(file, statement.source.value)
  return statement.specifiers.map((one) => [nameOf(one.exported), [from, nameOf(one.local)]] as const)
}

function moduleOf(file: string, text: string): Module {
  const { body } = programOf(text)
  const imports = new Map(body.flatMap((statement) => importsBy(statement, file)))
  const units = body
    .filter(({ type }) => type !== 'ImportDeclaration')
    .map((statement) => {
      const uses = new Set<string>()
      const loads: string[] = []
      eachIn(statement, (node) => {
        if (node.type === 'Identifier') uses.add(node.name)
        if (node.type === 'ImportExpression' && node.source.type === 'Literal')
          loads.push(resolved(file, String(node.source.value)))
      })
      const { start, end } = statement
      return { file, start, end, names: declaredBy(statement), uses: [...uses], loads }
    })
  const passedOn = body.flatMap((statement) =>
    statement.type === 'ExportAllDeclaration' ? [resolved(file, statement.source.value)] : [],
  )
  return { units, imports, passedOn }
}

/** Files that use a declaration, or statements of files, by `FILE NAME`. */
type Users = ReadonlyMap<string, readonly Unit[]>

function usersIn(modules: ReadonlyMap<string, Module>): Users {
  const users = new Map<string, Unit[]>()
  const add = (file: string, name: string, unit: Unit): void => {
    const key = `${file} ${name}`
    const known = users.get(key)
    if (known === undefined) users.set(key, [unit])
    else known.push(unit)
  }
  for (const [file, { units, imports, passedOn }] of modules) {
    for (const [name, [from, nameThere]] of imports)
      add(from, nameThere, { file, start: -1, end: -1, names: [name] })
    for (const from of passedOn)
      for (const name of modules.get(from)?.units.flatMap(({ names }) => names) ?? [])
        add(from, name, { file, start: -1, end: -1, names: [name] })
    for (const unit of units) {
      for (const name of unit.uses) if (!unit.names.includes(name)) add(file, name, unit)
      for (const loaded of unit.loads) add(loaded, EVERYTHING, unit)
    }
  }
  return users
}

const isTest = (file: string): boolean => /^(packages\/[^/]+\/)?test\//.test(file)

/** @returns the number of uses between a place and each file; those between files of tests count for nothing */
function distances(place: Place, modules: ReadonlyMap<string, Module>, users: Users): Map<string, number> {
  const found = new Map<string, number>()
  const known = new Set<string>()
  let near: Unit[] = (modules.get(place.file)?.units ?? []).filter(
    ({ start, end }) => start <= place.start && place.end <= end,
  )
  for (let distance = 0; near.length > 0; distance++) {
    const next: Unit[] = []
    for (const { file, names } of near) {
      if (!found.has(file)) found.set(file, distance)
      for (const key of [...names, EVERYTHING].map((name) => `${file} ${name}`)) {
        if (known.has(key)) continue
        known.add(key)
        for (const user of users.get(key) ?? []) (isTest(user.file) ? near : next).push(user)
      }
    }
    near = next
  }
  return found
}

const Cached = z.object({
  projects: z.object({ '': z.object({ files: z.record(z.string(), z.object({ duration: z.number() })) }) }),
})

/** Durations that vitest keeps between runs, in milliseconds, by test files. */
function durations(): Map<string, number> {
  const caches = globSync(join(ROOT, 'node_modules/.vite/vitest/*/results.json'))
  const files = caches.flatMap((file) =>
    Object.entries(Cached.parse(JSON.parse(readFileSync(file, 'utf8'))).projects[''].files),
  )
  return new Map(files.map(([test, { duration }]) => [test, duration]))
}

/** Uses between two declarations that a test of another folder is farther away. */
const OTHER_FOLDER = 3

/** The test that mirrors a source. */
const ownTest = (file: string): string =>
  file.replace(/^(packages\/[^/]+\/)?src\//, '$1test/').replace(/\.ts$/, '.test.ts')

/**
 * The way to the tests of a place: the test that mirrors its file comes first, then those that are named like it, then the others by the length of the
 * way. Of equals those come first that name the file, then the quick ones.
 * @param texts of all sources and test files, by their paths
 */
export function createNearest(texts: ReadonlyMap<string, string>): (place: Place) => string[] {
  const modules = new Map([...texts].map(([file, text]) => [file, moduleOf(file, text)]))
  const users = usersIn(modules)
  const took = durations()
  return (place) => {
    const own = ownTest(place.file)
    const name = basename(place.file, '.ts')
    const named = new RegExp(`\\b${name}\\b`)
    const ranked = [...distances(place, modules, users)]
      .filter(([file]) => file.endsWith('.test.ts'))
      .map(([file, distance]) => {
        const text = texts.get(file) ?? ''
        const far = distance + (dirname(file) === dirname(own) ? 0 : OTHER_FOLDER)

        return {
          file,
          rank: [
            file === own ? 0 : named.test(basename(file)) ? 1 : 2,
            far,
            Number(!named.test(text)),
            took.get(file) ?? text.length,
          ],
        }
      })
    return ranked.sort((a, b) => compared(a.rank, b.rank)).map(({ file }) => file)
  }
}

function compared(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((one, index) => one !== b[index])
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}
