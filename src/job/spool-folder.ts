/** Where a run keeps what it has fetched, unpacked and joined. */
import { join } from 'node:path'
import type { RunKind } from '../ledger/ledger.ts'

/** A backfill that waits needs its own again, when another run of the job has cleared what that one had. */
export const spoolFolder = (home: string, jobId: number, kind: RunKind): string =>
  join(home, 'spool', kind === 'backfill' ? `${jobId}-backfill` : String(jobId))
