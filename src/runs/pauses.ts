/** Pauses of jobs: the schedule starts nothing, until a person ends the pause or its time is over. */
import { DateTime } from 'luxon'
import { readJob } from '../definitions/definition-files.ts'
import { Duration, TimeOfDay } from '../definitions/export-definition.ts'
import { gatewayNameOf } from '../definitions/jobs.ts'
import { WaybillError } from '../model/errors.ts'
import { timeOfDayAfter } from '../schedule/fires.ts'
import type { Application } from './application.ts'
import type { Person } from './resolve.ts'

export interface PausedJob {
  readonly job: string
  /** False if already in this state. */
  readonly changed: boolean
  /** End of the pause; undefined for a pause that a person ends. */
  readonly until: number | undefined
}

/**
 * Pauses the schedule of a job. A run in progress ends normally, and typed commands still run. A paused job gets the new end, if given.
 * @param until `06:00`, `2026-03-02T06:00`, `2026-03-02` (in the zone of the schedule, or UTC), or `2h`
 * @throws `job-not-found`; `usage-wrong` for a time that is none, or has passed
 */
export const pauseJob = (
  application: Application,
  name: string,
  person: Person,
  until?: string | undefined,
): Promise<PausedJob> =>
  change(application, name, async ({ ledger, jobId, zone, at }) => {
    const end = until === undefined ? undefined : pauseEnd(until, zone, at)
    const changed = await ledger.pauses.begin(jobId, { ...person, at, until: end ?? null })
    return { changed, until: end }
  })

/** Lets the schedule start the job again. @throws `job-not-found` */
export const unpauseJob = (application: Application, name: string, person: Person): Promise<PausedJob> =>
  change(application, name, async ({ ledger, jobId, at }) => ({
    changed: await ledger.pauses.end(jobId, { ...person, at }),
    until: undefined,
  }))

interface Changing {
  readonly ledger: Awaited<ReturnType<Application['openLedger']>>
  readonly jobId: number
  readonly zone: string
  readonly at: number
}

async function change(
  application: Application,
  name: string,
  act: (changing: Changing) => Promise<Omit<PausedJob, 'job'>>,
): Promise<PausedJob> {
  const { settings } = application
  const { definition } = await readJob(settings, name)
  const ledger = await application.openLedger()
  try {
    const jobId = await ledger.jobs.id(definition.job, gatewayNameOf(settings, definition))
    const zone = definition.schedule?.zone ?? 'Etc/UTC'
    return { job: definition.job, ...(await act({ ledger, jobId, zone, at: application.now() })) }
  } finally {
    await ledger.close()
  }
}

const LOCAL = /^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$/

/** @throws `usage-wrong` */
export function pauseEnd(text: string, zone: string, now: number): number {
  if (TimeOfDay.safeParse(text).success) return timeOfDayAfter(text, zone, now)
  const length = Duration.safeParse(text)
  const local = LOCAL.test(text) ? DateTime.fromISO(text, { zone }).toMillis() : Number.NaN
  const end = length.success ? now + length.data : local
  if (end > now) return end
  throw new WaybillError(
    'usage-wrong',
    Number.isNaN(end) ? `"${text}" is no time` : `"${text}" in ${zone} has passed`,
    { remedy: 'Write --until like 06:00, 2026-03-02T06:00 or 2h, in the future.' },
  )
}
