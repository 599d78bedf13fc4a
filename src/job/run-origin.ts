/** The run that another one takes up. */
import type { RunOrigin, RunRecord } from '../ledger/ledger.ts'

export function originOf({ origin_run: run, selection }: RunRecord): RunOrigin | undefined {
  return run === null || selection === null ? undefined : { run, selection }
}
