/** `waybill show`: what became of a run. */
import { readGatewayName } from '../definitions/jobs.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { activityOf } from '../runs/run-activity.ts'
import { summarise } from '../runs/summary.ts'
import type { Action } from './context.ts'
import { openKnownLedger } from './open-known-ledger.ts'
import { summaryText } from './summary-text.ts'

export const show: Action<{ readonly run: string | undefined; readonly json?: true }> = async (
  context,
  options,
) => {
  const ledger = await openKnownLedger(context)
  try {
    const run = options.run === undefined ? (await ledger.runs(1)).at(0) : await ledger.run(options.run)
    if (run === undefined) {
      if (options.run !== undefined) throw new WaybillError('run-not-found', `there is no run ${options.run}`)
      throw new WaybillError('run-not-found', 'there are no runs yet', {
        remedy: 'Start one with `waybill run JOB`.',
      })
    }
    const activity = await activityOf(ledger, run, context.now(), context.isDead)
    const found = await summarise(ledger, context.settings.home, run.id)
    const untold = await ledger.notifications.untold(run.job_id, run.id)
    const gateway = await readGatewayName(context.settings, found.job)
    const summary = {
      ...found,
      ...(activity === undefined ? {} : { activity }),
      ...(untold.length === 0 ? {} : { untold }),
      ...(gateway === found.gateway ? {} : { settingsName: gateway }),
    }
    const reasons = await ledger.reasonsOf(run.id)
    context.out(
      options.json ? JSON.stringify({ ...summary, reasons }) : summaryText(summary, reasons, context.columns),
    )
    return EXIT.ok
  } finally {
    await ledger.close()
  }
}
