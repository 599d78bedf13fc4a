/** Maps a job's exports and counts; sends nothing, writes nothing. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DefinitionFolders,
  type Job,
  type LoadedMapping,
  readDecidedMapping,
} from '../definitions/definition-files.ts'
import { fingerprint } from '../extract/content.ts'
import {
  addCounts,
  type CodeCount,
  type Counts,
  countChunk,
  noCounts,
  warningCounts,
} from '../model/balance.ts'
import { isExportProblem, type WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import { type Arrival, createArrival, type ReceivedExport, type SourceSettings } from '../run/arrival.ts'
import { cutChunks } from '../run/chunks.ts'
import type { ExportDrift } from '../run/drift.ts'
import { type DriftMemory, watchDrift } from '../run/drift-watch.ts'
import { verifyExport } from '../run/exports-of-run.ts'
import { type FoundExport, findExports, noneFound } from '../run/find-exports.ts'
import { joinExports } from '../run/joined-exports.ts'
import { openReading } from '../run/rows.ts'

export interface DryRunResult extends Omit<Counts, 'warnings'> {
  readonly job: string
  readonly dryRun: true
  readonly exports: readonly { readonly name: string; readonly sha256: string; readonly rows: number }[]
  /** Exports of which nothing would be sent; the others would go on. */
  readonly failed: readonly { readonly name: string; readonly error: WaybillError }[]
  /** What checks have found in what would go on all the same, most frequent first. */
  readonly warnings: readonly CodeCount[]
  /** In what exports differ from those that were delivered. */
  readonly drift: readonly ExportDrift[]
  /** What would be rejected before anything is sent, most frequent first. */
  readonly reasons: readonly {
    readonly code: string
    readonly rule: string | null
    readonly message: string
    readonly count: number
  }[]
}

export interface DryRunOptions {
  readonly files: readonly string[]
  readonly limit: number
  readonly acceptDrift?: boolean
  /** What the ledger knows of earlier deliveries; undefined where there is no ledger yet. */
  readonly ledger?: DriftMemory['ledger'] | undefined
}

/** Records that would be sent are counted as pending. @throws WaybillError as a run does for what is wrong with job or mapping, and `exports-none` */
export async function dryRun(
  folders: DefinitionFolders,
  job: Job,
  identity: Identity,
  options: DryRunOptions,
  now: number,
  settings: SourceSettings = {},
): Promise<DryRunResult> {
  // For what is fetched or unpacked; a folder of random name that its owner alone may read.
  const arrival = createArrival(await mkdtemp(join(tmpdir(), 'waybill-dry-run-')), settings)
  try {
    const found = await findExports(arrival, job, options.files, now)
    if (found.length === 0) throw noneFound(job)
    return await mapExports(folders, job, identity, options, arrival, found, now)
  } finally {
    await arrival.close(false)
  }
}

async function mapExports(
  folders: DefinitionFolders,
  job: Job,
  identity: Identity,
  { limit, acceptDrift = false, ledger }: DryRunOptions,
  arrival: Arrival,
  found: readonly FoundExport[],
  now: number,
): Promise<DryRunResult> {
  const total = noCounts()
  const drift: ExportDrift[] = []
  const memory = ledger && {
    ledger,
    job: job.definition.job,
    rules: job.definition.drift,
    accept: acceptDrift,
    readsAhead: false,
    whole: limit === Number.POSITIVE_INFINITY,
    now,
  }
  const exports: { name: string; sha256: string; rows: number }[] = []
  const reasons = new Map<string, { code: string; rule: string | null; message: string; count: number }>()
  const mapOne = async (
    { rejects }: FoundExport,
    unjoined: LoadedMapping,
    received: ReceivedExport,
  ): Promise<void> => {
    const { mapping } = await joinExports(unjoined, received.name, received.beside)
    const { file, name, version, limits } = received
    const { exportId, sha256 } = await fingerprint(file, undefined, version)
    const watch = memory && rejects === undefined ? await watchDrift(memory, mapping, sha256) : undefined
    if (rejects === undefined) await verifyExport(received, mapping, undefined)
    const reading = rejects === undefined ? 'whole' : 'rejects'
    const { opened, mapper } = await openReading(reading, { file, name, version }, mapping, limits, now)
    await watch?.readAhead(opened, name)
    const counts = noCounts()
    const range = { number: 1, skip: 0, limit, cutBefore: new Map<number, number>() }
    for await (const chunk of cutChunks(opened.rows(), mapper, identity, exportId, range)) {
      addCounts(counts, countChunk(chunk.rows, [], 0))
      watch?.look(chunk.rows)
      for (const { outcome } of chunk.rows) {
        if (outcome.outcome === 'rejected') count(reasons, outcome.issue.code, null, outcome.issue.message)
        if (outcome.outcome === 'mapped') {
          for (const { rule, issue } of outcome.rejected) count(reasons, issue.code, rule, issue.message)
        }
      }
    }
    for (const finding of watch?.compare() ?? []) drift.push({ export: received.name, ...finding })
    addCounts(total, counts)
    exports.push({ name: received.name, sha256, rows: counts.rows.read })
  }
  const failed: { name: string; error: WaybillError }[] = []
  for (const delivery of found) {
    const unjoined = await readDecidedMapping(folders, delivery.mapping, job.catalog)
    const received = await arrival.receive(delivery).catch((error: unknown) => {
      fail(failed, delivery.delivery.name, error)
      return []
    })
    for (const one of received) {
      try {
        await mapOne(delivery, unjoined, one)
      } catch (error) {
        fail(failed, one.name, error)
      }
    }
  }
  const sorted = [...reasons.values()].sort((a, b) => b.count - a.count)
  return {
    job: job.definition.job,
    dryRun: true,
    exports,
    failed,
    ...total,
    warnings: warningCounts(total),
    drift,
    reasons: sorted,
  }
}

function count(
  reasons: Map<string, { code: string; rule: string | null; message: string; count: number }>,
  code: string,
  rule: string | null,
  message: string,
): void {
  const key = `${code}\n${rule}\n${message}`
  const known = reasons.get(key)
  if (known === undefined) reasons.set(key, { code, rule, message, count: 1 })
  else known.count++
}

/** As in a run: an export that cannot be read does not keep the others from being looked at. */
function fail(failed: { name: string; error: WaybillError }[], name: string, error: unknown): void {
  if (!isExportProblem(error)) throw error
  failed.push({ name, error })
}
