/** Moves exports away after a run that has balanced: those that are done with as a whole, and are still what was read. */
import { WaybillError } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Arrival } from './arrival.ts'
import type { DoneDelivery } from './exports-of-run.ts'
import type { FoundExport } from './find-exports.ts'
import type { RunEvents } from './run-events.ts'
import type { RunSummary } from './summary.ts'

interface Archiving {
  readonly arrival: Arrival
  readonly events: RunEvents
}

/** Deliveries of the run all of whose exports are finished. */
export async function archiveRun(
  archiving: Archiving,
  ledger: Ledger,
  summary: RunSummary,
  deliveries: readonly FoundExport[],
): Promise<void> {
  if (!summary.balanced) return
  const records = await ledger.exportsOf(summary.run)
  for (const found of deliveries) {
    const address = found.source.address(found.delivery.name)
    const own = records.filter(({ path }) => path === address || path.startsWith(`${address}!`))
    if (own.length > 0 && own.every(({ state }) => state === 'finished')) await archive(archiving, found)
  }
}

/** Deliveries whose exports were all finished by a run that was resumed. */
export async function archiveResumed(
  archiving: Archiving,
  summary: RunSummary,
  done: readonly DoneDelivery[],
): Promise<void> {
  if (!summary.balanced) return
  const finished = new Set(
    summary.exports.flatMap(({ state, sha256 }) => (state === 'finished' ? [sha256] : [])),
  )
  for (const found of done) {
    if (found.hashes.every((sha256) => finished.has(sha256))) await archive(archiving, found)
  }
}

/** A failure is told and changes nothing: the export stays where it is, and the next run finds it unchanged. */
async function archive({ arrival, events }: Archiving, found: FoundExport): Promise<void> {
  if (!found.archived) return
  try {
    await arrival.archive(found)
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    events.exportNotArchived(found.delivery.name, error)
  }
}
