/**
 * Removes the detail of old runs: first the ledger says that it is gone, then the files go, then the ledger's rows. So at no instant
 * does anything lead to what is not there; what a killed process has left behind, the next pruning removes.
 */

import { TAKEN_AT_MOST } from '../expect/small-exports.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type DetailCounts, noDetail, type PrunableRun } from '../ledger/pruned-detail.ts'
import { DELIVERIES_COMPARED } from '../run/drift-watch.ts'
import { summarise } from '../run/summary.ts'
import { type KeptRun, planPrune } from './prune-plan.ts'
import { type FileCounts, measureOutput, removeOutput } from './run-output.ts'

/** As many as are looked at. */
const KEPT = { profiles: DELIVERIES_COMPARED, deliveries: TAKEN_AT_MOST } as const

export interface PruneDependencies {
  readonly ledger: Ledger
  readonly home: string
  readonly now: () => number
  /** Aborted when the operator wants it to stop: what is under way is finished. */
  readonly interrupt: AbortSignal
}

export interface PruneRequest {
  /** Runs that ended earlier lose their detail, and fires, notifications and known files from before go; milliseconds since the epoch. */
  readonly before: number
  /** Count, and change nothing. */
  readonly dryRun: boolean
  /** Called after each transaction and each run's files: where there is time for others. */
  readonly onStep?: (what: 'marked' | 'files' | 'rows') => Promise<void>
}

export interface Pruned {
  /** Ids, newest first. */
  readonly runs: readonly string[]
  /** Runs that an earlier pruning had begun with and did not end. */
  readonly resumed: readonly string[]
  readonly kept: readonly KeptRun[]
  readonly detail: DetailCounts
  readonly files: FileCounts
}

export async function prune(deps: PruneDependencies, request: PruneRequest): Promise<Pruned> {
  const { pruning } = deps.ledger
  const all = await pruning.candidates()
  const plan = planPrune(all, request.before)
  const kept: KeptRun[] = [...plan.keep]
  const runs: string[] = []
  const resumed: string[] = []
  const detail = noDetail()
  const files = { files: 0, bytes: 0 }
  const begun = all.filter((run) => run.prunedAt !== null)
  for (const run of [...plan.prune, ...begun]) {
    if (deps.interrupt.aborted) break
    const done = request.dryRun ? await measure(deps, run) : await pruneRun(deps, run, request)
    if ('by' in done) {
      kept.push({ run: run.id, job: run.job, because: 'held', by: done.by })
      continue
    }
    add(detail, done.detail)
    add(files, done.files)
    if (run.prunedAt === null) runs.push(run.id)
    else if (done.files.files + countOf(done.detail) > 0) resumed.push(run.id)
  }
  const rest = request.dryRun
    ? await pruning.leftovers(KEPT, request.before, runs)
    : await pruning.removeLeftovers(KEPT, request.before)
  add(detail, rest)
  return { runs, resumed, kept, detail, files }
}

interface Done {
  readonly detail: DetailCounts
  readonly files: FileCounts
}

async function measure(
  { ledger, home, now }: PruneDependencies,
  run: PrunableRun,
): Promise<Done | { readonly by: string }> {
  const fence = await ledger.pruning.fenceOf(run.id, now())
  if (fence !== undefined) return { by: fence.run }
  return { detail: await ledger.pruning.detailOf(run.id), files: await measureOutput(home, run) }
}

async function pruneRun(
  deps: PruneDependencies,
  run: PrunableRun,
  { onStep = async () => {} }: PruneRequest,
): Promise<Done | { readonly by: string }> {
  const { ledger, home, now } = deps
  const { pruning } = ledger
  const measured = await measure(deps, run)
  if ('by' in measured) return measured
  if (run.prunedAt === null) {
    if (!(await pruning.mark(run.id, await totalsOf(deps, run.id), now()))) return heldBy(deps, run)
    await onStep('marked')
  }
  const files = await removeOutput(home, run)
  await onStep('files')
  const detail = noDetail()
  for (;;) {
    const removed = await pruning.removeSome(run.id, now())
    // A run has begun in between. What is left of this one goes at the next pruning.
    if (removed === undefined || countOf(removed) === 0) break
    add(detail, removed)
    await onStep('rows')
    if (deps.interrupt.aborted) break
  }
  return { detail: { ...detail, bytes: measured.detail.bytes }, files }
}

async function heldBy({ ledger, now }: PruneDependencies, run: PrunableRun): Promise<{ by: string }> {
  return { by: (await ledger.pruning.fenceOf(run.id, now()))?.run ?? run.id }
}

/** The balance of each export as the summary tells it, by the row of the export. */
async function totalsOf({ ledger, home }: PruneDependencies, id: string): Promise<Map<number, string>> {
  const { exports } = await summarise(ledger, home, id)
  const records = await ledger.exportsOf(id)
  return new Map(
    records.flatMap((record, at) => {
      const counts = exports[at]?.counts
      return counts === undefined ? [] : [[record.id, JSON.stringify(counts)] as const]
    }),
  )
}

const countOf = ({ bytes: _bytes, ...counts }: DetailCounts): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

function add<Counts extends object>(total: Counts, more: Counts): void {
  for (const key of Object.keys(more) as (keyof Counts)[])
    Object.assign(total, { [key]: Number(total[key]) + Number(more[key]) })
}
