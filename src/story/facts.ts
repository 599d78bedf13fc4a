/** Summary of a run, built from the ledger (docs/cli.md: output of `--json`). */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type BackfillRange,
  type ExportRecord,
  type LeaseRecord,
  type Ledger,
  type OutcomeMove,
  originOf,
  processName,
  type Reading,
  type Resolution,
  type RunOrigin,
  type RunRecord,
  readTallies,
  type Tallies,
  type UntoldTarget,
} from '../ledger/ledger.ts'
import {
  addCounts,
  type CodeCount,
  type Counts,
  isBalanced,
  leftOutCounts,
  noCounts,
  readCounts,
  warningCounts,
} from '../model/balance.ts'
import { EXIT, type ExitCode, exitOfCode, WaybillError } from '../model/errors.ts'
import { RECORD_KINDS } from '../model/record.ts'
import { rangeOf } from '../run/backfill-range.ts'
import { Collection } from '../run/collection-files.ts'
import { readOutage, type WaitsForGateway } from '../run/events.ts'
import { readHeldBack } from '../run/held-back.ts'
import { LEASE_MS } from '../run/lease.ts'
import { rejectsPath } from '../run/rejects.ts'
import { present } from '../system/shown-text.ts'
import { type ExportDrift, readDrift } from '../watch/drift.ts'
import { ExportProfile } from '../watch/export-profile.ts'
import { type LeftBehind, newAndKnown } from './known.ts'

export interface ExportSummary {
  readonly name: string
  readonly sha256: string
  readonly rows: number
  readonly state: string
  readonly counts: Counts
  /** Mapping of the export; undefined once pruned. */
  readonly mapping?: string
  readonly reading: Reading
  /** Current path: where the export was read, or where Waybill archived it. Undefined for a missing, fetched or packed file. */
  readonly file?: string
  /** Rejects file, if any. */
  readonly rejects?: string
  /** Records by rule, and quartiles of values where these are many, for a whole export that was compared with others. */
  readonly measured?: ExportProfile['measured']
  /** Error code of the export as a whole. */
  readonly error?: string
  /** Message of the error. */
  readonly detail?: string
  /** Remedy, where the code alone does not give one. */
  readonly remedy?: string
  /** Path of a failed export that the operator named for the run. */
  readonly named?: string
  /** Later run of the job that read an export of this name to the end, for a failed export. */
  readonly readSince?: string
}

export interface RunSummary extends Omit<Counts, 'warnings' | 'leftOut'> {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly state: string
  readonly reason?: string
  /** Message of the error behind `reason`. */
  readonly detail?: string
  /** Exit code by the current state of the run; undefined until the run is over. */
  readonly exit?: ExitCode
  /** Activity of an unfinished run, if requested. */
  readonly activity?: RunActivity
  /** Gateway in the settings, if requested and different. */
  readonly settingsName?: string
  /** Targets not yet notified, if requested; undefined if all were notified. */
  readonly untold?: readonly UntoldTarget[]
  /** Exports with rejects that came again with other content, with the run that read the new content to the end, if requested. */
  readonly anew?: readonly { readonly export: string; readonly run: string }[]
  /** Run whose left-behind records this run took up. */
  readonly origin?: RunOrigin
  /** Range of a backfill, the folder of the exports where different from the job's, and further options. */
  readonly backfill?: BackfillRange
  /** Number of rejects settled by each later run. */
  readonly settled?: readonly { readonly run: string; readonly count: number }[]
  /** Decisions by people, oldest first. */
  readonly decided?: readonly (Pick<Resolution, 'decision' | 'by'> & {
    readonly code?: string
    readonly note?: string
    readonly at: string
  })[]
  /** Acknowledgements in force: for one reason, or without a code for the whole run. */
  readonly acknowledged?: readonly { readonly code?: string; readonly by: string; readonly at: string }[]
  /** Counts of new records left behind, and of records that an earlier run had also left; undefined once the detail was pruned. */
  readonly leftBehind?: LeftBehind
  /** Time of pruning: batches, reasons and files are gone, the balance remains. */
  readonly pruned?: string
  readonly balanced: boolean
  /** The run is unfinished: no count includes unsettled work. */
  readonly soFar?: true
  /** Findings of checks that stopped nothing, most frequent first. */
  readonly warnings: readonly CodeCount[]
  /** Deliberate omissions of the mapping, by code, most frequent first. */
  readonly leftOut: readonly CodeCount[]
  /** Differences between exports and earlier deliveries. */
  readonly drift: readonly ExportDrift[]
  readonly exports: readonly ExportSummary[]
  readonly accounts: Tallies['accounts']
  readonly requests: Tallies['requests']
  readonly primaryCare: Tallies['primaryCare']
  readonly careTeams: Tallies['careTeams']
  readonly files: { readonly rejects?: string; readonly receipts?: string }
  /** Folder and files of a collecting run; an unfinished collection lies aside. */
  readonly collection?: Collection
  readonly startedAt: string
  readonly durationMs: number
  /** Summary of the unfinished run that was finished first. */
  readonly resumed?: RunSummary
}

