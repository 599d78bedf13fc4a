#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=16 --heap-growing-percent=150 --initial-old-space-size=64
// The settings above keep memory small: docs/decisions/0013-memory-settings.md.
// Runs the bundle that the install has made; in a clone of which the sources have changed since, the sources as they stand.

const at = (path) => new URL(path, import.meta.url)

/** Whether none of the files that the bundle was made of is newer than it, or gone. A new source counts by the changed one that imports it. */
function isCurrent({ existsSync, readFileSync, statSync }, bundle, root) {
  if (!existsSync(`${bundle}/sources.txt`)) return false
  const madeAt = statSync(`${bundle}/waybill.mjs`).mtimeMs
  const sources = readFileSync(`${bundle}/sources.txt`, 'utf8').split('\n')
  return sources.every((path) => statSync(`${root}/${path}`, { throwIfNoEntry: false })?.mtimeMs < madeAt)
}

async function start() {
  // An import of a built-in module loads all that its exports might need: 10 ms for node:fs.
  const [fs, module, url] = ['fs', 'module', 'url'].map((name) => process.getBuiltinModule(name))
  const [bundle, root] = ['../dist/bundle', '..'].map((path) => url.fileURLToPath(at(path)))
  const isClone = fs.existsSync(`${root}/src`)
  // Kept inside the clone, not in the shared temporary folder: what another user can write must not become code here.
  if (isClone) module.enableCompileCache(url.fileURLToPath(at('../node_modules/.cache/waybill')))
  const isBundled = !isClone || isCurrent(fs, bundle, root)
  const { main } = await import(at(isBundled ? '../dist/bundle/waybill.mjs' : '../src/main.ts'))
  await main(process.argv.slice(2))
}

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Waybill needs Node 24 or newer; this is ${process.versions.node}. "npm i -g node@24" brings one. In the project folder, "npm ci" does, and "npx waybill" uses it.\n`,
  )
  process.exitCode = 2
} else await start()
