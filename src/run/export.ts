/** One export through all stages: open, map, load, settle; from the start, or from where the ledger stands. */
import { join } from 'node:path'
import type { LoadedMapping } from '../definitions/definition-files.ts'
import type { ContentLimits } from '../extract/content-limits.ts'
import type { ChunkRecord, ExportRecord, Ledger, RunLedger, RunOrigin } from '../ledger/ledger.ts'
import { type LoadContext, type LoadedChunk, loadChunk } from '../load/load-chunk.ts'
import { toException } from '../load/outcomes.ts'
import {
  addCounts,
  allRecords,
  assertBalanced,
  type Counts,
  countChunk,
  noCounts,
  readCounts,
} from '../model/balance.ts'
import { type ErrorCode, WaybillError } from '../model/errors.ts'
import { type Identity, transactionId } from '../model/ids.ts'
import type { Origin } from '../model/row.ts'
import { ownFileName } from '../own-files.ts'
import { type Chunk, type ChunkRow, createPipeline, cutChunks } from './chunks.ts'
import type { DriftWatch } from './drift-watch.ts'
import type { LeftBehind, RangePosition, RunEvents } from './events.ts'
import { lastWordsOf } from './last-words.ts'
import { type AppendedFile, openAppended, receiptsOf, receiptsText } from './receipts.ts'
import { columnsInFront, rejectsHeader, rejectsText } from './rejects.ts'
import { type ExportAtHand, openRows } from './rows.ts'
import { exceptionsOf, heldBy, newlyDelivered, rulingOf } from './settlement.ts'

export interface ExportContext {
  readonly home: string
  readonly ledger: Ledger
  readonly runLedger: RunLedger
  readonly load: LoadContext
  readonly identity: Identity
  readonly receipts: AppendedFile
  readonly rejectsFolder: string
  readonly events: RunEvents
  readonly stopWhen: StopWhen
  readonly now: () => number
  /** When the run began, the first time: a resumed run maps by the clock that it had. */
  readonly startedAt: number
  /** Stops everything of the run that is still to be sent. */
  readonly stop: (reason: unknown) => void
  readonly limit: number
  /** Of a run that takes up what another one left behind. */
  readonly origin: RunOrigin | undefined
  /** Its exports are old: none of them takes anything back. */
  readonly isBackfill: boolean
  /** Resolves when a chunk, by its number, may be begun. @throws what ends the run once the chunks under way are settled */
  readonly turn: (chunk: number) => Promise<void>
  /** Told how many more records the run has in hand, or fewer. */
  readonly inHand: (more: number) => void
}

export interface ExportEnd {
  readonly counts: Counts
  readonly error?: unknown
}

/**
 * Runs the export to its end. Where the run must stop, the counts hold what is open as pending and `error` says why.
 * @param watch is told of all rows; undefined where they are not compared
 * @throws WaybillError `export-unreadable`, `export-empty`, `columns-missing`: nothing of it was sent
 */
