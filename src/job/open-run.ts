/** Opens a run, under the lease of its job: writes it down or takes it up again, and connects its stages; and ends it. */
import { join } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import {
  type BackfillRange,
  type Ledger,
  originOf,
  type RunLedger,
  type RunOrigin,
  type RunRecord,
} from '../ledger/ledger.ts'
import { noteOwed } from '../load/care-team-owed-book.ts'
import { readCounts } from '../model/balance.ts'
import { endingOf, WaybillError } from '../model/errors.ts'
import { rangeOf } from '../run/backfill-range.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import type { RunEvents } from '../run/events.ts'
import type { ExportContext, RowsBefore } from '../run/export.ts'
import type { HeldJob, Pausing } from '../run/lease.ts'
import { openAppended } from '../run/receipts.ts'
import { connectStages } from './connect-stages.ts'

export interface RunOpening {
  /** Id of the run, new or resumed. */
  readonly id: string
  /** The unfinished run to go on with; undefined: a new one. */
  readonly resumed: RunRecord | undefined
  /** Rows to take of each export at most. */
  readonly limit: number
  /** Of a new run that takes up what another one left behind. */
  readonly origin?: RunOrigin
  /** Of a new run over exports that were named. */
  readonly part?: 'files'
  /** Whether no more than what it has under way is settled, so that another run of its job can begin. */
  readonly settlesOnly?: true
  /** Of a backfill, new or resumed. */
  readonly backfill?: BackfillRange
  /**
   * Resolves when a chunk, by its number, may be begun.
   * @param signal aborted when the run is to stop
   * @param pausing what is awaited within does not count as work
   */
  readonly turn?: (signal: AbortSignal, chunk: number, pausing: Pausing) => Promise<void>
}

export interface OpenRun {
  readonly id: string
  readonly runLedger: RunLedger
  readonly export: ExportContext
  readonly events: RunEvents
  /** Writes down how it ended. @param error what stopped it */
  end(error: unknown): Promise<void>
}

export async function openRun(
  deps: RunDependencies,
  job: Job,
  held: HeldJob,
  opening: RunOpening,
): Promise<OpenRun> {
  const { ledger, now, events } = deps
  const { id, resumed, limit } = opening
  const lease = { ...held.lease, runId: id }
  const { jobId } = lease
  const name = job.definition.job
  const startedAt = now()
  const rejectsPath = resumed?.rejects_path ?? join('rejects', id)
  const receiptsPath = resumed?.receipts_path ?? join('receipts', `${id}.ndjson.gz`)
  const part = limit === Number.POSITIVE_INFINITY ? opening.part : 'limit'
  const isFirst = resumed === undefined && (await ledger.runs(1)).length === 0
  const runLedger =
    resumed === undefined
      ? await ledger.startRun(lease, {
          id,
          jobId,
          startedAt,
          rejectsPath,
          receiptsPath,
          origin: opening.origin,
          backfill: opening.backfill,
          part,
        })
      : await ledger.resumeRun(lease, resumed, startedAt, part)
  const { tallies } = runLedger
  events.emit({
    type: 'runStarted',
    id,
    job: name,
    gateway: deps.gatewayName,
    resumed: resumed !== undefined,
    tallies,
    isFirst,
    settledOnly: opening.settlesOnly,
  })

  const settled = await settledBefore(ledger, id)
  const receiptsLength = resumed?.receipts_length ?? 0
  const receipts = openAppended(
    deps.home,
    join(deps.home, receiptsPath),
    receiptsLength,
    runLedger.assertHeld,
  )
  const stopping = new AbortController()
  const stop = (reason: unknown): void => stopping.abort(reason)
  const onInterrupt = (): void => stop(new WaybillError('interrupted', 'the run was interrupted'))
  deps.interrupt.addEventListener('abort', onInterrupt, { once: true })
  if (deps.interrupt.aborted) onInterrupt()
  const onLost = (): void => stop(held.lost.reason)
  held.lost.addEventListener('abort', onLost, { once: true })
  if (held.lost.aborted) onLost()
  const { signal } = stopping
  const began = resumed?.started_at ?? startedAt
  const origin = opening.origin ?? (resumed && originOf(resumed))
  const backfill = opening.backfill ?? (resumed && rangeOf(resumed))
  const behindSince = await ledger.behindSince(jobId, { backfill, takesUp: origin !== undefined })
  const perhapsSent = await ledger.perhapsSent(jobId)
  const writing = { runLedger, receipts, rejectsPath }
  let pausedMs = 0
  const pausing: Pausing = async (wait) => {
    const since = now()
    await runLedger.pauseWork(since)
    await wait().finally(() => {
      pausedMs += Math.max(0, now() - since)
    })
    await runLedger.goOnWorking(now())
  }
  const turn = async (chunk: number): Promise<void> => opening.turn?.(signal, chunk, pausing)
  const parts = {
    ...writing,
    origin,
    isBackfill: backfill !== undefined,
    behindSince,
    perhapsSent,
    stop,
    signal,
    limit,
    turn,
    startedAt: began,
    before: settled,
  }
  const stages = connectStages(deps, job, jobId, parts)
  if (resumed !== undefined) await countOwed(deps, stages.load.careTeams)

  return {
    id,
    runLedger,
    events,
    export: stages,
    async end(error) {
      held.lost.removeEventListener('abort', onLost)
      deps.interrupt.removeEventListener('abort', onInterrupt)
      const endedAt = now()
      // A clock may be set back while a run is on.
      const workedMs = Math.max(0, endedAt - startedAt - pausedMs)
      const end = { state: endState(error), reason: reasonOf(error) }
      events.emit({ type: 'runEnded', ...end, workedMs })
      await receipts.close()
      // Whoever has taken the run over writes down how it ends.
      if (error instanceof WaybillError && error.code === 'lease-lost') return
      // That it was interrupted its code says already; the words of what nobody foresaw may hold anything.
      const told = error instanceof WaybillError && error.code !== 'interrupted'
      const detail = told ? error.message : null
      await runLedger.endRun({ ...end, endedAt, detail })
    },
  }
}

/** What is owed by now, an earlier process has written down: what that one has counted since may be done by this one. */
async function countOwed(
  { ledger, gatewayName }: RunDependencies,
  { owed, tallies, changed }: ExportContext['load']['careTeams'],
): Promise<void> {
  tallies.primaryCare.owed = 0
  tallies.careTeams.owed = 0
  const accounts = await ledger.owedCareTeams(gatewayName, '', Number.MAX_SAFE_INTEGER)
  const known = await ledger.careTeams(gatewayName, accounts)
  noteOwed(owed, [...known.values()].flat(), changed)
}

/** Rows of a run that are settled. */
async function settledBefore(ledger: Ledger, runId: string): Promise<RowsBefore> {
  const before = { read: 0, rejected: 0 }
  for (const record of await ledger.exportsOf(runId)) {
    for (const chunk of await ledger.chunksOf(record.id)) {
      const { rows } = readCounts(chunk.counts)
      before.read += rows.read
      before.rejected += rows.rejected
    }
  }
  return before
}

/**
 * A run that its own threshold has stopped is over: nothing of it is under way, and resumed, it would map as before and stop again.
 */
function endState(error: unknown): 'finished' | 'interrupted' | 'failed' {
  if (error === undefined) return 'finished'
  return error instanceof WaybillError && error.code === 'threshold-passed' ? 'failed' : 'interrupted'
}

function reasonOf(error: unknown): string | null {
  if (error === undefined) return null
  return endingOf(error).code
}
