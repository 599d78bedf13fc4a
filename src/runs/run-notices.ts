/** Notifies the targets of a job of its runs. A failed notification never changes the outcome of a run. */
import { parse as parsePath } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { readGatewayName, readTargets, targetsOf } from '../definitions/jobs.ts'
import type { Target } from '../definitions/notify-definition.ts'
import { smallNotice } from '../expect/expectation-text.ts'
import { isReportedMissing } from '../expect/expectation-watch.ts'
import { type FireRecord, type Ledger, processName } from '../ledger/ledger.ts'
import { EXIT, endingOf, WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import type { RunDependencies, RunListener } from '../run/events.ts'
import { exitOf } from '../story/balance.ts'
import { gatherStory } from '../story/facts.ts'
import { nextSteps, type Step } from '../story/next-steps.ts'
import {
  type About,
  brokenOffNotice,
  deadRunNotice,
  driftNotice,
  type EndedRun,
  heldNotice,
  recoveredNotice,
  refusalNotice,
  runNotice,
} from '../story/notices.ts'
import type { JobEnd, RunStory, RunSummary } from '../story/run-story.ts'
import { shellWord } from '../system/shown-text.ts'
import { type Application, withLedgerIfAny } from './application.ts'
import type { Follower } from './follower.ts'
import { isNothingFound } from './scheduled-jobs.ts'
import { createTeller, lastTargets, type Teller, tellAtOnce } from './teller.ts'

/** Errors that were notified already. */
const REPORTED = new WeakSet<object>()

export interface Noticed {
  readonly teller: Teller
  readonly deps: Pick<RunDependencies, 'ledger' | 'home' | 'gatewayName' | 'now' | 'isDead'>
  readonly job: Job
  /** Next steps in the notice, where other than the steps of `waybill show`. */
  readonly next?: (summary: RunSummary) => readonly Step[] | undefined
  /** True to notify a run that was refused; false if the person who typed the command sees the error. */
  readonly refusals: boolean | ((error: unknown) => Promise<boolean>)
  /** True for an end after which the run is tried again: the last try is notified alone. */
  readonly isTriedAgain?: (code: string | undefined) => boolean
}

type NoticeFollower = Follower<JobEnd> & { readonly listener?: RunListener }

/** Notifies strange exports, and the end of the run. */
export function followByNotices({ logger }: Pick<Application, 'logger'>, run: Noticed): NoticeFollower {
  const { teller, deps, job, refusals, isTriedAgain = () => false } = run
  const targets = targetsOf(job)
  if (targets.length === 0) return {}
  const name = job.definition.job
  const about = (): About => ({ job: name, gateway: deps.gatewayName, at: deps.now() })
  const tell = (notice: UnsentNotice): Promise<void> => teller.tell(notice, targets)
  const quietly = (work: () => Promise<void>): Promise<void> =>
    work().catch(() =>
      logger.warn('the end of the run cannot be notified: the ledger cannot be read', { job: name }),
    )
  const during = noticesDuringRun(teller, targets, about)
  return {
    listener: during.listener,
    async begun() {
      // A caller that notifies refusals runs the job itself, and so resumes a dead run; a rerun or a backfill does not.
      await quietly(() => tellDeadRun(teller, deps, name, targets, refusals !== false))
      // Delivers earlier notices during the run. The last delivery waits for this one, too.
      void teller.deliver()
    },
    async ended(end) {
      await quietly(async () => {
        const { resumed, exit, error } = end
        // Before the notice of the end: a target that gets every end has heard of the failure last.
        if (refusals !== false && isGood(end)) await tell(recoveredNotice(about(), end))
        if (resumed !== undefined) await tell(noticeOf(run, resumed))
        // The process that took the run over notifies its end.
        if (error?.code !== 'lease-lost' && !isTriedAgain(error?.code))
          await tell(noticeOf(run, end, { exit, error: error?.code }))
      })
      await during.end()
    },
    async failed(error) {
      await quietly(async () => {
        const stopped = await tellBrokenOff(run, during.begun, about(), targets, error)
        const isReported = typeof refusals === 'boolean' ? refusals : await refusals(error)
        // The watch of expectations has notified the missing export already.
        const isKnown = isNothingFound(error) && (await isReportedMissing(deps, job))
        const isLast = !isTriedAgain(endingOf(error).code)
        if (!stopped && isReported && isLast && !isKnown)
          await tellRefusal(teller, deps, about(), targets, error)
      })
      if (typeof error === 'object' && error !== null) REPORTED.add(error)
      await during.end()
    },
  }
}

/** Neither waits for the other: the run continues, and the notice does not wait for the end. */
function noticesDuringRun(teller: Teller, targets: readonly Target[], about: () => About) {
  const begun = new Set<string>()
  let noted: Promise<void> = Promise.resolve()
  const note = (notice: UnsentNotice): void => {
    noted = noted.then(() => teller.tell(notice, targets)).then(() => void teller.deliver())
  }
  const latest = (): string => [...begun].at(-1) ?? ''
  return {
    /** Runs begun so far, the latest last. */
    begun,
    listener: {
      runStarted: ({ id }) => void begun.add(id),
      exportSmall: (small) => note(smallNotice(about(), latest(), small)),
      exportDrifted({ findings: all, isSmall, ...drifted }) {
        const findings = isSmall ? all.filter(({ measure }) => measure !== 'rows') : all
        if (findings.length > 0) note(driftNotice(about(), latest(), { ...drifted, findings }))
      },
    } satisfies RunListener,
    end: () => noted,
  }
}

const noticeOf = (
  { next, deps }: Noticed,
  { summary, reasons }: RunStory,
  how: Pick<EndedRun, 'exit' | 'error'> = { exit: exitOf(summary) },
): UnsentNotice =>
  runNotice({
    summary,
    reasons,
    ...how,
    next: next?.(summary) ?? nextSteps(summary, [], shellWord),
    at: deps.now(),
  })

/** Notifies the runs of a call that broke off. @returns true if the last of them is unfinished */
async function tellBrokenOff(
  run: Noticed,
  begun: ReadonlySet<string>,
  about: About,
  targets: readonly Target[],
  error: unknown,
): Promise<boolean> {
  const { teller, deps } = run
  let stopped = false
  for (const id of begun) {
    const story = await gatherStory(deps, id).catch(() => undefined)
    stopped = story?.summary.state !== 'finished'
    if (story !== undefined)
      await teller.tell(noticeOf(run, story, stopped ? endOf(error) : undefined), targets)
    // Only the last run can have been in progress when the ledger failed.
    else if (id === [...begun].at(-1)) await teller.tell(brokenOffNotice(about, id, error), targets)
  }
  return stopped
}

/** True for a whole run of the job with nothing left behind. */
const isGood = ({ exit, summary: { state, origin, backfill } }: JobEnd): boolean =>
  exit === EXIT.ok && state === 'finished' && origin === undefined && backfill === undefined

function endOf(error: unknown): Pick<EndedRun, 'exit' | 'error'> {
  const { code, exit } = endingOf(error)
  return { exit, error: code }
}

async function tellRefusal(
  teller: Teller,
  { ledger, now }: Pick<RunDependencies, 'ledger' | 'now'>,
  about: About,
  targets: readonly Target[],
  error: unknown,
): Promise<void> {
  const isHeld = error instanceof WaybillError && error.code === 'job-held'
  if (isHeld && (await tellHolder(teller, ledger, about, targets, now))) return
  await teller.tell(refusalNotice(about, error, await latestRun(ledger, about.job)), targets)
}

/** Until the next run starts, equal refusals are notified once. */
const latestRun = async (ledger: Pick<Ledger, 'runs'>, job: string): Promise<string | undefined> =>
  (await ledger.runs.list(1, { job }))[0]?.id

/** @returns true if another process holds the job */
export async function tellHolder(
  teller: Teller,
  ledger: Pick<Ledger, 'jobs' | 'leases'>,
  about: About,
  targets: readonly Target[],
  now: () => number,
): Promise<boolean> {
  const jobId = await ledger.jobs.id(about.job, about.gateway)
  const lease = await ledger.leases.holder(jobId, now(), () => false)
  if (lease === undefined) return false
  const { owner, run_id: run, acquired_at: since } = lease
  await teller.tell(heldNotice(about, { owner: processName(owner), run, since }), targets)
  return true
}

/**
 * Notifies a run that is `running` in the ledger and whose process has ended. Call only while this process runs nothing of the job.
 * @param goesOn true if this process will resume the job's ordinary run; a backfill resumes only when typed
 */
export async function tellDeadRun(
  teller: Teller,
  {
    ledger,
    gatewayName: gateway,
    now,
    isDead,
  }: Pick<RunDependencies, 'ledger' | 'gatewayName' | 'now' | 'isDead'>,
  job: string,
  targets: readonly Target[],
  goesOn: boolean,
): Promise<void> {
  const jobId = await ledger.jobs.id(job, gateway)
  const lease = await ledger.leases.last(jobId)
  if (lease === undefined || (await ledger.leases.holder(jobId, now(), isDead)) !== undefined) return
  for (const kind of ['ordinary', 'backfill'] as const) {
    const run = await ledger.runs.unfinished(jobId, kind)
    if (run?.state !== 'running' || run.id !== lease.run_id) continue
    // Reads the lease again: lease and run belong to one moment only if no process took the job in between, since a process ends a run
    // before it releases the lease.
    if ((await ledger.leases.last(jobId))?.token !== lease.token) return
    const { owner, acquired_at: since } = lease
    const about = { job, gateway, at: now() }
    const holder = { owner: processName(owner), run: run.id, since }
    await teller.tell(deadRunNotice(about, holder, goesOn && kind === 'ordinary'), targets)
  }
}

/** Notifies the end of a run whose tries are over without another one. The last try was not notified. */
export async function tellLastTry(
  teller: Teller,
  deps: Pick<RunDependencies, 'ledger' | 'home'>,
  about: About,
  targets: readonly Target[],
  { run_id, exit, ended_at }: FireRecord,
): Promise<void> {
  const story = run_id === null ? undefined : await gatherStory(deps, run_id)
  // A person, or a run typed by hand, has ended the run.
  if (targets.length === 0 || story?.summary.state !== 'interrupted') return
  const next = nextSteps(story.summary, [], shellWord)
  const end = { exit: exit ?? EXIT.interrupted, next, at: ended_at ?? about.at }
  await teller.tell(runNotice({ ...story, ...end }), targets)
}

/** Notifies errors before the start of a run: an invalid job file, or a ledger that cannot be opened. */
export const followRefusals = (application: Application, name: string): Follower<JobEnd> => ({
  async failed(error) {
    const isReported = typeof error === 'object' && error !== null && REPORTED.has(error)
    if (!isReported) await tellRefused(application, name, error)
  },
})

async function tellRefused(context: Application, name: string, error: unknown): Promise<void> {
  const job = parsePath(name).name
  const targets = await readTargets(context.settings, name)
  if (targets !== undefined) {
    if (targets.length > 0) await tellUnopened(context, job, targets, error)
    return
  }
  // A name without a file is most often mistyped.
  if (endingOf(error).code === 'job-not-found') return
  // The error itself may be that of the ledger.
  const last = await withLedgerIfAny(context, async (ledger) => ledger && lastTargets(ledger, job)).catch(
    () => undefined,
  )
  if (last !== undefined && last.length > 0) await tellUnopened(context, job, last, error)
}

async function tellUnopened(
  context: Application,
  job: string,
  targets: readonly Target[],
  error: unknown,
): Promise<void> {
  const { settings, now } = context
  const about = { job, gateway: await readGatewayName(settings, job), at: now() }
  const ledger = await context.openLedger().catch(() => undefined)
  if (ledger === undefined) return tellAtOnce(context, refusalNotice(about, error), targets)
  try {
    const notice = refusalNotice(about, error, await latestRun(ledger, job))
    const teller = createTeller(context, ledger, new Map([[job, targets]]))
    await teller.tell(notice, targets)
    await teller.deliver()
  } finally {
    await ledger.close()
  }
}