/**
 * Summarises a run from the ledger.
 * @param live counts of exports that this process worked on: they include pending records
 * @throws WaybillError `run-not-found`
 */
export async function summarise(
  ledger: Ledger,
  home: string,
  runId: string,
  live: readonly { readonly ordinal: number; readonly counts: Counts }[] = [],
): Promise<RunSummary> {
  const run = await ledger.run(runId)
  if (run === undefined) throw new WaybillError('run-not-found', `there is no run ${runId}`)
  const total = noCounts()
  const exports: ExportSummary[] = []
  const drift: ExportDrift[] = []
  const moves = await ledger.left.moves(runId)
  const settled = await ledger.left.settledBy(runId)
  const acknowledged = (await ledger.acknowledgements.of(runId)).map(({ code, by, at }) => ({
    ...{ ...present({ code }), by, at: iso(at) },
  }))
  const decided = (await ledger.left.resolutions(runId)).map(({ decision, code, by, note, at }) => ({
    ...{ decision, ...present({ code }), by, ...present({ note }), at: iso(at) },
  }))
  const chunks = Map.groupBy(await ledger.chunksOfRun(runId), ({ export_row }) => export_row)
  const records = await ledger.exportsOf(runId)
  const profiles = await ledger.profilesOfRun(runId)
  const failed = records.flatMap(({ name, reason }) => (reason === null ? [] : [name]))
  const since = await readSince(ledger, run, failed)
  const liveCounts = new Map(live.map(({ ordinal, counts }) => [ordinal, counts]))
  const movesOf = Map.groupBy(moves, ({ exportRow }) => exportRow)
  for (const record of records) {
    let rejectsLength = 0
    const counts = noCounts()
    for (const chunk of chunks.get(record.id) ?? []) {
      if (record.totals === null) addCounts(counts, readCounts(chunk.counts))
      rejectsLength = Math.max(rejectsLength, chunk.rejects_length ?? 0)
    }
    if (record.totals !== null) addCounts(counts, readCounts(record.totals))
    const known = noCounts()
    addCounts(known, liveCounts.get(record.ordinal) ?? counts)
    // Totals count records formerly in doubt under their final outcome.
    if (record.totals === null) moveCounts(known, movesOf.get(record.id) ?? [])
    addCounts(total, known)
    for (const finding of readDrift(record.drift)) drift.push({ export: record.name, ...finding })
    const profile = profiles.get(record.id)
    const { mapping, reason: error, detail, remedy } = record
    exports.push({
      name: record.name,
      sha256: record.sha256,
      rows: known.rows.read,
      state: record.state,
      counts: known,
      reading: record.reading,
      ...present({ mapping, file: fileOf(record) }),
      ...(profile === undefined ? {} : { measured: ExportProfile.parse(JSON.parse(profile)).measured }),
      ...((rejectsLength === 0 && !readHeldBack(record.held_back)?.sample) || run.pruned_at !== null
        ? {}
        : { rejects: rejectsPath({ rejectsFolder: join(home, run.rejects_path) }, record) }),
      ...(error !== null && run.part === 'files' ? { named: record.path } : {}),
      ...present({ error, detail, remedy, readSince: error === null ? undefined : since.get(record.name) }),
    })
  }
  const tallies = readTallies(run.tallies)
  const { reason, detail } = run
  const ended = { rows: total.rows, records: total.records, ...tallies }
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
      settled,
      decided,
      acknowledged,
    }),
    ...(run.pruned_at === null
      ? { leftBehind: newAndKnown(ended, await ledger.knownOf(runId)) }
      : { pruned: iso(run.pruned_at) }),
    balanced: isBalanced(total),
    ...(run.state === 'finished' ? {} : { soFar: true as const }),
    drift,
    exports,
    rows: total.rows,
    accounts: tallies.accounts,
    records: total.records,
    warnings: warningCounts(total),
    leftOut: leftOutCounts(total),
    primaryCare: tallies.primaryCare,
    careTeams: tallies.careTeams,
    requests: tallies.requests,
    ...(run.collection === null ? {} : { collection: Collection.parse(JSON.parse(run.collection)) }),
    ...present({ people: total.people }),
    files: {
      ...(exports.some((one) => one.rejects !== undefined) ? { rejects: join(home, run.rejects_path) } : {}),
      ...(run.receipts_length > 0 && run.pruned_at === null
        ? { receipts: join(home, run.receipts_path) }
        : {}),
    },
    startedAt: iso(run.started_at),
    durationMs: run.worked_ms,
  }
  if (run.state === 'running') return summary
  return { ...summary, exit: run.reason === null ? exitOf(summary) : exitOfCode(run.reason) }
}

