/**
 * Actions on runs, as values: the only entry, for the command line and for `openWaybill`. Each action opens and closes the ledger. A single
 * process at a time runs a job; any other gets `job-held`.
 */
import { resolve } from 'node:path'
import { type Job, readJob, readMappings } from '../definitions/definition-files.ts'
import { assertTellable, chooseGateway, gatewayNameOf } from '../definitions/jobs.ts'
import { NONE_ASIDE } from '../ledger/audit.ts'
import type { BackfillRange, Ledger, RunFilter, RunRecord, Selection } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { notingRefusedStart } from '../needs/refused-starts.ts'
import { noteWaitingExports } from '../needs/waiting-exports.ts'
import { withPassingArrival } from '../run/arrival.ts'
import { assertDated, rangeOf, readRange } from '../run/backfill-range.ts'
import { type Counted, countDelivered } from '../run/count-exports.ts'
import { createRunEvents, type RunDependencies, type RunListener } from '../run/events.ts'
import { execute } from '../run/execute.ts'
import { lookInRange } from '../run/exports-in-range.ts'
import { acceptingEnds, findExports, noneFound } from '../run/find-exports.ts'
import { leftIn } from '../story/balance.ts'
import { gatherStory } from '../story/facts.ts'
import type { JobEnd, RunStory } from '../story/run-story.ts'
import { present, shellWord } from '../system/shown-text.ts'
import {
  type AmendingDependencies,
  amendRun,
  assertNoneUnfinished,
  assertSameGateway,
  findRun,
  nameRun,
  type RunOfJob,
} from './amend-run.ts'
import { type Application, findJobOfRun, withKnownLedger, withLedgerIfAny } from './application.ts'
import { askForReport, asksWorkers, askWorkers } from './ask-workers.ts'
import {
  type BackfillLook,
  type BackfillPlan,
  leftOut,
  type PlanParts,
  planBackfill,
} from './backfill-plan.ts'
import { type BeginWatch, begin, followed } from './begin.ts'
import { openRunDependencies, type RunWatch, sourceSettings } from './connect-gateway.ts'
import { doubtsOf } from './doubtful-mappings.ts'
import { followByHeartbeat } from './heartbeats.ts'
import { type NewReasons, newReasons } from './new-reasons.ts'
import {
  Findings,
  type Reconciled,
  reconcileRun,
  type SampleSize,
  type Verified,
  verifyRun,
  withRunAgain,
} from './reconcile.ts'
import { acceptInDoubt, giveUp, type Person, resendInDoubt } from './resolve.ts'
import {
  backfillJob,
  backfillSources,
  noneInRange,
  nothingToResume,
  type RunOptions,
  runJob,
} from './run-job.ts'
import { followRefusals } from './run-notices.ts'
import { assertOwnHome } from './shared-home.ts'
import { rerunJob } from './take-up.ts'
import { type Trace, type TracedRow, traceRecord, traceRow } from './trace.ts'
import { identityToLook } from './which-installation.ts'

/** `Waybill.run`. @param name of the job, or of the job file */
export function beginRun(
  application: Application,
  watch: BeginWatch,
  name: string,
  options: RunOptions,
): Promise<JobEnd> {
  const { settings, now } = application
  if (asksWorkers(application, options)) return askForRun(application, watch, name, options)
  // A part of the exports says nothing about the night.
  const isPart = options.files.length > 0 || options.limit !== Number.POSITIVE_INFINITY
  const start = (): Promise<JobEnd> =>
    followed([followRefusals(application, name)], async () => {
      const { job, gateway } = runnable(application, await readJob(settings, name))
      const endOf = ({ exit, error }: JobEnd) => ({ exit, code: error?.code })
      return followed(isPart ? [] : [followByHeartbeat(application, job, endOf)], () =>
        begin(application, watch, {
          job,
          gateway,
          refusals: true,
          without: options,
          work: (deps) => notingWaiting(deps, job, options, (noted) => runJob(noted, job, options)),
        }),
      )
    })
  // A person who names files sees the error.
  return notingRefusedStart({ home: settings.home, now, notes: options.files.length === 0 }, name, start)
}

