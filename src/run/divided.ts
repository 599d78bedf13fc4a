/**
 * An export in parts, for the holder of the job: divides the export, has the parts read by workers, or one by one in this process, and does the work
 * of the whole once.
 */
import type { OpenExport } from '../extract/open-export.ts'
import type { PartOf, PartRecord } from '../ledger/ledger.ts'
import { addCounts, type Counts, noCounts, readCounts } from '../model/balance.ts'
import { isExportProblem, WaybillError } from '../model/errors.ts'
import type { DriftWatch } from '../watch/drift-watch.ts'
import { type ExportStep, exportFault } from './exports-of-run.ts'
import type { OpenRun } from './open-run.ts'
import { endsRun, faultOf, joinFiles } from './parts.ts'
import type { World } from './plan.ts'
import { resumptionOf } from './resume.ts'

/** Interval at which the parts are looked at. */
const LOOK_MS = 250
/** Interval at which tickets of open parts are sent again, in case of loss: the queue refuses a second ticket. */
const SEND_AGAIN_MS = 10_000

interface Dividing {
  readonly opened: OpenExport
  readonly count: number
  /** Sends a ticket; undefined: this process reads the parts. */
  readonly send: ((part: PartOf) => Promise<void>) | undefined
  /** Reads a part in this process. @returns the error that has ended the work */
  readonly carry: (part: PartOf) => Promise<unknown>
}

interface Divided {
  readonly counts: Counts
  /** Undefined if there is nothing to compare. */
  readonly watch: DriftWatch | undefined
  /** Makes the parts one, and ends the export. @param error of a failed export */
  join(error?: WaybillError): Promise<void>
}

/** Has all parts read. @throws the error that stops the run, or a problem of the export */
export async function readDivided(
  run: OpenRun,
  step: ExportStep,
  world: World,
  dividing: Dividing,
): Promise<Divided> {
  const { runLedger, ledger } = run
  const { record } = step
  await runLedger.openParts(record.id, dividing.count)
  const over = new AbortController()
  const profiled = profileOf(step, dividing.opened, AbortSignal.any([run.signal, over.signal]))
  try {
    const parts = await (dividing.send === undefined
      ? readHere(run, step, dividing)
      : readByWorkers(run, step, world, dividing.count, dividing.send))
    const chunks = await ledger.chunks.ofExport(record.id)
    const { receipts } = run.settling
    const join = () => joinFiles({ ...run, assertHeld: runLedger.assertHeld }, record, receipts)
    const stopping = parts.find(endsRun)
    if (stopping !== undefined) {
      run.leftover.push(await join())
      throw faultOf(stopping, parts.length)
    }
    const joinAndEnd = async (error?: WaybillError): Promise<void> => {
      const removeFiles = await join()
      const fault = error && exportFault(error)
      await runLedger.joinParts(record.id, receipts.length, fault ? 'failed' : 'finished', fault)
      await removeFiles()
    }
    const error = parts.map((one) => faultOf(one, parts.length)).find((one) => one !== undefined)
    // An export with records in flight is not over.
    if (isExportProblem(error) && chunks.every(({ state }) => state === 'settled')) await joinAndEnd(error)
    if (error !== undefined) throw error
    const counts = noCounts()
    for (const chunk of chunks) addCounts(counts, readCounts(chunk.counts))
    return { counts, watch: await profiled, join: joinAndEnd }
  } finally {
    over.abort()
  }
}

/** Reads the parts one by one. A part that this process may not finish stops the run, once all parts have settled the chunks in flight. */
async function readHere(
  { ledger }: OpenRun,
  { record }: ExportStep,
  { count, carry }: Dividing,
): Promise<readonly PartRecord[]> {
  const look = () => ledger.parts.ofExport(record.id)
  let gaveWay: unknown
  for (const { number, state } of await look()) {
    if (state !== 'open') continue
    const part = { exportRow: record.id, number, of: count }
    let error = await carry(part)
    // A worker still reads the part.
    while (error instanceof WaybillError && error.code === 'job-held') error = await carry(part)
    const isOpen = (await look())[number]?.state === 'open'
    if (isOpen && !(error instanceof WaybillError && error.code === 'gave-way')) throw error
    if (isOpen) gaveWay = error
  }
  const parts = await look()
  if (gaveWay !== undefined && !parts.some(endsRun)) throw gaveWay
  return parts
}

/** Sends tickets, and waits until no worker has anything of the export under way. */
async function readByWorkers(
  run: OpenRun,
  { record }: ExportStep,
  { now, sleep, isDead, held }: World,
  count: number,
  send: NonNullable<Dividing['send']>,
): Promise<readonly PartRecord[]> {
  const { ledger, runLedger, signal, events } = run
  /** Parts with a chunk in flight: the chunk is settled though the run is over. */
  const inFlight = async (): Promise<(number: number) => boolean> => {
    const chunks = await ledger.chunks.ofExport(record.id)
    return (number) => resumptionOf(chunks, { number, of: count }).open.size > 0
  }
  const isWorkedOn = () => ledger.leases.hasParts(runLedger.lease.jobId, now(), isDead)
  const { name, bytes } = record
  events.emit({ type: 'exportStarted', name, counts: noCounts(), share: 0, bytes })
  try {
    for (let sentAt = Number.NEGATIVE_INFINITY; ; ) {
      const parts = await ledger.parts.ofExport(record.id)
      const isOver = parts.some(endsRun)
      const goesOn = isOver ? await inFlight() : () => true
      const open = parts.filter(({ state, number }) => state === 'open' && goesOn(number))
      if (parts.every(({ state }) => state === 'settled')) return parts
      if (open.length === 0 && !(await isWorkedOn())) return parts
      if (now() - sentAt >= SEND_AGAIN_MS) {
        for (const { number } of open) await send({ exportRow: record.id, number, of: count })
        sentAt = now()
      }
      await sleep(LOOK_MS, signal)
    }
  } catch (error) {
    // The workers hear of the stop, too, and settle the chunks in flight.
    while (held.stopped.aborted && !held.lost.aborted && (await isWorkedOn())) await sleep(LOOK_MS, held.lost)
    throw error
  }
}

/** Profiles all rows, as a part sees some only. Undefined if the export cannot be read: the parts report the problem. */
async function profileOf(
  { watch, record }: ExportStep,
  opened: OpenExport,
  signal: AbortSignal,
): Promise<DriftWatch | undefined> {
  const rows: OpenExport['rows'] = async function* (from) {
    for await (const block of opened.rows(from)) {
      signal.throwIfAborted()
      yield block
    }
  }
  try {
    await watch?.catchUp({ ...opened, rows }, record.name, Number.POSITIVE_INFINITY)
    return watch
  } catch {
    return undefined
  }
}
