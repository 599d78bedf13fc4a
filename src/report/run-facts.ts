/** What a report says of a run, as the ledger knows it. No file is looked at. */

import type { ChunkRecord, Ledger, Reason } from '../ledger/ledger.ts'
import { allRecords, readCounts } from '../model/balance.ts'
import { WaybillError } from '../model/errors.ts'
import { activityOf } from '../run/run-activity.ts'
import { type ExportSummary, type RunSummary, summarise } from '../run/summary.ts'
import type { WorkSpan } from './work-spans.ts'

/** Instants are milliseconds since the epoch. */
export interface RunFacts {
  readonly summary: RunSummary
  /** Most frequent first; none of a run that was pruned. */
  readonly reasons: readonly Reason[]
  readonly startedAt: number
  /** Also when it was interrupted; undefined while it is under way. */
  readonly endedAt: number | undefined
  /** IANA zone of the job's schedule, where one has been seen. */
  readonly zone: string | undefined
  readonly exports: readonly ExportFacts[]
  /** Rows of chunks that are begun and not settled: no outcome is known of them yet. */
  readonly rowsInHand: number
  /** One a settled chunk, in their order; none of a run that was pruned. */
  readonly work: readonly WorkSpan[]
}

export interface ExportFacts extends ExportSummary {
  readonly bytes: number
  /** SHA-256 of the mapping with what belongs to it, as it was used. */
  readonly mappingDigest: string
}

export interface FactSources {
  readonly ledger: Ledger
  /** Folder of the installation, in which the summary names files. */
  readonly home: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Whether the process is known to be gone. */
  readonly isDead: (owner: string) => boolean
}

/** @throws WaybillError `run-not-found` */
export async function gatherFacts(
  { ledger, home, now, isDead }: FactSources,
  runId: string,
): Promise<RunFacts> {
  const run = await ledger.run(runId)
  if (run === undefined) throw new WaybillError('run-not-found', `there is no run ${runId}`)
  const activity = await activityOf(ledger, run, now, isDead)
  const summary = {
    ...(await summarise(ledger, home, runId)),
    ...(activity === undefined ? {} : { activity }),
  }
  const records = await ledger.exportsOf(runId)
  return {
    summary,
    reasons: await ledger.reasonsOf(runId),
    startedAt: run.started_at,
    endedAt: run.ended_at ?? undefined,
    zone: (await ledger.fires.timetable(run.job_id))?.zone,
    exports: summary.exports.flatMap((one, at) => {
      const record = records[at]
      return record === undefined
        ? []
        : [{ ...one, bytes: record.bytes, mappingDigest: record.mapping_digest }]
    }),
    ...workOf(await ledger.chunksOfRun(runId), run.started_at),
  }
}

/** @param chunks of all exports */
function workOf(chunks: readonly ChunkRecord[], startedAt: number): Pick<RunFacts, 'rowsInHand' | 'work'> {
  const settled = chunks.flatMap(({ settled_at: at, worked_ms: to, counts }) =>
    at === null || to === null ? [] : [{ at, to, counts: readCounts(counts) }],
  )
  settled.sort((a, b) => a.to - b.to || a.at - b.at)
  const work: WorkSpan[] = []
  let before = { at: startedAt, to: 0 }
  for (const { at, to, counts } of settled) {
    const from = before.to
    // Two that were settled together stand in the order of the clock, which may have been set back.
    const paused = Math.max(0, at - before.at - (to - from))
    work.push({ from, to, paused, rows: counts.rows.read, records: allRecords(counts) })
    before = { at, to }
  }
  const rowsInHand = chunks.reduce((sum, { state, rows }) => sum + (state === 'open' ? rows : 0), 0)
  return { rowsInHand, work }
}
