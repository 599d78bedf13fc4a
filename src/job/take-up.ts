/**
 * A new run that takes up what another one left behind: its rows are read again at their places, mapped, and what of them is not
 * delivered yet is sent. What it delivers settles what the other one had left.
 */
import { WaybillError } from '../errors.ts'
import type { ExportRecord, Ledger, Selection } from '../ledger/ledger.ts'
import { assertNoneUnfinished, assertSameGateway, type RunOfJob } from './amend-run.ts'
import { type Arrival, createArrival, type ReceivedExport } from './arrival.ts'
import { carryOut, type JobEnd } from './carry-out.ts'
import { type Job, type LoadedMapping, loadMapping, readDecidedMapping } from './definition-files.ts'
import { type ExportStep, receiveBegun } from './exports-of-run.ts'
import { joinExports, rejoin } from './joined-exports.ts'
import type { OpenRun } from './open-run.ts'
import type { RunDependencies } from './run-dependencies.ts'
import { spoolFolder } from './spool-folder.ts'
import { whileHeld } from './while-held.ts'

export interface TakingUp {
  readonly run: RunOfJob
  readonly selection: Selection
  /** Which exports of the run have anything to take up. */
  readonly concerns: (record: ExportRecord) => Promise<boolean>
  /** With the mapping of today, or with the one that the run had. */
  readonly mapping: 'today' | 'kept'
  /** Called once the run is open and before anything is read. */
  readonly begin: (run: OpenRun) => Promise<void>
}

/** To be called when the job is free. @throws WaybillError `gateway-differs`, `nothing-left`, `export-gone`, `job-held`, `run-unfinished` */
export async function takeUp(deps: RunDependencies, job: Job, taking: TakingUp): Promise<JobEnd> {
  const { ledger } = deps
  const { run, selection } = taking
  assertSameGateway(run, deps.gatewayName)
  const arrival = createArrival(spoolFolder(deps.home, run.job_id, 'ordinary'), deps.sources)
  let ended = false
  try {
    const found: ExportToTakeUp[] = []
    for (const record of await ledger.exportsOf(run.id)) {
      if (await taking.concerns(record))
        found.push(await findAgain(deps, arrival, job, record, taking.mapping))
    }
    if (found.length === 0)
      throw new WaybillError('nothing-left', `run ${run.id} has left nothing behind that could be taken up`)
    const origin = { run: run.id, selection }
    const end = await whileHeld(deps, job, false, async (held, id) => {
      // Since it was looked another run may have begun and been killed, with the same records under way.
      await assertNoneUnfinished(ledger, run)
      const opening = { id, resumed: undefined, limit: Number.POSITIVE_INFINITY, origin }
      return carryOut(deps, job, held, opening, (opened) => startSelected(opened, found, taking.begin))
    })
    ended = end.error === undefined
    return end
  } finally {
    await arrival.close(!ended)
  }
}

interface ExportToTakeUp {
  readonly record: ExportRecord
  readonly received: ReceivedExport
  readonly mapping: LoadedMapping
}

async function findAgain(
  { ledger, folders }: Pick<RunDependencies, 'ledger' | 'folders'>,
  arrival: Arrival,
  job: Job,
  record: ExportRecord,
  which: TakingUp['mapping'],
): Promise<ExportToTakeUp> {
  const received = await receiveOriginal(arrival, job, record)
  const content = await keptMapping(ledger, record)
  if (which === 'kept')
    return { record, received, mapping: await rejoin(content, record.name, arrival.kept, received.beside) }
  const today = await readDecidedMapping(folders, loadMapping(content).name, job.catalog)
  const joined = await joinExports(today, record.name, received.beside)
  for (const [sha256, text] of joined.texts) await arrival.keep(sha256, text)
  return { record, received, mapping: joined.mapping }
}

/** @throws WaybillError `mapping-not-found` */
export async function keptMapping(ledger: Pick<Ledger, 'mapping'>, record: ExportRecord): Promise<string> {
  const content = await ledger.mapping(record.mapping_digest)
  if (content === undefined)
    throw new WaybillError('mapping-not-found', `the ledger has lost the mapping of ${record.name}`)
  return content
}

/** The very file that a run has read: where it was, or where the job archives it. @throws WaybillError `export-gone` */
export async function receiveOriginal(
  arrival: Arrival,
  job: Job,
  record: ExportRecord,
): Promise<ReceivedExport> {
  const { name, path, sha256 } = record
  const received = await receiveBegun(arrival, job.sources, record)
  if (received !== undefined) return received
  throw new WaybillError('export-gone', `${name} is not at ${path} any more, or has changed`, {
    place: { file: path },
    remedy: `Put the file with the SHA-256 ${sha256} back. Where that cannot be done, correct the rejects file of the run and run that: waybill run ${job.definition.job} --file PATH`,
  })
}

async function* startSelected(
  run: OpenRun,
  found: readonly ExportToTakeUp[],
  begin: TakingUp['begin'],
): AsyncGenerator<ExportStep> {
  const steps: ExportStep[] = []
  for (const [at, { record, received, mapping }] of found.entries()) {
    const { name, path, sha256, bytes, export_id: exportId, id: originExport } = record
    const start = { ordinal: at + 1, name, path, sha256, bytes, exportId, mapping, originExport }
    const added = await run.runLedger.addExport({ ...start, reading: 'selected' })
    const { file, limits } = received
    steps.push({ record: { ...added, path: file }, mapping, limits, watch: undefined })
  }
  await begin(run)
  yield* steps
}