/** @throws WaybillError for a job or mapping that is wrong here: no worker is asked */
async function askForRun(
  application: Application,
  watch: BeginWatch,
  name: string,
  { files, limit, acceptDrift, acceptEnd, unfinishedAlone }: RunOptions,
): Promise<JobEnd> {
  const asked = runnable(application, await readJob(application.settings, name))
  await readMappings(application.settings, asked.job)
  const request = {
    what: 'run',
    job: name,
    files: files.map((file) => resolve(file)),
    ...present({ acceptDrift, acceptEnd, unfinishedAlone }),
    ...(Number.isFinite(limit) ? { limit } : {}),
  } as const
  return askWorkers(application, watch, { ...asked, request })
}

async function notingWaiting(
  deps: RunDependencies,
  { definition: { job } }: Job,
  { files, unfinishedAlone }: RunOptions,
  work: (deps: RunDependencies) => Promise<JobEnd>,
): Promise<JobEnd> {
  let waiting: readonly string[] = []
  const events = deps.events.with({
    exportsWaiting: (event) => {
      waiting = event.waiting
    },
  })
  const end = await work({ ...deps, events })
  if (end.error === undefined && files.length === 0 && unfinishedAlone !== true)
    noteWaitingExports(deps.home, job, waiting, deps.now())
  return end
}

/** Finishes the interrupted run of a job; reads no new exports. @throws `nothing-left` without such a run */
export const resumeRun = (application: Application, watch: BeginWatch, name: string): Promise<JobEnd> =>
  beginRun(application, watch, name, {
    files: [],
    limit: Number.POSITIVE_INFINITY,
    acceptDrift: false,
    unfinishedAlone: true,
  })

/** Continues the interrupted backfill of a job. @throws `nothing-left` without one */
export async function resumeBackfill(
  application: Application,
  watch: BeginWatch,
  name: string,
): Promise<JobEnd> {
  const { settings } = application
  const { definition } = await readJob(settings, name)
  const range = await withKnownLedger(application, async (ledger) => {
    const jobId = await ledger.jobs.id(definition.job, gatewayNameOf(settings, definition))
    const unfinished = await ledger.runs.unfinished(jobId, 'backfill')
    return unfinished && rangeOf(unfinished)
  })
  if (range === undefined)
    throw nothingToResume(
      definition.job,
      'backfill',
      `waybill backfill ${shellWord(definition.job)} --from DAY --to DAY`,
    )
  return beginBackfill(application, watch, name, range)
}

export interface DryRunResult extends Counted {
  readonly job: string
  readonly dryRun: true
  /** Reasons that the last run of the job did not have; undefined without a last run. */
  readonly newReasons?: NewReasons
}

/** Maps and counts the exports of a job; sends and writes nothing. @throws as a run does, and `exports-none` */
export async function tryRun(
  application: Application,
  name: string,
  { files, limit, acceptDrift, acceptEnd, ...without }: RunOptions,
): Promise<DryRunResult> {
  const { settings, now } = application
  const job = await readJob(settings, name)
  assertTellable(settings, job)
  const tried = (ledger?: Ledger) =>
    withPassingArrival(sourceSettings(application), async (arrival) => {
      const gateway = gatewayNameOf(settings, job.definition)
      const jobId = await ledger?.jobs.known(job.definition.job, gateway)
      const identity = await identityToLook(application, ledger)
      const known = jobId === undefined || ledger === undefined ? undefined : { jobId, gateway }
      const countBefore = known && ledger && countDelivered(ledger, identity, known)
      const mappings = await readMappings(settings, job)
      const { found, ...others } = await findExports(arrival, job, files, now)
      if (found.length === 0) throw noneFound(job, others)
      const doubts = await doubtsOf(settings, mappings.values())
      const events = createRunEvents()
      // A file that a person names is read.
      const aside =
        known === undefined || files.length > 0 ? NONE_ASIDE : await ledger?.putAside.contents(known.jobId)
      const world = {
        arrival,
        ledger,
        aside: aside ?? NONE_ASIDE,
        countDelivered: countBefore,
        identity,
        now,
        doubts,
        events,
      }
      const exports = {
        from: 'found',
        found: acceptingEnds(found, acceptEnd),
        mappings,
        acceptDrift,
      } as const
      const counted = await execute({ records: 'count', job, limit, exports }, world)
      const { job: ofJob } = job.definition
      const anew = ledger && (await newReasons(ledger, { job: ofJob, gateway }, counted.reasons))
      return { job: ofJob, dryRun: true as const, ...counted, ...present({ newReasons: anew }) }
    })
  if (without.newKey === true) return tried()
  const mayBegin = without.lookFirst === true || without.newLedger === true
  return withLedgerIfAny(application, tried, mayBegin ? 'work' : 'refuse')
}

