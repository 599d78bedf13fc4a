/**
 * A run of a job, from its plan to its balance. Read this and you know the system:
 *
 *   discover ─▶ fingerprint ─▶ open ─▶ map ─▶ recognise ─▶ register ─▶ deliver ─▶ settle ─▶ balance
 *   └────────── extract ───────────┘  transform  └────────── load ──────────┘    └─ reconcile ─┘
 *
 * exports-of-run.ts finds, fetches and fingerprints exports; load/load-chunk.ts recognises, registers and delivers a chunk, load/delivery.ts a
 * batch; settlement.ts settles it.
 */
import { type OpenExport, openExport } from '../extract/open-export.ts'
import { NONE_ASIDE } from '../ledger/audit.ts'
import type { Ledger, PartOf } from '../ledger/ledger.ts'
import { NAME_CHANGED } from '../load/accounts.ts'
import type { CellsHash } from '../load/slots.ts'
import { addCounts, assertBalanced, type Counts } from '../model/balance.ts'
import { filesExhausted, isExportProblem, WaybillError } from '../model/errors.ts'
import type { RowMapper } from '../transform/compile.ts'
import { toLookAt } from '../watch/drift-watch.ts'
import { type Chunk, createPipeline, cutChunks } from './chunks.ts'
import { type Counted, countExports } from './count-exports.ts'
import { readDivided } from './divided.ts'
import { exportsInRange } from './exports-in-range.ts'
import { type ExportStep, exportFault, resumeExports, startExports, startSelected } from './exports-of-run.ts'
import { holdBack } from './held-back.ts'
import { createKnownRows, type KnownRows } from './known-rows.ts'
import { holdJob, settledOnly } from './lease.ts'
import { type OpenRun, openPart, openRun } from './open-run.ts'
import { filesOfPart, ownRows } from './parts.ts'
import type { CountPlan, CountWorld, RunPlan, World } from './plan.ts'
import { openAppended } from './receipts.ts'
import { namingCredential } from './refused-credential.ts'
import { columnsInFront, rejectsPath } from './rejects.ts'
import { resumptionOf } from './resume.ts'
import { assertReadWhole, openRows } from './rows.ts'
import { leftBehind, renamedIn, settleChunk } from './settlement.ts'
import type { WorkedChunk } from './worker.ts'

export interface RunEnd {
  readonly run: string
  /** Counts of the exports that this process worked on: open records are pending. */
  readonly worked: readonly { ordinal: number; counts: Counts }[]
  /** Error that ended the run early. */
  readonly error?: WaybillError
}

/** Carries a plan out: the destination of the records decides what the plan needs and returns. */
export function execute(plan: RunPlan, world: World): Promise<RunEnd>
export function execute(plan: CountPlan, world: CountWorld): Promise<Counted>
export function execute(...given: [RunPlan, World] | [CountPlan, CountWorld]): Promise<RunEnd | Counted> {
  const counts = (one: typeof given): one is [CountPlan, CountWorld] => one[0].records === 'count'
  return counts(given) ? countExports(...given) : send(...given)
}

/** Runs until all exports are done or something stops the run, and records the end. */
async function send(plan: RunPlan, world: World): Promise<RunEnd> {
  const run = await openRun(plan, world)
  const worked: (ExportEnd & { ordinal: number })[] = []
  let error: unknown
  try {
    for await (const step of discover(plan, run, world)) {
      const end = await runExport(run, step, () => readExport(plan, world, run, step))
      if (end === undefined) continue
      worked.push({ ordinal: step.record.ordinal, ...end })
      error = end.error
      if (error !== undefined) break
    }
    if (error === undefined) await run.worker.finish(worked.length > 0)
  } catch (stopped) {
    error = stopped
  }
  error = await namingCredential(filesExhausted(error) ?? error, world.gateway)
  await run.end(error)
  if (error !== undefined && !(error instanceof WaybillError)) throw error
  return { run: run.id, worked, ...(error === undefined ? {} : { error }) }
}

