/** Gathers the story of a run from the ledger, once for all faces (docs/cli.md: output of `--json`). */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type AsideExport,
  type ChunkRecord,
  type ExportRecord,
  type LeaseRecord,
  type Ledger,
  type OutcomeMove,
  originOf,
  processName,
  type Reason,
  type RunRecord,
  readTallies,
} from '../ledger/ledger.ts'
import {
  addCounts,
  allRecords,
  type CodeCount,
  type Counts,
  isBalanced,
  leftOutCounts,
  noCounts,
  readCounts,
  warningCounts,
} from '../model/balance.ts'
import { exitOfCode, WaybillError } from '../model/errors.ts'
import { RECORD_KINDS } from '../model/record.ts'
import { rangeOf } from '../run/backfill-range.ts'
import { Collection } from '../run/collection-files.ts'
import { readOutage } from '../run/events.ts'
import type { RunEnd } from '../run/execute.ts'
import { readHeldBack } from '../run/held-back.ts'
import { rejectsPath } from '../run/rejects.ts'
import { iso, present } from '../system/shown-text.ts'
import { readDrift } from '../watch/drift-watch.ts'
import { ExportProfile } from '../watch/export-profile.ts'
import { exitOf, newAndKnown } from './balance.ts'
import type {
  DetailedStory,
  ExportSummary,
  RunActivity,
  RunStory,
  RunSummary,
  WorkSpan,
} from './run-story.ts'

interface StorySources {
  readonly ledger: Ledger
  /** Folder of the installation; the summary has paths within. */
  readonly home: string
}

/**
 * @param worked counts of exports that this process worked on: they include pending records
 * @throws `run-not-found`
 */
export const gatherStory = async (
  sources: StorySources,
  runId: string,
  worked?: RunEnd['worked'],
): Promise<RunStory> => storyOf(sources, await rowsOfRun(sources.ledger, runId), worked)

/** @throws `run-not-found` */
export async function gatherDetails(
  sources: StorySources & { readonly now: number; readonly isDead: (owner: string) => boolean },
  runId: string,
): Promise<DetailedStory> {
  const { ledger } = sources
  const rows = await rowsOfRun(ledger, runId)
  const { run, chunks, records } = rows
  const { summary, reasons } = await storyOf(sources, rows)
  return {
    summary: { ...summary, ...(await progressOf(sources, run)) },
    reasons,
    startedAt: run.started_at,
    endedAt: run.ended_at ?? undefined,
    zone: (await ledger.fires.timetable(run.job_id))?.zone,
    exports: summary.exports.flatMap((one, at) => {
      const record = records[at]
      return record === undefined
        ? []
        : [{ ...one, bytes: record.bytes, mappingDigest: record.mapping_digest }]
    }),
    ...workOf(chunks, run.started_at),
  }
}

/** @throws `run-not-found` */
export const summarise = async (ledger: Ledger, home: string, runId: string): Promise<RunSummary> =>
  summaryOf({ ledger, home }, await rowsOfRun(ledger, runId))

/** Rows of the ledger that more than one part of a story reads. */
interface RunRows {
  readonly run: RunRecord & { readonly job: string; readonly gateway: string }
  readonly records: readonly (ExportRecord & { readonly mapping: string | null })[]
  readonly chunks: readonly ChunkRecord[]
}

async function rowsOfRun(ledger: Ledger, runId: string): Promise<RunRows> {
  const run = await ledger.runs.find(runId)
  if (run === undefined) throw new WaybillError('run-not-found', `there is no run ${runId}`)
  return { run, records: await ledger.exports.ofRun(runId), chunks: await ledger.chunks.ofRun(runId) }
}

/** Held-back reasons come first, as they stopped the run. */
const storyOf = async (
  sources: StorySources,
  rows: RunRows,
  worked?: RunEnd['worked'],
): Promise<RunStory> => ({
  summary: await summaryOf(sources, rows, worked),
  reasons: [...heldBackReasons(rows.records), ...(await sources.ledger.reasons.ofRun(rows.run.id))],
})

/** Most frequent reason of a run that is not settled; of a run with nothing else left, the most frequent held-back reason. */
export async function mostFrequentReason(
  ledger: Pick<Ledger, 'exports' | 'reasons'>,
  run: string,
): Promise<CodeCount | undefined> {
  const left = await ledger.reasons.mostFrequent(run)
  if (left !== undefined) return left
  const [first] = heldBackReasons(await ledger.exports.ofRun(run))
  return first && { code: first.code, count: first.count }
}

