/**
 * Plans of runs and backfills, which `src/run/execute.ts` carries out. A backfill is one run over a range of days, oldest first; it gives way to every
 * other run at its gateway, continues afterwards, and is resumed by the next start of the command.
 */
import { type Job, type LoadedMapping, readMappings } from '../definitions/definition-files.ts'
import type { BackfillRange, ExportRecord, Ledger, RunRecord } from '../ledger/ledger.ts'
import { owedBy } from '../load/care-team-owed.ts'
import { EXIT, typedAgain, WaybillError, withRemedy } from '../model/errors.ts'
import { archiveResumed, archiveRun, isOf } from '../run/archive-exports.ts'
import { backfillCommand, rangeOf, sameRange, sourcesIn } from '../run/backfill-range.ts'
import type { RunDependencies } from '../run/events.ts'
import { lookInRange } from '../run/exports-in-range.ts'
import { divideByContents } from '../run/exports-of-run.ts'
import {
  acceptingEnds,
  type Finding,
  type FoundExport,
  findExports,
  noneFound,
  type Patience,
} from '../run/find-exports.ts'
import { createGiveWay, type Pausing, watchAsked } from '../run/lease.ts'
import { openChunksOf } from '../run/resume.ts'
import { exitOf } from '../story/balance.ts'
import { gatherStory } from '../story/facts.ts'
import type { JobEnd, RunStory } from '../story/run-story.ts'
import { present, shellWord } from '../system/shown-text.ts'
import { carryOut, type Holding, whileHeld } from './take-up.ts'
import type { WithoutOld } from './which-installation.ts'

export interface RunOptions extends WithoutOld {
  readonly files: readonly string[]
  readonly limit: number
  readonly acceptDrift: boolean
  readonly acceptEnd?: boolean | undefined
  /** Finishes the unfinished run alone: no new export is read. */
  readonly unfinishedAlone?: boolean | undefined
}

/**
 * Resumes the job's unfinished run, then runs the job over the other exports, holding the lease throughout. A backfill of the job is asked to give
 * way.
 * @throws `job-held`, `exports-none`, `mapping-invalid` …: nothing was sent
 */
export async function runJob(deps: RunDependencies, job: Job, options: RunOptions): Promise<JobEnd> {
  const mappings = await readMappings(deps.folders, job)
  return whileHeld(deps, job, false, (holding) => runWith(deps, holding, mappings, job, options))
}

const FILES = { part: 'files' } as const
const OWED = { part: 'owed' } as const

type Looking = Pick<RunDependencies, 'ledger' | 'now' | 'sleep' | 'interrupt' | 'events'>

/** Finds the exports of the job. For a roster, only the newest delivery counts, since each lists all people. */
async function findNewest(
  deps: Looking,
  arrival: Holding['arrival'],
  job: Job,
  { files, acceptEnd }: Pick<RunOptions, 'files' | 'acceptEnd'>,
): Promise<Finding> {
  const all = await findExports(arrival, job, files, deps.now, patienceOf(deps))
  const found = acceptingEnds(all.found, acceptEnd)
  if (job.definition.collect === undefined || files.length > 0) return { ...all, found }
  const newest = job.sources.flatMap((source) => found.findLast(({ rules }) => rules === source) ?? [])
  return { ...all, found: newest }
}

const patienceOf = ({ ledger, sleep, interrupt, events }: Looking): Patience => ({
  ledger,
  async wait(againInMs) {
    events.emit({ type: 'lookingTwice', againInMs })
    await sleep(againInMs, interrupt).catch((cause: unknown) => {
      const message = 'interrupted while checking whether exports still change'
      throw new WaybillError('interrupted', message, { remedy: 'Type the same command again.', cause })
    })
  },
})

