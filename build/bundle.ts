/**
 * Makes few files of many: a process would spend more time on finding the modules of the program and of its packages than on a small run.
 *
 *     node build/bundle.ts     writes dist/bundle, which bin/waybill.js starts as long as no source is newer
 *
 * A run of one row takes 0.3 s of processor time instead of 1.0 s. A bundle made during a run can replace parts that are not loaded yet, as an
 * install can. `npm ci` and `npm pack` run it. Without the packages for development there is none, and the sources are started as they stand.
 */
import { cpSync, globSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CheckedCatalog } from '../src/definitions/checked-catalog.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const BUILT = join(PROJECT, 'dist')
/** Sources, by their paths in the project: of the core and of the packages. */
const OWN = /^(?:src|packages\/[^/]+\/src)\//

/** Lists, in the folder of a bundle, the files of the project that it was made of: one a line, by their paths in the project. */
const SOURCES = 'sources.txt'

/** Packages that stay as they are: with files of their own, loaded where they are needed, or asked for by a part of another one that nobody uses. */
const KEPT_AS_THEY_ARE = [/^@lhncbc\//, /^ssh2/, /^@aws-sdk\//, /\.node$/, /^protobufjs\//]

/** `import one, { two as three } from "node:four";` */
const OF_BUILTIN = /^import (?:(?:\* as )?([\w$]+))?(?:, )?(?:\{ (.+) \})? from "((?:node:)?[a-z_/]+)";$/gm

/** Loaded where it is first used, of what is imported as a whole: commander starts programs of other commands by it, of which there are none. */
const LATE = new Set(['node:child_process', 'child_process'])

/**
 * An `import` of a built-in module asks for all that it exports, and so loads what stands behind it: undici behind node:http, streams and
 * a file watcher behind node:fs. That is a third of the start of a command.
 */
function withoutFacade(
  line: string,
  whole: string | undefined,
  some: string | undefined,
  from: string,
): string {
  if (!isBuiltin(from)) return line
  const module = `globalThis.process.getBuiltinModule("${from}")`
  const names = some === undefined ? [] : [`const { ${some.replaceAll(' as ', ': ')} } = ${module};`]
  const all = LATE.has(from)
    ? `const ${whole} = new Proxy({}, { get: (_, name) => ${module}[name] });`
    : `const ${whole} = ${module};`
  return [...(whole === undefined ? [] : [all]), ...names].join(' ')
}

/** Puts the shipped catalog, checked, into `src/definitions/checked-catalog.ts`; the tests run with it, too. */
export const CHECKED_CATALOG = {
  name: 'checked-catalog',
  transform: {
    filter: { id: /\/src\/definitions\/checked-catalog\.ts$/ },
    async handler(code: string): Promise<string> {
      const checked = JSON.stringify(JSON.stringify(await shippedCatalog()))
      return code.replace(/(?<=^export const CHECKED\b.* = )undefined\b/m, () => `JSON.parse(${checked})`)
    },
  },
}

/** @param folder where the files go, in place of what is there @param entries name of a file, and the module it begins with */
export async function bundle(folder: string, entries: Readonly<Record<string, string>>): Promise<void> {
  const { rolldown } = await import('rolldown')
  const made = await rolldown({
    input: entries,
    platform: 'node',
    external: KEPT_AS_THEY_ARE,
    // What a module of ours reads beside itself lies in dist/ where it lies in the project, whether this is a clone or the package.
    plugins: [
      {
        name: 'builtins-without-facade',
        renderChunk: (code: string) => code.replace(OF_BUILTIN, withoutFacade),
      },
      CHECKED_CATALOG,
      {
        name: 'own-place',
        transform: {
          filter: { code: /import\.meta\./ },
          handler(code: string, id: string): string {
            // The bundler's own module has no path; wherever it is called from, it is to ask for packages from here.
            const place = OWN.test(relative(PROJECT, id))
              ? join(BUILT, relative(PROJECT, id))
              : resolve(PROJECT, id)
            const file = `new URL(${JSON.stringify(relative(folder, place))}, import.meta.url)`
            return code
              .replaceAll('createRequire(import.meta.url)(', 'require(')
              .replaceAll('import.meta.url', `${file}.href`)
              .replaceAll(
                'import.meta.dirname',
                `process.getBuiltinModule('node:url').fileURLToPath(new URL('.', ${file}))`,
              )
          },
        },
      },
    ],
  })
  await rm(folder, { recursive: true, force: true })
  const { output } = await made.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  })
  const read = (await made.watchFiles).map((path) => relative(PROJECT, path)).filter((path) => OWN.test(path))
  await made.close()
  await writeFile(join(folder, SOURCES), ['package-lock.json', ...read, ...dataFiles()].sort().join('\n'))
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  await writeFile(join(folder, 'LICENSES.txt'), await licencesOf(modules))
}

async function shippedCatalog(): Promise<CheckedCatalog> {
  const { prepareCatalog, readCatalogFiles } = await import('../src/definitions/catalog-files.ts')
  return prepareCatalog(await readCatalogFiles(join(PROJECT, 'mappings'), undefined))
}

/** The licences of the packages of which something is in the bundle. */
async function licencesOf(modules: readonly string[]): Promise<string> {
  const packages = new Set(
    modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
  )
  const texts: string[] = []
  for (const one of [...packages].sort()) {
    const files = (await readdir(one)).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name))
    const { name, version, license } = JSON.parse(
      await readFile(join(one, 'package.json'), 'utf8'),
    ) as Manifest
    const words = await Promise.all(files.map((file) => readFile(join(one, file), 'utf8')))
    texts.push(`${name} ${version} (${license})\n\n${words.join('\n')}`)
  }
  return texts.join(`\n${'='.repeat(80)}\n`)
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
}

/** What modules read beside themselves. */
const dataFiles = (): string[] => globSync('{src,packages/*/src}/**/*.yaml', { cwd: PROJECT })

export function copyData(): void {
  for (const file of dataFiles()) cpSync(join(PROJECT, file), join(BUILT, file))
}

async function main(): Promise<void> {
  copyData()
  await mkdir(BUILT, { recursive: true })
  await bundle(join(BUILT, 'bundle'), { waybill: join(PROJECT, 'src/main.ts') })
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  await main().catch((error: unknown) => {
    if (error instanceof Error && error.message.startsWith('Cannot find native binding')) {
      process.stderr.write(
        'waybill: no bundle was made, as npm has left out what rolldown needs here: npm does that on a Node older than 20.19. Type "npm i -g node@24", then "npm ci" again.\n',
      )
      process.exitCode = 1
      return
    }
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    process.stdout.write(
      'waybill: the sources are started as they stand, as the packages for development are missing\n',
    )
  })
}
