/**
 * Retries the rows that a run left behind, as a new run: reads, maps and sends again what is not delivered yet. Each delivered record settles a
 * leftover of the first run.
 */
import { basename } from 'node:path'
import {
  type Job,
  type LoadedMapping,
  loadMapping,
  readDecidedMapping,
} from '../definitions/definition-files.ts'
import type { ExportRecord, RunKind, Selection } from '../ledger/ledger.ts'
import { WaybillError, withRemedy } from '../model/errors.ts'
import { type Arrival, createArrival, type ReceivedExport, spoolFolder } from '../run/arrival.ts'
import type { RunDependencies } from '../run/events.ts'
import { execute } from '../run/execute.ts'
import { receiveBegun } from '../run/exports-of-run.ts'
import { joinAndKeep, keptMapping, rejoin } from '../run/joined-exports.ts'
import { type HeldJob, holdJob, settledOnly } from '../run/lease.ts'
import type { ChosenExport, PlannedExports, RunPlan, World } from '../run/plan.ts'
import { openChunksOf } from '../run/resume.ts'
import { exitOf } from '../story/balance.ts'
import { gatherStory } from '../story/facts.ts'
import type { JobEnd } from '../story/run-story.ts'
import { present } from '../system/shown-text.ts'
import { assertNoneUnfinished, assertSameGateway, type RunOfJob } from './amend-run.ts'

interface TakingUp {
  readonly run: RunOfJob
  readonly selection: Selection
  /** Selects the exports of the run with rows to retry. Called under the lease. */
  readonly concerned: (exports: readonly ExportRecord[]) => Promise<ReadonlySet<ExportRecord['id']>>
  /** The current mapping, or the mapping of the run. */
  readonly mapping: 'today' | 'kept'
  /** Called after `concerned`: a person's decision, to be stored before any export is read. */
  readonly decided?: () => Pick<Extract<PlannedExports, { readonly from: 'run' }>, 'decided'>
}

/**
 * Holds the lease from the look to the end. A backfill of the job is asked to give way; open chunks of a killed one are settled first.
 * @throws `gateway-differs`, `nothing-left`, `export-gone`, `job-held`, `run-unfinished`; `interrupted` before the start
 */
export async function takeUp(deps: RunDependencies, job: Job, taking: TakingUp): Promise<JobEnd> {
  const { run } = taking
  assertSameGateway(run, deps.gatewayName)
  return whileHeld(deps, job, false, async ({ held, runId, arrival }) => {
    await assertNoneUnfinished(deps.ledger, run)
    const chosen = await findToTakeUp(deps, arrival, job, taking).catch(nothingDone)
    const origin = { run: run.id, selection: taking.selection }
    const exports = { from: 'run', chosen, ...taking.decided?.() } as const
    const plan = {
      records: 'send',
      job,
      id: runId,
      resumed: undefined,
      exports,
      origin,
      limit: Number.POSITIVE_INFINITY,
    } as const
    return carryOut(plan, { ...deps, held, arrival })
  })
}

function nothingDone(error: unknown): never {
  if (!(error instanceof WaybillError) || error.code !== 'interrupted') throw error
  throw withRemedy(error, 'Nothing was changed. Repeat the command.')
}

async function findToTakeUp(
  deps: Pick<RunDependencies, 'ledger' | 'folders' | 'events' | 'interrupt'>,
  arrival: Arrival,
  job: Job,
  { run, concerned, mapping }: TakingUp,
): Promise<ChosenExport[]> {
  const found: ChosenExport[] = []
  const records = await deps.ledger.exports.ofRun(run.id)
  const meant = await concerned(records)
  const mappingOf = mappingReader(deps, arrival, job, mapping)
  for (const [at, record] of records.entries()) {
    deps.events.emit({ type: 'lookingAgain', run: run.id, number: at + 1, of: records.length })
    if (!meant.has(record.id)) continue
    const received = await receiveOriginal(arrival, job, record)
    found.push({ record, received, mapping: await mappingOf(record, received) })
  }
  // Stops before the start: a started run would be resumed by the next run, and sent.
  deps.interrupt.throwIfAborted()
  if (found.length > 0) return found
  throw new WaybillError('nothing-left', `run ${run.id} has nothing left to retry`)
}

type NamedExport = ExportRecord & { readonly mapping: string | null }

/** Compiles a mapping once for all exports that use it: compiling takes longer than finding an export. */
function mappingReader(
  { ledger, folders }: Pick<RunDependencies, 'ledger' | 'folders'>,
  arrival: Arrival,
  job: Job,
  which: TakingUp['mapping'],
): (record: NamedExport, received: ReceivedExport) => Promise<LoadedMapping> {
  const kept = new Map<string, LoadedMapping>()
  const ofToday = new Map<string, LoadedMapping>()
  // A source may name its mapping by a path.
  const mappingOfToday = async (name: string): Promise<LoadedMapping> => {
    const paths = job.sources.map((source) => source.mapping)
    const path = paths.find((one) => basename(one).replace(/\.ya?ml$/, '') === name)
    return readDecidedMapping(folders, path ?? name, job.catalog)
  }
  return async (record, { beside }) => {
    if (which === 'kept') {
      const { mapping_digest: digest } = record
      const before = kept.get(digest) ?? loadMapping(await keptMapping(ledger, record))
      kept.set(digest, before)
      const joinsNone = Object.keys(before.joined).length === 0
      return joinsNone ? before : rejoin(before.content, record.name, arrival.kept, beside)
    }
    const name = record.mapping ?? loadMapping(await keptMapping(ledger, record)).name
    const today = ofToday.get(name) ?? (await mappingOfToday(name))
    ofToday.set(name, today)
    return joinAndKeep(arrival, today, { name: record.name, beside })
  }
}

