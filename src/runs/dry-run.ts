/** Plans a run whose records are counted: nothing is sent or written. */
import { type DefinitionFolders, type Job, readMappings } from '../definitions/definition-files.ts'
import type { Identity } from '../model/ids.ts'
import { type SourceSettings, withPassingArrival } from '../run/arrival.ts'
import type { Counted } from '../run/count-exports.ts'
import { createRunEvents } from '../run/events.ts'
import { execute } from '../run/execute.ts'
import { findExports, noneFound } from '../run/find-exports.ts'
import type { CountWorld } from '../run/plan.ts'

export interface DryRunResult extends Counted {
  readonly job: string
  readonly dryRun: true
}

export interface DryRunOptions {
  readonly files: readonly string[]
  readonly limit: number
  readonly acceptDrift?: boolean
  readonly ledger?: CountWorld['ledger']
}

/** @throws WaybillError as a run does for what is wrong with job or mapping, and `exports-none` */
export async function dryRun(
  folders: DefinitionFolders,
  job: Job,
  identity: Identity,
  { files, limit, acceptDrift = false, ledger }: DryRunOptions,
  now: () => number,
  settings: SourceSettings = {},
): Promise<DryRunResult> {
  const mappings = await readMappings(folders, job)
  return withPassingArrival(settings, async (arrival) => {
    const found = await findExports(arrival, job, files, now())
    if (found.length === 0) throw noneFound(job)
    const exports = { from: 'found', found, mappings, acceptDrift } as const
    const world = { arrival, ledger, identity, now, events: createRunEvents() }
    const counted = await execute({ records: 'count', job, limit, exports }, world)
    return { job: job.definition.job, dryRun: true, ...counted }
  })
}
