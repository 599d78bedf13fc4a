/** What looking for expected exports needs of a command. */
import type { ExpectationParts } from '../expect/expectation-watch.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { sourceSettings } from './run-environment.ts'

export const expectationParts = (
  { settings, now }: CommandContext,
  ledger: Ledger,
  tell: ExpectationParts['tell'],
): ExpectationParts => ({
  ledger,
  gateway: settings.gatewayUrl ?? 'built-in',
  sources: sourceSettings(settings),
  now,
  tell,
})
