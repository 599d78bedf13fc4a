/** What looking for expected exports needs of a command. */

import { gatewayNameOf } from '../definitions/jobs.ts'
import type { ExpectationParts } from '../expect/expectation-watch.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { sourceSettings } from './run-environment.ts'

/** A look that has taken so long is given up: the next one may do better, and the job is to be looked at again. */
const PATIENCE_MS = 5 * 60_000

export const expectationParts = (
  { settings, now, interrupt }: CommandContext,
  ledger: Ledger,
  tell: ExpectationParts['tell'],
): ExpectationParts => ({
  ledger,
  gatewayOf: (job) => gatewayNameOf(settings, job.definition),
  sources: sourceSettings(settings),
  now,
  patience: () => AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), interrupt]),
  tell,
})
