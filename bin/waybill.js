#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 node --max-semi-space-size=2 --heap-growing-percent=40
// The settings above keep memory small: docs/decisions/0013-memory-settings.md.
// Runs the sources as they stand where they are (a clone), else the built program (the package).
import { existsSync } from 'node:fs'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Waybill needs Node 24 or newer; this is ${process.versions.node}. In the project folder, "npm ci" brings Node 24, and "npx waybill" uses it.\n`,
  )
  process.exitCode = 2
} else {
  const sources = new URL('../src/main.ts', import.meta.url)
  const { main } = await import(existsSync(sources) ? sources : new URL('../dist/main.js', import.meta.url))
  process.exitCode = await main(process.argv.slice(2))
}
