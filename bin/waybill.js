#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=2 --heap-growing-percent=20
// The settings above keep memory small: docs/decisions/0013-memory-settings.md.
// Runs the sources as they stand where they are (a clone), else the built program (the package).
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Waybill needs Node 24 or newer; this is ${process.versions.node}. In the project folder, "npm ci" brings Node 24, and "npx waybill" uses it.\n`,
  )
  process.exitCode = 2
} else {
  const sources = new URL('../src/main.ts', import.meta.url)
  const isClone = existsSync(sources)
  // Kept inside the clone, not in the shared temporary folder: what another user can write must not become code here.
  if (isClone)
    module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/waybill', import.meta.url)))
  const { main } = await import(isClone ? sources : new URL('../dist/main.js', import.meta.url))
  await main(process.argv.slice(2))
}
