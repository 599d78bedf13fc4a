/** Maps a job's exports and counts; sends nothing, writes nothing. */

import { fingerprint } from '../extract/fingerprint.ts'
import { openExport } from '../extract/open-export.ts'
import type { Identity } from '../load/identity.ts'
import { addCounts, type Counts, noCounts } from '../reconcile/balance.ts'
import { cutChunks } from './chunks.ts'
import { countChunk } from './count-chunk.ts'
import { type DefinitionFolders, type Job, readMapping } from './definition-files.ts'
import { findExports } from './find-exports.ts'

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
): Promise<DryRunResult> {
  const total = noCounts()
  const exports: { name: string; sha256: string; rows: number }[] = []
  const reasons = new Map<string, { code: string; rule: string | null; message: string; count: number }>()
  for (const source of await findExports(job, options.files, now)) {
    const mapping = await readMapping(folders, source.mapping)
    const { exportId, sha256 } = await fingerprint(source.path)
    const opened = await openExport(source.path, mapping.read)
    const mapper = mapping.compiled.bind(opened.columns, source.name)
    const counts = noCounts()
    const range = { number: 1, skip: 0, limit: options.limit, cutBefore: new Map<number, number>() }
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
    exports.push({ name: source.name, sha256, rows: counts.rows.read })
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
