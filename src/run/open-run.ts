/** Opens and ends a run under the lease of the job: starts or resumes the run in the ledger, and connects the stages. */
import { join } from 'node:path'
import type { OpenExport } from '../extract/open-export.ts'
import {
  type ExportOrder,
  type ExportRecord,
  type Ledger,
  originOf,
  type PartOf,
  type PartRecord,
  type RunLedger,
  type RunOrigin,
} from '../ledger/ledger.ts'
import type { CellsHash } from '../load/slots.ts'
import { endingOf, isExportProblem, WaybillError } from '../model/errors.ts'
import { assertRoom } from '../system/own-files.ts'
import { rangeOf } from './backfill-range.ts'
import { createStopWhen, type RowsBefore, type StopWhen } from './chunks.ts'
import { collectorOf } from './collecting.ts'
import type { RunEvents } from './events.ts'
import type { Pausing } from './lease.ts'
import { heldIn, openLoader } from './loading.ts'
import { endsRun, faultText, filesOfPart, removeJoined } from './parts.ts'
import type { RunPlan, World } from './plan.ts'
import { openAppended } from './receipts.ts'
import { resumptionOf, settledBefore, sumOf } from './resume.ts'
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
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal
  /** Part of the export that is read; undefined for the whole. */
  readonly part: PartOf | undefined
  /** Removals of files that are of no use once the run has ended. */
  readonly leftover: (() => Promise<void>)[]
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
  const { ledger, now, home } = world
  const { id, job, resumed } = plan
  await assertRoom(home, world.minFree)
  const begunAt = now()
  const rejectsPath = resumed?.rejects_path ?? join('rejects', id)
  const receiptsPath = resumed?.receipts_path ?? join('receipts', `${id}.ndjson.gz`)
  const runLedger = await startOrResume(plan, world, {
    startedAt: begunAt,
    rejectsPath,
    receiptsPath,
  })
  if (resumed !== undefined) await removeJoined(join(home, rejectsPath), await ledger.exports.ofRun(id))
  const origin = plan.origin ?? (resumed && originOf(resumed))
  // Rows taken up were rejected before: their share of rejects shows nothing about the export.
  const limits = origin === undefined ? job.definition.stopWhen : undefined
  const run = await connectRun(plan, world, {
    runLedger,
    begunAt,
    startedAt: resumed?.started_at ?? begunAt,
    receipts: { path: join(home, receiptsPath), length: resumed?.receipts_length ?? 0 },
    rejectsFolder: join(home, rejectsPath),
    collection: resumed?.collection ?? null,
    isResumed: resumed !== undefined,
    isBackfill: (plan.backfill ?? (resumed && rangeOf(resumed))) !== undefined,
    origin,
    stopWhen: createStopWhen(limits, await settledBefore(ledger, id)),
  })
  return {
    ...run,
    async end(error) {
      const endedAt = now()
      // The clock may be set back during a run.
      const workedMs = Math.max(0, endedAt - begunAt - run.pausedMs())
      const end = { state: endState(error), reason: reasonOf(error) }
      world.events.emit({ type: 'runEnded', ...end, workedMs })
      await run.settling.receipts.close()
      // The process that took over the run records the end.
      if (isLost(error)) return
      // The code `interrupted` needs no detail. The message of an unforeseen error may hold anything and stays out of the ledger.
      const hasMessage = error instanceof WaybillError && error.code !== 'interrupted'
      const detail = hasMessage ? error.message : null
      // Behind the receipts of chunks are those of parts, if the share of rejected rows has ended the run.
      const receiptsLength = end.state === 'failed' ? run.settling.receipts.length : undefined
      await runLedger.endRun({ ...end, endedAt, detail, receiptsLength })
      for (const remove of run.leftover) await remove()
    },
  }
}

/** Part of an export to work on, under its own lease. */
interface PartPlan extends Pick<RunPlan, 'id' | 'job' | 'limit'> {
  readonly part: PartOf
}

/**
 * Opens the work on a part, behind what is settled of it.
 * @returns undefined if there is nothing to do: the part is settled, or the run has been stopped
 */
