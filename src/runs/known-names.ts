/** Names in the ledger, for the completion of a shell. */
import type { Ledger } from '../ledger/ledger.ts'
import { type Application, withLedgerIfAny } from './application.ts'

const RUNS_OFFERED = 50

/** Ids of the newest runs, and names of their exports; empty without a usable ledger: a shell shows no errors. */
export const namesInLedger = (
  application: Pick<Application, 'settings' | 'openLedger'>,
): Promise<{ readonly runs: readonly string[]; readonly exports: readonly string[] }> =>
  withLedgerIfAny(application, async (ledger) => (ledger === undefined ? NONE : namesIn(ledger))).catch(
    () => NONE,
  )

const NONE = { runs: [], exports: [] } as const

async function namesIn(ledger: Ledger) {
  const runs = (await ledger.runs.list(RUNS_OFFERED)).map(({ id }) => id)
  const exports = new Set<string>()
  for (const run of runs) for (const { name } of await ledger.exports.ofRun(run)) exports.add(name)
  return { runs, exports: [...exports] }
}
