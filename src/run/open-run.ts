/** Opens and ends a run under the lease of the job: starts or resumes the run in the ledger and connects the stages. */
import { join } from 'node:path'
import { originOf, type RunLedger } from '../ledger/ledger.ts'
import { owedBy } from '../load/care-team-owed.ts'
import { noteOwed } from '../load/care-team-work.ts'
import { endingOf, WaybillError } from '../model/errors.ts'
import { assertRoom } from '../system/own-files.ts'
import { rangeOf } from './backfill-range.ts'
import { connectStages, type RunStages } from './connect-stages.ts'
import type { RunEvents } from './events.ts'
import type { Pausing } from './lease.ts'
import type { RunPlan, World } from './plan.ts'
import { openAppended } from './receipts.ts'
import { settledBefore } from './resume.ts'

export interface OpenRun {
  readonly id: string
  readonly runLedger: RunLedger
  readonly stages: RunStages
  readonly events: RunEvents
  /** Records how the run ended. @param error reason for the stop */
  end(error: unknown): Promise<void>
}

export async function openRun(plan: RunPlan, world: World): Promise<OpenRun> {
  const { ledger, now, events, held } = world
  const { id, job, resumed, limit } = plan
  const lease = { ...held.lease, runId: id }
  const { jobId } = lease
  const name = job.definition.job
  await assertRoom(world.home, world.minFree)
  const startedAt = now()
  const rejectsPath = resumed?.rejects_path ?? join('rejects', id)
  const receiptsPath = resumed?.receipts_path ?? join('receipts', `${id}.ndjson.gz`)
  const part = limit === Number.POSITIVE_INFINITY ? plan.part : 'limit'
  const isFirst = resumed === undefined && (await ledger.runs.list(1)).length === 0
  const runLedger =
    resumed === undefined
      ? await ledger.runs.start(lease, {
          id,
          jobId,
          startedAt,
          rejectsPath,
          receiptsPath,
          origin: plan.origin,
          backfill: plan.backfill,
          part,
        })
      : await ledger.runs.resume(lease, resumed, startedAt, part)
  const { tallies } = runLedger
  events.emit({
    type: 'runStarted',
    id,
    job: name,
    gateway: world.gatewayName,
    resumed: resumed !== undefined,
    tallies,
    isFirst,
    settledOnly: plan.settlesOnly,
  })

  const settled = await settledBefore(ledger, id)
  const receiptsLength = resumed?.receipts_length ?? 0
  const receipts = openAppended(
    world.home,
    join(world.home, receiptsPath),
    receiptsLength,
    runLedger.assertHeld,
  )
  const stopping = new AbortController()
  const stop = (reason: unknown): void => stopping.abort(reason)
  const signal = AbortSignal.any([stopping.signal, world.interrupt, held.lost, held.stopped])
  const began = resumed?.started_at ?? startedAt
  const origin = plan.origin ?? (resumed && originOf(resumed))
  const backfill = plan.backfill ?? (resumed && rangeOf(resumed))
  const suspicion = await ledger.installation.suspicion(startedAt)
  const orders = await ledger.exports.orders(jobId)
  const hadOtherKey = (await ledger.installation.key())?.hadOther
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
  const turn = async (chunk: number): Promise<void> => world.turn?.(signal, chunk, pausing)
  const parts = {
    ...writing,
    origin,
    isBackfill: backfill !== undefined,
    suspicion,
    orders,
    hadOtherKey,
    stop,
    signal,
    limit,
    turn,
    startedAt: began,
    before: settled,
    collection: resumed?.collection ?? null,
  }
  const stages = connectStages(world, job, jobId, parts)
  if (resumed !== undefined) await countOwed(stages.load.careTeams)

  return {
    id,
    runLedger,
    events,
    stages,
    async end(error) {
      const endedAt = now()
      // The clock may be set back during a run.
      const workedMs = Math.max(0, endedAt - startedAt - pausedMs)
      const end = { state: endState(error), reason: reasonOf(error) }
      events.emit({ type: 'runEnded', ...end, workedMs })
      await receipts.close()
      // The process that took over the run records the end.
      if (error instanceof WaybillError && error.code === 'lease-lost') return
      // The code `interrupted` needs no detail. The message of an unforeseen error may hold anything and stays out of the ledger.
      const hasMessage = error instanceof WaybillError && error.code !== 'interrupted'
      const detail = hasMessage ? error.message : null
      await runLedger.endRun({ ...end, endedAt, detail })
    },
  }
}

/** Counts owed work anew from the ledger: this process may do work that an earlier process counted as owed. */
async function countOwed(careTeams: RunStages['load']['careTeams']): Promise<void> {
  const { owed, tallies } = careTeams
  tallies.primaryCare.owed = 0
  tallies.careTeams.owed = 0
  noteOwed(owed, await owedBy(careTeams), careTeams)
}

/** A run stopped by its own threshold is over: nothing is in flight, and a resumed run would map as before and stop again. */
function endState(error: unknown): 'finished' | 'interrupted' | 'failed' {
  if (error === undefined) return 'finished'
  return error instanceof WaybillError && error.code === 'threshold-passed' ? 'failed' : 'interrupted'
}

function reasonOf(error: unknown): string | null {
  if (error === undefined) return null
  return endingOf(error).code
}