export async function runExport(
  context: ExportContext,
  record: ExportAtHand,
  mapping: LoadedMapping,
  limits: ContentLimits,
  watch: DriftWatch | undefined,
  position?: RangePosition,
): Promise<ExportEnd> {
  const { opened, mapper } = await openRows(context, record, mapping, limits)
  const lastWords = lastWordsOf(context, record, { opened, mapper })
  const inFront = columnsInFront(opened.columns, mapping.read)
  const resumption = resumptionOf(await context.ledger.chunksOf(record.id))
  const { counts } = resumption
  const rejects = openAppended(
    context.home,
    rejectsPath(context, record),
    resumption.rejectsLength,
    context.runLedger.assertHeld,
  )
  const progress = (byteOffset: number) => ({ name: record.name, counts, share: opened.share(byteOffset) })
  context.events.emit({
    type: 'exportStarted',
    ...progress(resumption.from?.byteOffset ?? 0),
    bytes: record.bytes,
    position,
  })

  const open = new Map<number, Chunk>()
  const load = async (chunk: Chunk): Promise<LoadedChunk> => {
    open.set(chunk.number, chunk)
    context.inHand(chunk.entries.length)
    const { row, line, byteOffset } = chunk.start
    const resumed = resumption.open.has(chunk.number)
    await context.runLedger.openChunk(record.id, {
      number: chunk.number,
      firstRow: row,
      firstLine: line,
      byteOffset,
      rows: chunk.rows.length,
    })
    return loadChunk(context.load, {
      exportRow: record.id,
      chunk: chunk.number,
      exportId: record.export_id,
      entries: chunk.entries,
      resumed,
      takenBack: lastWords,
    }).catch((error: unknown) => {
      context.stop(error)
      throw error
    })
  }
  const settle = async (chunk: Chunk, loaded: LoadedChunk): Promise<void> => {
    addCounts(counts, await settleChunk(context, record, inFront, rejects, chunk, loaded))
    open.delete(chunk.number)
    context.inHand(-chunk.entries.length)
    context.events.emit({
      type: 'exportAdvanced',
      ...progress(chunk.rows.at(-1)?.source.byteOffset ?? 0),
      left: () => leftBehind(record, chunk, loaded),
    })
  }
  const begin = async (chunk: Chunk): Promise<void> => {
    await context.turn(chunk.number)
    context.stopWhen.look(chunk.rows, resumption.open.has(chunk.number))
    watch?.look(chunk.rows)
  }
  const pipeline = createPipeline(load, settle, begin)
  try {
    try {
      const blocks = opened.rows(resumption.from)
      const { number, skip, open: cutBefore } = resumption
      // What is under way is settled as a whole: a chunk that is cut short would forget what of it was sent.
      const limit = Math.max(context.limit, rowsOf(cutBefore))
      const range = { number, skip, limit, cutBefore }
      for await (const chunk of cutChunks(blocks, mapper, context.identity, record.export_id, range)) {
        await pipeline.add(chunk)
      }
    } finally {
      await pipeline.drain()
    }
    await opened.assertUnchanged()
    if (counts.rows.read === 0)
      throw new WaybillError('export-empty', `${record.name} has a header and no rows`, {
        place: { file: record.path },
      })
    await watch?.end(context.runLedger, record.id)
    await context.runLedger.endExport(record.id, 'finished', null)
    assertBalanced(counts, record.name)
    context.events.emit({ type: 'exportEnded', name: record.name, counts })
    return { counts }
  } catch (error) {
    if (isExportProblem(error) && open.size === 0) throw error
    for (const chunk of open.values()) addCounts(counts, countChunk(chunk.rows, [], 0))
    return { counts, error }
  } finally {
    await rejects.close()
  }
}

function leftBehind(record: ExportRecord, chunk: Chunk, loaded: LoadedChunk): LeftBehind[] {
  return exceptionsOf(chunk.rows, loaded, toException).map((one) => {
    const { row, line, rule, content, outcome, stage, code, batchId } = one
    const transaction =
      rule === null || content === null ? undefined : transactionId(record.export_id, row, rule, content)
    return { row, line, rule, outcome, stage, code, batchId, transaction }
  })
}

/**
 * `<ordinal>-<export>.rejects.csv`, in the run's folder, as far as the name of the export may stand in that of a file; that of a rejects file
 * bears the name of the export that its rows came from.
 */
export function rejectsPath(
  context: Pick<ExportContext, 'rejectsFolder'>,
  { ordinal, name, reading }: Pick<ExportRecord, 'ordinal' | 'name' | 'reading'>,
): string {
  const stem = name.replace(/(\.csv|\.ndjson|\.json)?(\.gz)?$/i, '')
  const own = reading === 'rejects' ? stem.replace(/^\d+-(.+)\.rejects$/i, '$1') : stem
  return join(context.rejectsFolder, ownFileName(`${ordinal}-${own}`, '.rejects.csv'))
}

interface Resumption {
  readonly counts: Counts
  readonly from: Origin | undefined
  readonly number: number
  readonly skip: number
  /** Chunks of which an earlier process may have sent some: number → rows. */
  readonly open: ReadonlyMap<number, number>
  readonly rejectsLength: number
}

const rowsOf = (chunks: ReadonlyMap<number, number>): number =>
  [...chunks.values()].reduce((total, rows) => total + rows, 0)

/** Where an export goes on, by its chunks in the ledger. They settle in order, so the last settled one tells it. */
function resumptionOf(chunks: readonly ChunkRecord[]): Resumption {
  const counts = noCounts()
  let last: ChunkRecord | undefined
  const open = new Map<number, number>()
  for (const chunk of chunks) {
    if (chunk.state === 'settled') {
      addCounts(counts, readCounts(chunk.counts))
      last = chunk
    } else open.set(chunk.number, chunk.rows)
  }
  return {
    counts,
    from: last && { row: last.first_row, line: last.first_line, byteOffset: last.byte_offset },
    number: (last?.number ?? 0) + 1,
    skip: last?.rows ?? 0,
    open,
    rejectsLength: last?.rejects_length ?? 0,
  }
}

