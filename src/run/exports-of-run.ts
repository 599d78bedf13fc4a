/** Exports of a run: new exports, recorded as they come, or exports that an earlier process left open. */
import { basename, join } from 'node:path'
import type { LoadedMapping } from '../definitions/definition-files.ts'
import type { JobSource } from '../definitions/export-definition.ts'
import { notAsAnnounced } from '../extract/arrival/verify-delivery.ts'
import { type ContentLimits, fingerprint } from '../extract/content.ts'
import { type OpenExport, openExport } from '../extract/open-export.ts'
import { type AsideContents, asideContent } from '../ledger/audit.ts'
import type {
  ExportFault,
  ExportRecord,
  ExportStart,
  Ledger,
  RunLedger,
  RunRecord,
} from '../ledger/ledger.ts'
import { EXIT, endingOf, isExportProblem, remedyOf, WaybillError } from '../model/errors.ts'
import { type DriftMemory, type DriftWatch, readDrift, watchDrift } from '../watch/drift-watch.ts'
import type { Arrival, ReceivedExport } from './arrival.ts'
import type { RangePosition, RunEvents } from './events.ts'
import { type FoundExport, smallOfRun } from './find-exports.ts'
import { isAnnounced } from './found-delivery.ts'
import { joinAndKeep, keptMapping, rejoin } from './joined-exports.ts'
import { judgeEnd } from './judge-end.ts'
import type { PlannedExports } from './plan.ts'
import { resumptionOf } from './resume.ts'
import type { ExportAtHand } from './rows.ts'

/** Export of the run, with its mapping. */
export interface ExportStep {
  readonly record: ExportAtHand
  readonly mapping: LoadedMapping
  readonly limits: ContentLimits
  /** Undefined if the export is not compared with earlier deliveries. */
  readonly watch: DriftWatch | undefined
  /** True if the file is unusually small and this was already reported. */
  readonly isSmall?: boolean
  /** Position among the deliveries of a backfill, if the delivery is still there. */
  readonly position?: RangePosition | undefined
}

/** Export ready to be read, or its error; not yet in the ledger. */
interface BroughtExport {
  readonly start: ExportStart
  readonly watch: DriftWatch | undefined
  readonly here:
    | { received: ReceivedExport; mapping: LoadedMapping; isSmall: boolean }
    | { error: WaybillError }
}

/** Longest detail kept: an archive may name a member at any length. */
const LONGEST_DETAIL = 500

/** Error of an export for the ledger. The remedy is kept only if it differs from the remedy of the code. */
export const exportFault = ({ code, message, remedy }: WaybillError): ExportFault => ({
  reason: code,
  detail: message.slice(0, LONGEST_DETAIL),
  remedy: remedy === remedyOf(code) ? null : remedy,
})

/** Exports that the run has already begun, in order. */
type Begun = readonly (Pick<ExportRecord, 'path' | 'ordinal'> & { mapping: string | null })[]

/**
 * Brings new exports: checks the size, fetches, fingerprints, verifies, compares.
 * @param memory undefined without an earlier delivery to compare
 * @param begun exports that are not taken again
 */