/** Exports of the plan, each fetched and fingerprinted in its turn. */
async function* discover(plan: RunPlan, run: OpenRun, world: World): AsyncGenerator<ExportStep> {
  const { arrival, ledger } = world
  const { job, exports } = plan
  const memoryOf = (accept: boolean) => ({
    ledger,
    job: job.definition.job,
    rules: job.definition.drift,
    accept,
    mayStop: true,
    whole: plan.limit === Number.POSITIVE_INFINITY,
    now: run.opening.startedAt,
  })
  const contentsAside = () => ledger.putAside.contents(run.runLedger.lease.jobId)
  switch (exports.from) {
    case 'found': {
      const { found, mappings, acceptDrift } = exports
      // A file that a person names is read.
      const aside = plan.part === 'files' ? NONE_ASIDE : await contentsAside()
      return yield* startExports(run, arrival, found, mappings, memoryOf(acceptDrift), aside)
    }
    case 'unfinished':
      yield* resumeExports(
        arrival,
        job.sources,
        ledger,
        exports.run,
        plan.settlesOnly ? undefined : memoryOf(false),
      )
      // The run is not over, though the export may be.
      if (plan.settlesOnly === true) throw settledOnly()
      return
    case 'range':
      return yield* exportsInRange(
        run,
        world,
        exports,
        plan.resumed,
        memoryOf(exports.acceptDrift),
        await contentsAside(),
      )
    case 'run':
      return yield* startSelected(run, exports)
  }
}

interface ExportEnd {
  readonly counts: Counts
  readonly error?: unknown
}

/** Runs an export; undefined if nothing of it could be sent: the ledger then has the reason. */
async function runExport(
  run: OpenRun,
  step: ExportStep,
  read: () => Promise<ExportEnd>,
): Promise<ExportEnd | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isExportProblem(error)) throw error
    const { record } = step
    // Records sent by an earlier process must be settled first: once the export is over, nobody would look for them.
    const chunks = await run.ledger.chunks.ofExport(record.id)
    if (chunks.some(({ state }) => state === 'open')) throw error
    await run.runLedger.endExport(record.id, 'failed', exportFault(error))
    run.events.emit({ type: 'exportFailed', name: record.name, error })
    return undefined
  }
}

/** Reads an export as one, or in parts. */
async function readExport(plan: RunPlan, world: World, run: OpenRun, step: ExportStep): Promise<ExportEnd> {
  const count = await numberOfParts(plan, run, step)
  return count === 1 ? carryOut(run, step) : readInParts(plan, world, run, step, count)
}

/** Number of parts to read an export in; 1 for an export that is read as one. An export begun by an earlier process keeps its number. */
async function numberOfParts(plan: RunPlan, run: OpenRun, { record, mapping }: ExportStep): Promise<number> {
  const begun = await run.ledger.parts.ofExport(record.id)
  if (begun.length > 0) return begun.length
  const { parts } = plan.job.definition
  const isWhole = plan.limit === Number.POSITIVE_INFINITY && record.reading === 'whole'
  if (parts === 1 || plan.exports.from !== 'found' || !isWhole) return 1
  if (mapping.definition.medicalRecords === undefined) return parts
  // Two people may share the number of a request, which is sent once.
  const notes = ['read as one part, as two people may share the number of a request for medical records']
  run.events.emit({ type: 'exportNoted', name: record.name, notes })
  return 1
}

/** Reads an export in parts, and does once what concerns the whole. @throws as `carryOut`, and the error that stops the run */
async function readInParts(
  plan: RunPlan,
  world: World,
  run: OpenRun,
  step: ExportStep,
  count: number,
): Promise<ExportEnd> {
  const { record, mapping, limits } = step
  const { job, settlesOnly } = plan
  const { sendPart } = world
  const send = (part: PartOf) => sendPart?.(job.definition.job, run.id, part)
  const opened = await openExport(record.path, mapping.read, limits, record.version)
  const { counts, watch, join } = await readDivided(run, step, world, {
    opened,
    count,
    // Who makes way settles what is in flight, and waits for nobody.
    send: sendPart === undefined || settlesOnly === true ? undefined : async (part) => send(part),
    carry: (part) => carryPart(plan, world, step, part),
  })
  const work = { ...run, ...step, opened, counts, watch, finish: join }
  const arrival = await run.ledger.exports.arrivalOf(run.runLedger.lease.jobId, record)
  try {
    await endExport({ ...work, arrival, listsTeams: listsCareTeams(run, record, mapping) })
  } catch (error) {
    if (isExportProblem(error)) await join(error)
    throw error
  }
  return { counts }
}

/** Reads a part in this process, under a lease of its own. */
async function carryPart(
  { job, id, limit }: RunPlan,
  world: World,
  step: ExportStep,
  part: PartOf,
): Promise<unknown> {
  const turn = { jobId: world.held.lease.jobId, job: job.definition.job, runId: id, givesWay: false, part }
  const held = await holdJob(world, turn)
  try {
    return await executePart({ job, id, limit, part }, { ...world, held }, step)
  } finally {
    await held.release()
  }
}

/** Reads a part of an export, and notes its end. @returns the error that has ended the work; also noted for the holder of the job */
export async function executePart(
  plan: Parameters<typeof openPart>[0],
  world: World,
  step: ExportStep,
): Promise<unknown> {
  const run = await openPart(plan, world)
  if (run === undefined) return undefined
  let error: unknown
  try {
    error = (await carryOut(run, { ...step, watch: undefined })).error
  } catch (stopped) {
    error = stopped
  }
  error = await namingCredential(filesExhausted(error) ?? error, world.gateway)
  await run.end(error)
  return error
}

