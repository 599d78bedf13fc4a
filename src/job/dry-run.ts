/** Maps a job's exports and counts; sends nothing, writes nothing. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fingerprint } from '../extract/fingerprint.ts'
import { openExport } from '../extract/open-export.ts'
import type { Identity } from '../load/identity.ts'
import { addCounts, type Counts, noCounts } from '../reconcile/balance.ts'
import { type Arrival, createArrival, type SourceSettings } from './arrival.ts'
import { cutChunks } from './chunks.ts'
import { countChunk } from './count-chunk.ts'
import { type DefinitionFolders, type Job, readMapping } from './definition-files.ts'
import { verifyRows } from './exports-of-run.ts'
import { type FoundExport, findExports } from './find-exports.ts'

export interface DryRunResult extends Counts {
  readonly job: string
  readonly dryRun: true
  readonly exports: readonly { readonly name: string; readonly sha256: string; readonly rows: number }[]
  /** What would be rejected before anything is sent, most frequent first. */
  readonly reasons: readonly {
    readonly code: string
    readonly rule: string | null
    readonly message: string
    readonly count: number
  }[]
}

/** Records that would be sent are counted as pending. @throws WaybillError as a run does for what is wrong with an export */
export async function dryRun(
  folders: DefinitionFolders,
  job: Job,
  identity: Identity,
  options: { readonly files: readonly string[]; readonly limit: number },
  now: number,
  settings: SourceSettings = {},
): Promise<DryRunResult> {
  // For what is fetched or unpacked; a folder of random name that its owner alone may read.
  const arrival = createArrival(await mkdtemp(join(tmpdir(), 'waybill-dry-run-')), settings)
  try {
    const found = await findExports(arrival, job, options.files, now)
    return await mapExports(folders, job, identity, options.limit, arrival, found)
  } finally {
    await arrival.close(false)
  }
}

async function mapExports(
  folders: DefinitionFolders,
  job: Job,
  identity: Identity,
  limit: number,
  arrival: Arrival,
  found: readonly FoundExport[],
): Promise<DryRunResult> {
  const total = noCounts()
  const exports: { name: string; sha256: string; rows: number }[] = []
  const reasons = new Map<string, { code: string; rule: string | null; message: string; count: number }>()
  for (const delivery of found) {
    const mapping = await readMapping(folders, delivery.mapping)
    for (const received of await arrival.receive(delivery)) {
      const { exportId, sha256 } = await fingerprint(received.file)
      await verifyRows(received, mapping.read)
      const opened = await openExport(received.file, mapping.read, received.limits)
      const mapper = mapping.compiled.bind(opened.columns, received.name)
      const counts = noCounts()
      const range = { number: 1, skip: 0, limit, cutBefore: new Map<number, number>() }
      for await (const chunk of cutChunks(opened.rows(), mapper, identity, exportId, range)) {
        addCounts(counts, countChunk(chunk.rows, [], 0))
        for (const { outcome } of chunk.rows) {
          if (outcome.outcome === 'rejected') count(reasons, outcome.issue.code, null, outcome.issue.message)
          if (outcome.outcome === 'mapped') {
            for (const { rule, issue } of outcome.rejected) count(reasons, issue.code, rule, issue.message)
          }
        }
      }
      addCounts(total, counts)
      exports.push({ name: received.name, sha256, rows: counts.rows.read })
    }
  }
  const sorted = [...reasons.values()].sort((a, b) => b.count - a.count)
  return { job: job.definition.job, dryRun: true, exports, ...total, reasons: sorted }
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
