/** Carries a run out, while this process holds its job: its exports one after the other, to its end or to what stops it. */

import type { Job } from '../definitions/definition-files.ts'
import { settleOwed } from '../load/care-team-owed.ts'
import { EXIT, type ExitCode, filesExhausted, WaybillError } from '../model/errors.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { type ExportEnd, isExportProblem, runExport } from '../run/export.ts'
import type { ExportStep } from '../run/exports-of-run.ts'
import type { HeldJob } from '../run/lease.ts'
import { type RunSummary, summarise } from '../runs/summary.ts'
import { type OpenRun, openRun, type RunOpening } from './open-run.ts'

export interface JobEnd {
  readonly summary: RunSummary
  readonly exit: ExitCode
  /** What ended the last run before its time. */
  readonly error?: WaybillError
}

/** Runs until all exports are done or something stops it, and writes down how it ended. */
export async function carryOut(
  deps: RunDependencies,
  job: Job,
  held: HeldJob,
  opening: RunOpening,
  exports: (run: OpenRun) => AsyncIterable<ExportStep>,
): Promise<JobEnd> {
  const run = await openRun(deps, job, held, opening)
  const worked: ExportCounts[] = []
  let error: unknown
  try {
    for await (const step of exports(run)) {
      const end = await runOneExport(run, step)
      if (end === undefined) continue
      worked.push(end)
      error = end.error
      if (error !== undefined) break
    }
    if (error === undefined) await settleOwedOf(run)
  } catch (stopped) {
    error = stopped
  }
  error = filesExhausted(error) ?? error
  await run.end(error)
  if (error !== undefined && !(error instanceof WaybillError)) throw error
  const summary = await summarise(deps.ledger, deps.home, run.id, worked)
  if (error === undefined) return { summary, exit: exitOf(summary) }
  return { summary, exit: error.exit, error }
}

/** Marks and deletions that this run or an earlier one could not carry out. */
function settleOwedOf({ export: { load }, runLedger }: OpenRun): Promise<void> {
  const { careTeams } = load
  return settleOwed(careTeams, (known) => runLedger.saveCareTeams(careTeams.gatewayName, known))
}

/** What became of an export; where it was stopped, with what is open as pending. */
interface ExportCounts extends ExportEnd {
  readonly ordinal: number
}

/** Undefined where nothing of the export could be sent; the ledger then says why. */
async function runOneExport(
  run: OpenRun,
  { record, mapping, limits, watch, position }: ExportStep,
): Promise<ExportCounts | undefined> {
  try {
    return {
      ordinal: record.ordinal,
      ...(await runExport(run.export, record, mapping, limits, watch, position)),
    }
  } catch (error) {
    if (!isExportProblem(error)) throw error
    // What an earlier process has sent of it must be settled first: with the export over, nobody would look for that.
    const chunks = await run.export.ledger.chunksOf(record.id)
    if (chunks.some(({ state }) => state === 'open')) throw error
    await run.runLedger.endExport(record.id, 'failed', error.code)
    run.events.emit({ type: 'exportFailed', name: record.name, error })
    return undefined
  }
}

/** 0 where all is accounted for and accepted or unchanged; 1 where something was left behind; 2 where nothing could be read. */
export function exitOf(summary: RunSummary): ExitCode {
  const { exports } = summary
  const kinds = Object.values(summary.records)
  if (exports.length > 0 && exports.every((one) => one.error !== undefined)) return EXIT.wrongUse
  const left =
    summary.rows.rejected > 0 ||
    summary.careTeams.owed > 0 ||
    exports.some((one) => one.error !== undefined) ||
    kinds.some((records) => records.rejected + records.inDoubt + records.pending > 0)
  return left ? EXIT.recordsLeftBehind : EXIT.ok
}