async function runWith(
  deps: RunDependencies,
  holding: Holding,
  mappings: ReadonlyMap<string, LoadedMapping>,
  job: Job,
  options: RunOptions,
): Promise<JobEnd> {
  const { ledger, events } = deps
  const { held, runId, arrival } = holding
  const { limit, unfinishedAlone = false } = options
  const whole = limit === Number.POSITIVE_INFINITY
  if (options.lookFirst === true) await ledger.installation.noteBehind(deps.now() - 1)
  if (options.lookFirst === true || options.newLedger === true)
    await ledger.installation.meet(deps.gatewayName, deps.now())

  const before = await finishUnfinished(deps, holding, job, limit)
  if (before?.error !== undefined) return before
  if (unfinishedAlone && before === undefined)
    throw nothingToResume(job.definition.job, 'run', `waybill run ${shellWord(job.definition.job)}`)
  const { found, waiting, misnamed } = await findNewest(deps, arrival, job, options)
  // Otherwise the error lists the waiting exports.
  if (waiting.length > 0 && (found.length > 0 || before !== undefined))
    events.emit({ type: 'exportsWaiting', job: job.definition.job, waiting })
  const archiving = archivingOf(deps, { held, arrival })
  const { others, done } = await notReadBy(before, ledger, arrival, found)
  const resumed =
    before !== undefined && whole
      ? await current(deps, before, await archiveResumed(archiving, before.summary, done))
      : before
  if (resumed !== undefined && (unfinishedAlone || others.length === 0)) return endedBefore(resumed)
  if (others.length === 0) {
    const { jobId } = held.lease
    const owed = await owedBy({ ...job.definition.careTeams, ledger, gatewayName: deps.gatewayName, jobId })
    if (owed.length === 0) throw noneFound(job, { waiting, misnamed })
  }
  const plan = {
    records: 'send',
    job,
    id: runId,
    resumed: undefined,
    limit,
    exports: {
      from: 'found',
      found: others,
      mappings,
      acceptDrift: options.acceptDrift,
    },
    ...(others.length === 0 ? OWED : options.files.length > 0 ? FILES : {}),
  } as const
  const end = await carryOut(plan, { ...deps, held, arrival })
  const hasMoved = end.error === undefined && whole && (await archiveRun(archiving, end.summary, others))
  const ended = await current(deps, end, hasMoved)
  // An export that is not archived is left behind, too.
  return { ...ended, ...(hasMoved ? { exit: exitOf(ended.summary) } : {}), ...present({ resumed }) }
}

/** Finishes the unfinished run of the job; undefined without one. */
async function finishUnfinished(
  deps: RunDependencies,
  { held, arrival }: Holding,
  job: Job,
  limit: number,
): Promise<JobEnd | undefined> {
  const unfinished = await deps.ledger.runs.unfinished(held.lease.jobId, 'ordinary')
  if (unfinished === undefined) return undefined
  const exports = { from: 'unfinished', run: unfinished } as const
  const plan = { records: 'send', job, id: unfinished.id, resumed: unfinished, exports, limit } as const
  return carryOut(plan, { ...deps, held, arrival })
}

/** Divides exports into those that the resumed run has read, and others. */
async function notReadBy(
  resumed: RunStory | undefined,
  ledger: Pick<Ledger, 'exports'>,
  arrival: Holding['arrival'],
  found: readonly FoundExport[],
): Promise<Awaited<ReturnType<typeof divideByContents>>> {
  if (resumed === undefined) return { others: [...found], done: [] }
  // A resumed rerun has read only some rows of its exports.
  const isRerun = resumed.summary.origin !== undefined
  return divideByContents(arrival, found, isRerun ? [] : await ledger.exports.ofRun(resumed.summary.run))
}

/** End of a run that an earlier process began, where nothing else is to be run. */
const endedBefore = ({ summary, reasons }: RunStory): JobEnd => ({ summary, reasons, exit: exitOf(summary) })

