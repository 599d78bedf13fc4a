/** A run that is under way, in whatever process: it is watched, or asked to stop. A job that the schedule is to leave alone. */
import { readJob } from '../definitions/definition-files.ts'
import { gatewayNameOf } from '../definitions/jobs.ts'
import { WaybillError } from '../model/errors.ts'
import { LOOK_EVERY_MS } from '../run/lease.ts'
import { activityOf } from '../run/summary.ts'
import { nameRun } from './amend-run.ts'
import { type Application, withKnownLedger } from './application.ts'
import { type ShownRun, showRun } from './listed-runs.ts'
import type { Person } from './resolve.ts'

/**
 * Asks whoever runs it to stop: what is under way is finished, and the next run of the job goes on with it. Waits until it has ended.
 * @param by who asks
 * @throws WaybillError `run-not-found`; `nothing-left` where it is not under way
 */
export async function stopRun(application: Application, name: string, by: string): Promise<ShownRun> {
  const run = await withKnownLedger(application, async (ledger) => {
    const found = await nameRun(ledger, name)
    const activity = await activityOf(ledger, found, application.now(), application.isDead)
    const isUnderWay = activity?.kind === 'under-way'
    if (isUnderWay && (await ledger.askToStop(found.id, by, application.now()))) return found.id
    throw new WaybillError('nothing-left', `run ${found.id} is not under way`)
  })
  return watchRun(application, run)
}

/**
 * Keeps the schedule from beginning anything of a job, or lets it go on; what is under way ends by itself, and what is typed is run.
 * @returns whether that changed anything
 * @throws WaybillError `job-not-found`
 */
export async function pauseJob(
  application: Application,
  name: string,
  pause: Person | 'over',
): Promise<{ readonly job: string; readonly changed: boolean }> {
  const { settings } = application
  const { definition } = await readJob(settings, name)
  const ledger = await application.openLedger()
  try {
    const jobId = await ledger.jobId(definition.job, gatewayNameOf(settings, definition))
    const changed =
      pause === 'over'
        ? await ledger.pauses.end(jobId)
        : await ledger.pauses.begin(jobId, { ...pause, at: application.now() })
    return { job: definition.job, changed }
  } finally {
    await ledger.close()
  }
}

/**
 * Waits until the run is not under way any more.
 * @param onLook told what it has come to so far, first at once, then each second
 * @throws WaybillError `run-not-found`; `interrupted`: the run itself goes on
 */
export async function watchRun(
  application: Application,
  name: string | undefined,
  onLook: (shown: ShownRun) => void = () => {},
): Promise<ShownRun> {
  const { interrupt, sleep } = application
  let run = name
  for (;;) {
    const shown = await showRun(application, run)
    run = shown.summary.run
    if (shown.summary.activity?.kind !== 'under-way') return shown
    onLook(shown)
    await sleep(LOOK_EVERY_MS, interrupt).catch(() => {})
    if (interrupt.aborted)
      throw new WaybillError('interrupted', `run ${run} is watched no longer; it goes on`, {
        remedy: `Type \`waybill watch ${run}\` to watch it again, or \`waybill stop ${run}\` to end it.`,
      })
  }
}
