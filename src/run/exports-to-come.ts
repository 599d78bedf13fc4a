/**
 * Exports of a job that are read after another one. A ledger that has lost exports meets their records at the gateway before it reads them again: the
 * words of such an export are newer than those of an export before it.
 */
import type { Job } from '../definitions/definition-files.ts'
import type { ExportRecord } from '../ledger/ledger.ts'
import type { LoadContext } from '../load/load-chunk.ts'
import { withPassingArrival } from './arrival.ts'
import type { RunDependencies } from './events.ts'
import { contentsOf } from './exports-of-run.ts'

type Lying = Pick<ExportRecord, 'name' | 'export_id'>

/**
 * Finds whether an export lies in a folder of the job, behind the one that is read. Reads the folders when first asked, in the order of a run. A remote
 * place is not looked at, as each of its files would be fetched twice.
 */
export function exportsToCome(
  { sources, now }: Pick<RunDependencies, 'sources' | 'now'>,
  job: Job,
): LoadContext['comesLater'] {
  const lookAll = async (): Promise<readonly Lying[]> => {
    const all: Lying[] = []
    await withPassingArrival(sources, async (arrival) => {
      for (const source of job.sources) {
        if (source.place.local === undefined) continue
        for (const found of (await arrival.look(source, now())).complete) {
          all.push(...((await contentsOf(arrival, found)) ?? []))
          await arrival.clearUnpacked()
        }
      }
    })
    return all
  }
  let looked: Promise<readonly Lying[]> | undefined
  return async (exportId, { exportName, ...read }) => {
    looked ??= lookAll()
    const all = await looked
    const own = all.findIndex((one) => one.export_id === read.exportId && one.name === exportName)
    return own !== -1 && all.slice(own).some((one) => one.export_id === exportId)
  }
}