export async function* bringExports(
  events: Pick<RunEvents, 'emit'>,
  arrival: Arrival,
  deliveries: Iterable<FoundExport> | AsyncIterable<FoundExport>,
  mappings: ReadonlyMap<string, LoadedMapping>,
  memory: DriftMemory | undefined,
  begun: Begun = [],
): AsyncGenerator<BroughtExport> {
  await arrival.clearUnpacked()
  let ordinal = begun.at(-1)?.ordinal ?? 0
  const addresses = new Set(begun.map(({ mapping, path }) => `${mapping} ${path}`))
  const failed = (start: ExportStart, error: unknown, watch?: DriftWatch): BroughtExport => {
    if (!isExportProblem(error)) throw error
    return { start, watch, here: { error } }
  }
  for await (const found of deliveries) {
    const mapping = mappings.get(found.mapping)
    if (mapping === undefined)
      throw new WaybillError('mapping-not-found', `there is no mapping ${found.mapping}`)
    const sized = memory && (await smallOfRun(memory.ledger, found, memory.now))
    if (sized?.isReported === false) events.emit({ type: 'exportSmall', ...sized.small })
    const isSmall = sized !== undefined
    const { name } = found.delivery
    const path = found.source.address(name)
    const delivered = found.isListed ? { ...found.delivery, address: path } : undefined
    const unread = { name, path, mapping, delivered, exportId: '', sha256: '', bytes: 0 }
    let received: readonly ReceivedExport[] = []
    try {
      received = await arrival.receive(found)
    } catch (error) {
      ordinal += 1
      yield failed({ ...unread, ordinal }, error)
    }
    for (const one of received) {
      const { name, address, file, version, limits } = one
      if (addresses.has(`${mapping.name} ${address}`)) continue
      ordinal += 1
      let start: ExportStart = { ...unread, ordinal, name, path: address, day: found.day }
      let watch: DriftWatch | undefined
      let joined = mapping
      try {
        start = { ...start, ...(await fingerprint(file, limits.signal, version)) }
        joined = await joinAndKeep(arrival, mapping, one)
        start = { ...start, mapping: joined }
        if (found.rejects === undefined) {
          watch = memory && (await watchDrift(memory, joined, start.sha256))
          await verifyExport(one, joined, watch)
          const isVouched = found.acceptEnd === true || isAnnounced(found, one.announced)
          const { isEnded, finding } = await judgeEnd(one, joined, start.sha256, memory, isVouched)
          start = { ...start, isEnded }
          if (finding !== undefined) watch?.note(finding)
        } else start = { ...start, exportId: found.rejects.exportId, reading: 'rejects' }
      } catch (error) {
        yield failed(start, error, watch)
        continue
      }
      yield { start, watch, here: { received: one, mapping: joined, isSmall } }
    }
    // The next export may need the room.
    await arrival.clearUnpacked()
  }
}

/** Passes over exports that a person has put aside, and notes each. */
export async function* withoutAside(
  events: Pick<RunEvents, 'emit'>,
  brought: AsyncIterable<BroughtExport>,
  aside: AsideContents,
): AsyncGenerator<BroughtExport> {
  for await (const one of brought) {
    const { start } = one
    if (aside.get(start.path) !== asideContent(start)) {
      yield one
      continue
    }
    const notes = ['skipped: a person put the export aside']
    events.emit({ type: 'exportNoted', name: start.name, notes })
  }
}

/**
 * Brings new exports and records each in the ledger: from then on the export is part of the run.
 */
export async function* startExports(
  run: RunWriter,
  arrival: Arrival,
  deliveries: Iterable<FoundExport> | AsyncIterable<FoundExport>,
  mappings: ReadonlyMap<string, LoadedMapping>,
  memory: DriftMemory,
  aside: AsideContents,
  begun: Begun = [],
): AsyncGenerator<ExportStep> {
  const brought = bringExports(run.events, arrival, deliveries, mappings, memory, begun)
  for await (const { start, watch, here } of withoutAside(run.events, brought, aside)) {
    // One write: an export left open by a kill would be resumed as if nothing were wrong.
    const failed = 'error' in here ? { failed: exportFault(here.error) } : {}
    const record = await run.runLedger.addExport({ ...start, ...failed })
    await watch?.begin(run.runLedger, record.id)
    if ('error' in here) run.events.emit({ type: 'exportFailed', name: start.name, error: here.error })
    else {
      const { file, version, limits } = here.received
      const { mapping, isSmall } = here
      yield { record: { ...record, path: file, version }, mapping, limits, watch, isSmall }
    }
  }
}

