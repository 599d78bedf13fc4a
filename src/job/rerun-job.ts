/** Maps again, with today's mapping, the rows of a run that did not get through, and sends what of them is not delivered yet. */

import type { Job } from '../definitions/definition-files.ts'
import type { Selection } from '../ledger/ledger.ts'
import type { RunOfJob } from './amend-run.ts'
import type { JobEnd } from './carry-out.ts'
import type { RunDependencies } from './run-dependencies.ts'
import { takeUp } from './take-up.ts'

/** @throws WaybillError as `takeUp` */
export async function rerunJob(
  deps: RunDependencies,
  job: Job,
  run: RunOfJob,
  selection: Exclude<Selection, 'decided'>,
): Promise<JobEnd> {
  const { left } = deps.ledger
  return takeUp(deps, job, {
    run,
    selection,
    mapping: 'today',
    async concerned(exports) {
      const ids = new Set<number>()
      for (const { id } of exports)
        if ((await left.rows({ exportRow: id, selection, runId: run.id }, -1, 1)).length > 0) ids.add(id)
      return ids
    },
    begin: async () => {},
  })
}
