/** Which runs are old enough, and free, to lose their detail. Pure. */
import type { PrunableRun } from '../ledger/pruned-detail.ts'

/** Why a run that is old enough keeps its detail. */
export type KeptBecause = 'unfinished' | 'in-doubt' | 'referred-to' | 'held'

export interface KeptRun {
  readonly run: string
  readonly job: string
  readonly because: KeptBecause
  /** The run that refers to it, or for which its job is held. */
  readonly by?: string
}

export interface PrunePlan {
  /** Newest first, so that a run goes before the one that it took up. */
  readonly prune: readonly PrunableRun[]
  readonly keep: readonly KeptRun[]
}

/**
 * A run that is unfinished, has records in doubt, or is taken up by a run that keeps its detail, keeps its own.
 * @param runs all of the ledger, newest first
 * @param before runs that ended earlier are old; milliseconds since the epoch
 */
export function planPrune(runs: readonly PrunableRun[], before: number): PrunePlan {
  const prune: PrunableRun[] = []
  const keep: KeptRun[] = []
  const neededBy = new Map<string, string>()
  for (const run of runs) {
    if (run.prunedAt !== null) continue
    const because = reasonToKeep(run, before, neededBy)
    if (because === undefined) {
      prune.push(run)
      continue
    }
    if (run.origin !== null) neededBy.set(run.origin, run.id)
    if (because === 'young') continue
    const by = because === 'referred-to' ? neededBy.get(run.id) : undefined
    keep.push({ run: run.id, job: run.job, because, ...(by === undefined ? {} : { by }) })
  }
  return { prune, keep }
}

function reasonToKeep(
  run: PrunableRun,
  before: number,
  neededBy: ReadonlyMap<string, string>,
): KeptBecause | 'young' | undefined {
  if ((run.endedAt ?? run.startedAt) >= before) return 'young'
  if (run.state === 'running' || run.state === 'interrupted') return 'unfinished'
  if (run.openDoubts > 0) return 'in-doubt'
  return neededBy.has(run.id) ? 'referred-to' : undefined
}