/** Held-back reasons: `held-back` is no outcome, as the rows are in no balance. */
const heldBackReasons = (exports: readonly Pick<ExportRecord, 'name' | 'held_back'>[]): Reason[] =>
  exports.flatMap(({ name: exportName, held_back }) =>
    (readHeldBack(held_back)?.reasons ?? []).map((reason) => ({
      outcome: 'held-back',
      exportName,
      settled: 0,
      known: 0,
      ...reason,
    })),
  )

async function summaryOf(
  sources: StorySources,
  rows: RunRows,
  worked: RunEnd['worked'] = [],
): Promise<RunSummary> {
  const { ledger, home } = sources
  const { run, records } = rows
  const { left } = ledger
  const total = noCounts()
  const exports = await exportsOf(sources, rows, worked)
  for (const { counts } of exports) addCounts(total, counts)
  const tallies = readTallies(run.tallies)
  const { accounts, primaryCare, careTeams, requests } = tallies
  const { reason, detail } = run
  const acknowledged = (await ledger.acknowledgements.of(run.id)).map(({ code, by, at }) => ({
    ...present({ code }),
    by,
    at: iso(at),
  }))
  const decided = (await left.resolutions(run.id)).map(({ decision, code, by, note, at }) => ({
    decision,
    ...present({ code }),
    by,
    ...present({ note }),
    at: iso(at),
  }))
  const summary: Omit<RunSummary, 'exit'> = {
    run: run.id,
    job: run.job,
    gateway: run.gateway,
    state: run.state,
    ...present({
      reason,
      detail,
      origin: originOf(run),
      backfill: rangeOf(run),
      settled: await left.settledBy(run.id),
      decided,
      acknowledged,
    }),
    ...(run.pruned_at === null
      ? { leftBehind: newAndKnown({ ...total, careTeams }, await ledger.reasons.known(run.id)) }
      : { pruned: iso(run.pruned_at) }),
    balanced: isBalanced(total),
    ...(run.state === 'finished' ? {} : { soFar: true as const }),
    drift: records.flatMap(({ name, drift }) =>
      readDrift(drift).map((finding) => ({ export: name, ...finding })),
    ),
    exports,
    rows: total.rows,
    accounts,
    records: total.records,
    warnings: warningCounts(total),
    leftOut: leftOutCounts(total),
    primaryCare,
    careTeams,
    requests,
    ...(run.collection === null ? {} : { collection: Collection.parse(JSON.parse(run.collection)) }),
    ...present({ people: total.people }),
    files: {
      ...(exports.some(({ rejects }) => rejects !== undefined)
        ? { rejects: join(home, run.rejects_path) }
        : {}),
      ...(run.receipts_length > 0 && run.pruned_at === null
        ? { receipts: join(home, run.receipts_path) }
        : {}),
    },
    startedAt: iso(run.started_at),
    durationMs: run.worked_ms,
  }
  if (run.state === 'running') return summary
  return { ...summary, exit: reason === null ? exitOf(summary) : exitOfCode(reason) }
}

/** Parts of an export that has not ended; empty for an export that is read as one. */
async function partsOfExport(
  { parts, leases }: Pick<Ledger, 'parts' | 'leases'>,
  run: Pick<RunRecord, 'id' | 'job_id'>,
  { id: exportRow, state: ofExport }: ExportRecord,
): Promise<NonNullable<ExportSummary['parts']>> {
  const all = ofExport === 'open' ? await parts.ofExport(exportRow) : []
  return Promise.all(
    all.map(async ({ number, state, rows, takes }) => {
      const lease = await leases.last(run.job_id, { exportRow, number, of: all.length })
      const isHeld = lease?.run_id === run.id && lease.expires_at > 0
      const holder = isHeld ? { worker: processName(lease.owner), since: iso(lease.acquired_at) } : {}
      return { part: number + 1, state, rows: rows.read, takes, ...holder }
    }),
  )
}