/** Resumes exports that an earlier process left open, with their original mapping. @param memory undefined: no comparison */
export async function* resumeExports(
  arrival: Arrival,
  sources: readonly JobSource[],
  ledger: Ledger,
  unfinished: RunRecord,
  memory: DriftMemory | undefined,
): AsyncGenerator<ExportStep> {
  await arrival.clearUnpacked()
  for (const record of await ledger.exports.ofRun(unfinished.id)) {
    if (record.state !== 'open') continue
    const { step, received } = await openBegun(arrival, sources, ledger, record)
    const watch = memory && (await watchOn(ledger, memory, record, received, step.mapping))
    yield { ...step, watch }
  }
}

/** Receives an export that a run has begun, with its original mapping. @throws WaybillError `export-changed` if the file is gone */
export async function openBegun(
  arrival: Arrival,
  sources: readonly JobSource[],
  ledger: Ledger,
  record: ExportRecord,
): Promise<{ step: ExportStep; received: ReceivedExport }> {
  const content = await keptMapping(ledger, record)
  const received = await receiveBegun(arrival, sources, record)
  if (received === undefined) {
    throw new WaybillError(
      'export-changed',
      `${record.path} is gone, or differs from the file at the start of run ${record.run_id}`,
      {
        remedy: `Put the file with the SHA-256 ${record.sha256} back: only this file can settle the records in flight.`,
      },
    )
  }
  const mapping = await rejoin(content, record.name, arrival.kept, received.beside)
  const { file, version, limits } = received
  return { step: { record: { ...record, path: file, version }, mapping, limits, watch: undefined }, received }
}

/** Drift watch of a resumed export, judged before it began: findings stop nothing now. Settled rows are read once more. */
async function watchOn(
  ledger: Pick<Ledger, 'chunks' | 'parts'>,
  memory: DriftMemory,
  { id, name, sha256, reading, drift }: ExportRecord,
  { file, limits, version }: ReceivedExport,
  mapping: LoadedMapping,
): Promise<DriftWatch | undefined> {
  if (reading !== 'whole') return undefined
  const accept = readDrift(drift).some(({ level }) => level === 'accepted')
  const watch = await watchDrift({ ...memory, accept, mayStop: false }, mapping, sha256)
  if (watch === undefined) return undefined
  // An export in parts is profiled as a whole.
  if ((await ledger.parts.ofExport(id)).length > 0) return watch
  const { rows } = resumptionOf(await ledger.chunks.ofExport(id)).counts
  try {
    await watch.catchUp(await openExport(file, mapping.read, limits, version), name, rows.read)
    return watch
  } catch (error) {
    // The reader of the remaining rows meets the problem too, and reports it.
    if (isExportProblem(error)) return undefined
    throw error
  }
}

/** Starts rows selected from the exports of another run. */
export async function* startSelected(
  run: RunWriter,
  { chosen, decided }: Extract<PlannedExports, { from: 'run' }>,
): AsyncGenerator<ExportStep> {
  const steps: ExportStep[] = []
  for (const [at, { record, received, mapping }] of chosen.entries()) {
    const { name, path, sha256, bytes, archived, export_id: exportId, id: originExport } = record
    const start = { ordinal: at + 1, name, path, sha256, bytes, archived, exportId, mapping, originExport }
    const added = await run.runLedger.addExport({ ...start, reading: 'selected' })
    const { file, version, limits } = received
    steps.push({ record: { ...added, path: file, version }, mapping, limits, watch: undefined })
  }
  if (decided !== undefined)
    await run.runLedger.rule({ run: run.id, ...decided, released: [] }, decided.resolution.at)
  yield* steps
}

/**
 * Receives the exact file that a run began with: from the old place, from the archive, or from the archive of the job. Undefined if at none of these.
 */
