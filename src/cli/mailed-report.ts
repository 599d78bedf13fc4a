/** The report of a run, as it goes with the mail that tells how the run has ended. */
import { z } from 'zod'
import type { Ledger } from '../ledger/ledger.ts'
import type { Attach } from '../notify/channel.ts'
import type { CommandContext } from './context.ts'
import { nextSteps } from './next-steps.ts'

const OfRun = z.object({ run: z.string() })

/** Of a run that was pruned meanwhile nothing goes with it; nor where the page cannot be made: the mail is what counts. */
export function mailedReport(
  {
    settings,
    logger,
    now,
    isDead,
    version,
  }: Pick<CommandContext, 'settings' | 'logger' | 'now' | 'isDead' | 'version'>,
  ledger: Ledger,
): Attach {
  return async ({ kind, job, data }) => {
    const { data: of } = OfRun.safeParse(data)
    if (kind !== 'run-ended' || of === undefined) return []
    const { run } = of
    try {
      const record = await ledger.run(run)
      if (record === undefined || record.pruned_at !== null) return []
      const { runReport } = await import('../report/run-report.ts')
      const parts = { ledger, home: settings.home, now: now(), isDead, version, nextSteps }
      return [{ name: `${run}.html`, type: 'text/html; charset=utf-8', content: await runReport(parts, run) }]
    } catch {
      logger.warn('the report of the run cannot be made, and does not go with the mail', { job, run })
      return []
    }
  }
}
