/** `waybill reconcile`: settles by read-back what a run left open or in doubt, and compares what was accepted. */

import { reconcileRun } from '../job/reconcile-run.ts'
import { withRunAgain } from '../job/run-again.ts'
import { verifiedBadly, verifyRun } from '../job/verify-run.ts'
import type { SampleSize } from '../job/verify-sample.ts'
import { allRecords } from '../model/balance.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { doubtsOfGivenUp } from '../run/resume.ts'
import { amendRun, assertNoneUnfinished, assertSameGateway, findRun } from '../runs/amend-run.ts'
import { summarise } from '../runs/summary.ts'
import type { Action } from './context.ts'
import { findJobOfRun } from './open-known-ledger.ts'
import { withRunDependencies } from './run-environment.ts'
import { summaryText } from './summary-text.ts'
import { verifiedText } from './verified-text.ts'

export interface ReconcileOptions {
  readonly run: string
  readonly verify?: true
  readonly sample?: SampleSize
  readonly seed?: string
  readonly json?: true
}

/** @throws WaybillError `usage-wrong`: a sample of nothing */
export const reconcile: Action<ReconcileOptions> = async (context, options) => {
  const { verify, sample, seed } = options
  if ((sample !== undefined && !verify) || (seed !== undefined && sample === undefined))
    throw new WaybillError('usage-wrong', '--sample is for --verify, and --seed is for --sample')
  const { job, gateway } = await findJobOfRun(context, options.run)
  return withRunDependencies(context, true, gateway, async (deps) => {
    const { ledger } = deps
    const named = await findRun(ledger, options.run)
    assertSameGateway(named, deps.gatewayName)
    const { verified, run, ...reconciled } = await amendRun(deps, named, async (amending) => {
      const { run } = amending
      await assertNoneUnfinished(ledger, run, run.id)
      return withRunAgain(deps, job, run, amending, async (again) => {
        const settled = await reconcileRun(ledger, again, deps.now)
        const compared = verify
          ? await verifyRun(ledger, again, sample ?? { kind: 'all' }, seed ?? run.id)
          : undefined
        return { ...settled, reads: again.reads, verified: compared, run }
      })
    })
    const summary = await summarise(ledger, deps.home, run.id)
    const inDoubt = allRecords(summary).inDoubt + (await doubtsOfGivenUp(ledger, run))
    if (options.json) context.out(JSON.stringify({ ...reconciled, inDoubt, verified, summary }))
    else {
      const { found, missed, batches, reads } = reconciled
      context.out(
        `Of run ${run.id}: ${found} in doubt found stored, ${missed} found not stored, ${inDoubt} in doubt still; ${batches} open batches settled; reads of profiles ${reads}`,
      )
      context.out(summaryText(summary, await ledger.reasonsOf(run.id), context.columns))
      if (verified !== undefined) context.out(verifiedText(verified))
    }
    const bad = inDoubt > 0 || (verified !== undefined && verifiedBadly(verified))
    return bad ? EXIT.recordsLeftBehind : EXIT.ok
  })
}
