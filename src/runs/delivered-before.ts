/** Compares an export with earlier deliveries of a mapping of this name. */
import type { LoadedMapping } from '../definitions/definition-files.ts'
import { DriftDefinition } from '../definitions/job-definition.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type DriftWatch, watchDrift } from '../watch/drift-watch.ts'
import { lastRun } from './new-reasons.ts'

/** Not compared: facts that may differ in a sample, and facts in the fit report. */
const COMPARED = DriftDefinition.parse({ columns: 'off', rows: 'off', fit: 'off', checks: 'off' })

/** @returns undefined if no job has delivered with the mapping */
export async function watchDelivered(
  ledger: Ledger,
  mapping: LoadedMapping,
  now: number,
): Promise<DriftWatch | undefined> {
  const run = await lastRun(ledger, { mapping: mapping.name })
  if (run === undefined) return undefined
  const memory = { ledger, job: run.job, rules: COMPARED, accept: false, mayStop: false, whole: true, now }
  // The sample may be an export that was delivered before, and would be skipped by its content.
  return watchDrift(memory, mapping, '')
}
