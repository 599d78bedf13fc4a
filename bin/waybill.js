#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=16 --heap-growing-percent=150 --initial-old-space-size=64
// The settings above keep memory small: docs/decisions/0013-memory-settings.md.
// Runs the bundle that the install has made; in a clone of which the sources have changed since, the sources as they stand.

const at = (path) => new URL(path, import.meta.url)

/** Whether nothing is newer than the bundle; folders, too: they are where a file was taken away. */
function isCurrent({ readdirSync, statSync }, bundle, sources) {
  const madeAt = statSync(bundle).mtimeMs
  const isOlder = (name) => statSync(`${sources}/${name}`).mtimeMs < madeAt
  return ['.', '../package-lock.json', ...readdirSync(sources, { recursive: true })].every(isOlder)
}

async function start() {
  // An import of a built-in module loads all that its exports might need: 10 ms for node:fs.
  const [fs, module, url] = ['fs', 'module', 'url'].map((name) => process.getBuiltinModule(name))
  const [bundle, sources] = ['../dist/bundle/waybill.mjs', '../src'].map((path) =>
    url.fileURLToPath(at(path)),
  )
  const isClone = fs.existsSync(sources)
  const isBundled = fs.existsSync(bundle) && (!isClone || isCurrent(fs, bundle, sources))
  // Kept inside the clone, not in the shared temporary folder: what another user can write must not become code here.
  if (isClone) module.enableCompileCache(url.fileURLToPath(at('../node_modules/.cache/waybill')))
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