/** Story with the exports at their current paths. */
const current = async <Story extends RunStory>(
  deps: Pick<RunDependencies, 'ledger' | 'home'>,
  story: Story,
  hasMoved: boolean,
): Promise<Story> => (hasMoved ? { ...story, ...(await gatherStory(deps, story.summary.run)) } : story)

/** @param command that begins anew */
export const nothingToResume = (job: string, what: 'run' | 'backfill', command: string): WaybillError =>
  new WaybillError('nothing-left', `${job} has no interrupted ${what}`, {
    remedy: `To begin one, type: ${command}`,
  })

/** Sources of the job, redirected to the folder of the range. */
export const backfillSources = ({ sources }: Job, range: BackfillRange): Job['sources'] =>
  range.in === undefined ? sources : sourcesIn(sources, range.in)

/**
 * @throws `run-unfinished` for an unfinished backfill of a different range; `job-held` by another backfill; `exports-none`; as
 * `lookInRange`: nothing was sent
 */
export async function backfillJob(deps: RunDependencies, job: Job, range: BackfillRange): Promise<JobEnd> {
  const { ledger, now } = deps
  const name = job.definition.job
  const jobId = await ledger.jobs.id(name, deps.gatewayName)
  const mappings = await readMappings(deps.folders, job)
  const giveWay = createGiveWay(deps, name, jobId)
  // Guarantees progress: if reading an export takes longer than the pauses between other runs, the backfill would start the export again
  // and again. After giving way without progress, the backfill therefore completes a chunk before the next pause.
  let hasAdvanced = true
  const once = (before: JobEnd | undefined): Promise<JobEnd> => {
    const insists = !hasAdvanced
    hasAdvanced = false
    return whileHeld(deps, job, true, async ({ held, runId, arrival }) => {
      const unfinished = await ledger.runs.unfinished(jobId, 'backfill')
      if (before !== undefined && unfinished?.id !== before.summary.run) return endedMeanwhile(deps, before)
      if (unfinished !== undefined) assertSameRange(name, unfinished, range)
      // Settles the open chunks of a killed process before giving way: the other run may be unable to.
      const underWay = new Set(unfinished === undefined ? [] : await openChunksOf(ledger, unfinished))
      const mayGiveWay = (): boolean => underWay.size === 0 && (hasAdvanced || !insists)
      const asked = watchAsked(deps, name, jobId, mayGiveWay)
      try {
        const had = unfinished === undefined ? [] : await ledger.exports.ofRun(unfinished.id)
        let exports = 0
        const onDelivery = (): void => {
          // A new delivery also means that the last export is finished, even without a sent record.
          if (++exports > 1) hasAdvanced = true
        }
        const sources = endingWith(backfillSources(job, range), asked.signal)
        const looking = { range, sources, arrival, now }
        const found = (await lookInRange(looking)).found.map((one) => one.found)
        if (found.length === 0 && unfinished === undefined) throw noneInRange(name, sources, range)
        const turn = async (signal: AbortSignal, chunk: number, pausing: Pausing): Promise<void> => {
          if (!underWay.delete(chunk)) await giveWay(signal, pausing, insists && !hasAdvanced)
          hasAdvanced = true
        }
        const acceptDrift = range.acceptDrift === true
        const plan = {
          records: 'send',
          job,
          id: unfinished?.id ?? runId,
          resumed: unfinished,
          backfill: range,
          limit: Number.POSITIVE_INFINITY,
          exports: { from: 'range', range, sources, mappings, acceptDrift },
        } as const
        const end = await carryOut(plan, { ...deps, held, arrival, turn, onDelivery })
        if (end.error !== undefined) return end
        return await archiveBackfill(deps, { held, arrival }, end, found.map(readToItsEnd), had)
      } finally {
        await asked.stop()
      }
    })
  }

  const typed = backfillCommand(name, range)
  let end: JobEnd | undefined
  do {
    const before = end
    end = await once(before).catch((error: unknown) => {
      if (!(error instanceof WaybillError)) throw error
      // The request to give way came before the start of a new chunk.
      if (error.code === 'gave-way') return before
      if (before === undefined) throw error.code === 'interrupted' ? notBegun(error, typed) : error
      return { ...before, exit: error.exit, error }
    })
  } while (end === undefined || end.error?.code === 'gave-way')
  if (end.error === undefined) return end
  return { ...end, error: typedAgain(end.error, typed) }
}