/** Plans a backfill; sends and writes nothing. @param onExport called before each export is counted */
export async function tryBackfill(
  application: Application,
  name: string,
  range: BackfillRange,
  onExport: PlanParts['onExport'],
): Promise<BackfillPlan> {
  const { settings, now } = application
  const job = await readDated(application, name, range)
  const gateway = gatewayNameOf(settings, job.definition)
  const parts = { folders: settings, home: settings.home, gateway, now, onExport }
  return withLedgerIfAny(application, (ledger) =>
    withPassingArrival(sourceSettings(application), (arrival) =>
      planBackfill({ ...parts, ledger, arrival }, job, range),
    ),
  )
}

/**
 * `Waybill.backfill`; gives way to other runs of the job.
 * @param onFound called with the found exports before any is opened; without exports no ledger is made
 */
export async function beginBackfill(
  application: Application,
  watch: BeginWatch,
  name: string,
  range: BackfillRange,
  onFound?: (job: string, look: BackfillLook) => void,
): Promise<JobEnd> {
  const { job, gateway } = runnable(application, await readDated(application, name, range))
  if (onFound !== undefined) onFound(job.definition.job, await lookBefore(application, job, range))
  if (asksWorkers(application))
    return askWorkers(application, watch, { job, gateway, request: { what: 'backfill', job: name, range } })
  return begin(application, watch, {
    job,
    gateway,
    refusals: false,
    requestsPerSecond: range.rate,
    work: (deps) => backfillJob(deps, job, range),
  })
}

/** `Waybill.rerun`. */
export async function beginRerun(
  application: Application,
  watch: BeginWatch,
  run: string,
  only: Exclude<Selection, 'decided'> = 'left-behind',
): Promise<JobEnd> {
  const { job, gateway, id } = await findJobOfRun(application, run)
  assertTellable(application.settings, job)
  if (asksWorkers(application)) {
    const request = { what: 'rerun', job: job.definition.job, run: id, only } as const
    return askWorkers(application, watch, { job, gateway, request })
  }
  return begin(application, watch, {
    job,
    gateway,
    refusals: false,
    work: async (deps) => rerunJob(deps, job, await findRun(deps.ledger, id), only),
  })
}

/** Runs to choose among those that left something behind. */
export interface RunChoice extends Pick<RunFilter, 'job' | 'reason' | 'export' | 'since'> {
  /** Id, or what names a run. */
  readonly run?: string | undefined
}

/** Runs that have ended, left something behind, and fit the choice; oldest first. @throws `nothing-left` for none; `run-not-found` */
export const chooseRuns = (
  application: Application,
  { run, ...choice }: RunChoice,
): Promise<readonly { readonly run: string; readonly job: string; readonly startedAt: number }[]> =>
  withKnownLedger(application, async (ledger) => {
    const among = run === undefined ? undefined : [(await nameRun(ledger, run)).id]
    const only = { ...choice, among, failed: true, states: ['finished', 'failed'] } as const
    const runs = await ledger.runs.list(Number.MAX_SAFE_INTEGER, only)
    if (runs.length === 0)
      throw new WaybillError('nothing-left', 'no run with something left behind fits this choice', {
        remedy: 'See what is left with `waybill needs`.',
      })
    return runs.map(({ id, job, started_at }) => ({ run: id, job, startedAt: started_at })).reverse()
  })

