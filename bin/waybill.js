#!/usr/bin/env -S node --max-semi-space-size=8 --disable-warning=ExperimentalWarning
// Runs the built program where there is one (the package), else the sources as they stand (a clone).
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `Waybill needs Node 24 or newer; this is ${process.versions.node}. In the project folder, "npm ci" brings Node 24, and "npx waybill" uses it.\n`,
  )
  process.exitCode = 2
} else {
  enableCompileCache()
  const built = new URL('../dist/main.js', import.meta.url)
  const { main } = await import(existsSync(built) ? built : new URL('../src/main.ts', import.meta.url))
  process.exitCode = await main(process.argv.slice(2))
}