/**
 * Finds the exact file that a run read, at its first place or in the job's archive.
 * @param otherwise next step if the file is gone
 * @throws `export-gone`
 */
export async function receiveOriginal(
  arrival: Arrival,
  job: Job,
  record: ExportRecord,
  otherwise = `correct the rejects file of the run and run it: waybill run ${job.definition.job} --file PATH`,
): Promise<ReceivedExport> {
  const { name, path, sha256 } = record
  const received = await receiveBegun(arrival, job.sources, record)
  if (received !== undefined) return received
  throw new WaybillError('export-gone', `${name} is no longer at ${path}, or has changed`, {
    place: { file: path },
    remedy: `Put the file with the SHA-256 ${sha256} back. If that is impossible, ${otherwise}`,
  })
}

/** @throws as `takeUp` */
export async function rerunJob(
  deps: RunDependencies,
  job: Job,
  run: RunOfJob,
  selection: Exclude<Selection, 'decided'>,
): Promise<JobEnd> {
  const { left } = deps.ledger
  return takeUp(deps, job, {
    run,
    selection,
    mapping: 'today',
    async concerned(exports) {
      const ids = new Set<number>()
      for (const { id } of exports)
        if ((await left.rows({ exportRow: id, selection, runId: run.id }, -1, 1)).length > 0) ids.add(id)
      return ids
    },
  })
}

/**
 * Settles the open chunks of the job's other unfinished run, and leaves that run unfinished.
 * @returns the end of the run if settling failed; the caller must then send nothing
 */
async function settleOpenChunks(
  deps: RunDependencies,
  job: Job,
  held: HeldJob,
  kind: RunKind,
): Promise<JobEnd | undefined> {
  const { ledger, home } = deps
  const { jobId } = held.lease
  const unfinished = await ledger.runs.unfinished(jobId, kind)
  if (unfinished === undefined) return undefined
  const open = await openChunksOf(ledger, unfinished)
  if (open.size === 0) return undefined
  const arrival = createArrival(spoolFolder(home, jobId, kind), deps.sources)
  const turn = async (_signal: AbortSignal, chunk: number): Promise<void> => {
    if (!open.has(chunk)) throw settledOnly()
  }
  const plan = {
    records: 'send',
    settlesOnly: true,
    job,
    id: unfinished.id,
    resumed: unfinished,
    limit: Number.POSITIVE_INFINITY,
    exports: { from: 'unfinished', run: unfinished },
  } as const
  try {
    const end = await carryOut(plan, { ...deps, held, arrival, turn })
    return end.error?.code === 'gave-way' ? undefined : end
  } finally {
    await arrival.close(true)
  }
}

/** Carries a plan out, and gathers the story of its run. */
export async function carryOut(plan: RunPlan, world: World): Promise<JobEnd> {
  const { run, worked, error } = await execute(plan, world)
  const story = await gatherStory(world, run, worked)
  return { ...story, exit: error?.exit ?? exitOf(story.summary), ...present({ error }) }
}

export interface Holding {
  readonly held: HeldJob
  readonly runId: string
  readonly arrival: Arrival
}

/**
 * Waits for the lease, if either run is a backfill; settles open chunks of the job's other unfinished run; works.
 * @param givesWay true for a backfill
 * @throws `job-held`; `interrupted` while waiting; `usage-wrong` for parts with a ledger in a file
 */
export async function whileHeld(
  deps: RunDependencies,
  job: Job,
  givesWay: boolean,
  work: (holding: Holding) => Promise<JobEnd>,
): Promise<JobEnd> {
  const name = job.definition.job
  if (job.definition.parts > 1 && deps.ledger.paces === undefined)
    throw new WaybillError('usage-wrong', `the job ${name} has parts, which need a ledger in PostgreSQL`, {
      remedy: 'Take `parts` out of the job, or set WAYBILL_LEDGER: docs/scale.md, "One export in parts".',
    })
  const jobId = await deps.ledger.jobs.id(name, deps.gatewayName)
  const runId = deps.newRunId()
  const held = await holdJob(deps, { jobId, job: name, runId, givesWay, besideParts: !givesWay })
  try {
    const [own, other] = givesWay ? (['backfill', 'ordinary'] as const) : (['ordinary', 'backfill'] as const)
    const sources = { ...deps.sources, signal: AbortSignal.any([deps.interrupt, held.lost, held.stopped]) }
    const stopped = await settleOpenChunks({ ...deps, sources }, job, held, other)
    if (stopped !== undefined) return stopped
    const arrival = createArrival(spoolFolder(deps.home, jobId, own), sources)
    let ended = false
    try {
      const end = await work({ held, runId, arrival })
      ended = end.error === undefined
      return end
    } finally {
      // A process that resumes the run needs the fetched files.
      await arrival.close(!ended)
    }
  } finally {
    await held.release()
  }
}
