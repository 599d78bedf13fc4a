import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder of its own, gone after the test with all that is in it. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-test-'))
  // A process that ends may still write.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }))
  return folder
}
