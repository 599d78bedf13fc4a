/** The jobs folder as the schedule sees it. */
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { definitionsIn, type Job, readJob, readMappings } from '../definitions/definition-files.ts'
import { assertTellable, chooseGateway } from '../definitions/jobs.ts'
import type { FireRecord, Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { ListedJob } from '../schedule/schedule-parts.ts'
import type { Settings } from '../settings.ts'

/**
 * All jobs of the folder; what is wrong with one does not keep the others from being read.
 * @throws WaybillError `job-not-found` where the folder cannot be read
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
 * The same with their mappings, so that a job whose mapping is wrong is known before it is due: read once, and again when a file has changed.
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

/** What is wrong with the mappings of a job, in the place of its schedule. */
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

/** Changes whenever a file of the folder does. */
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
    // Whether exports have come can be seen without a gateway.
    listed = { name, job }
    chooseGateway(settings, job)
    return { name, job, schedule: job.definition.schedule }
  } catch (problem) {
    if (problem instanceof WaybillError) return { ...listed, problem }
    throw problem
  }
}

/** Runs and fires of the job that are looked at. */
const LOOKED_AT = 50

export const isNothingFound = (error: unknown): boolean =>
  error instanceof WaybillError && error.code === 'exports-none'

/**
 * Whether it is known why nothing was there, or told by another way: a source has `expect`, which tells what is missing; or a run has
 * taken what had come since the fire before, like one that was taken up again after this fire was due, or that somebody has begun by hand.
 */
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
  return (await ledger.runs(LOOKED_AT, { job })).some(
    (run) =>
      run.gateway === gateway &&
      run.state === 'finished' &&
      run.backfill === null &&
      run.origin_run === null &&
      // The run of the fire before has taken what had come by then alone, unless it went on until this one.
      ((run.ended_at ?? 0) >= due || (run.started_at > before && !ofFires.has(run.id))),
  )
}