/**
 * Runs one export, from the start or from the state in the ledger. If the run must stop, the counts hold open records as pending, and `error` gives
 * the reason.
 * @throws WaybillError a problem of the export: nothing of it was sent
 */
async function carryOut(run: OpenRun, step: ExportStep): Promise<ExportEnd> {
  const work = await beginExport(run, step)
  const { worker, record, resumption, rejects, open, counts } = work
  const pipeline = createPipeline(
    (chunk, beforeSettled) => workOne(work, chunk, beforeSettled),
    (chunk, worked) => settleOne(work, chunk, worked),
    (chunk) => beginOne(work, chunk),
  )
  try {
    try {
      const { number, skip, open: cutBefore } = resumption
      // Work in flight is settled as a whole: a chunk cut short would lose track of records already sent.
      const limit = Math.max(
        work.limit,
        cutBefore.values().reduce((total, rows) => total + rows, 0),
      )
      const { mapper, known, opening } = work
      const rows = work.opened.rows(resumption.from)
      const { part } = work
      const blocks = part === undefined ? rows : ownRows(rows, mapper, opening.identity, part)
      const range = { number, skip, limit, cutBefore, rows: worker.chunkRows, step: part?.of ?? 1 }
      for await (const chunk of cutChunks(blocks, mapper, opening.identity, record.export_id, range, known))
        await pipeline.add(chunk)
    } finally {
      await pipeline.drain()
    }
    await (work.part === undefined ? endExport(work) : work.opened.assertUnchanged())
    return { counts }
  } catch (error) {
    if (isExportProblem(error) && open.size === 0) throw error
    if (work.stoppedAt !== undefined) {
      const origin = { name: record.name, exportId: record.export_id }
      const heldBack = await holdBack(origin, work.inFront, rejects, work.stoppedAt)
      await run.runLedger.noteHeldBack(record.id, heldBack)
    }
    for (const chunk of open.values()) addCounts(counts, worker.pending(chunk))
    return { counts, error }
  } finally {
    await rejects.close()
  }
}

type ExportWork = Awaited<ReturnType<typeof beginExport>>

/** Opens the export where an earlier process stopped. */
async function beginExport(run: OpenRun, step: ExportStep) {
  const { ledger, runLedger, events, home } = run
  const { jobId } = runLedger.lease
  const { record, mapping, limits, position } = step
  const { opened, mapper } = await openRows(run.opening, record, mapping, limits)
  const arrival = await ledger.exports.arrivalOf(jobId, record)
  const isRenewed = await wasReadOtherwise(ledger, jobId, record)
  const hashOf = run.cellsUnder(mapping.digest, opened.columns)
  const known = step.watch === undefined ? knownRowsOf(run, record, mapper, hashOf) : undefined
  const inFront = columnsInFront(opened.columns, mapping.read)
  const listsTeams = listsCareTeams(run, record, mapping)
  const resumption = resumptionOf(await ledger.chunks.ofExport(record.id), run.part)
  const { counts, rejectsLength } = resumption
  const file = run.part === undefined ? rejectsPath(run, record) : filesOfPart(run, record, run.part).rejects
  const rejects = openAppended(home, file, rejectsLength, runLedger.assertHeld)
  const { notes = [] } = opened
  if (notes.length > 0) events.emit({ type: 'exportNoted', name: record.name, notes })
  const progress = (byteOffset: number) => ({ name: record.name, counts, share: opened.share(byteOffset) })
  const from = resumption.from?.byteOffset ?? 0
  events.emit({ type: 'exportStarted', ...progress(from), bytes: record.bytes, position })
  return {
    ...run,
    ...step,
    opened,
    mapper,
    arrival,
    isRenewed,
    hashOf,
    known,
    inFront,
    listsTeams,
    resumption,
    counts,
    rejects,
    progress,
    finish: () => runLedger.endExport(record.id, 'finished'),
    /** Chunks that are not settled. */
    open: new Map<number, Chunk>(),
    /** Chunk at which `stopWhen` stopped the run. */
    stoppedAt: undefined as Chunk | undefined,
  }
}

/** Recognises rows; undefined where each record must be made. */
function knownRowsOf(
  { ledger, runLedger, worker, settling: { identity, gatewayName } }: OpenRun,
  { reading }: ExportStep['record'],
  { recogniser }: RowMapper,
  hashOf: CellsHash,
): KnownRows | undefined {
  if (reading !== 'whole' || !worker.recognises || recogniser === undefined) return undefined
  const { jobId } = runLedger.lease
  return createKnownRows({ ledger, identity, jobId, gatewayName }, recogniser, hashOf)
}

