/** `waybill runs`: lists runs, newest first. */
import { EXIT } from '../errors.ts'
import { summarise } from '../job/summary.ts'
import { allRecords } from '../reconcile/balance.ts'
import type { Action } from './context.ts'
import { plainTable } from './summary-text.ts'

export const runs: Action<{ readonly limit: number; readonly json?: true }> = async (context, options) => {
  const ledger = await context.openLedger()
  try {
    const listed = await ledger.runs(options.limit)
    const summaries = await Promise.all(listed.map((run) => summarise(ledger, context.settings.home, run.id)))
    if (options.json) {
      context.out(`${JSON.stringify({ runs: summaries })}\n`)
      return EXIT.ok
    }
    if (summaries.length === 0) {
      context.out('There are no runs yet. Start one with: waybill run JOB\n')
      return EXIT.ok
    }
    const table = plainTable([
      'run',
      'rows',
      'accepted',
      'rejected',
      'unchanged',
      'in doubt',
      'seconds',
      'job',
      'state',
    ])
    for (const summary of summaries) {
      const { accepted, rejected, unchanged, inDoubt } = allRecords(summary)
      const state = summary.reason === undefined ? summary.state : `${summary.state} (${summary.reason})`
      const counts = [summary.rows.read, accepted, rejected, unchanged, inDoubt].map((count) =>
        count.toLocaleString('en-US'),
      )
      table.push([summary.run, ...counts, (summary.durationMs / 1000).toFixed(1), summary.job, state])
    }
    context.out(`${table.toString()}\n`)
    return EXIT.ok
  } finally {
    await ledger.close()
  }
}
