/** The report of a run, from the ledger alone. */

import type { RunSummary } from '../run/summary.ts'
import { nextSteps } from '../runs/next-steps.ts'
import type { OutputFile } from './output-files.ts'
import { reportPage } from './report-page.ts'
import { type FactSources, gatherFacts } from './run-facts.ts'

export interface ReportParts extends FactSources {
  /** Of the program. */
  readonly version: string
  /** Looks at the files of the run; without it they are left out. */
  readonly outputsOf?: (summary: RunSummary) => Promise<readonly OutputFile[]>
}

/**
 * The page as HTML, to be kept or mailed.
 * @throws WaybillError `run-not-found`
 */
export async function runReport(parts: ReportParts, runId: string): Promise<string> {
  const { now, version, outputsOf } = parts
  const facts = await gatherFacts(parts, runId)
  const { summary, reasons } = facts
  return reportPage(facts, {
    writtenAt: now,
    version,
    nextSteps: nextSteps(summary, reasons),
    outputs: await outputsOf?.(summary),
  })
}
