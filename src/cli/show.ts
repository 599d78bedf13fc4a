/** `waybill show`: what became of a run. */
import { EXIT, WaybillError } from '../errors.ts'
import { summarise } from '../job/summary.ts'
import type { Action } from './context.ts'
import { summaryText } from './summary-text.ts'

export const show: Action<{ readonly run: string | undefined; readonly json?: true }> = async (
  context,
  options,
) => {
  const ledger = await context.openLedger()
  try {
    const id = options.run ?? (await ledger.runs(1))[0]?.id
    if (id === undefined)
      throw new WaybillError('run-not-found', 'there are no runs yet', {
        remedy: 'Start one with `waybill run JOB`.',
      })
    const summary = await summarise(ledger, context.settings.home, id)
    const reasons = await ledger.reasonsOf(id)
    context.out(options.json ? `${JSON.stringify({ ...summary, reasons })}\n` : summaryText(summary, reasons))
    return EXIT.ok
  } finally {
    await ledger.close()
  }
}