/** Writes rejects and receipts, then, in one transaction, everything that the ledger must know of the chunk. */
async function settleChunk(
  context: ExportContext,
  record: ExportRecord,
  inFront: readonly string[],
  rejects: AppendedFile,
  chunk: Chunk,
  loaded: LoadedChunk,
): Promise<Counts> {
  const counts = countChunk(chunk.rows, loaded.outcomes, loaded.rowsCorrected)
  assertBalanced(counts, `chunk ${chunk.number} of ${record.name}`)
  const { pending } = allRecords(counts)
  if (pending > 0)
    throw new WaybillError(
      'not-balanced',
      `chunk ${chunk.number} of ${record.name} has ${pending} records without an outcome`,
    )
  const rejected = rejectsText({ name: record.name, exportId: record.export_id }, inFront, chunk.rows, loaded)
  if (rejected !== '') {
    const header = rejects.length === 0 ? rejectsHeader(inFront) : ''
    await rejects.append(Buffer.from(header + rejected))
  }
  const { ruling, sentAs } = await rulingOf(context, record, chunk.rows, loaded.outcomes)
  await context.receipts.append(await receiptsText(receiptsOf(loaded.outcomes, sentAs)))
  await context.runLedger.settleChunk({
    exportRow: record.id,
    chunk: chunk.number,
    counts: JSON.stringify(counts),
    receiptsLength: context.receipts.length,
    rejectsLength: rejects.length,
    delivered: await newlyDelivered(context.ledger, context.load.jobId, loaded.outcomes),
    held: heldBy(context.identity, loaded.outcomes),
    exceptions: exceptionsOf(chunk.rows, loaded, (outcome) =>
      outcome.batchId === null ? toException(outcome) : undefined,
    ),
    careTeams: { gateway: context.load.accounts.gatewayName, entries: loaded.careTeams },
    ruling,
    // Of a chunk that is loaded once more, after a kill, the last time counts.
    tallies: { accounts: loaded.accounts },
    at: context.now(),
  })
  return counts
}

/** A problem of the export itself, told apart from what stops the run. */
export function isExportProblem(error: unknown): error is WaybillError {
  return error instanceof WaybillError && EXPORT_PROBLEMS.has(error.code)
}

const EXPORT_PROBLEMS: ReadonlySet<string> = new Set<ErrorCode>([
  'export-unreadable',
  'export-empty',
  'export-changed',
  'export-refused',
  'export-not-as-announced',
  'export-drifted',
  'export-too-large',
  'export-untrusted',
  'export-join-missing',
  'export-join-unusable',
  'source-unreachable',
  'columns-missing',
])

export interface StopWhen {
  /**
   * Looks at a chunk before it is sent.
   * @param underWay whether an earlier process has begun with it: then it counts and stops nothing, as what of it was sent must be settled
   * @throws WaybillError `threshold-passed`
   */
  look(rows: readonly ChunkRow[], underWay: boolean): void
}

/** Rows of the run, as far as they are settled. */
export interface RowsBefore {
  readonly read: number
  readonly rejected: number
}

/**
 * @param limit share of rows rejected, judged once `after` rows were read; undefined: never stops
 * @param before what the run had read before it was resumed
 */
export function createStopWhen(
  limit: { rejectedRows: number; after: number } | undefined,
  before: RowsBefore = { read: 0, rejected: 0 },
): StopWhen {
  let { read, rejected } = before
  return {
    look(rows, underWay) {
      if (limit === undefined) return
      read += rows.length
      for (const { outcome } of rows) if (outcome.outcome === 'rejected') rejected++
      if (underWay) return
      if (read < limit.after || rejected / read <= limit.rejectedRows) return
      const share = (rate: number): string => `${(rate * 100).toFixed(1)} %`
      throw new WaybillError(
        'threshold-passed',
        `${rejected} of ${read} rows were rejected (${share(rejected / read)}); stopWhen.rejectedRows allows ${share(limit.rejectedRows)}`,
      )
    },
  }
}
