#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=16 --heap-growing-percent=100 --initial-old-space-size=64
// The settings above keep memory small: docs/decisions/0013-memory-settings.md.
// Runs the bundle that the install has made; in a clone of which the sources have changed since, the sources as they stand.
import { existsSync, readdirSync, statSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const BUNDLE = new URL('../dist/bundle/waybill.mjs', import.meta.url)
const SOURCES = fileURLToPath(new URL('../src/', import.meta.url))

/** Folders, too: they are newer where a file was taken away. */
function isCurrent(bundle) {
  const madeAt = statSync(bundle).mtimeMs
  const isOlder = (name) => statSync(`${SOURCES}${name}`).mtimeMs < madeAt
  return ['.', '../package-lock.json', ...readdirSync(SOURCES, { recursive: true })].every(isOlder)
}

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Waybill needs Node 24 or newer; this is ${process.versions.node}. In the project folder, "npm ci" brings Node 24, and "npx waybill" uses it.\n`,
  )
  process.exitCode = 2
} else {
  const isClone = existsSync(SOURCES)
  const isBundled = existsSync(BUNDLE) && (!isClone || isCurrent(BUNDLE))
  // Kept inside the clone, not in the shared temporary folder: what another user can write must not become code here.
  if (isClone)
    module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/waybill', import.meta.url)))
  const { main } = await import(isBundled ? BUNDLE : new URL('../src/main.ts', import.meta.url))
  await main(process.argv.slice(2))
}
