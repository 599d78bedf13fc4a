#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=16 --heap-growing-percent=150 --initial-old-space-size=64
// The settings above keep memory small: docs/decisions/0013-memory-settings.md.
// Runs the bundle that the install has made; in a clone of which the sources have changed since, the sources as they stand.

const at = (path) => new URL(path, import.meta.url)

/** Whether no source is newer than the bundle; a folder is newer after a file was taken away. */
function isCurrent({ existsSync, readdirSync, statSync }, bundle, root) {
  const madeAt = statSync(bundle).mtimeMs
  const inPackages = readdirSync(`${root}/packages`).map((name) => `packages/${name}/src`)
  const folders = ['src', ...inPackages].filter((folder) => existsSync(`${root}/${folder}`))
  const within = (folder) => readdirSync(`${root}/${folder}`, { recursive: true })
  const files = folders.flatMap((folder) => within(folder).map((name) => `${folder}/${name}`))
  const isOlder = (path) => statSync(`${root}/${path}`).mtimeMs < madeAt
  return ['package-lock.json', 'packages', ...folders, ...files].every(isOlder)
}

async function start() {
  // An import of a built-in module loads all that its exports might need: 10 ms for node:fs.
  const [fs, module, url] = ['fs', 'module', 'url'].map((name) => process.getBuiltinModule(name))
  const [bundle, root] = ['../dist/bundle/waybill.mjs', '..'].map((path) => url.fileURLToPath(at(path)))
  const isClone = fs.existsSync(`${root}/src`)
  const isBundled = fs.existsSync(bundle) && (!isClone || isCurrent(fs, bundle, root))
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