async function exportsOf(
  { ledger, home }: StorySources,
  { run, records, chunks }: RunRows,
  worked: RunEnd['worked'],
): Promise<ExportSummary[]> {
  const chunksOf = Map.groupBy(chunks, ({ export_row }) => export_row)
  const movesOf = Map.groupBy(await ledger.left.moves(run.id), ({ exportRow }) => exportRow)
  const profiles = await ledger.profiles.ofRun(run.id)
  const since = await readSince(
    ledger,
    run,
    records.flatMap(({ name, reason }) => (reason === null ? [] : [name])),
  )
  const aside = records.some(({ reason }) => reason !== null) ? await ledger.putAside.list() : []
  const partsOf = new Map<number, NonNullable<ExportSummary['parts']>>()
  for (const record of records) partsOf.set(record.id, await partsOfExport(ledger, run, record))
  const live = new Map(worked.map(({ ordinal, counts }) => [ordinal, counts]))
  return records.map((record) => {
    const { id, name, sha256, state, reading, mapping, totals, reason: error, detail, remedy } = record
    const own = chunksOf.get(id) ?? []
    const counts = noCounts()
    const known = live.get(record.ordinal)
    if (known !== undefined) addCounts(counts, known)
    else
      for (const text of totals === null ? own.map((chunk) => chunk.counts) : [totals])
        addCounts(counts, readCounts(text))
    // Totals count records formerly in doubt under their final outcome.
    if (totals === null) moveCounts(counts, movesOf.get(id) ?? [])
    const profile = profiles.get(id)
    const parts = partsOf.get(id) ?? []
    // Parts have files of their own until the export has ended.
    const hasRejects =
      parts.length === 0 &&
      (own.some(({ rejects_length }) => (rejects_length ?? 0) > 0) ||
        (readHeldBack(record.held_back)?.sample ?? 0) > 0)
    return {
      name,
      sha256,
      rows: counts.rows.read,
      state,
      counts,
      reading,
      ...(parts.length === 0 ? {} : { parts }),
      ...present({ mapping, file: fileOf(record) }),
      ...(profile === undefined ? {} : { measured: ExportProfile.parse(JSON.parse(profile)).measured }),
      ...(hasRejects && run.pruned_at === null
        ? { rejects: rejectsPath({ rejectsFolder: join(home, run.rejects_path) }, record) }
        : {}),
      ...(error !== null && run.part === 'files' ? { named: record.path } : {}),
      ...present({ putAside: asideWords(aside.find(({ exportRow }) => exportRow === id)) }),
      ...(state === 'finished' && record.archived === null && detail !== null
        ? { unarchived: detail, ...present({ remedy }) }
        : present({ error, detail, remedy, readSince: error === null ? undefined : since.get(name) })),
    }
  })
}

const asideWords = (aside: AsideExport | undefined): ExportSummary['putAside'] =>
  aside && { by: aside.by, ...present({ note: aside.note }), at: iso(aside.at) }

/** Matches the file by size: a vendor may have put the next export in this place, and reading a large file takes long. */
const fileOf = ({ path, archived, bytes }: ExportRecord): string | undefined =>
  [path, archived].flatMap((file) => file ?? []).find((file) => sizeOf(file) === bytes)

const sizeOf = (file: string): number | undefined => {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size
  } catch {
    // Nobody could read a file in an inaccessible folder.
    return undefined
  }
}

/** Moves records from in doubt, their state when the chunk was settled, to their final outcome. */
function moveCounts(counts: Counts, moves: readonly OutcomeMove[]): void {
  for (const { kind, to, count } of moves) {
    const records = counts.records[RecordKind.parse(kind)]
    records.inDoubt -= count
    records[to] += count
  }
}

const RecordKind = z.enum(RECORD_KINDS)

const RUNS_LOOKED_AT = 1_000

/**
 * Later runs that read the failed exports.
 * @param names exports, or deliveries that could not be unpacked
 * @returns the run that read the export to the end, by name; no entry where none did
 */
export async function readSince(
  ledger: Pick<Ledger, 'runs' | 'exports'>,
  run: RunRecord & { readonly job: string },
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const read = new Map<string, string>()
  if (names.length === 0) return read
  for (const later of await ledger.runs.list(RUNS_LOOKED_AT, { job: run.job })) {
    if (later.job_id !== run.job_id || later.started_at <= run.started_at) continue
    const done = (await ledger.exports.ofRun(later.id)).filter(
      ({ state, reading }) => state === 'finished' && reading === 'whole',
    )
    for (const name of names)
      if (done.some((one) => one.name === name || one.name.startsWith(`${name}!`))) read.set(name, later.id)
    if (read.size === new Set(names).size) break
  }
  return read
}

