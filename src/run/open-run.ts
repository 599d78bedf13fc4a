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
  const { jobId } = held.lease
  await assertRoom(world.home, world.minFree)
  const startedAt = now()
  const rejectsPath = resumed?.rejects_path ?? join('rejects', id)
  const receiptsPath = resumed?.receipts_path ?? join('receipts', `${id}.ndjson.gz`)
  const runLedger = await startOrResume(plan, world, { startedAt, rejectsPath, receiptsPath })

  const before = await settledBefore(ledger, id)
  const receiptsLength = resumed?.receipts_length ?? 0
  const receiptsFile = join(world.home, receiptsPath)
  const receipts = openAppended(world.home, receiptsFile, receiptsLength, runLedger.assertHeld)
  const stopping = new AbortController()
  const signal = AbortSignal.any([stopping.signal, world.interrupt, held.lost, held.stopped])
  const origin = plan.origin ?? (resumed && originOf(resumed))
  const pauses = countPauses(runLedger, now)
  const stages = connectStages(world, job, jobId, {
    arrival: world.arrival,
    runLedger,
    receipts,
    rejectsPath,
    origin,
    isBackfill: (plan.backfill ?? (resumed && rangeOf(resumed))) !== undefined,
    suspicion: await ledger.installation.suspicion(startedAt),
    orders: await ledger.exports.orders(jobId),
    hadOtherKey: (await ledger.installation.key())?.hadOther,
    stop: (reason) => stopping.abort(reason),
    signal,
    limit,
    turn: async (chunk) => world.turn?.(signal, chunk, pauses.pausing),
    startedAt: resumed?.started_at ?? startedAt,
    before,
    collection: resumed?.collection ?? null,
  })
  if (resumed !== undefined) await countOwed(stages.load.careTeams)

  return {
    id,
    runLedger,
    events,
    stages,
    async end(error) {
      const endedAt = now()
      // The clock may be set back during a run.
      const workedMs = Math.max(0, endedAt - startedAt - pauses.pausedMs())
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

async function startOrResume(
  { id, job, resumed, limit, origin, backfill, ...plan }: RunPlan,
  { ledger, events, held, gatewayName }: World,
  begun: { readonly startedAt: number; readonly rejectsPath: string; readonly receiptsPath: string },
): Promise<RunLedger> {
  const lease = { ...held.lease, runId: id }
  const { jobId } = lease
  const isFirst = resumed === undefined && (await ledger.runs.list(1)).length === 0
  const part = limit === Number.POSITIVE_INFINITY ? plan.part : 'limit'
  const runLedger =
    resumed === undefined
      ? await ledger.runs.start(lease, { id, jobId, ...begun, origin, backfill, part })
      : await ledger.runs.resume(lease, resumed, begun.startedAt, part)
  events.emit({
    type: 'runStarted',
    id,
    job: job.definition.job,
    gateway: gatewayName,
    resumed: resumed !== undefined,
    tallies: runLedger.tallies,
    isFirst,
    settledOnly: plan.settlesOnly,
  })
  return runLedger
}

/** Times of waiting, which are no work of the run. */
function countPauses(runLedger: RunLedger, now: () => number) {
  let pausedMs = 0
  const pausing: Pausing = async (wait) => {
    const since = now()
    await runLedger.pauseWork(since)
    await wait().finally(() => {
      pausedMs += Math.max(0, now() - since)
    })
    await runLedger.goOnWorking(now())
  }
  return { pausing, pausedMs: () => pausedMs }
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
