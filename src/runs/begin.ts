/** Begins a run and sees it to its end: its targets are notified, and the metrics of its job's last run are written. */
import type { Job } from '../definitions/definition-files.ts'
import { targetsOf } from '../definitions/jobs.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import type { JobEnd } from '../run/execute.ts'
import type { Application } from './application.ts'
import { lastRunFile, tellingLastRun } from './last-run.ts'
import { mailedReport, runAndTell } from './run-and-tell.ts'
import { createTeller } from './teller.ts'
import { type RunWatch, withRunDependencies } from './with-gateways.ts'

export interface Beginning {
  readonly job: Job
  /** As `chooseGateway` gives it. */
  readonly gateway: string
  /** Whether targets are notified, too, where nothing could be run: not where somebody has just typed what is refused. */
  readonly refusals: boolean
  /** Requests a second at most. */
  readonly requestsPerSecond?: number | undefined
  readonly work: (deps: RunDependencies) => Promise<JobEnd>
}

export interface BeginWatch extends RunWatch {
  /** Called when the run has ended, before its notifications are delivered: that may take ten seconds. */
  readonly onEnd?: (end: JobEnd, ledger: Pick<Ledger, 'reasonsOf'>) => Promise<void>
}

/** @throws what `work` throws: then nothing was run */
export function begin(
  application: Application,
  watch: BeginWatch,
  { job, gateway, refusals, requestsPerSecond, work }: Beginning,
): Promise<JobEnd> {
  return withRunDependencies(application, watch, gateway, async (opened) => {
    const { ledger } = opened
    const deps = { ...opened, requestsPerSecond }
    const name = job.definition.job
    const known = new Map([[name, targetsOf(job)]])
    const teller = createTeller(application, ledger, known, mailedReport(application, ledger))
    const tell = lastRunFile(application)
    const told = (given: RunDependencies): Promise<JobEnd> =>
      tellingLastRun(application, given, { job: name, tell, refusals }, () => work(given))
    try {
      const end = await runAndTell(application, { teller, deps, job, refusals, work: told })
      await watch.onEnd?.(end, ledger)
      return end
    } finally {
      await teller.deliver()
    }
  })
}
