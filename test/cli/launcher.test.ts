/** What bin/waybill.js starts: the bundle, unless it is a clone of which something has changed since. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, it } from 'vitest'

const LAUNCHER = join(import.meta.dirname, '../../bin/waybill.js')
/** Seconds since the epoch. */
const MADE_AT = 1_700_000_000

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true })
})

/** @param files each with how many seconds after the bundle it was written */
async function startedIn(files: Readonly<Record<string, number>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-launcher-'))
  folders.push(folder)
  await cp(LAUNCHER, join(folder, 'bin/waybill.js'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  for (const name of Object.keys(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    const text = `export const main = (args) => console.log('${dirname(name)}', ...args)`
    await writeFile(join(folder, name), name === LIST ? SOURCES.join('\n') : text)
  }
  for (const [name, after] of Object.entries(files))
    await utimes(join(folder, name), MADE_AT + after, MADE_AT + after)
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'bin/waybill.js'), 'run', 'x'])
  return stdout
}

const BUNDLE = 'dist/bundle/waybill.mjs'
const LIST = 'dist/bundle/sources.txt'
const SOURCES = ['package-lock.json', 'packages/tools/src/preview.ts', 'src/main.ts', 'src/run/execute.ts']
const CLONE = { [BUNDLE]: 0, [LIST]: 0, ...Object.fromEntries(SOURCES.map((name) => [name, -10])) }
const without = (name: string) => Object.fromEntries(Object.entries(CLONE).filter(([one]) => one !== name))

const ALL: readonly (readonly [what: string, files: Readonly<Record<string, number>>, started: string])[] = [
  ['a package', { [BUNDLE]: 0 }, 'dist/bundle'],
  ['a clone as it was installed', CLONE, 'dist/bundle'],
  ['a clone without a bundle', { 'src/main.ts': -10 }, 'src'],
  ['a clone with a bundle that does not list its sources', without(LIST), 'src'],
  ['a clone with a newer test', { ...CLONE, 'packages/tools/test/preview.test.ts': 1 }, 'dist/bundle'],
  ...SOURCES.map((name) => [`a clone with a newer ${name}`, { ...CLONE, [name]: 1 }, 'src'] as const),
  ...SOURCES.filter((name) => name !== 'src/main.ts').map(
    (name) => [`a clone without ${name}`, without(name), 'src'] as const,
  ),
]

it.each(ALL)('%s', async (_, files, started) => {
  expect(await startedIn(files)).toBe(`${started} run x\n`)
})
