/** The jobs folder as the schedule sees it. */
import { access } from 'node:fs/promises'
import { WaybillError } from '../errors.ts'
import { definitionsIn, type Job, readJob } from '../job/definition-files.ts'
import { assertTellable } from '../job/notify-targets.ts'
import type { ListedJob } from '../schedule/schedule-parts.ts'
import type { Settings } from '../settings.ts'

/**
 * All jobs of the folder; what is wrong with one does not keep the others from being read.
 * @throws WaybillError `job-not-found` where the folder cannot be read
 */
export async function listJobs(settings: Settings): Promise<ListedJob<Job>[]> {
  await access(settings.jobs).catch((cause: unknown) => {
    const remedy = 'Check WAYBILL_JOBS.'
    throw new WaybillError('job-not-found', `the jobs folder ${settings.jobs} cannot be read`, {
      remedy,
      cause,
    })
  })
  const names = [...new Set(await definitionsIn(settings.jobs))].sort()
  return Promise.all(names.map((name) => listJob(settings, name)))
}

async function listJob(settings: Settings, name: string): Promise<ListedJob<Job>> {
  try {
    const job = await readJob(settings, name)
    assertTellable(settings, job)
    return { name, job, schedule: job.definition.schedule }
  } catch (problem) {
    if (problem instanceof WaybillError) return { name, problem }
    throw problem
  }
}