/** Exports among the names that came again with other content, usually corrected. */
export async function cameAnew(
  ledger: Pick<Ledger, 'runs' | 'exports'>,
  run: RunRecord & { readonly job: string },
  names: readonly string[],
): Promise<NonNullable<RunSummary['anew']>> {
  const own = new Set((await ledger.exports.ofRun(run.id)).map(({ sha256 }) => sha256))
  const anew: { export: string; run: string }[] = []
  for (const [name, later] of await readSince(ledger, run, names))
    if ((await ledger.exports.ofRun(later)).some((one) => one.name === name && !own.has(one.sha256)))
      anew.push({ export: name, run: later })
  return anew
}

/**
 * Activity of a run; undefined if the run has ended or was interrupted in an orderly way.
 * @param isDead whether the process is known to be gone
 */
export async function activityOf(
  ledger: Pick<Ledger, 'leases' | 'chunks' | 'sharedHome'>,
  run: Pick<RunRecord, 'id' | 'job_id' | 'state' | 'started_at'>,
  now: number,
  isDead: (owner: string) => boolean,
): Promise<RunActivity | undefined> {
  if (run.state !== 'running') return undefined
  // By the clock that leases expire by: this machine's may be wrong.
  const holder = await ledger.leases.holder(run.job_id, now, isDead)
  if (holder?.run_id === run.id) return underWay(holder)
  const last = await ledger.leases.last(run.job_id)
  // Once another run of the job has held the lease, the ledger no longer knows the holder of this run.
  const lease = last?.run_id === run.id ? last : undefined
  const settled = (await ledger.chunks.ofRun(run.id)).flatMap(({ settled_at }) => settled_at ?? [])
  const signs = [run.started_at, ...settled]
  // A released lease has no such instant.
  if (lease !== undefined && lease.expires_at > 0)
    signs.push(lease.acquired_at, lease.expires_at - ledger.leases.lastsMs)
  const owner = lease && processName(lease.owner)
  const isShared = (await ledger.sharedHome?.mark()) !== undefined
  const stopped = { kind: 'stopped', ...present({ owner }), lastSign: iso(Math.max(...signs)) } as const
  return isShared ? { ...stopped, byWorkers: true } : stopped
}

/** Activity, and working time up to now: the ledger has that of the last renewal of the lease. */
async function progressOf(
  { ledger, now, isDead }: Parameters<typeof gatherDetails>[0],
  run: RunRecord,
): Promise<Pick<RunSummary, 'activity' | 'durationMs'>> {
  const activity = await activityOf(ledger, run, now, isDead)
  const since = activity?.kind === 'under-way' && run.worked_at !== null ? now - run.worked_at : 0
  const more = Math.min(Math.max(0, since), ledger.leases.lastsMs)
  return { durationMs: run.worked_ms + more, ...present({ activity }) }
}

/** Activity, as reported by the lease of the job. */
export function underWay({ owner, acquired_at, outage }: LeaseRecord): RunActivity & { kind: 'under-way' } {
  const at = { owner: processName(owner), since: iso(acquired_at) }
  return { kind: 'under-way', ...at, ...present({ waits: readOutage(outage) }) }
}

/** Work of a run over time, from the working time of the run at the settlement of each chunk. @param chunks of all exports */
function workOf(
  chunks: readonly ChunkRecord[],
  startedAt: number,
): Pick<DetailedStory, 'rowsInHand' | 'work'> {
  const settled = chunks.flatMap(({ settled_at: at, worked_ms: to, counts }) =>
    at === null || to === null ? [] : [{ at, to, counts: readCounts(counts) }],
  )
  settled.sort((a, b) => a.to - b.to || a.at - b.at)
  const work: WorkSpan[] = []
  let before = { at: startedAt, to: 0 }
  for (const { at, to, counts } of settled) {
    const from = before.to
    // Chunks settled together follow the order of the clock, which may have been set back.
    const paused = Math.max(0, at - before.at - (to - from))
    work.push({ from, to, paused, rows: counts.rows.read, records: allRecords(counts) })
    before = { at, to }
  }
  const rowsInHand = chunks.reduce((sum, { state, rows }) => sum + (state === 'open' ? rows : 0), 0)
  return { rowsInHand, work }
}
