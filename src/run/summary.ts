/** The summary of a run, drawn from the ledger (docs/cli.md: what `--json` prints). */
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
import { type LeftBehind, newAndKnown } from '../reconcile/new-and-known.ts'
import { present } from '../shown-text.ts'
import { rangeOf } from './backfill-range.ts'
import { Collection } from './collection-files.ts'
import { type ExportDrift, readDrift } from './drift.ts'
import { readOutage, type WaitsForGateway } from './events.ts'
import { ExportProfile } from './export-profile.ts'
import { readHeldBack } from './held-back.ts'
import { LEASE_MS } from './lease.ts'
import { rejectsPath } from './rejects.ts'

export interface ExportSummary {
  readonly name: string
  readonly sha256: string
  readonly rows: number
  readonly state: string
  readonly counts: Counts
  /** The mapping that it is read by; undefined where that was pruned. */
  readonly mapping?: string
  readonly reading: Reading
  /** Where it lies now: where it was read, or where Waybill archived it. Undefined where it is gone, and of a fetched or packed one. */
  readonly file?: string
  /** The rejects file, where there is one. */
  readonly rejects?: string
  /** Of a whole export that was compared with others: what its records came to by rule, and quartiles of values where they are many. */
  readonly measured?: ExportProfile['measured']
  /** Code of what was wrong with the export as a whole. */
  readonly error?: string
  /** The words of that error. */
  readonly detail?: string
  /** Remedy, where the code alone does not say it. */
  readonly remedy?: string
  /** Of such an export: where it was looked for, where the run was told to take it. */
  readonly named?: string
  /** Of such an export: the later run of the job that has read one of that name to its end. */
  readonly readSince?: string
}

export interface RunSummary extends Omit<Counts, 'warnings' | 'leftOut'> {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly state: string
  readonly reason?: string
  /** The words of the error whose code that is. */
  readonly detail?: string
  /** Exit code that it came to, by what stands of it now; not there while it is not over. */
  readonly exit?: ExitCode
  /** Of a run that has not come to an end, where it was asked for. */
  readonly activity?: RunActivity
  /** The gateway that the settings name, where that was asked for and is another one. */
  readonly settingsName?: string
  /** Whom it was to be told to and was not, or not yet, where it was asked for; not there where all know. */
  readonly untold?: readonly UntoldTarget[]
  /** Exports of which something was rejected and that came anew, with the run that has read that to its end, where it was asked for. */
  readonly anew?: readonly { readonly export: string; readonly run: string }[]
  /** The run of which it took up what was left behind. */
  readonly origin?: RunOrigin
  /** Of a backfill: its range, the folder of its exports where that is not the place of the job, and what else it was begun with. */
  readonly backfill?: BackfillRange
  /** How many of its rejects later runs have settled. */
  readonly settled?: readonly { readonly run: string; readonly count: number }[]
  /** What people have decided on it, oldest first. */
  readonly decided?: readonly (Pick<Resolution, 'decision' | 'by'> & {
    readonly code?: string
    readonly note?: string
    readonly at: string
  })[]
  /** What of it a person has acknowledged, and that was not undone: for one reason, or without a code all of it. */
  readonly acknowledged?: readonly { readonly code?: string; readonly by: string; readonly at: string }[]
  /** How much of what it left behind is new, and how much an earlier run had left so; not there where its detail was pruned. */
  readonly leftBehind?: LeftBehind
  /** When its detail was pruned: batches, reasons and files are gone, the balance is not. */
  readonly pruned?: string
  readonly balanced: boolean
  /** It has not come to its end: what it has not settled is in no count. */
  readonly soFar?: true
  /** What checks have found in what went on all the same, most frequent first. */
  readonly warnings: readonly CodeCount[]
  /** What the mapping left out on purpose, by code, most frequent first. */
  readonly leftOut: readonly CodeCount[]
  /** In what exports differ from earlier deliveries. */
  readonly drift: readonly ExportDrift[]
  readonly exports: readonly ExportSummary[]
  readonly accounts: Tallies['accounts']
  readonly requests: Tallies['requests']
  readonly primaryCare: Tallies['primaryCare']
  readonly careTeams: Tallies['careTeams']
  readonly files: { readonly rejects?: string; readonly receipts?: string }
  /** Of a run that collects: its folder, and the files in it; what is not whole lies aside. */
  readonly collection?: Collection
  readonly startedAt: string
  readonly durationMs: number
  /** Summary of the unfinished run that was finished first. */
  readonly resumed?: RunSummary
}

/**
 * @param live counts of exports that this very process has worked on: they know of what is pending
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
    // Totals have what was in doubt as what it became.
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

/** 0 where all is accounted for and accepted or unchanged; 1 where something was left behind; 2 where nothing could be read. */
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

/** By its size: a vendor may have put the next export where this one was, and to read all of a large one takes long. */
const fileOf = ({ path, archived, bytes }: ExportRecord): string | undefined =>
  [path, archived].flatMap((file) => file ?? []).find((file) => sizeOf(file) === bytes)

const sizeOf = (file: string): number | undefined => {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size
  } catch {
    // In a folder that may not be entered it cannot be named for anybody to read.
    return undefined
  }
}

/** Records that were in doubt when their chunk was settled, and are so no longer. */
function moveCounts(counts: Counts, moves: readonly OutcomeMove[]): void {
  for (const { kind, to, count } of moves) {
    const records = counts.records[RecordKind.parse(kind)]
    records.inDoubt -= count
    records[to] += count
  }
}

const RecordKind = z.enum(RECORD_KINDS)

/** Later runs looked at, the newest first. */
const RUNS_LOOKED_AT = 1_000

/**
 * @param names of exports, or of deliveries that could not be unpacked
 * @returns the run that has read such an export to its end, by its name; of what none has, nothing
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

/** Exports of the run, of those named, that came again with other content: corrected, as a rule. */
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
      /** Where nothing gets through to the gateway. */
      readonly waits?: WaitsForGateway
    }
  /** Killed, or its machine went down: it goes on with the next run of its job. `owner`: who had it, where that is known. */
  | { readonly kind: 'stopped'; readonly owner?: string; readonly lastSign: string }

/**
 * Undefined for a run that has ended, or was interrupted in an orderly way.
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
  // Where another run of the job has held it since, nothing more is known of who had this one.
  const lease = last?.run_id === run.id ? last : undefined
  if (lease !== undefined && lease.expires_at > now && !isDead(lease.owner)) return underWay(lease)
  const settled = (await ledger.chunksOfRun(run.id)).flatMap(({ settled_at }) => settled_at ?? [])
  const signs = [run.started_at, ...settled]
  // A lease that was let go has no such instant.
  if (lease !== undefined && lease.expires_at > 0) signs.push(lease.acquired_at, lease.expires_at - LEASE_MS)
  const owner = lease && processName(lease.owner)
  return { kind: 'stopped', ...present({ owner }), lastSign: iso(Math.max(...signs)) }
}

/** As whoever holds the job tells it. */
export function underWay({ owner, acquired_at, outage }: LeaseRecord): RunActivity & { kind: 'under-way' } {
  const at = { owner: processName(owner), since: iso(acquired_at) }
  return { kind: 'under-way', ...at, ...present({ waits: readOutage(outage) }) }
}

const iso = (at: number): string => new Date(at).toISOString()
