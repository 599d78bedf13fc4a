/** Archives exports after a balanced run: exports finished as a whole, and unchanged since they were read. */
import { whileWanted } from '../extract/sources/receive-file.ts'
import type { ExportRecord, Ledger, OpenExport, RunLedger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { BUILT_IN } from '../system/settings.ts'
import type { Arrival } from './arrival.ts'
import type { RunEvents } from './events.ts'
import type { DoneDelivery } from './exports-of-run.ts'
import type { FoundExport } from './find-exports.ts'

/** Run whose deliveries are archived; nothing is, if the run does not balance. */
interface BalancedRun {
  readonly run: string
  readonly job: string
  readonly balanced: boolean
}

interface Archiving {
  /** Destination of the records: an export sent only to the stand-in is not finished. */
  readonly gatewayName: string
  readonly arrival: Arrival
  readonly events: RunEvents
  readonly ledger: Ledger
  /** Ledger of the holder of the job. */
  readonly runLedger: RunLedger
  /** Ends archiving at once; aborted with a `WaybillError`. The next run archives the rest, including a half-archived export. */
  readonly interrupt: AbortSignal
}

/**
 * Archives deliveries of the run with all exports finished.
 * @returns true if files may have moved
 */
export async function archiveRun(
  archiving: Archiving,
  run: BalancedRun,
  deliveries: readonly FoundExport[],
): Promise<boolean> {
  const records = await archiving.ledger.exports.ofRun(run.run)
  const isDone = (own: readonly ExportRecord[]): boolean =>
    own.length > 0 && own.every(({ state }) => state === 'finished')
  return archiveAll(archiving, run, deliveries, records, isDone)
}

/**
 * Archives deliveries with all exports finished by a resumed run.
 * @returns as `archiveRun`
 */
export async function archiveResumed(
  archiving: Archiving,
  run: BalancedRun,
  done: readonly DoneDelivery[],
): Promise<boolean> {
  const records = await archiving.ledger.exports.ofRun(run.run)
  const finished = new Set(records.flatMap(({ state, sha256 }) => (state === 'finished' ? [sha256] : [])))
  return archiveAll(archiving, run, done, records, (_own, found) =>
    found.hashes.every((sha256) => finished.has(sha256)),
  )
}

async function archiveAll<Found extends FoundExport>(
  archiving: Archiving,
  { balanced, job }: BalancedRun,
  deliveries: readonly Found[],
  records: readonly ExportRecord[],
  isDone: (own: readonly ExportRecord[], found: Found) => boolean,
): Promise<boolean> {
  const { ledger, gatewayName, interrupt } = archiving
  const leaving = gatewayName === BUILT_IN ? [] : deliveries.filter(({ archived }) => archived)
  if (!balanced || leaving.length === 0) return false
  const open = await ledger.exports.open(job)
  for (const found of leaving) {
    // The next run archives the rest.
    if (interrupt.aborted) break
    const address = found.source.address(found.delivery.name)
    const own = records.filter(({ path }) => isOf(path, address))
    if (isDone(own, found)) await archive(archiving, found, address, own, open)
  }
  return true
}

/** True if the export is the delivery, or a member of it. */
export const isOf = (path: string, address: string): boolean =>
  path === address || path.startsWith(`${address}!`)

/** Archives a delivery. A failure is reported and changes nothing: the export stays in place, and the next run finds it unchanged. */
async function archive(
  { arrival, events, runLedger, interrupt }: Archiving,
  found: FoundExport,
  address: string,
  own: readonly ExportRecord[],
  open: readonly OpenExport[],
): Promise<void> {
  try {
    const needed = open.find(({ path }) => isOf(path, address))
    if (needed !== undefined) throw stillNeeded(needed)
    // After a long halt, another process may read the export.
    await runLedger.assertHeld()
    const archived = await whileWanted(arrival.archive(found), interrupt).catch(async (error: unknown) => {
      // The next run tries again: somebody must look only if the archive itself refuses.
      if (error instanceof WaybillError && !interrupt.aborted)
        for (const { id } of own)
          await runLedger.noteUnarchived(id, { detail: error.message, remedy: error.remedy })
      throw error
    })
    for (const record of own)
      await runLedger.noteArchived(record, `${archived}${record.path.slice(address.length)}`)
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    events.emit({ type: 'exportNotArchived', name: found.delivery.name, error })
  }
}

/** Only the exact file can finish the other run. */
const stillNeeded = ({ run, gateway }: OpenExport): WaybillError =>
  new WaybillError('run-unfinished', `the export is not archived: run ${run} at ${gateway} still needs it`, {
    remedy: `Finish run ${run} with its settings, or give it up: waybill resolve ${run} --give-up`,
  })
