/** The summary of a run, drawn from the ledger (docs/cli.md: what `--json` prints). */
import { join } from 'node:path'
import { WaybillError } from '../errors.ts'
import type { Ledger, Tallies } from '../ledger/ledger.ts'
import { addCounts, type Counts, isBalanced, noCounts } from '../reconcile/balance.ts'
import { readCounts, readTallies } from './counts-text.ts'
import { rejectsPath } from './run-export.ts'

export interface ExportSummary {
  readonly name: string
  readonly sha256: string
  readonly rows: number
  readonly state: string
  readonly counts: Counts
  /** The rejects file, where there is one. */
  readonly rejects?: string
  /** Code of what was wrong with the export as a whole. */
  readonly error?: string
}

export interface RunSummary extends Counts {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly state: string
  readonly reason?: string
  readonly balanced: boolean
  readonly exports: readonly ExportSummary[]
  readonly accounts: Tallies['accounts']
  readonly requests: Tallies['requests']
  readonly primaryCare: Tallies['primaryCare']
  readonly files: { readonly rejects?: string; readonly receipts?: string }
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
  let receiptsLength = 0
  for (const record of await ledger.exportsOf(runId)) {
    let rejectsLength = 0
    const counts = noCounts()
    for (const chunk of await ledger.chunksOf(record.id)) {
      addCounts(counts, readCounts(chunk.counts))
      rejectsLength = Math.max(rejectsLength, chunk.rejects_length ?? 0)
      receiptsLength = Math.max(receiptsLength, chunk.receipts_length ?? 0)
    }
    const known = live.find(({ ordinal }) => ordinal === record.ordinal)?.counts ?? counts
    addCounts(total, known)
    exports.push({
      name: record.name,
      sha256: record.sha256,
      rows: known.rows.read,
      state: record.state,
      counts: known,
      ...(rejectsLength === 0
        ? {}
        : { rejects: rejectsPath({ rejectsFolder: join(home, run.rejects_path) }, record) }),
      ...(record.reason === null ? {} : { error: record.reason }),
    })
  }
  const tallies = readTallies(run.tallies)
  return {
    run: run.id,
    job: run.job,
    gateway: run.gateway,
    state: run.state,
    ...(run.reason === null ? {} : { reason: run.reason }),
    balanced: isBalanced(total),
    exports,
    rows: total.rows,
    accounts: tallies.accounts,
    records: total.records,
    primaryCare: tallies.primaryCare,
    requests: tallies.requests,
    files: {
      ...(exports.some((one) => one.rejects !== undefined) ? { rejects: join(home, run.rejects_path) } : {}),
      ...(receiptsLength > 0 ? { receipts: join(home, run.receipts_path) } : {}),
    },
    startedAt: new Date(run.started_at).toISOString(),
    durationMs: run.worked_ms,
  }
}