async function beginOne(work: ExportWork, chunk: Chunk): Promise<void> {
  const { gate, resumption, watch } = work
  await gate.turn(chunk.number)
  try {
    gate.stopWhen.look(chunk.rows, resumption.open.has(chunk.number))
  } catch (error) {
    work.stoppedAt = chunk
    throw error
  }
  watch?.look(chunk.rows)
}

/** Notes the chunk as open, and hands it to the worker. */
async function workOne(
  work: ExportWork,
  chunk: Chunk,
  beforeSettled: () => Promise<void>,
): Promise<WorkedChunk> {
  const { gate, runLedger, record, arrival, open } = work
  const { number, rows, entries, start } = chunk
  open.set(number, chunk)
  gate.inHand(entries.length)
  const { row: firstRow, line: firstLine, byteOffset } = start
  await runLedger.openChunk(record.id, { number, firstRow, firstLine, byteOffset, rows: rows.length })
  const isTakenUp = record.reading !== 'whole'
  const around = {
    exportRow: record.id,
    exportId: record.export_id,
    exportName: record.name,
    arrival,
    isBackfill: work.settling.isBackfill,
    isAgain: isTakenUp || arrival !== record.id,
    isRenewed: work.isRenewed,
    orders: work.ordersWith(record),
    isTakenUp,
    resumed: work.resumption.open.has(number),
    beforeSettled,
    hashOf: work.hashOf,
    isRecognised: work.known !== undefined,
    listsTeams: work.listsTeams,
  }
  return work.worker.work(chunk, around).catch((error: unknown) => {
    gate.stop(error)
    throw error
  })
}

async function settleOne(work: ExportWork, chunk: Chunk, worked: WorkedChunk): Promise<void> {
  const { settling, events, record, inFront, arrival, listsTeams, counts } = work
  const [renamed] = counts.warnings[NAME_CHANGED.code] === undefined ? renamedIn(worked) : []
  const settled = { record, inFront, arrival, listsTeams }
  addCounts(counts, await settleChunk(settling, settled, work.rejects, chunk, worked))
  if (renamed !== undefined) {
    const note = `row ${renamed.row} (line ${renamed.line}) ${NAME_CHANGED.message}`
    events.emit({ type: 'exportNoted', name: record.name, notes: [note] })
  }
  work.open.delete(chunk.number)
  work.gate.inHand(-chunk.entries.length)
  const left = () => leftBehind(settling.identity, record, worked)
  events.emit({ type: 'exportAdvanced', ...work.progress(worked.rows.at(-1)?.source.byteOffset ?? 0), left })
}

interface EndingWork extends Pick<OpenRun, 'runLedger' | 'events' | 'worker'>, ExportStep {
  readonly opened: OpenExport
  readonly counts: Counts
  readonly arrival: number
  readonly listsTeams: boolean
  /** Notes the end in the ledger. */
  readonly finish: () => Promise<void>
}

/** Judges and ends an export that was read to its end. */
async function endExport(work: EndingWork): Promise<void> {
  const { runLedger, events, record, counts, isSmall = false } = work
  await assertReadWhole(work.opened, record, counts)
  if (work.listsTeams) await work.worker.noteMissing?.(work.arrival)
  const findings = toLookAt((await work.watch?.end(runLedger, record.id)) ?? [])
  await work.finish()
  assertBalanced(counts, record.name)
  const { name, sha256 } = record
  if (findings.length > 0) events.emit({ type: 'exportDrifted', name, sha256, findings, isSmall })
  events.emit({ type: 'exportEnded', name: record.name, counts })
}

/** True if the export lists all care teams of a person and is read as a whole: teams no longer listed are then missing. */
const listsCareTeams = (
  { worker, settling, limit }: Pick<OpenRun, 'worker' | 'settling' | 'limit'>,
  { reading }: ExportStep['record'],
  { definition }: ExportStep['mapping'],
): boolean =>
  worker.noteMissing !== undefined &&
  definition.careTeams !== undefined &&
  reading === 'whole' &&
  !settling.isBackfill &&
  limit === Number.POSITIVE_INFINITY

/** True if the export was corrected by hand, or was last read by another mapping: a row may then give other records. */
async function wasReadOtherwise(
  ledger: Pick<Ledger, 'exports'>,
  jobId: number,
  record: ExportStep['record'],
): Promise<boolean> {
  if (record.reading === 'rejects') return true
  const last = await ledger.exports.lastReading(jobId, record)
  if (last === undefined) return false
  return (await ledger.exports.find(last))?.mapping_digest !== record.mapping_digest
}
