/**
 * Exports of a job behind the current export in the order of reading. A ledger without some deliveries meets the records of later exports at the gateway
 * first: a later export has the newer word.
 */
import type { Job } from '../definitions/definition-files.ts'
import type { ExportRecord } from '../ledger/ledger.ts'
import type { LoadContext } from '../load/load-chunk.ts'
import { withPassingArrival } from './arrival.ts'
import type { RunDependencies } from './events.ts'
import { contentsOf } from './exports-of-run.ts'
import type { FoundDelivery } from './found-delivery.ts'

type Lying = Pick<ExportRecord, 'name' | 'export_id'>

/**
 * Checks for an export at the sources of the job, behind the current export. The first call reads all exports from the current one on, in the order of
 * a run: a remote source gives these files twice.
 */
export function exportsToCome(
  { sources, now }: Pick<RunDependencies, 'sources' | 'now'>,
  job: Job,
): LoadContext['comesLater'] {
  const lookFrom = async (name: string): Promise<readonly Lying[]> => {
    const all: Lying[] = []
    await withPassingArrival(sources, async (arrival) => {
      let isBehind = false
      for (const source of job.sources)
        for (const found of (await arrival.look(source, now())).complete) {
          isBehind ||= isFrom(name, found)
          if (!isBehind) continue
          all.push(...((await contentsOf(arrival, found)) ?? []))
          await arrival.clearUnpacked()
          await arrival.forget(found)
        }
    })
    return all
  }
  let looked: Promise<readonly Lying[]> | undefined
  return async (exportId, { exportName, ...read }) => {
    looked ??= lookFrom(exportName)
    const all = await looked
    const own = all.findIndex((one) => one.export_id === read.exportId && one.name === exportName)
    return own !== -1 && all.slice(own).some((one) => one.export_id === exportId)
  }
}

/** True for the delivery of the export with this name: the file itself, or the archive around the member. */
const isFrom = (name: string, { delivery }: FoundDelivery): boolean =>
  name === delivery.name || name.startsWith(`${delivery.name}!`)
