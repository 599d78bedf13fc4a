/**
 * A backfill: one run over the exports of a range of days, oldest first. It gives way to all other runs at its gateway, and goes on when
 * they are over; killed, it goes on when it is typed again.
 */
import { type Job, readMappings } from '../definitions/definition-files.ts'
import type { BackfillRange, RunRecord } from '../ledger/ledger.ts'
import { EXIT, typedAgain, WaybillError, withRemedy } from '../model/errors.ts'
import { archiveRun } from '../run/archive-exports.ts'
import { backfillCommand, rangeOf, sameRange, sourcesIn } from '../run/backfill-range.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { execute, type JobEnd } from '../run/execute.ts'
import { lookInRange } from '../run/exports-in-range.ts'
import { createGiveWay, type Pausing, watchAsked } from '../run/lease.ts'
import { openChunksOf } from '../run/resume.ts'
import { summarise } from '../run/summary.ts'
import { whileHeld } from './while-held.ts'

/** The job, with its exports where the range says that they lie. */
export const backfillSources = ({ sources }: Job, range: BackfillRange): Job['sources'] =>
  range.in === undefined ? sources : sourcesIn(sources, range.in)

/**
 * @throws WaybillError `run-unfinished` where a backfill of another range is; `job-held` by another backfill; `exports-none`; as
 *   `lookInRange`: nothing was sent
 */
export async function backfillJob(deps: RunDependencies, job: Job, range: BackfillRange): Promise<JobEnd> {
  const { ledger, events, now } = deps
  const name = job.definition.job
  const jobId = await ledger.jobId(name, deps.gatewayName)
  const mappings = await readMappings(deps.folders, job)
  const giveWay = createGiveWay(deps, name, jobId)
  // An export that takes longer to read than others leave the job alone would be read from its start for ever: who has given way before it
  // had begun a chunk, begins one the next time before it gives way again.
  let hasAdvanced = true
  const once = (before: JobEnd | undefined): Promise<JobEnd> => {
    const insists = !hasAdvanced
    hasAdvanced = false
    return whileHeld(deps, job, true, async ({ held, runId, arrival }) => {
      const unfinished = await ledger.unfinishedRun(jobId, 'backfill')
      if (before !== undefined && unfinished?.id !== before.summary.run) return endedMeanwhile(deps, before)
      if (unfinished !== undefined) assertSameRange(name, unfinished, range)
      // What a killed process had under way is settled before anybody goes first, who might not be able to.
      const underWay = new Set(unfinished === undefined ? [] : await openChunksOf(ledger, unfinished))
      const mayGiveWay = (): boolean => underWay.size === 0 && (hasAdvanced || !insists)
      const asked = watchAsked(deps, name, jobId, mayGiveWay)
      try {
        let exports = 0
        const onDelivery = (): void => {
          // One of which nothing could be sent is done with, too.
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
          ...{ job, id: unfinished?.id ?? runId, resumed: unfinished, backfill: range },
          limit: Number.POSITIVE_INFINITY,
          exports: { from: 'range', range, sources, mappings, acceptDrift },
        } as const
        const end = await execute(plan, { ...deps, held, arrival, turn, onDelivery })
        if (end.error !== undefined) return end
        const { gatewayName, home } = deps
        const archiving = {
          ...{ gatewayName, arrival, events, ledger, home },
          runLedger: ledger.amendRun(held.lease),
        }
        return { ...end, summary: await archiveRun(archiving, end.summary, found) }
      } finally {
        await asked.stop()
      }
    })
  }

  const typed = backfillCommand(name, range)
  let end: JobEnd | undefined
  do {
    end = await once(end).catch((error: unknown) => {
      if (!(error instanceof WaybillError)) throw error
      if (end === undefined) throw error.code === 'interrupted' ? notBegun(error, typed) : error
      return { summary: end.summary, exit: error.exit, error }
    })
  } while (end.error?.code === 'gave-way')
  if (end.error === undefined) return end
  return { ...end, error: typedAgain(end.error, typed) }
}

/** Sources whose exports are read until the signal is aborted. */
const endingWith = (sources: Job['sources'], signal: AbortSignal): Job['sources'] =>
  sources.map((source) => ({ ...source, limits: { ...source.limits, signal } }))

/** Begun anew, it would load once more what a person has just given up. */
async function endedMeanwhile({ ledger, home }: RunDependencies, { summary }: JobEnd): Promise<JobEnd> {
  const now = await summarise(ledger, home, summary.run)
  const how = now.reason === undefined ? now.state : `${now.state}, ${now.reason}`
  const message = `run ${summary.run} was ended by somebody else while it let another one go first (${how})`
  return { summary: now, exit: EXIT.jobHeld, error: new WaybillError('lease-lost', message) }
}

/** `waybill run` does not go on with a backfill, and where nothing was begun there is nothing to go on with. */
const notBegun = (error: WaybillError, typed: string): WaybillError =>
  withRemedy(error, `Nothing was sent. To begin: \`${typed}\`.`)

function assertSameRange(job: string, unfinished: RunRecord, range: BackfillRange): void {
  const before = rangeOf(unfinished)
  if (before === undefined || sameRange(before, range)) return
  throw new WaybillError(
    'run-unfinished',
    `run ${unfinished.id}, a backfill of ${before.from} to ${before.to}, is not finished`,
    {
      remedy: `Finish it first: ${backfillCommand(job, before)}; or, where it was a mistake, give it up: waybill resolve ${unfinished.id} --give-up`,
    },
  )
}

export function noneInRange(job: string, sources: Job['sources'], { from, to }: BackfillRange): WaybillError {
  const places = sources.map((source) => `${source.from}/${source.match}`).join(', ')
  return new WaybillError('exports-none', `the job ${job} found no exports of ${from} to ${to} (${places})`, {
    remedy: 'Check the range, and where the exports lie: --in FOLDER takes them from elsewhere.',
  })
}
