/**
 * A job may have two unfinished runs: a backfill, and an ordinary one. What one of them has under way, and of which nobody knows yet
 * whether it was stored, may be in the exports of the other, too: so its open chunks are settled before the other one begins.
 */

import type { Job } from '../definitions/definition-files.ts'
import type { Ledger, RunKind, RunRecord } from '../ledger/ledger.ts'
import { createArrival } from './arrival.ts'
import { carryOut, type JobEnd } from './carry-out.ts'
import { type ExportStep, resumeExports } from './exports-of-run.ts'
import { gaveWay } from './give-way.ts'
import type { HeldJob } from './lease.ts'
import type { RunDependencies } from './run-dependencies.ts'
import { spoolFolder } from './spool-folder.ts'

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
