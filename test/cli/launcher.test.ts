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

/** @param files each with how many seconds after the bundle it was written; names of folders end with a slash */
async function startedIn(files: Readonly<Record<string, number>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-launcher-'))
  folders.push(folder)
  await cp(LAUNCHER, join(folder, 'bin/waybill.js'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  for (const name of Object.keys(files).filter((one) => !one.endsWith('/'))) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(
      join(folder, name),
      `export const main = (args) => console.log('${dirname(name)}', ...args)`,
    )
  }
  for (const name of ['src/', 'src/run/', 'packages/', 'packages/tools/src/', ...Object.keys(files)]) {
    const at = MADE_AT + (files[name] ?? -10)
    await utimes(join(folder, name), at, at).catch(() => undefined)
  }
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'bin/waybill.js'), 'run', 'x'])
  return stdout
}

const BUNDLE = 'dist/bundle/waybill.mjs'
const CLONE = {
  [BUNDLE]: 0,
  'src/main.ts': -10,
  'src/run/execute.ts': -10,
  'packages/tools/src/preview.ts': -10,
  'packages/tools/test/preview.test.ts': 1,
  'package-lock.json': -10,
}

it.each([
  ['a package', { [BUNDLE]: 0 }, 'dist/bundle'],
  ['a clone as it was installed', CLONE, 'dist/bundle'],
  ['a clone without a bundle', { 'src/main.ts': -10 }, 'src'],
  ['a clone with a newer source', { ...CLONE, 'src/run/execute.ts': 1 }, 'src'],
  ['a clone with other packages', { ...CLONE, 'package-lock.json': 1 }, 'src'],
  ['a clone from which a source was taken away', { ...CLONE, 'src/run/': 1 }, 'src'],
  ['a clone with a newer source of a package', { ...CLONE, 'packages/tools/src/preview.ts': 1 }, 'src'],
  ['a clone from which a source of a package was taken away', { ...CLONE, 'packages/tools/src/': 1 }, 'src'],
  ['a clone from which a package was taken away', { ...CLONE, 'packages/': 1 }, 'src'],
  ['a clone with a folder that is no package', { ...CLONE, 'packages/gone/notes.txt': -10 }, 'dist/bundle'],
])('%s', async (_, files, started) => {
  expect(await startedIn(files)).toBe(`${started} run x\n`)
})
