/** The jobs folder, as seen by the schedule. */
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { definitionsIn, type Job, readJob, readMappings } from '../definitions/definition-files.ts'
import { assertTellable, chooseGateway } from '../definitions/jobs.ts'
import type { FireRecord, Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { ListedJob } from '../schedule/schedule-parts.ts'
import type { Settings } from '../system/settings.ts'

/**
 * All jobs of the folder; a problem of one job does not affect the rest.
 * @throws `job-not-found` if the folder cannot be read
 */
export async function listJobs(settings: Settings): Promise<ListedJob<Job>[]> {
  await readdir(settings.jobs).catch((cause: unknown) => {
    const remedy = 'Check WAYBILL_JOBS.'
    throw new WaybillError('job-not-found', `the jobs folder ${settings.jobs} cannot be read`, {
      remedy,
      cause,
    })
  })
  const names = [...new Set(await definitionsIn(settings.jobs))].sort()
  return Promise.all(names.map((name) => listJob(settings, name)))
}

/**
 * Lists jobs with their mappings, to find an invalid mapping before its job is due. Reads a mapping once, and again after a change.
 * @returns lists the jobs, as `listJobs`
 */
export function createJobList(settings: Settings): () => Promise<ListedJob<Job>[]> {
  const known = new Map<string, { readonly version: string; readonly listed: ListedJob<Job> }>()
  return async () => {
    const listed = await listJobs(settings)
    const mappings = await versionOfFolder(settings.mappings)
    return Promise.all(
      listed.map(async (one) => {
        if (one.job === undefined || 'problem' in one) return one
        const { name, job } = one
        const files = [job.catalog ?? [], job.sources.map(({ mapping }) => resolve(mapping))].flat()
        const versions = await Promise.all(files.map(versionOfFile))
        const version = JSON.stringify([job, mappings, versions])
        const before = known.get(name)
        if (before?.version === version) return before.listed
        const checked = await withMappings(settings, one)
        known.set(name, { version, listed: checked })
        return checked
      }),
    )
  }
}

/** Returns the job, with a problem in place of the schedule if a mapping is invalid. */
export async function withMappings(
  settings: Settings,
  listed: ListedJob<Job> & { readonly job: Job },
): Promise<ListedJob<Job>> {
  try {
    await readMappings(settings, listed.job)
    return listed
  } catch (problem) {
    if (problem instanceof WaybillError) return { name: listed.name, job: listed.job, problem }
    throw problem
  }
}

/** Changes whenever a file of the folder changes. */
export async function versionOfFolder(folder: string): Promise<string> {
  const files = (await readdir(folder).catch(() => [])).sort()
  return JSON.stringify(await Promise.all(files.map((file) => versionOfFile(join(folder, file)))))
}

async function versionOfFile(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  return found === undefined ? `${file} gone` : `${file} ${found.mtimeMs} ${found.size} ${found.ino}`
}

async function listJob(settings: Settings, name: string): Promise<ListedJob<Job>> {
  let listed: { readonly name: string; readonly job?: Job } = { name }
  try {
    const job = await readJob(settings, name)
    assertTellable(settings, job)
    // Looking for exports needs no gateway.
    listed = { name, job }
    chooseGateway(settings, job)
    return { name, job, schedule: job.definition.schedule }
  } catch (problem) {
    if (problem instanceof WaybillError) return { ...listed, problem }
    throw problem
  }
}

const LOOKED_AT = 50

export const isNothingFound = (error: unknown): boolean =>
  error instanceof WaybillError && error.code === 'exports-none'

/** True if a missing export is explained, or reported elsewhere: by `expect` of a source, or as a run has taken the exports since the fire before. */
export async function isNothingExplained(
  ledger: Pick<Ledger, 'runs' | 'fires'>,
  gateway: string,
  { sources, definition: { job } }: Pick<Job, 'sources' | 'definition'>,
  { job_id, due }: Pick<FireRecord, 'job_id' | 'due'>,
): Promise<boolean> {
  if (sources.some(({ expect }) => expect !== undefined)) return true
  const fires = await ledger.fires.latest(job_id, LOOKED_AT)
  const before = fires.find((one) => one.due < due)?.due ?? due
  const ofFires = new Set(fires.map(({ run_id }) => run_id))
  return (await ledger.runs.list(LOOKED_AT, { job })).some(
    (run) =>
      run.gateway === gateway &&
      run.state === 'finished' &&
      run.backfill === null &&
      run.origin_run === null &&
      // The run of the fire before took only the exports of that time, unless the run lasted until this fire.
      ((run.ended_at ?? 0) >= due || (run.started_at > before && !ofFires.has(run.id))),
  )
}
