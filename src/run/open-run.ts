/** Opens and ends a run under the lease of the job: starts or resumes the run in the ledger, and connects the stages. */
import { join } from 'node:path'
import type { OpenExport } from '../extract/open-export.ts'
import {
  type ExportOrder,
  type ExportRecord,
  type Ledger,
  originOf,
  type RunLedger,
} from '../ledger/ledger.ts'
import type { CellsHash } from '../load/slots.ts'
import { endingOf, WaybillError } from '../model/errors.ts'
import { assertRoom } from '../system/own-files.ts'
import { rangeOf } from './backfill-range.ts'
import { createStopWhen, type StopWhen } from './chunks.ts'
import { collectorOf } from './collecting.ts'
import type { RunEvents } from './events.ts'
import type { Pausing } from './lease.ts'
import { heldIn, openLoader } from './loading.ts'
import type { RunPlan, World } from './plan.ts'
import { openAppended } from './receipts.ts'
import { settledBefore } from './resume.ts'
import type { OpeningContext } from './rows.ts'
import { senderOfRun } from './senders.ts'
import type { Settling } from './settlement.ts'
import type { Worker } from './worker.ts'

export interface OpenRun {
  readonly id: string
  readonly ledger: Ledger
  readonly runLedger: RunLedger
  readonly events: RunEvents
  readonly worker: Worker
  /** Parts that open the rows of an export. */
  readonly opening: OpeningContext
  /** Parts that settle a chunk. */
  readonly settling: Settling
  readonly gate: ChunkGate
  /** Rows to take of each export at most. */
  readonly limit: number
  readonly home: string
  readonly rejectsFolder: string
  /** Prints rows, by a mapping and the columns of an export. */
  cellsUnder(digest: string, columns: OpenExport['columns']): CellsHash
  /** Order of the backfilled exports of the job, including the given export of this run. */
  ordersWith(record: Pick<ExportRecord, 'id' | 'anchor' | 'day'>): ReadonlyMap<number, ExportOrder>
  /** Records how the run ended. @param error reason for the stop */
  end(error: unknown): Promise<void>
}

/** Begin and stop of the chunks of a run. */
interface ChunkGate {
  readonly stopWhen: StopWhen
  /** Resolves when a chunk, by number, may begin. @throws the error that ends the run once the chunks in flight are settled */
  readonly turn: (chunk: number) => Promise<void>
  /** Stops all sending of the run. */
  readonly stop: (reason: unknown) => void
  /** Called with the change in the number of records in hand. */
  readonly inHand: (more: number) => void
}

export async function openRun(plan: RunPlan, world: World): Promise<OpenRun> {
  const { ledger, now, events, held, identity, home, gatewayName } = world
  const { id, job, resumed, limit } = plan
  await assertRoom(home, world.minFree)
  const begunAt = now()
  const rejectsPath = resumed?.rejects_path ?? join('rejects', id)
  const receiptsPath = resumed?.receipts_path ?? join('receipts', `${id}.ndjson.gz`)
  const runLedger = await startOrResume(plan, world, {
    startedAt: begunAt,
    rejectsPath,
    receiptsPath,
  })

  const receiptsLength = resumed?.receipts_length ?? 0
  const receiptsFile = join(home, receiptsPath)
  const receipts = openAppended(home, receiptsFile, receiptsLength, runLedger.assertHeld)
  const stopping = new AbortController()
  const signal = AbortSignal.any([stopping.signal, world.interrupt, held.lost, held.stopped])
  const origin = plan.origin ?? (resumed && originOf(resumed))
  const pauses = countPauses(runLedger, now)
  const startedAt = resumed?.started_at ?? begunAt
  const { sending, inHand } = senderOfRun(world, job, runLedger, signal)
  const connected = { runLedger, sending, signal, origin }
  const { read } = sending
  const collection = resumed?.collection ?? null
  const worker =
    collectorOf(world, job, { runLedger, read, signal, startedAt, before: collection }) ??
    (await openLoader(world, job, connected, resumed !== undefined, begunAt))
  const orders = new Map(await ledger.exports.orders(runLedger.lease.jobId))
  // Rows taken up were rejected before: their share of rejects shows nothing about the export.
  const limits = origin === undefined ? job.definition.stopWhen : undefined
  const isBackfill = (plan.backfill ?? (resumed && rangeOf(resumed))) !== undefined
  return {
    id,
    ledger,
    runLedger,
    events,
    worker,
    opening: { ledger, runLedger, identity, startedAt, origin },
    settling: {
      ledger,
      runLedger,
      identity,
      receipts,
      gatewayName,
      held: heldIn(origin),
      origin,
      isBackfill,
      now,
    },
    gate: {
      stopWhen: createStopWhen(limits, await settledBefore(ledger, id)),
      turn: async (chunk) => world.turn?.(signal, chunk, pauses.pausing),
      stop: (reason) => stopping.abort(reason),
      inHand,
    },
    limit,
    home,
    rejectsFolder: join(home, rejectsPath),
    cellsUnder: (digest, columns) => identity.cellsUnder(JSON.stringify([world.version, digest, columns])),
    ordersWith({ id, anchor, day }) {
      if (anchor !== null) orders.set(id, { anchor, day: day ?? 0 })
      return orders
    },
    async end(error) {
      const endedAt = now()
      // The clock may be set back during a run.
      const workedMs = Math.max(0, endedAt - begunAt - pauses.pausedMs())
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

/** A run stopped by its own threshold is over: nothing is in flight, and a resumed run would map as before and stop again. */
function endState(error: unknown): 'finished' | 'interrupted' | 'failed' {
  if (error === undefined) return 'finished'
  return error instanceof WaybillError && error.code === 'threshold-passed' ? 'failed' : 'interrupted'
}

function reasonOf(error: unknown): string | null {
  if (error === undefined) return null
  return endingOf(error).code
}
