/**
 * Removes the detail of old runs: first marks the run in the ledger as pruned, then removes the files, then the rows. At no instant does the ledger
 * refer to missing detail. The next pruning removes the rest after a killed process.
 */

import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DetailCounts, type Fence, noDetail, type PrunableRun } from '../ledger/concerns.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { backfillCommand, rangeOf } from '../run/backfill-range.ts'
import { TAKEN_AT_MOST } from '../run/find-exports.ts'
import { summarise } from '../story/facts.ts'
import { assertWithin, giveUpReserve } from '../system/own-files.ts'
import { shellWord } from '../system/shown-text.ts'
import { DELIVERIES_COMPARED } from '../watch/drift-watch.ts'

/** Records to keep: as many as runs compare with. */
const KEPT = { profiles: DELIVERIES_COMPARED, deliveries: TAKEN_AT_MOST } as const

interface PruneDependencies {
  readonly ledger: Ledger
  readonly home: string
  readonly now: () => number
  /** Aborts to stop: the current step is finished. */
  readonly interrupt: AbortSignal
}

interface PruneRequest {
  /** Runs that ended before lose their detail; older fires, notifications and known files go, too. */
  readonly before: number
  /** Records of the audit since then stay. Default: all stay. */
  readonly auditSince?: number
  /** Counts without changes. */
  readonly dryRun: boolean
  /** Called after each transaction and the files of each run: other work may run here. */
  readonly onStep?: (what: 'marked' | 'files' | 'rows') => Promise<void>
}

export interface Pruned {
  readonly runs: readonly string[]
  /** Runs of an earlier, interrupted pruning. */
  readonly resumed: readonly string[]
  readonly kept: readonly KeptRun[]
  readonly detail: DetailCounts
  readonly files: FileCounts
}

export async function prune(deps: PruneDependencies, request: PruneRequest): Promise<Pruned> {
  const { pruning } = deps.ledger
  if (!request.dryRun) giveUpReserve(deps.home)
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
      kept.push({ run: run.id, job: run.job, ...done })
      continue
    }
    add(detail, done.detail)
    add(files, done.files)
    if (run.prunedAt === null) runs.push(run.id)
    else if (done.files.files + countOf(done.detail) > 0) resumed.push(run.id)
  }
  const keeps = { ...KEPT, auditSince: request.auditSince ?? 0 }
  const rest = request.dryRun
    ? await pruning.leftovers(keeps, request.before, runs)
    : await pruning.removeLeftovers(keeps, request.before)
  add(detail, rest)
  return { runs, resumed, kept, detail, files }
}

interface Done {
  readonly detail: DetailCounts
  readonly files: FileCounts
}

async function measure({ ledger, home, now }: PruneDependencies, run: PrunableRun): Promise<Done | Fence> {
  const fence = await ledger.pruning.fenceOf(run.id, now())
  if (fence !== undefined) return fence
  return { detail: await ledger.pruning.detailOf(run.id), files: await measureOutput(home, run) }
}

async function pruneRun(
  deps: PruneDependencies,
  run: PrunableRun,
  { onStep = async () => {} }: PruneRequest,
): Promise<Done | Fence> {
  const { ledger, home, now } = deps
  const { pruning } = ledger
  const measured = await measure(deps, run)
  if ('by' in measured) return measured
  if (run.prunedAt === null) {
    const mark = async (): Promise<Fence | undefined> =>
      pruning.mark(run.id, await totalsOf(deps, run.id), now())
    const fence = await mark().catch(async (error: unknown) => {
      if (!(error instanceof WaybillError) || error.code !== 'disk-full') throw error
      // A full disk has no room for the mark: removes the files first, as requested.
      await removeOutput(home, run)
      return mark()
    })
    if (fence !== undefined) return fence
    await onStep('marked')
  }
  const files = await removeOutput(home, run)
  await onStep('files')
  const detail = noDetail()
  for (;;) {
    const removed = await pruning.removeSome(run.id, now())
    // A run has started in between. The next pruning removes the rest.
    if (removed === undefined || countOf(removed) === 0) break
    add(detail, removed)
    await onStep('rows')
    if (deps.interrupt.aborted) break
  }
  return { detail: { ...detail, bytes: measured.detail.bytes }, files }
}

/** Balance of each export as in the summary, by the row of the export. */
async function totalsOf({ ledger, home }: PruneDependencies, id: string): Promise<Map<number, string>> {
  const { exports } = await summarise(ledger, home, id)
  const records = await ledger.exports.ofRun(id)
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

export interface KeptRun {
  readonly run: string
  readonly job: string
  /** Reason why the old run keeps its detail. */
  readonly because: 'unfinished' | 'in-doubt' | 'referred-to' | 'held'
  readonly by?: string
  readonly command?: string
}

interface PrunePlan {
  /** Newest first, so that a rerun goes before its original run. */
  readonly prune: readonly PrunableRun[]
  readonly keep: readonly KeptRun[]
}

/**
 * Plans a pruning. A run keeps its detail if unfinished, with records in doubt, or retried by a run with detail to keep.
 * @param runs all of the ledger, newest first
 * @param before runs that ended before are old
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
    keep.push({
      run: run.id,
      job: run.job,
      because,
      ...(by === undefined ? {} : { by }),
      ...(because === 'unfinished' ? { command: commandOf(run) } : {}),
    })
  }
  return { prune, keep }
}

function commandOf(run: Pick<PrunableRun, 'job' | 'backfill' | 'backfill_folder'>): string {
  const range = rangeOf(run)
  return range === undefined ? `waybill run ${shellWord(run.job)}` : backfillCommand(run.job, range)
}

function reasonToKeep(
  run: PrunableRun,
  before: number,
  neededBy: ReadonlyMap<string, string>,
): KeptRun['because'] | 'young' | undefined {
  if ((run.endedAt ?? run.startedAt) >= before) return 'young'
  if (run.state === 'running' || run.state === 'interrupted') return 'unfinished'
  if (run.openDoubts > 0) return 'in-doubt'
  return neededBy.has(run.id) ? 'referred-to' : undefined
}

interface FileCounts {
  files: number
  bytes: number
}

type Output = Pick<PrunableRun, 'rejectsPath' | 'receiptsPath'>

async function measureOutput(home: string, run: Output): Promise<FileCounts> {
  const counts = { files: 0, bytes: 0 }
  for (const path of await outputOf(home, run)) {
    const found = await lstat(path).catch(() => undefined)
    if (found === undefined) continue
    counts.files += 1
    counts.bytes += found.size
  }
  return counts
}

/** Removes the files of a run. Missing files are no failure. @throws `home-unusable` */
async function removeOutput(home: string, run: Output): Promise<FileCounts> {
  const counts = await measureOutput(home, run)
  for (const path of [run.receiptsPath, run.rejectsPath].map((one) => join(home, one))) {
    // A file behind a link is outside the home.
    assertWithin(home, path)
    await rm(path, { recursive: true, force: true }).catch((cause) => {
      throw new WaybillError('home-unusable', `${path} cannot be removed`, {
        place: { file: path },
        remedy: 'Check who owns the file, then prune again: the pruning continues where it stopped.',
        cause,
      })
    })
  }
  return counts
}

async function outputOf(home: string, { rejectsPath, receiptsPath }: Output): Promise<string[]> {
  const folder = join(home, rejectsPath)
  const names = await readdir(folder).catch(() => [])
  return [...names.map((name) => join(folder, name)), join(home, receiptsPath)]
}