/**
 * Does to each chosen run what `act` does to one, oldest first. Passes over a run that an earlier one has settled; an interrupt leaves out the rest.
 * @returns the runs; `result` is undefined for a run that was left out
 * @throws `nothing-left` for no run; `run-not-found`; errors of `act`
 */
export async function forChosen<Result>(
  application: Application,
  choice: RunChoice,
  act: (run: string) => Promise<Result>,
): Promise<readonly { readonly run: string; readonly result: Result | undefined }[]> {
  const ends: { run: string; result: Result | undefined }[] = []
  for (const { run } of await chooseRuns(application, choice)) {
    if (application.interrupt.aborted) {
      ends.push({ run, result: undefined })
      continue
    }
    try {
      ends.push({ run, result: await act(run) })
    } catch (error) {
      if (!(error instanceof WaybillError && error.code === 'nothing-left')) throw error
    }
  }
  return ends
}

/** Looks for the exports of a range. None is an error, unless an unfinished backfill has taken them all. @throws `exports-none` */
async function lookBefore(application: Application, job: Job, range: BackfillRange): Promise<BackfillLook> {
  const { settings, now } = application
  const { definition } = job
  const mappings = await readMappings(settings, job)
  const sources = backfillSources(job, range)
  const look = await withPassingArrival(sourceSettings(application), (arrival) =>
    lookInRange({ range, sources, arrival, now }),
  )
  const { found } = look
  const unfinished = async (ledger?: Ledger): Promise<RunRecord | undefined> =>
    ledger?.runs.unfinished(
      await ledger.jobs.id(definition.job, gatewayNameOf(settings, definition)),
      'backfill',
    )
  if (found.length === 0 && (await withLedgerIfAny(application, unfinished)) === undefined)
    throw noneInRange(definition.job, sources, range)
  return { found, ...leftOut(job, range, look, mappings) }
}

async function readDated({ settings }: Application, name: string, { from, to }: BackfillRange): Promise<Job> {
  readRange(from, to, `waybill backfill ${name}`)
  const job = await readJob(settings, name)
  assertDated(job.definition.job, job.sources)
  return job
}

function runnable({ settings }: Application, job: Job): { readonly job: Job; readonly gateway: string } {
  assertTellable(settings, job)
  return { job, gateway: chooseGateway(settings, job) }
}

/** Traces a record. @throws `transaction-not-found` */
export const trace = (application: Application, transactionId: string): Promise<Trace> =>
  withKnownLedger(application, (ledger) => traceRecord(ledger, transactionId))

/** Traces a row of the latest export with a name. @throws `transaction-not-found` */
export const traceExportRow = (
  application: Application,
  name: string,
  place: Parameters<typeof traceRow>[2],
): Promise<TracedRow> => withKnownLedger(application, (ledger) => traceRow(ledger, name, place))

export interface ReconciledRun extends Reconciled, RunStory {
  readonly run: string
  readonly inDoubt: number
  readonly reads: number
  readonly verified?: Verified | undefined
}

