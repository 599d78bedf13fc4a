/** The ledger for commands that only look: where there is none they make none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Job, readJob } from '../definitions/definition-files.ts'
import { chooseGateway } from '../definitions/jobs.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { findRun } from '../runs/amend-run.ts'
import type { CommandContext } from './context.ts'

/** @throws WaybillError `ledger-not-found`, and what opening it throws */
export async function openKnownLedger(
  context: Pick<CommandContext, 'settings' | 'openLedger'>,
): Promise<Ledger> {
  const { home } = context.settings
  if (existsSync(join(home, 'ledger.sqlite'))) return context.openLedger()
  throw new WaybillError('ledger-not-found', `there is no ledger in the home ${home}`)
}

/**
 * Before anything else is begun, and told of, that would come to nothing without the run.
 * @returns its job, and the gateway to go to
 * @throws WaybillError `ledger-not-found`, `run-not-found`, `run-pruned`; as `readJob` and `chooseGateway`
 */
export async function findJobOfRun(
  context: Pick<CommandContext, 'settings' | 'openLedger'>,
  id: string,
): Promise<{ readonly job: Job; readonly gateway: string }> {
  const ledger = await openKnownLedger(context)
  try {
    const job = await readJob(context.settings, (await findRun(ledger, id)).job)
    return { job, gateway: chooseGateway(context.settings, job) }
  } finally {
    await ledger.close()
  }
}
