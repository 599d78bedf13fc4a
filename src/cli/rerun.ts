/** `waybill rerun`: maps again what a run has left behind, and sends it. */

import { assertTellable, targetsOf } from '../definitions/jobs.ts'
import type { JobEnd } from '../job/carry-out.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { findRun } from '../runs/amend-run.ts'
import { rerunJob } from '../runs/take-up.ts'
import type { Action } from './context.ts'
import { lastRunFile, tellingLastRun } from './last-run.ts'
import { mailedReport } from './mailed-report.ts'
import { findJobOfRun } from './open-known-ledger.ts'
import { reportRun } from './report-run.ts'
import { runAndTell } from './run-and-tell.ts'
import { withRunDependencies } from './run-environment.ts'
import { createTeller } from './teller.ts'

export interface RerunOptions {
  readonly run: string
  readonly only?: 'rejected' | 'in-doubt'
  readonly quiet?: true
  readonly json?: true
}

export const rerun: Action<RerunOptions> = async (context, options) => {
  const { job, gateway } = await findJobOfRun(context, options.run)
  assertTellable(context.settings, job)
  return withRunDependencies(context, options.quiet === true, gateway, async (deps) => {
    const run = await findRun(deps.ledger, options.run)
    const known = new Map([[run.job, targetsOf(job)]])
    const teller = createTeller(context, deps.ledger, known, mailedReport(context, deps.ledger))
    const work = (told: RunDependencies): Promise<JobEnd> =>
      tellingLastRun(context, told, { job: run.job, tell: lastRunFile(context), refusals: false }, () =>
        rerunJob(told, job, run, options.only ?? 'left-behind'),
      )
    try {
      const end = await runAndTell(context, { teller, deps, job, refusals: false, work })
      await reportRun(context, options, deps.ledger, end)
      return end.exit
    } finally {
      await teller.deliver()
    }
  })
}
