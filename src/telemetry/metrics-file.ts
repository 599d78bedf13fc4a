/** Leaves the metrics of the last run as a file, for node_exporter's textfile collector. */
import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Registry } from 'prom-client'
import { makeFolder } from '../own-files.ts'
import { type LastRun, registerLastRun } from './last-run-metrics.ts'

/** Written whole or not at all: the collector may read at any instant. It reads what ends in `.prom`, which the copy in the making does not. */
export async function writeLastRun(path: string, run: LastRun): Promise<void> {
  const registry = new Registry()
  registerLastRun(registry).tell(run)
  const text = await registry.metrics()
  const making = `${path}.${process.pid}.tmp`
  makeFolder(dirname(path))
  try {
    await writeFile(making, text)
    // The collector is another user, and nothing in it is secret.
    await chmod(making, 0o644)
    await rename(making, path)
  } finally {
    await rm(making, { force: true })
  }
}
