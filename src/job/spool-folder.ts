/** Where a run keeps what it has fetched, unpacked and joined. */
import { join } from 'node:path'
import type { RunKind } from '../ledger/ledger.ts'
import { assertWithin } from '../own-files.ts'

/**
 * A backfill that waits needs its own again, when another run of the job has cleared what that one had.
 * @throws WaybillError `home-unusable` where a link in the home leads elsewhere
 */
export function spoolFolder(home: string, jobId: number, kind: RunKind): string {
  const folder = join(home, 'spool', kind === 'backfill' ? `${jobId}-backfill` : String(jobId))
  assertWithin(home, folder)
  return folder
}
