/** Jobs that are not done by the deadline of their schedule: for the list of needs, and for the notice of the schedule. */
import type { Job } from '../definitions/definition-files.ts'
import { gatewayNameOf, targetsOf } from '../definitions/jobs.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type LateFire, lateFire, nextDeadline } from '../schedule/deadlines.ts'
import type { JobSchedule, ListedJob, LookPlan } from '../schedule/schedule-parts.ts'
import { lateNotice } from '../story/notices.ts'
import type { Settings } from '../system/settings.ts'
import { fireWords } from './explained-schedule.ts'
import type { Teller } from './teller.ts'

const LOOKED_AT = 50

type LateLedger = Pick<Ledger, 'fires' | 'jobs' | 'runs'>

interface LateJob extends LateFire {
  readonly job: string
}

/** @param jobs jobs of the folder, those without a deadline included */
export async function lateJobs(
  settings: Settings,
  ledger: LateLedger,
  jobs: readonly ListedJob<Job>[],
  now: number,
): Promise<LateJob[]> {
  const found: LateJob[] = []
  for (const one of jobs) {
    const schedule = 'problem' in one ? undefined : one.schedule
    if (one.job === undefined || schedule?.done === undefined) continue
    const late = (await look(settings, ledger, one.job, schedule, now)).late
    if (late !== undefined) found.push({ job: one.name, ...late })
  }
  return found
}

async function look(
  settings: Settings,
  ledger: LateLedger,
  { definition }: Job,
  schedule: JobSchedule,
  now: number,
): Promise<{ readonly late?: LateFire | undefined; readonly next?: number | undefined }> {
  const gateway = gatewayNameOf(settings, definition)
  const jobId = await ledger.jobs.known(definition.job, gateway)
  if (jobId === undefined) return {}
  const fires = await ledger.fires.latest(jobId, LOOKED_AT)
  const finished = (await ledger.runs.list(LOOKED_AT, { job: definition.job, states: ['finished'] })).filter(
    (run) => run.gateway === gateway && run.part === null && run.origin_run === null && run.backfill === null,
  )
  return { late: lateFire(schedule, fires, finished, now), next: nextDeadline(schedule, fires, now) }
}

/** Plans the notice of a missed deadline: each deadline is notified once, by whichever process sees it first. */
export function createDeadlineWatch(settings: Settings, ledger: LateLedger, teller: Teller) {
  // A look wakes the schedule, which would look again at once.
  const told = new Map<string, number>()
  return {
    async planLook(job: Job, now: number): Promise<LookPlan> {
      const { schedule, job: name } = job.definition
      if (schedule?.done === undefined) return { next: undefined, look: undefined }
      const { late, next } = await look(settings, ledger, job, schedule, now)
      if (late === undefined || told.get(name) === late.by) return { next, look: undefined }
      return {
        next,
        look: async () => {
          const about = { job: name, gateway: gatewayNameOf(settings, job.definition), at: now }
          const { fire, by } = late
          const facts = { due: fire.due, by, zone: schedule.zone, run: fire.run_id, now: fireWords(fire) }
          await teller.tell(lateNotice(about, facts), targetsOf(job))
          told.set(name, late.by)
          void teller.deliver()
        },
      }
    },
  }
}
