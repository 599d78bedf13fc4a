/**
 * A job may have two unfinished runs: a backfill, and an ordinary one. What one of them has under way, and of which nobody knows yet
 * whether it was stored, may be in the exports of the other, too: so its open chunks are settled before the other one begins.
 */
import type { Job } from '../definitions/definition-files.ts'
import { carryOut, type JobEnd } from './execute.ts'
import type {
  BatchRecord,
  ChunkRecord,
  ExportRecord,
  Held,
  Ledger,
  RunKind,
  RunRecord,
} from '../ledger/ledger.ts'
import { createArrival, spoolFolder } from './arrival.ts'
import type { RunDependencies } from './dependencies.ts'
import { type ExportStep, resumeExports } from './exports-of-run.ts'
import { gaveWay, type HeldJob, holdJob } from './lease.ts'
import { type LearnedFrom, type Receipt, receiptOf } from './receipts.ts'

/**
 * The other run is left unfinished, and nothing of it under way.
 * @returns how it ended where that could not be done; nothing else may then be sent
 */
export async function settleOpenChunks(
  deps: RunDependencies,
  job: Job,
  held: HeldJob,
  kind: RunKind,
): Promise<JobEnd | undefined> {
  const { ledger, home } = deps
  const { jobId } = held.lease
  const unfinished = await ledger.unfinishedRun(jobId, kind)
  if (unfinished === undefined) return undefined
  const open = await openChunksOf(ledger, unfinished)
  if (open.size === 0) return undefined
  const arrival = createArrival(spoolFolder(home, jobId, kind), deps.sources)
  const opening = {
    id: unfinished.id,
    resumed: unfinished,
    settlesOnly: true as const,
    limit: Number.POSITIVE_INFINITY,
    turn: async (_signal: AbortSignal, chunk: number) => {
      if (!open.has(chunk)) throw letGo()
    },
  }
  try {
    const end = await carryOut(deps, job, held, opening, (run) =>
      openExport(resumeExports(run, arrival, job.sources, ledger, unfinished)),
    )
    return end.error?.code === 'gave-way' ? undefined : end
  } finally {
    await arrival.close(true)
  }
}

const letGo = () => gaveWay('what the run had under way is settled; it lets another run of its job go first')

/** That run is not over, though the export may be. */
async function* openExport(exports: AsyncIterable<ExportStep>): AsyncGenerator<ExportStep> {
  yield* exports
  throw letGo()
}

/** Exports are run one after the other: the numbers are those of one export. */
export async function openChunksOf(
  ledger: Pick<Ledger, 'exportsOf' | 'chunksOf'>,
  run: RunRecord,
): Promise<ReadonlySet<number>> {
  const exports = (await ledger.exportsOf(run.id)).filter(({ state }) => state === 'open')
  const chunks = await Promise.all(exports.map(({ id }) => ledger.chunksOf(id)))
  return new Set(chunks.flat().flatMap(({ number, state }) => (state === 'open' ? [number] : [])))
}

type Reading = Pick<Ledger, 'chunksOf' | 'batchesOf' | 'exceptionsOf' | 'exportsOf'>

/** By chunk; those without such a batch are left out. */
export async function* unansweredOf(
  ledger: Pick<Reading, 'chunksOf' | 'batchesOf'>,
  exportRow: number,
): AsyncGenerator<{ readonly chunk: ChunkRecord; readonly batches: readonly BatchRecord[] }> {
  for (const chunk of await ledger.chunksOf(exportRow)) {
    if (chunk.state !== 'open') continue
    const batches = await ledger.batchesOf({ exportRow, chunk: chunk.number })
    const sending = batches.filter(({ state }) => state === 'sending')
    if (sending.length > 0) yield { chunk, batches: sending }
  }
}

/** What of it is not accepted has no outcome. */
export const settlementOf = ({ id, attempts }: BatchRecord, accepted: readonly Held[]) => ({
  id,
  answer: 'ambiguous',
  status: null,
  attempts,
  accepted,
  exceptions: [],
})

/** For what is settled without its chunk, as the chunk never will be: its run was given up. */
export const receiptsOfBatch = (
  { export_id: exportId }: Pick<ExportRecord, 'export_id'>,
  { batch_id: batchId, status }: BatchRecord,
  accepted: readonly Held[],
  learnedFrom: LearnedFrom | undefined,
): Receipt[] => accepted.map((held) => receiptOf({ ...held, exportId, batchId }, learnedFrom, status))

export const isGivenUp = ({ state, reason }: Pick<RunRecord, 'state' | 'reason'>): boolean =>
  state === 'failed' && reason === 'given-up'

/** How many records such a run has in open chunks, which no balance counts, of which nobody can tell whether they are stored. */
export async function doubtsOfGivenUp(ledger: Reading, run: RunRecord): Promise<number> {
  if (!isGivenUp(run)) return 0
  let records = 0
  for (const { id } of await ledger.exportsOf(run.id)) {
    for await (const { batches } of unansweredOf(ledger, id))
      records += batches.reduce((sum, batch) => sum + batch.records, 0)
    for (const { number, state } of await ledger.chunksOf(id)) {
      if (state !== 'open') continue
      const exceptions = await ledger.exceptionsOf({ exportRow: id, chunk: number })
      records += exceptions.filter((one) => one.state === 'in-doubt').length
    }
  }
  return records
}

/**
 * Waits for its turn where one of two is a backfill, settles what the job's unfinished run of the other kind has under way, and works.
 * @param givesWay whether it is a backfill
 * @param work given the id for a new run
 * @throws WaybillError `job-held`; `interrupted` while it waited
 */
export async function whileHeld(
  deps: RunDependencies,
  job: Job,
  givesWay: boolean,
  work: (held: HeldJob, runId: string) => Promise<JobEnd>,
): Promise<JobEnd> {
  const name = job.definition.job
  const jobId = await deps.ledger.jobId(name, deps.gatewayName)
  const runId = deps.newRunId()
  const held = await holdJob(deps, { jobId, job: name, runId, givesWay })
  try {
    const stopped = await settleOpenChunks(deps, job, held, givesWay ? 'ordinary' : 'backfill')
    return stopped ?? (await work(held, runId))
  } finally {
    await held.release()
  }
}
