/** Exports of which nothing could be sent, and which a later run has read all the same: put right meanwhile, there is nothing left to do for them. */
import type { Ledger, RunRecord } from '../ledger/ledger.ts'

/** Later runs looked at, the newest first. */
const RUNS_LOOKED_AT = 1_000

/**
 * @param names of exports, or of deliveries that could not be unpacked
 * @returns the run that has read such an export to its end, by its name; of what none has, nothing
 */
export async function readSince(
  ledger: Pick<Ledger, 'runs' | 'exportsOf'>,
  run: RunRecord & { readonly job: string },
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const read = new Map<string, string>()
  if (names.length === 0) return read
  for (const later of await ledger.runs(RUNS_LOOKED_AT, { job: run.job })) {
    if (later.job_id !== run.job_id || later.started_at <= run.started_at) continue
    const done = (await ledger.exportsOf(later.id)).filter(
      ({ state, reading }) => state === 'finished' && reading === 'whole',
    )
    for (const name of names)
      if (done.some((one) => one.name === name || one.name.startsWith(`${name}!`))) read.set(name, later.id)
    if (read.size === new Set(names).size) break
  }
  return read
}