/** `Waybill.reconcile`. @param verify compares accepted records with the profiles, of all people or of a sample */
export async function reconcile(
  application: Application,
  watch: RunWatch,
  id: string,
  verify?: { readonly sample: SampleSize; readonly seed?: string | undefined },
): Promise<ReconciledRun> {
  const { job, gateway, id: exact } = await findJobOfRun(application, id)
  if (asksWorkers(application)) {
    const request = {
      what: 'reconcile',
      job: job.definition.job,
      run: exact,
      ...present({ verify }),
    } as const
    const { report } = await askForReport(application, {}, { job, gateway, request })
    return withKnownLedger(application, (ledger) =>
      reconciledRun({ ledger, home: application.settings.home }, exact, Findings.parse(report)),
    )
  }
  const deps = await openRunDependencies(application, watch, gateway)
  try {
    const { ledger } = deps
    const named = await findRun(ledger, id)
    assertSameGateway(named, deps.gatewayName)
    const findings = await amendRun(deps, named, async (amending) => {
      const { run } = amending
      await assertNoneUnfinished(ledger, run, run.id)
      return withRunAgain(deps, job, run, amending, async (again) => {
        const settled = await reconcileRun(again)
        const verified = verify && (await verifyRun(again, verify.sample, verify.seed ?? run.id))
        return { ...settled, reads: again.reads, verified }
      })
    })
    return await reconciledRun(deps, named.id, findings)
  } finally {
    await deps.close()
  }
}

async function reconciledRun(
  deps: Parameters<typeof gatherStory>[0],
  run: string,
  findings: Omit<ReconciledRun, 'run' | 'inDoubt' | keyof RunStory>,
): Promise<ReconciledRun> {
  const shown = await gatherStory(deps, run)
  const inDoubt = leftIn(shown.summary).inDoubt + (await deps.ledger.left.unasked(run))
  return { ...findings, run, inDoubt, ...shown }
}

export interface DecidedOn extends RunStory {
  readonly records: number
}

/** `Waybill.accept`. @param transactions ids of the records; empty: all */
export async function accept(
  application: Application,
  listener: RunListener,
  id: string,
  person: Person,
  transactions: readonly string[] = [],
): Promise<DecidedOn> {
  const [records, story] = await decideOn(application, listener, id, (deps, run) =>
    acceptInDoubt(deps, run, transactions, person),
  )
  return { records, ...story }
}

/** `Waybill.resend`, as a new run. */
export async function resend(
  application: Application,
  watch: RunWatch,
  id: string,
  person: Person,
  transactions: readonly string[] = [],
): Promise<DecidedOn & { readonly resent: JobEnd }> {
  const { job, gateway, id: exact } = await findJobOfRun(application, id)
  if (asksWorkers(application)) {
    const request = { what: 'resend', job: job.definition.job, run: exact, transactions, ...person } as const
    const { end } = await askForReport(application, {}, { job, gateway, request })
    return withKnownLedger(application, async (ledger) => {
      let records = 0
      for (const one of await ledger.exports.ofRun(exact))
        records += (await ledger.left.decidedContents(one.id, end.summary.run)).size
      const story = await gatherStory({ ledger, home: application.settings.home }, exact)
      return { records, resent: end, ...story }
    })
  }
  const deps = await openRunDependencies(application, watch, gateway)
  try {
    const run = await findRun(deps.ledger, id)
    const { decided, ...resent } = await resendInDoubt(deps, job, run, transactions, person)
    return { records: decided, resent, ...(await gatherStory(deps, run.id)) }
  } finally {
    await deps.close()
  }
}

/** `Waybill.giveUp`. Records in flight are recognised when they come again. */
export const abandon = (
  application: Application,
  listener: RunListener,
  id: string,
  person: Person,
): Promise<RunStory> =>
  decideOn(application, listener, id, (deps, run) => giveUp(deps, run, person)).then(([, story]) => story)

const decideOn = <Done>(
  application: Application,
  listener: RunListener,
  id: string,
  decide: (deps: AmendingDependencies, run: RunOfJob) => Promise<Done>,
): Promise<readonly [Done, RunStory]> =>
  withKnownLedger(application, async (ledger) => {
    const { home } = application.settings
    const deps = { ...application, home, ledger, events: createRunEvents(listener) }
    await assertOwnHome(application, ledger)
    const run = await findRun(ledger, id)
    const done = await decide(deps, run)
    return [done, await gatherStory(deps, run.id)]
  })
