/** Ends a run that cannot be finished, as the file that it had begun with is not to be had any more. */
import { WaybillError } from '../errors.ts'
import { advanceRun } from '../ledger/states.ts'
import { amendRun, type RunOfJob } from './amend-run.ts'
import { readTallies } from './counts-text.ts'
import type { RunDependencies } from './run-dependencies.ts'

/**
 * What its open chunks had sent is not known as delivered under the keys of its rows: later runs of the job recognise it by its content,
 * and look into the profiles before they send what was never answered (`Ledger.perhapsSent`).
 * @throws WaybillError `job-held` where it is under way, `nothing-left` where it has come to its end
 */
export async function giveUp(
  deps: Pick<RunDependencies, 'ledger' | 'now' | 'owner' | 'isDead' | 'interrupt'>,
  run: RunOfJob,
): Promise<void> {
  await amendRun(deps, run, async ({ runLedger }) => {
    // As it is under the lease: until then it may have gone on.
    const { state, tallies } = (await deps.ledger.run(run.id)) ?? run
    if (state !== 'running' && state !== 'interrupted')
      throw new WaybillError(
        'nothing-left',
        `run ${run.id} has come to its end (${state}): it cannot be given up`,
      )
    advanceRun(state, 'give-up')
    const end = { state: 'failed', endedAt: deps.now(), reason: 'given-up' } as const
    await runLedger.endRun(end, readTallies(tallies))
  })
}
