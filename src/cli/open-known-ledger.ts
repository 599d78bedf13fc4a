/** The ledger for commands that only look: where there is none they make none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { WaybillError } from '../errors.ts'
import { findRun } from '../job/amend-run.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CommandContext } from './context.ts'

/** @throws WaybillError `ledger-not-found`, and what opening it throws */
export async function openKnownLedger(
  context: Pick<CommandContext, 'settings' | 'openLedger'>,
): Promise<Ledger> {
  assertLedger(context)
  return context.openLedger()
}

/** @throws WaybillError `ledger-not-found` */
export function assertLedger({ settings }: Pick<CommandContext, 'settings'>): void {
  if (existsSync(join(settings.home, 'ledger.sqlite'))) return
  throw new WaybillError('ledger-not-found', `there is no ledger in the home ${settings.home}`)
}

/** Before anything else is begun, and told of, that would come to nothing without the run. @throws WaybillError `ledger-not-found`, `run-not-found`, `run-pruned` */
export async function assertRun(
  context: Pick<CommandContext, 'settings' | 'openLedger'>,
  id: string,
): Promise<void> {
  const ledger = await openKnownLedger(context)
  try {
    await findRun(ledger, id)
  } finally {
    await ledger.close()
  }
}