/** Exit code: 0 if everything is accounted for and accepted or unchanged; 1 if something was left behind; 2 if nothing could be read. */
export function exitOf(summary: Omit<RunSummary, 'exit'>): ExitCode {
  const { exports } = summary
  const kinds = Object.values(summary.records)
  if (exports.length > 0 && exports.every((one) => one.error !== undefined)) return EXIT.wrongUse
  const left =
    summary.rows.rejected > 0 ||
    (summary.people?.refused ?? 0) + (summary.people?.pending ?? 0) > 0 ||
    summary.careTeams.owed > 0 ||
    exports.some((one) => one.error !== undefined) ||
    kinds.some((records) => records.rejected + records.inDoubt + records.pending > 0)
  return left ? EXIT.recordsLeftBehind : EXIT.ok
}

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

/** Number of later runs searched, newest first. */
const RUNS_LOOKED_AT = 1_000

/**
 * Later runs that read the failed exports.
 * @param names exports, or deliveries that could not be unpacked
 * @returns the run that read the export to the end, by name; no entry where none did
 */
export async function readSince(
  ledger: Pick<Ledger, 'runs' | 'exportsOf'>,
  run: RunRecord & { readonly job: string },
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const read = new Map<string, string>()
  if (names.length === 0) return read
  for (const later of await ledger.runs(RUNS_LOOKED_AT, { job: run.job })) {
    if (later.job_id !== run.job_id || later.started_at <= run.started_at) continue
    const done = (await ledger.exportsOf(later.id)).filter(
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
  ledger: Pick<Ledger, 'runs' | 'exportsOf'>,
  run: RunRecord & { readonly job: string },
  names: readonly string[],
): Promise<NonNullable<RunSummary['anew']>> {
  const own = new Set((await ledger.exportsOf(run.id)).map(({ sha256 }) => sha256))
  const anew: { export: string; run: string }[] = []
  for (const [name, later] of await readSince(ledger, run, names))
    if ((await ledger.exportsOf(later)).some((one) => one.name === name && !own.has(one.sha256)))
      anew.push({ export: name, run: later })
  return anew
}

/** `owner` is `host:pid`; instants in ISO 8601, UTC. */
export type RunActivity =
  | {
      readonly kind: 'under-way'
      readonly owner: string
      readonly since: string
      /** Set while nothing gets through to the gateway. */
      readonly waits?: WaitsForGateway
    }
  /** Killed, or the machine went down: the next run of the job resumes it. `owner`: the process that held the run, if known. */
  | { readonly kind: 'stopped'; readonly owner?: string; readonly lastSign: string }

/**
 * Activity of a run; undefined if the run has ended or was interrupted in an orderly way.
 * @param isDead whether the process is known to be gone
 */
export async function activityOf(
  ledger: Pick<Ledger, 'lastLease' | 'chunksOfRun'>,
  run: Pick<RunRecord, 'id' | 'job_id' | 'state' | 'started_at'>,
  now: number,
  isDead: (owner: string) => boolean,
): Promise<RunActivity | undefined> {
  if (run.state !== 'running') return undefined
  const last = await ledger.lastLease(run.job_id)
  // Once another run of the job has held the lease, the ledger no longer knows the holder of this run.
  const lease = last?.run_id === run.id ? last : undefined
  if (lease !== undefined && lease.expires_at > now && !isDead(lease.owner)) return underWay(lease)
  const settled = (await ledger.chunksOfRun(run.id)).flatMap(({ settled_at }) => settled_at ?? [])
  const signs = [run.started_at, ...settled]
  // A released lease has no such instant.
  if (lease !== undefined && lease.expires_at > 0) signs.push(lease.acquired_at, lease.expires_at - LEASE_MS)
  const owner = lease && processName(lease.owner)
  return { kind: 'stopped', ...present({ owner }), lastSign: iso(Math.max(...signs)) }
}

/** Activity, as reported by the lease of the job. */
export function underWay({ owner, acquired_at, outage }: LeaseRecord): RunActivity & { kind: 'under-way' } {
  const at = { owner: processName(owner), since: iso(acquired_at) }
  return { kind: 'under-way', ...at, ...present({ waits: readOutage(outage) }) }
}

const iso = (at: number): string => new Date(at).toISOString()