export async function openPart(plan: PartPlan, world: World): Promise<OpenRun | undefined> {
  const { ledger, now, home, held } = world
  const { id, job, part } = plan
  const { exportRow, number } = part
  const own = (await ledger.parts.ofExport(exportRow)).find((one) => one.number === number)
  const exportRecord = await ledger.exports.find(exportRow)
  const record = await ledger.runs.find(id)
  if (own?.state !== 'open' || exportRecord?.state !== 'open' || record?.state !== 'running') return undefined
  await assertRoom(home, world.minFree)
  const runLedger = ledger.runs.ofPart({ ...held.lease, runId: id }, own.tallies)
  const { stopWhen: limits } = job.definition
  const before = await settledBefore(ledger, id, exportRow)
  const { open } = resumptionOf(await ledger.chunks.ofExport(exportRow), part)
  let beside = sumOf([])
  const rejectsFolder = join(home, record.rejects_path)
  const look = async (signal: AbortSignal, chunk: number, pausing: Pausing): Promise<void> => {
    beside = await rowsBeside(ledger, part, open.has(chunk))
    await world.turn?.(signal, chunk, pausing)
  }
  const run = await connectRun(
    plan,
    { ...world, turn: look },
    {
      runLedger,
      begunAt: now(),
      startedAt: record.started_at,
      receipts: {
        path: filesOfPart({ rejectsFolder }, exportRecord, part).receipts,
        length: own.receiptsLength,
      },
      rejectsFolder,
      collection: null,
      isResumed: false,
      isBackfill: false,
      origin: undefined,
      stopWhen: createStopWhen(limits, sumOf([before, own.rows]), () => beside),
    },
  )
  return {
    ...run,
    part,
    async end(error) {
      await run.settling.receipts.close()
      const { open } = resumptionOf(await ledger.chunks.ofExport(exportRow), part)
      const state = partState(error, open.size > 0)
      if (state !== 'open') await runLedger.endPart(state, error === undefined ? null : faultText(error))
    },
  }
}

/**
 * Settled rows of the other parts.
 * @param isInFlight true for a chunk that must be settled in any case
 * @throws WaybillError `gave-way` if another part has ended the run
 */
async function rowsBeside(
  { parts }: Pick<Ledger, 'parts'>,
  { exportRow, number }: PartOf,
  isInFlight: boolean,
): Promise<RowsBefore> {
  const others = (await parts.ofExport(exportRow)).filter((one) => one.number !== number)
  if (!isInFlight && others.some(endsRun))
    throw new WaybillError('gave-way', 'another part of the export has ended the run')
  return sumOf(others.map(({ rows }) => rows))
}

/** State of a part after its work; `open` where the work goes on elsewhere, or with the next run. */
function partState(error: unknown, isInFlight: boolean): PartRecord['state'] {
  if (error === undefined) return 'settled'
  if (isExportProblem(error)) return isInFlight ? 'stopped' : 'failed'
  const { code } = endingOf(error)
  if (code === 'threshold-passed') return 'failed'
  return GOES_ON.has(code) ? 'open' : 'stopped'
}

const GOES_ON: ReadonlySet<string> = new Set([
  'interrupted',
  'asked-to-stop',
  'gave-way',
  'lease-lost',
  'ledger-unusable',
])

interface Connecting {
  readonly runLedger: RunLedger
  /** Start in this process. */
  readonly begunAt: number
  readonly startedAt: number
  readonly receipts: { path: string; length: number }
  readonly rejectsFolder: string
  /** JSON: the collected files of a resumed run. */
  readonly collection: string | null
  readonly isResumed: boolean
  readonly isBackfill: boolean
  readonly origin: RunOrigin | undefined
  readonly stopWhen: StopWhen
}

/** Connects the stages, for a run or for a part of an export. */
async function connectRun(
  { id, job, limit }: Pick<RunPlan, 'id' | 'job' | 'limit'>,
  world: World,
  {
    runLedger,
    begunAt,
    startedAt,
    rejectsFolder,
    collection,
    isResumed,
    isBackfill,
    origin,
    stopWhen,
    ...opening
  }: Connecting,
): Promise<Omit<OpenRun, 'end'> & { pausedMs: () => number }> {
  const { ledger, now, events, held, identity, home, gatewayName } = world
  const receipts = openAppended(home, opening.receipts.path, opening.receipts.length, runLedger.assertHeld)
  const stopping = new AbortController()
  const signal = AbortSignal.any([stopping.signal, world.interrupt, held.lost, held.stopped])
  const pauses = countPauses(runLedger, now)
  const { sending, inHand } = senderOfRun(world, job, runLedger, signal)
  const { read } = sending
  const worker =
    collectorOf(world, job, { runLedger, read, signal, startedAt, before: collection }) ??
    (await openLoader(world, job, { runLedger, sending, signal, origin }, isResumed, begunAt))
  const orders = new Map(await ledger.exports.orders(runLedger.lease.jobId))
  return {
    id,
    ledger,
    runLedger,
    events,
    worker,
    signal,
    part: undefined,
    leftover: [],
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
      stopWhen,
      turn: async (chunk) => world.turn?.(signal, chunk, pauses.pausing),
      stop: (reason) => stopping.abort(reason),
      inHand,
    },
    limit,
    home,
    rejectsFolder,
    pausedMs: pauses.pausedMs,
    cellsUnder: (digest, columns) => identity.cellsUnder(JSON.stringify([world.version, digest, columns])),
    ordersWith({ id, anchor, day }) {
      if (anchor !== null) orders.set(id, { anchor, day: day ?? 0 })
      return orders
    },
  }
}

const isLost = (error: unknown): boolean => error instanceof WaybillError && error.code === 'lease-lost'

async function startOrResume(
  { id, job, resumed, limit, origin, backfill, ...plan }: RunPlan,
  { ledger, events, held, gatewayName }: World,
  begun: { startedAt: number; rejectsPath: string; receiptsPath: string },
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