export async function receiveBegun(
  arrival: Arrival,
  sources: readonly JobSource[],
  { path, sha256, archived }: Pick<ExportRecord, 'path' | 'sha256' | 'archived'>,
): Promise<ReceivedExport | undefined> {
  const archives = sources.flatMap(({ place: { local } }) =>
    local?.archive === undefined ? [] : [join(local.archive, basename(path))],
  )
  for (const address of [path, ...(archived === null ? [] : [archived]), ...archives]) {
    const received = await arrival.receiveAgain(address, sha256, sources)
    if (received !== undefined) return received
  }
  return undefined
}

/**
 * Verifies an export before anything is sent, in one pass at most: the row count in a manifest or trailer, and differences from earlier deliveries.
 * @throws WaybillError `export-not-as-announced`, `export-drifted`, or a problem of the export
 */
async function verifyExport(
  { name, address, file, version, limits, announced: { rows } }: ReceivedExport,
  { read }: LoadedMapping,
  watch: DriftWatch | undefined,
): Promise<void> {
  const trailer =
    read.format === 'hl7v2' ||
    (read.format === 'csv' && read.trailer?.count !== undefined) ||
    (read.format === 'records' && read.count !== undefined)
  if (rows === undefined && !trailer && watch === undefined) return
  const opened = await openExport(file, read, limits, version)
  const came =
    (await watch?.readAhead(opened, name)) ?? (rows === undefined ? undefined : await countRows(opened))
  const total = await opened.controlTotal(came)
  if (total !== undefined && total.stated !== total.found)
    throw notAsAnnounced(address, 'its number of rows, by its trailer,', total.stated, total.found)
  if (rows !== undefined && came !== undefined && came !== rows)
    throw notAsAnnounced(address, 'its number of rows', rows, came)
  watch?.assertAllowed(name, address)
}

export async function countRows(opened: OpenExport): Promise<number> {
  let rows = 0
  for await (const block of opened.rows()) rows += block.length
  return rows
}

export interface RunWriter {
  readonly id: string
  readonly runLedger: RunLedger
  readonly events: RunEvents
}

/**
 * Divides deliveries found after a run was resumed: deliveries whose exports were all part of the run, and the rest. Equal content under another name
 * is a separate delivery.
 * @param taken exports of the resumed run
 */
export async function divideByContents(
  arrival: Arrival,
  found: readonly FoundExport[],
  taken: readonly Pick<ExportRecord, 'path' | 'sha256'>[],
): Promise<{ others: readonly FoundExport[]; done: readonly DoneDelivery[] }> {
  const others: FoundExport[] = []
  const done: DoneDelivery[] = []
  const had = new Set(taken.map(({ path, sha256 }) => `${sha256} ${path}`))
  for (const one of found) {
    const exports = await contentsOf(arrival, one)
    const isTaken = ({ path, sha256 }: Pick<ExportRecord, 'path' | 'sha256'>): boolean =>
      had.has(`${sha256} ${path}`)
    if (exports?.every(isTaken)) done.push({ ...one, hashes: exports.map(({ sha256 }) => sha256) })
    else others.push(one)
  }
  return { others, done }
}

export interface DoneDelivery extends FoundExport {
  readonly hashes: readonly string[]
}

type Content = Pick<ExportRecord, 'name' | 'path' | 'sha256' | 'export_id'>

/** Exports of a delivery; undefined if unreadable: the delivery stays, and the run reports the problem. */
export async function contentsOf(
  arrival: Arrival,
  one: Parameters<Arrival['receive']>[0],
): Promise<Content[] | undefined> {
  try {
    const received = await arrival.receive(one)
    const exports: Content[] = []
    // One after another: an archive may have more members than files may be open.
    for (const { name, file, version, address: path, limits } of received) {
      const { sha256, exportId: export_id } = await fingerprint(file, limits.signal, version)
      exports.push({ name, path, sha256, export_id })
    }
    return exports
  } catch (error) {
    if (endingOf(error).exit === EXIT.interrupted) throw error
    return undefined
  }
}
