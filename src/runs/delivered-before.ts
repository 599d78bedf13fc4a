/** Compares an export, as a mapping reads it now, with what was delivered by a mapping of that name. */
import type { LoadedMapping } from '../definitions/definition-files.ts'
import { DriftDefinition } from '../definitions/job-definition.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type DriftWatch, watchDrift } from '../run/drift-watch.ts'
import { lastRun } from './new-reasons.ts'

/** Facts that may differ in a sample, or that the fit report tells, are not compared. */
const COMPARED = DriftDefinition.parse({ columns: 'off', rows: 'off', fit: 'off', checks: 'off' })

/** @returns undefined where no job has delivered by it */
export async function watchDelivered(
  ledger: Ledger,
  mapping: LoadedMapping,
  now: number,
): Promise<DriftWatch | undefined> {
  const run = await lastRun(ledger, { mapping: mapping.name })
  if (run === undefined) return undefined
  const memory = { ledger, job: run.job, rules: COMPARED, accept: false, mayStop: false, whole: true, now }
  // It may be one of the exports that were delivered: by its content it would not be compared.
  return watchDrift(memory, mapping, '')
}
