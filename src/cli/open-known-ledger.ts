/** The ledger for commands that only look: where there is none they make none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { WaybillError } from '../errors.ts'
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
