/** Ends the PostgreSQL server of the tests, if any test has started one. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'

export function setup({ provide }: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-postgres-'))
  provide('postgres', folder)
  return async () => {
    const lock = join(folder, 'data/postmaster.pid')
    if (existsSync(lock)) {
      // SIGQUIT: ends at once. Nobody needs the data.
      process.kill(Number(readFileSync(lock, 'utf8').split('\n')[0]), 'SIGQUIT')
      for (let looks = 0; looks < 200 && existsSync(lock); looks++) await delay(25)
    }
    rmSync(folder, { recursive: true, force: true })
  }
}
