/**
 * Removes the detail of old runs: first the ledger says that it is gone, then the files go, then the ledger's rows. So at no instant
 * does anything lead to what is not there; what a killed process has left behind, the next pruning removes.
 */

import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DetailCounts, type Fence, noDetail, type PrunableRun } from '../ledger/concerns.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { assertWithin, giveUpReserve } from '../own-files.ts'
import { backfillCommand, rangeOf } from '../run/backfill-range.ts'
import { DELIVERIES_COMPARED } from '../run/drift-watch.ts'
import { TAKEN_AT_MOST } from '../run/find-exports.ts'
import { summarise } from '../run/summary.ts'
import { shellWord } from '../shown-text.ts'

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
      // Nothing can be written before there is room: its files go first, as was asked for.
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
    // A run has begun in between. What is left of this one goes at the next pruning.
    if (removed === undefined || countOf(removed) === 0) break
    add(detail, removed)
    await onStep('rows')
    if (deps.interrupt.aborted) break
  }
  return { detail: { ...detail, bytes: measured.detail.bytes }, files }
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

/** Why a run that is old enough keeps its detail. */
export type KeptBecause = 'unfinished' | 'in-doubt' | 'referred-to' | 'held'

export interface KeptRun {
  readonly run: string
  readonly job: string
  readonly because: KeptBecause
  /** The run that refers to it, or for which its job is held. */
  readonly by?: string
  /** Of an unfinished one: what goes on with it. */
  readonly command?: string
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
    keep.push({
      ...{ run: run.id, job: run.job, because },
      ...(by === undefined ? {} : { by }),
      ...(because === 'unfinished' ? { command: commandOf(run) } : {}),
    })
  }
  return { prune, keep }
}

/** What goes on with a run that is not finished. */
export function commandOf(run: Pick<PrunableRun, 'job' | 'backfill' | 'backfill_folder'>): string {
  const range = rangeOf(run)
  return range === undefined ? `waybill run ${shellWord(run.job)}` : backfillCommand(run.job, range)
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

export interface FileCounts {
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

/** What is gone already is no failure. @throws WaybillError `home-unusable` */
async function removeOutput(home: string, run: Output): Promise<FileCounts> {
  const counts = await measureOutput(home, run)
  for (const path of [run.receiptsPath, run.rejectsPath].map((one) => join(home, one))) {
    // What lies behind a link is not of the home.
    assertWithin(home, path)
    await rm(path, { recursive: true, force: true }).catch((cause) => {
      throw new WaybillError('home-unusable', `${path} cannot be removed`, {
        place: { file: path },
        remedy: 'Check who owns the file, then prune again: it goes on where it stopped.',
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
