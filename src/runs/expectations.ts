/** State of scheduled jobs: fires and current run. Looks for expected exports, and notifies the result. */
import { type Job, readJob } from '../definitions/definition-files.ts'
import type { Expectation } from '../definitions/export-definition.ts'
import { gatewayNameOf, readGatewayName, targetsOf } from '../definitions/jobs.ts'
import { type Assessment, countWords } from '../expect/expectation-text.ts'
import { type ExpectationParts, judgeJob, watchedSources } from '../expect/expectation-watch.ts'
import type { DeadlineRecord, ExpectationKey, FireRecord, Ledger, Pause } from '../ledger/ledger.ts'
import { allDone, WaybillError } from '../model/errors.ts'
import { comeDue, firesAfter, ON_TIME_MS } from '../schedule/fires.ts'
import type { JobSchedule, ListedJob } from '../schedule/schedule-parts.ts'
import { underWay } from '../story/facts.ts'
import type { RunActivity } from '../story/run-story.ts'
import { type Application, withLedgerIfAny } from './application.ts'
import { sourceSettings } from './connect-gateway.ts'
import { createJobList, listJobs, withMappings } from './scheduled-jobs.ts'
import { createTeller } from './teller.ts'

interface Expected {
  readonly jobs: readonly Job[]
  readonly found: readonly Assessment[]
  readonly problems: readonly { readonly name: string; readonly problem: WaybillError }[]
}

/** @param name undefined: all jobs with an expectation. @throws `usage-wrong` if the named job has none */
export async function lookForExpected(application: Application, name: string | undefined): Promise<Expected> {
  const { jobs, problems } = await expectingJobs(application, name)
  return { jobs, problems, found: jobs.length === 0 ? [] : await judgeJobs(application, jobs) }
}

/** Result of a look in one line. */
export const expectedWords = (found: Assessment): string =>
  `${found.watched.key.source}: ${found.state}, ${countWords(found)}`

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
  const teller = createTeller(application, ledger)
  try {
    const parts = expectationParts(application, ledger, async (job, notice) => {
      await teller.tell(notice, targetsOf(job))
      // Other sources may take minutes to answer.
      void teller.deliver()
    })
    return (await allDone(jobs.map((job) => judgeJob(parts, job)))).flat()
  } finally {
    await teller.deliver()
    await ledger.close()
  }
}

/** Time limit of a look. The next look may succeed, and the job still has to run. */
const PATIENCE_MS = 5 * 60_000

export const expectationParts = (
  application: Pick<Application, 'settings' | 'now' | 'interrupt'>,
  ledger: Ledger,
  tell: ExpectationParts['tell'],
): ExpectationParts => ({
  ledger,
  gatewayOf: (job) => gatewayNameOf(application.settings, job.definition),
  sources: sourceSettings(application),
  now: application.now,
  patience: () => AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), application.interrupt]),
  tell,
})

const LAST = 10
const NEXT = 5

export interface ExplainedJob {
  readonly job: string
  readonly schedule: JobSchedule | undefined
  readonly problem: WaybillError | undefined
  readonly pause: Pause | undefined
  /** Current run, in any process. */
  readonly current: (RunActivity & { readonly kind: 'under-way'; readonly run: string }) | undefined
  /** Newest first. */
  readonly last: readonly FireRecord[]
  readonly next: readonly number[]
  readonly zone: string
  readonly expected: readonly ExplainedExpectation[]
}

/** @param name undefined: all jobs of the folder with a schedule, an expectation or an invalid file */
export async function explainJobs(
  application: Application,
  name: string | undefined,
): Promise<readonly ExplainedJob[]> {
  const { settings } = application
  const jobs =
    name === undefined
      ? await createJobList(settings)()
      : [await withMappings(settings, named(await readJob(settings, name)))]
  return withLedgerIfAny(application, async (ledger) => {
    const all: ExplainedJob[] = []
    for (const job of jobs) all.push(await explain(application, ledger, job))
    return all.filter(
      ({ schedule, problem, expected }) =>
        schedule !== undefined || problem !== undefined || expected.length > 0 || name !== undefined,
    )
  })
}

const named = (job: Job) => ({
  name: job.definition.job,
  job,
  schedule: job.definition.schedule,
})

async function explain(
  { settings, now, isDead }: Application,
  ledger: Ledger | undefined,
  listed: ListedJob<Job>,
): Promise<ExplainedJob> {
  const at = now()
  const schedule = 'problem' in listed ? undefined : listed.schedule
  const jobId = await ledger?.jobs.known(listed.name, await readGatewayName(settings, listed.name))
  const { fires, known } = await readFires(ledger, jobId)
  const holder = jobId === undefined ? undefined : await ledger?.leases.holder(jobId, at, isDead)
  const dues = known === undefined ? [] : (comeDue(known, schedule, at)?.fires ?? [])
  const state = schedule?.missed === 'skip' ? 'skipped' : 'missed'
  const unseen = dues
    .filter((due) => at - due >= ON_TIME_MS)
    .map((due): FireRecord => ({ ...NOTHING_KNOWN, due, state, reason: 'not-scheduled' }))
  const upcoming = schedule === undefined ? [] : firesAfter(schedule, at)
  return {
    job: listed.name,
    schedule,
    problem: 'problem' in listed ? listed.problem : undefined,
    pause: jobId === undefined ? undefined : await ledger?.pauses.of(jobId, at),
    current: holder && { run: holder.run_id, ...underWay(holder) },
    last: [...unseen.reverse(), ...fires].slice(0, LAST),
    next: Iterator.from(upcoming).take(NEXT).toArray(),
    zone: schedule?.zone ?? known?.zone ?? 'Etc/UTC',
    expected: listed.job === undefined ? [] : await explainExpectations(ledger, listed.job, at),
  }
}

/** Fire that is missing in the ledger: no schedule has seen it yet. */
const NOTHING_KNOWN = {
  job_id: 0,
  made_up_by: null,
  owner: null,
  run_id: null,
  begun_at: null,
  ended_at: null,
  exit: null,
  error: null,
  detail: null,
  retry_at: null,
}

async function readFires(ledger: Ledger | undefined, jobId: number | undefined) {
  if (ledger === undefined || jobId === undefined) return { fires: [], known: undefined }
  return { fires: await ledger.fires.latest(jobId, LAST), known: await ledger.fires.timetable(jobId) }
}

export interface ExplainedExpectation {
  readonly key: ExpectationKey
  readonly expect: Expectation
  /** Undefined before the first look. */
  readonly last: DeadlineRecord | undefined
  readonly next: number
}

async function explainExpectations(
  ledger: Ledger | undefined,
  job: Job,
  now: number,
): Promise<ExplainedExpectation[]> {
  return Promise.all(
    watchedSources(job).map(async ({ key, expect }) => ({
      key,
      expect,
      last: (await ledger?.expectations.judged(key))?.[0],
      next: firesAfter({ cron: expect.by, zone: expect.zone }, now).next().value,
    })),
  )
}