type ArchivingDependencies = Pick<RunDependencies, 'ledger' | 'home' | 'events' | 'gatewayName' | 'interrupt'>

const archivingOf = (
  { ledger, events, gatewayName, interrupt }: ArchivingDependencies,
  { held, arrival }: Pick<Holding, 'held' | 'arrival'>,
) => ({ interrupt, gatewayName, arrival, events, ledger, runLedger: ledger.runs.amend(held.lease) })

async function archiveBackfill(
  deps: ArchivingDependencies,
  { held, arrival }: Pick<Holding, 'held' | 'arrival'>,
  end: JobEnd,
  found: readonly FoundExport[],
  had: readonly ExportRecord[],
): Promise<JobEnd> {
  const archiving = archivingOf(deps, { held, arrival })
  // A newer delivery may share its name with an export that an earlier process has read.
  const { now: own = [], before: earlier = [] } = Object.groupBy(found, ({ source, delivery }) =>
    had.some(({ path }) => isOf(path, source.address(delivery.name))) ? 'before' : 'now',
  )
  const { done } = await divideByContents(arrival, earlier, await deps.ledger.exports.ofRun(end.summary.run))
  const moved = [
    await archiveRun(archiving, end.summary, own),
    await archiveResumed(archiving, end.summary, done),
  ]
  return current(deps, end, moved.includes(true))
}

/** Exports that ignore the request to give way: after loading, another run waits for the archiving. */
const readToItsEnd = (found: FoundExport): FoundExport => ({
  ...found,
  rules: { ...found.rules, limits: { ...found.rules.limits, signal: undefined } },
})

/** Sources whose exports are read until the signal aborts. */
const endingWith = (sources: Job['sources'], signal: AbortSignal): Job['sources'] =>
  sources.map((source) => ({ ...source, limits: { ...source.limits, signal } }))

/** A restart would load again the run that a person has just given up. */
async function endedMeanwhile(
  deps: Pick<RunDependencies, 'ledger' | 'home'>,
  before: JobEnd,
): Promise<JobEnd> {
  const now = await gatherStory(deps, before.summary.run)
  const { run, state, reason } = now.summary
  const how = reason === undefined ? state : `${state}, ${reason}`
  const message = `another process ended run ${run} while it gave way to a different run (${how})`
  return { ...now, exit: EXIT.jobHeld, error: new WaybillError('lease-lost', message) }
}

/** `waybill run` does not resume a backfill, and a backfill that never started has nothing to resume. */
const notBegun = (error: WaybillError, typed: string): WaybillError =>
  withRemedy(error, `Nothing was sent. To start: \`${typed}\`.`)

function assertSameRange(job: string, unfinished: RunRecord, range: BackfillRange): void {
  const before = rangeOf(unfinished)
  if (before === undefined || sameRange(before, range)) return
  throw new WaybillError(
    'run-unfinished',
    `run ${unfinished.id}, a backfill of ${before.from} to ${before.to}, is not finished`,
    {
      remedy: `Finish it first: ${backfillCommand(job, before)}. If it was a mistake, give it up: waybill resolve ${unfinished.id} --give-up`,
    },
  )
}

export function noneInRange(job: string, sources: Job['sources'], { from, to }: BackfillRange): WaybillError {
  const places = sources.map((source) => `${source.from}/${source.match}`).join(', ')
  return new WaybillError('exports-none', `the job ${job} found no exports of ${from} to ${to} (${places})`, {
    remedy: 'Check the range and the folder of the exports: --in FOLDER names a different one.',
  })
}
