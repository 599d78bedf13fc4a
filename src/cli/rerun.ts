/** `waybill rerun`: maps again what a run has left behind, and sends it. */
import { findRun } from '../job/amend-run.ts'
import { readJob } from '../job/definition-files.ts'
import { rerunJob } from '../job/rerun-job.ts'
import type { Action } from './context.ts'
import { reportRun } from './report-run.ts'
import { withRunDependencies } from './run-environment.ts'

export interface RerunOptions {
  readonly run: string
  readonly only?: 'rejected' | 'in-doubt'
  readonly quiet?: true
  readonly json?: true
}

export const rerun: Action<RerunOptions> = (context, options) =>
  withRunDependencies(context, options.quiet === true, async (deps) => {
    const run = await findRun(deps.ledger, options.run)
    const job = await readJob(context.settings, run.job)
    const end = await rerunJob(deps, job, run, options.only ?? 'left-behind')
    await reportRun(context, options, deps.ledger, end)
    return end.exit
  })
