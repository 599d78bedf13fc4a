/**
 * A backfill: one run over the exports of a range of days, oldest first. It gives way to all other runs at its gateway, and goes on when
 * they are over; killed, it goes on when it is typed again.
 */
import { type Job, type LoadedMapping, readMappings } from '../definitions/definition-files.ts'
import type { JobSource } from '../definitions/export-definition.ts'
import { carryOut, type JobEnd } from '../run/execute.ts'
import type { OpenRun } from '../run/open-run.ts'
import type { BackfillRange, Ledger, RunRecord } from '../ledger/ledger.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { summarise } from '../run/summary.ts'
import { archiveRun } from '../run/archive-exports.ts'
import { type Arrival, createArrival, spoolFolder } from '../run/arrival.ts'
import {
  backfillCommand,
  type Dated,
  inRange,
  isMemberOf,
  isOpen,
  rangeOf,
  remedyWith,
  sameRange,
  sourcesIn,
} from '../run/backfill-range.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import type { DriftMemory } from '../run/drift-watch.ts'
import type { RangePosition } from '../run/events.ts'
import { type ExportStep, resumeExports, startExports } from '../run/exports-of-run.ts'
import type { FoundExport } from '../run/find-exports.ts'
import type { Pausing } from '../run/lease.ts'
import { createGiveWay, watchAsked } from '../run/lease.ts'
import { openChunksOf, whileHeld } from '../run/resume.ts'

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
    return whileHeld(deps, job, true, async (held, runId) => {
      const unfinished = await ledger.unfinishedRun(jobId, 'backfill')
      if (before !== undefined && unfinished?.id !== before.summary.run) return endedMeanwhile(deps, before)
      if (unfinished !== undefined) assertSameRange(name, unfinished, range)
      // What a killed process had under way is settled before anybody goes first, who might not be able to.
      const underWay = new Set(unfinished === undefined ? [] : await openChunksOf(ledger, unfinished))
      const mayGiveWay = (): boolean => underWay.size === 0 && (hasAdvanced || !insists)
      const asked = watchAsked(deps, name, jobId, mayGiveWay)
      const arrival = createArrival(spoolFolder(deps.home, jobId, 'backfill'), deps.sources)
      let ended = false
      try {
        let exports = 0
        const onDelivery = (): void => {
          // One of which nothing could be sent is done with, too.
          if (++exports > 1) hasAdvanced = true
        }
        const sources = endingWith(backfillSources(job, range), asked.signal)
        const parts = { range, sources, mappings, ledger, arrival, now, onDelivery }
        const found = (await lookInRange(parts)).found.map((one) => one.found)
        if (found.length === 0 && unfinished === undefined) throw noneInRange(name, sources, range)
        const opening = {
          ...{ id: unfinished?.id ?? runId, resumed: unfinished, backfill: range },
          limit: Number.POSITIVE_INFINITY,
          turn: async (signal: AbortSignal, chunk: number, pausing: Pausing) => {
            if (!underWay.delete(chunk)) await giveWay(signal, pausing, insists && !hasAdvanced)
            hasAdvanced = true
          },
        }
        const end = await carryOut(deps, job, held, opening, (run) =>
          backfillExports(run, parts, unfinished, {
            ...{ ledger, job: name, rules: job.definition.drift, accept: range.acceptDrift === true },
            ...{ readsAhead: true, whole: true, now: run.export.startedAt },
          }),
        )
        ended = end.error === undefined
        if (!ended) return end
        const { gatewayName, home } = deps
        const archiving = {
          ...{ gatewayName, arrival, events, ledger, home },
          runLedger: ledger.amendRun(held.lease),
        }
        return { ...end, summary: await archiveRun(archiving, end.summary, found) }
      } finally {
        await asked.stop()
        await arrival.close(!ended)
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
  return { ...end, error: withRemedy(end.error, remedyWith(end.error.remedy, typed)) }
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

function withRemedy(error: WaybillError, remedy: string): WaybillError {
  const { code, message, place, findings } = error
  return new WaybillError(code, message, {
    ...{ findings, remedy, cause: error },
    ...(place === undefined ? {} : { place }),
  })
}

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

export interface BackfillParts {
  readonly range: BackfillRange
  /** Where its exports lie. */
  readonly sources: readonly JobSource[]
  readonly mappings: ReadonlyMap<string, LoadedMapping>
  readonly ledger: Ledger
  readonly arrival: Arrival
  readonly now: () => number
  /** Called before each delivery. */
  readonly onDelivery: () => void
}

/** What lies at the sources of a job. */
export interface RangeLook {
  readonly found: readonly Dated<FoundExport>[]
  /** Names of all files at each source. */
  readonly names: readonly (readonly string[])[]
}

/**
 * @throws WaybillError `usage-wrong` where a name fits two sources of different mappings in one folder; as `findExports`
 */
export async function lookInRange({
  range,
  sources,
  arrival,
  now,
}: Pick<BackfillParts, 'range' | 'sources' | 'arrival' | 'now'>): Promise<RangeLook> {
  const found: { found: FoundExport; name: string; match: string }[] = []
  const seen = new Map<string, string>()
  const names: (readonly string[])[] = []
  for (const source of sources) {
    const { mapping, match } = source
    const look = await arrival.look(source, now())
    names.push(look.names)
    for (const delivery of [...look.complete, ...look.refused]) {
      const { name } = delivery.delivery
      const address = delivery.source.address(name)
      const before = seen.get(address)
      seen.set(address, mapping)
      if (range.in !== undefined && before !== undefined) {
        if (before === mapping) continue
        throw new WaybillError(
          'usage-wrong',
          `${name} fits two patterns of the job, whose mappings are ${before} and ${mapping}`,
          { remedy: 'Put the exports of each mapping into a folder of their own.' },
        )
      }
      found.push({ found: { ...delivery, mapping }, name, match })
    }
  }
  return { found: inRange(found, range), names }
}

/** What of the range the run has not finished. What it has begun is not found again. */
export async function* backfillExports(
  run: OpenRun,
  parts: BackfillParts,
  unfinished: RunRecord | undefined,
  memory: DriftMemory,
): AsyncGenerator<ExportStep> {
  const { ledger, arrival, sources, mappings, onDelivery } = parts
  const all = (await lookInRange(parts)).found.map(({ found }) => found)
  const positions = positionsOf(all)
  const addresses = all.map(({ source, delivery }) => source.address(delivery.name))
  if (unfinished !== undefined) {
    const paths = new Map((await ledger.exportsOf(run.id)).map(({ id, path }) => [id, path]))
    for await (const step of resumeExports(run, arrival, sources, ledger, unfinished)) {
      onDelivery()
      const path = paths.get(step.record.id) ?? ''
      const at = addresses.findIndex((address) => path === address || path.startsWith(`${address}!`))
      yield { ...step, position: positions[at] }
    }
  }
  // An archive that was left in the middle goes first: what appears in the range meanwhile must not make it look done with.
  const last = (await ledger.exportsOf(run.id)).at(-1)
  const inOrder = [...addresses.entries()].sort(
    ([, a], [, b]) => Number(isMemberOf(b, last?.path)) - Number(isMemberOf(a, last?.path)),
  )
  for (const [at, address] of inOrder) {
    const found = all[at]
    if (found === undefined) continue
    const begun = await ledger.exportsOf(run.id)
    // Where two mappings of the job read it, each does.
    const { name } = mappings.get(found.mapping) ?? {}
    const paths = begun.filter(({ mapping }) => mapping === name).map(({ path }) => path)
    if (!isOpen(address, paths)) continue
    onDelivery()
    for await (const step of startExports(run, arrival, [found], mappings, memory, begun))
      yield { ...step, position: positions[at] }
    await arrival.forget(found)
  }
}

function positionsOf(all: readonly FoundExport[]): RangePosition[] {
  const bytesOfAll = all.reduce((sum, { delivery }) => sum + delivery.bytes, 0)
  let bytesBefore = 0
  return all.map(({ delivery: { bytes } }, at) => {
    const position = { number: at + 1, of: all.length, bytes, bytesBefore, bytesOfAll }
    bytesBefore += bytes
    return position
  })
}
