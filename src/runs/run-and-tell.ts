/** Runs a job and tells its targets how that ended. The end is the same whatever becomes of the notifications. */
import { parse as parsePath } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { readGatewayName, readTargets, targetsOf } from '../definitions/jobs.ts'
import type { Target } from '../definitions/notify-definition.ts'
import { smallNotice } from '../expect/expectation-text.ts'
import { isToldMissing } from '../expect/expectation-watch.ts'
import { type Ledger, processName } from '../ledger/ledger.ts'
import { endingOf, WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import {
  type About,
  brokenOffNotice,
  deadRunNotice,
  driftNotice,
  type EndedRun,
  heldNotice,
  refusalNotice,
  runNotice,
} from '../notify/run-notices.ts'
import type { RunDependencies } from '../run/events.ts'
import type { JobEnd } from '../run/execute.ts'
import { reasonsOfRun } from '../run/held-back.ts'
import { nextSteps, type Step } from '../run/next-steps.ts'
import { exitOf, type RunSummary, summarise } from '../run/summary.ts'
import { shellWord } from '../shown-text.ts'
import type { Application } from './application.ts'
import { isNothingFound } from './scheduled-jobs.ts'
import { createTeller, type Teller, tellAtOnce } from './teller.ts'

/** What was thrown and told already. */
const TOLD = new WeakSet<object>()

export interface ToldRun {
  readonly teller: Teller
  readonly deps: RunDependencies
  readonly job: Job
  /** What to type next; otherwise as `waybill show` says. */
  readonly next?: (summary: RunSummary) => readonly Step[]
  /** Whether it is told where nothing could be run; not where somebody has just typed what is refused. */
  readonly refusals: boolean | ((error: unknown) => Promise<boolean>)
  /** Runs the job with what it is handed. */
  readonly work: (deps: RunDependencies) => Promise<JobEnd>
}

/** @returns what `work` returns; what it throws is told, and thrown again. How it ended is still to be delivered */
export async function runAndTell(
  { logger }: Pick<Application, 'logger'>,
  { teller, deps, job, next = (summary) => nextSteps(summary, [], shellWord), refusals, work }: ToldRun,
): Promise<JobEnd> {
  const targets = targetsOf(job)
  const name = job.definition.job
  if (targets.length === 0) return work(deps)
  const { ledger, now } = deps
  const about = (): About => ({ job: name, gateway: deps.gatewayName, at: now() })
  const quietly = async (tell: () => Promise<void>): Promise<void> => {
    await tell().catch(() =>
      logger.warn('how the run ended cannot be told: the ledger cannot be read', { job: name }),
    )
  }
  const tellRun = async (summary: RunSummary, how: Pick<EndedRun, 'exit' | 'error'>): Promise<void> => {
    // What is known is told, also where the ledger says no more.
    const reasons = await reasonsOfRun(ledger, summary.run).catch(() => [])
    await teller.tell(runNotice({ summary, ...how, reasons, next: next(summary), at: now() }), targets)
  }
  // Who is told what is refused runs the job itself, and so goes on with it; a rerun or a backfill does not.
  await quietly(() => tellDeadRun(teller, deps, name, targets, refusals !== false))
  // What is known before the run need not wait for its end, nor the run for that: who delivers how it ended waits for both.
  void teller.deliver()
  let noted: Promise<void> = Promise.resolve()
  const begun = new Set<string>()
  // The run does not wait for it, and whoever is told need not wait for the end of the run.
  const note = (notice: UnsentNotice): void => {
    noted = noted.then(() => teller.tell(notice, targets)).then(() => void teller.deliver())
  }
  const events = deps.events.with({
    runStarted: ({ id }) => void begun.add(id),
    exportSmall: (small) => note(smallNotice(about(), [...begun].at(-1) ?? '', small)),
    exportDrifted({ findings: all, isSmall, ...drifted }) {
      const findings = isSmall ? all.filter(({ measure }) => measure !== 'rows') : all
      if (findings.length > 0) note(driftNotice(about(), [...begun].at(-1) ?? '', { ...drifted, findings }))
    },
  })
  try {
    const end = await work({ ...deps, events })
    await quietly(async () => {
      const { summary, exit, error } = end
      if (summary.resumed !== undefined) await tellRun(summary.resumed, { exit: exitOf(summary.resumed) })
      // Whoever has taken the run over tells how it ends.
      if (error?.code !== 'lease-lost') await tellRun(summary, { exit, error: error?.code })
    })
    return end
  } catch (error) {
    await quietly(async () => {
      let stopped = false
      for (const id of begun) {
        const summary = await summarise(ledger, deps.home, id).catch(() => undefined)
        stopped = summary?.state !== 'finished'
        if (summary !== undefined) await tellRun(summary, stopped ? endOf(error) : { exit: exitOf(summary) })
        // Only the last one can have been under way when the ledger failed.
        else if (id === [...begun].at(-1)) await teller.tell(brokenOffNotice(about(), id, error), targets)
      }
      const isTold = typeof refusals === 'boolean' ? refusals : await refusals(error)
      // That nothing has come is told once, by whoever looked for it.
      const isKnown = isNothingFound(error) && (await isToldMissing(deps, job))
      if (!stopped && isTold && !isKnown) await tellRefusal(teller, deps, about(), targets, error)
    })
    if (typeof error === 'object' && error !== null) TOLD.add(error)
    throw error
  } finally {
    await noted
  }
}

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

/** Until another run has begun, the same refusal is told once. */
const latestRun = async (ledger: Pick<Ledger, 'runs'>, job: string): Promise<string | undefined> =>
  (await ledger.runs(1, { job }))[0]?.id

/** @returns whether somebody holds the job */
export async function tellHolder(
  teller: Teller,
  ledger: Pick<Ledger, 'jobId' | 'lastLease'>,
  about: About,
  targets: readonly Target[],
  now: () => number,
): Promise<boolean> {
  const lease = await ledger.lastLease(await ledger.jobId(about.job, about.gateway))
  if (lease === undefined || lease.expires_at <= now()) return false
  const { owner, run_id: run, acquired_at: since } = lease
  await teller.tell(heldNotice(about, { owner: processName(owner), run, since }), targets)
  return true
}

/**
 * Tells of a run that is `running` though nobody runs it. To be called while this process runs nothing of the job.
 * @param goesOn whether this process is to go on with the job's ordinary run; a backfill goes on when somebody types it
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
  const jobId = await ledger.jobId(job, gateway)
  const lease = await ledger.lastLease(jobId)
  if (lease === undefined || (lease.expires_at > now() && !isDead(lease.owner))) return
  for (const kind of ['ordinary', 'backfill'] as const) {
    const run = await ledger.unfinishedRun(jobId, kind)
    if (run?.state !== 'running' || run.id !== lease.run_id) continue
    // What was read one after the other is true of one instant only where nobody has taken the job meanwhile; and who ends a run does so
    // before letting the job go.
    if ((await ledger.lastLease(jobId))?.token !== lease.token) return
    const { owner, acquired_at: since } = lease
    const about = { job, gateway, at: now() }
    const holder = { owner: processName(owner), run: run.id, since }
    await teller.tell(deadRunNotice(about, holder, goesOn && kind === 'ordinary'), targets)
  }
}

/** Tells what keeps a job from being run before there is anything to run it with: a wrong job file, a ledger that cannot be opened. */
export async function tellingRefusals<Result>(
  context: Application,
  name: string,
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act()
  } catch (error) {
    const told = typeof error === 'object' && error !== null && TOLD.has(error)
    const targets = told ? undefined : await readTargets(context.settings, name)
    if (targets !== undefined && targets.length > 0)
      await tellUnopened(context, parsePath(name).name, targets, error)
    throw error
  }
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
