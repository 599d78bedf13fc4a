/** Whether the exports have arrived that jobs expect by now: looked at, remembered, and told. */
import { type Job, readJob } from '../definitions/definition-files.ts'
import { gatewayNameOf, targetsOf } from '../definitions/jobs.ts'
import type { Assessment } from '../expect/assess.ts'
import { type ExpectationParts, judgeJob } from '../expect/expectation-watch.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { Application } from './application.ts'
import { sourceSettings } from './connect-gateway.ts'
import { listJobs } from './scheduled-jobs.ts'
import { createTeller } from './teller.ts'

export interface Expected {
  /** Jobs that expect anything. */
  readonly jobs: readonly Job[]
  /** Of those whose time has come. */
  readonly found: readonly Assessment[]
  /** Job files that are wrong. */
  readonly problems: readonly { readonly name: string; readonly problem: WaybillError }[]
}

/** @param name undefined: all jobs that expect anything. @throws WaybillError `usage-wrong` where the named one does not */
export async function lookForExpected(application: Application, name: string | undefined): Promise<Expected> {
  const { jobs, problems } = await expectingJobs(application, name)
  return { jobs, problems, found: jobs.length === 0 ? [] : await judgeJobs(application, jobs) }
}

async function expectingJobs(
  { settings }: Application,
  name: string | undefined,
): Promise<Pick<Expected, 'jobs' | 'problems'>> {
  const expects = ({ sources }: Job): boolean => sources.some(({ expect }) => expect !== undefined)
  if (name !== undefined) {
    const job = await readJob(settings, name)
    if (expects(job)) return { jobs: [job], problems: [] }
    throw new WaybillError('usage-wrong', `the job ${job.definition.job} expects nothing`, {
      remedy:
        'Write `expect: { by: "30 1 * * 1-5", zone: America/New_York }` under its exports: docs/jobs.md, "Expected".',
    })
  }
  const listed = await listJobs(settings)
  return {
    jobs: listed.flatMap((one) => ('job' in one && expects(one.job) ? [one.job] : [])),
    problems: listed.flatMap((one) => ('problem' in one ? [one] : [])),
  }
}

async function judgeJobs(application: Application, jobs: readonly Job[]): Promise<Assessment[]> {
  const ledger = await application.openLedger()
  try {
    const teller = createTeller(application, ledger)
    const parts = expectationParts(application, ledger, (job, notice) => teller.tell(notice, targetsOf(job)))
    const found: Assessment[] = []
    for (const job of jobs) found.push(...(await judgeJob(parts, job)))
    await teller.deliver()
    return found
  } finally {
    await ledger.close()
  }
}

/** A look that has taken so long is given up: the next one may do better, and the job is to be looked at again. */
const PATIENCE_MS = 5 * 60_000

export const expectationParts = (
  { settings, now, interrupt }: Application,
  ledger: Ledger,
  tell: ExpectationParts['tell'],
): ExpectationParts => ({
  ledger,
  gatewayOf: (job) => gatewayNameOf(settings, job.definition),
  sources: sourceSettings(settings),
  now,
  patience: () => AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), interrupt]),
  tell,
})
