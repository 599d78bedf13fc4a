/**
 * A backfill: one run over the exports of a range of days, oldest first. It gives way to all other runs at its gateway, and goes on when
 * they are over; killed, it goes on when it is typed again.
 */
import { WaybillError } from '../errors.ts'
import type { BackfillRange, RunRecord } from '../ledger/ledger.ts'
import { archiveRun } from './archive-exports.ts'
import { createArrival } from './arrival.ts'
import { backfillExports, findInRange } from './backfill-exports.ts'
import { backfillCommand, rangeOf, sourcesIn } from './backfill-range.ts'
import { carryOut, type JobEnd } from './carry-out.ts'
import { type Job, readMappings } from './definition-files.ts'
import { createGiveWay } from './give-way.ts'
import type { RunDependencies } from './run-dependencies.ts'
import { spoolFolder } from './spool-folder.ts'
import { whileHeld } from './while-held.ts'

export interface BackfillOptions {
  readonly range: BackfillRange
  /** Take exports as they are, however they differ from earlier deliveries. */
  readonly acceptDrift: boolean
}

/** The job, with its exports where the range says that they lie. */
export const backfillSources = ({ sources }: Job, range: BackfillRange): Job['sources'] =>
  range.in === undefined ? sources : sourcesIn(sources, range.in)

/**
 * @throws WaybillError `run-unfinished` where a backfill of another range is; `job-held` by another backfill; `exports-none`; as
 *   `findInRange`: nothing was sent
 */
export async function backfillJob(
  deps: RunDependencies,
  job: Job,
  { range, acceptDrift }: BackfillOptions,
): Promise<JobEnd> {
  const { ledger, events, now } = deps
  const name = job.definition.job
  const jobId = await ledger.jobId(name, deps.gatewayName)
  const mappings = await readMappings(deps.folders, job)
  const turn = createGiveWay(deps, name, jobId)
  let position: Parameters<RunDependencies['events']['exportStarted']>[0]['position']
  const watched: RunDependencies = {
    ...deps,
    events: {
      ...events,
      exportStarted: (started) => events.exportStarted({ ...started, position }),
    },
  }
  const once = (): Promise<JobEnd> =>
    whileHeld(watched, job, true, async (held, runId) => {
      const unfinished = await ledger.unfinishedRun(jobId, 'backfill')
      if (unfinished !== undefined) assertSameRange(name, unfinished, range)
      const arrival = createArrival(spoolFolder(deps.home, jobId, 'backfill'), deps.sources)
      let ended = false
      try {
        const onPosition = (at: typeof position): void => {
          position = at
        }
        const sources = backfillSources(job, range)
        const parts = { range, sources, mappings, ledger, arrival, now, onPosition }
        const found = (await findInRange(parts)).map((one) => one.found)
        if (found.length === 0 && unfinished === undefined) throw noneInRange(name, sources, range)
        const opening = {
          ...{ id: unfinished?.id ?? runId, resumed: unfinished, backfill: range, turn },
          limit: Number.POSITIVE_INFINITY,
        }
        const end = await carryOut(watched, job, held, opening, (run) =>
          backfillExports(run, parts, unfinished, {
            ...{ ledger, job: name, rules: job.definition.drift, accept: acceptDrift },
            ...{ readsAhead: true, whole: true, now: run.export.startedAt },
          }),
        )
        ended = end.error === undefined
        if (ended) await archiveRun({ arrival, events }, ledger, end.summary, found)
        return end
      } finally {
        await arrival.close(!ended)
      }
    })

  let end: JobEnd | undefined
  do {
    end = await once().catch((error: unknown) => {
      if (end === undefined || !(error instanceof WaybillError)) throw error
      return { summary: end.summary, exit: error.exit, error }
    })
  } while (end.error?.code === 'gave-way')
  return end
}

function assertSameRange(job: string, unfinished: RunRecord, range: BackfillRange): void {
  const before = rangeOf(unfinished)
  if (before === undefined) return
  if (before.from === range.from && before.to === range.to && before.in === range.in) return
  throw new WaybillError(
    'run-unfinished',
    `run ${unfinished.id}, a backfill of ${before.from} to ${before.to}, is not finished`,
    { remedy: `Finish it first: ${backfillCommand(job, before)}` },
  )
}

export function noneInRange(job: string, sources: Job['sources'], { from, to }: BackfillRange): WaybillError {
  const places = sources.map((source) => `${source.from}/${source.match}`).join(', ')
  return new WaybillError('exports-none', `the job ${job} found no exports of ${from} to ${to} (${places})`, {
    remedy: 'Check the range, and where the exports lie: --in FOLDER takes them from elsewhere.',
  })
}
