/** Cuts the rows of an export into chunks, mapping them on the way. Equal rows and an equal mapping give equal chunks. */

import type { ChunkToLoad } from '../load/load-chunk.ts'
import {
  createEntries,
  createWithdrawn,
  type Entry,
  type MappedRow,
  RequestEntry,
  type RowOutcome,
  type WithdrawnEntry,
} from '../model/entry.ts'
import { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountKey } from '../model/record.ts'
import type { Origin, Row } from '../model/row.ts'
import type { RowMapper } from '../transform/compile.ts'
import { judgePeople } from './judge-people.ts'
import { joinBlocks, type KnownRows } from './known-rows.ts'

/**
 * Size of a chunk, closed by the row that reaches either number: this bounds the memory used. Records are small beside their row, and the last batch
 * of a chunk is hardly ever full: the more records, the fewer requests. Records of recognised rows are not made, and do not count.
 */
export const CHUNK_SIZE = { rows: 2_500, records: 10_000 }

/**
 * Largest chunk of a part, in chunks of an export read as one. People of a part come again sooner, each time in a later request: the last requests of
 * a chunk are few at once, and larger chunks have fewer last requests.
 */
const MOST_IN_PART = 4

export interface ChunkRow {
  readonly source: Row
  readonly outcome: RowOutcome
}

export interface Chunk extends Pick<ChunkToLoad, 'entries' | 'withdrawn' | 'behind'> {
  /** Number within the export, from 1. */
  readonly number: number
  /** Origin of the first row. */
  readonly start: Origin
  readonly rows: readonly ChunkRow[]
  /** People whose rows are rejected, because they give several birth dates under one reference. */
  readonly shared: readonly AccountKey[]
}

interface ChunkRange {
  /** Number of the first chunk to cut. */
  readonly number: number
  /** Rows to skip at the start: rows of the settled chunk before. */
  readonly skip: number
  /** Rows to take at most. */
  readonly limit: number
  /** Rows of a chunk cut before, by its number: the chunk is cut at this size again, whatever the size is by now. */
  readonly cutBefore: ReadonlyMap<number, number>
  /** Rows of a chunk at most, if fewer than usual. */
  readonly rows?: number | undefined
  /** Distance of the numbers of two chunks, the number of parts: chunks of the other parts lie in between. */
  readonly step?: number
}

export async function* cutChunks(
  blocks: AsyncIterable<readonly Row[]>,
  mapper: RowMapper,
  identity: Identity,
  exportId: string,
  range: ChunkRange,
  known?: KnownRows,
): AsyncGenerator<Chunk> {
  let { number, skip, limit } = range
  const { step = 1 } = range
  const size = Math.min(step, MOST_IN_PART)
  let rows: ChunkRow[] = []
  let made = 0
  const mapped = new PeopleMapped()
  let [claims, before] = [new Set<string>(), new Set<string>()]
  const closed = (): Chunk => {
    // A later row of the chunk may be another one of the person.
    const mapAgain = (one: ChunkRow): ChunkRow =>
      isRecognised(one.outcome) && mapped.has(one.outcome) ? { ...one, outcome: mapper(one.source) } : one
    const { judged, shared } = judgePeople(known === undefined ? rows : rows.map(mapAgain))
    mapped.close()
    const entries: Entry[] = []
    const withdrawn: WithdrawnEntry[] = []
    for (const { outcome } of judged) {
      if (outcome.outcome === 'mapped') createEntries(identity, exportId, outcome, entries)
      createWithdrawn(identity, exportId, outcome, withdrawn)
    }
    const own = number
    number += step
    const behind = behindOf(claims, before)
    ;[claims, before] = [new Set(), claims]
    return { number: own, start: startOf(judged), rows: judged, entries, withdrawn, shared, behind }
  }
  for await (const block of known === undefined ? blocks : joinBlocks(blocks)) {
    for (const row of block.slice(0, skip)) claim(before, mapper(row))
    const unread = block.slice(skip)
    skip -= block.length - unread.length
    mapped.lookUp()
    const found = (await known?.find(unread)) ?? []
    for (let at = 0; at < unread.length; at++) {
      const source = unread[at]
      if (source === undefined || limit-- <= 0) break
      const rowsBefore = range.cutBefore.get(number)
      const recognised = rowsBefore === undefined ? found[at] : undefined
      const outcome = recognised === undefined || mapped.has(recognised) ? mapper(source) : recognised
      if (known !== undefined && outcome !== recognised) mapped.add(outcome)
      rows.push({ source, outcome })
      claim(claims, outcome)
      if (outcome.outcome === 'mapped') made += outcome.records.length + outcome.rejected.length
      const isFull = rows.length >= (rowsBefore ?? range.rows ?? CHUNK_SIZE.rows * size)
      if (isFull || (rowsBefore === undefined && made >= CHUNK_SIZE.records * size)) {
        yield closed()
        rows = []
        made = 0
      }
    }
    if (limit < 0) break
  }
  if (rows.length > 0) yield closed()
}

/**
 * People with a row that was not recognised, in chunks that may not be settled at the last look-up. Their other rows are mapped, too: the fate of one
 * concerns the others.
 */
class PeopleMapped {
  #ofChunk = new Set<string>()
  #before: ReadonlySet<string>[] = []

  lookUp(): void {
    this.#before = this.#before.slice(-CHUNKS_AT_ONCE)
  }

  add({ account }: RowOutcome): void {
    if (account !== undefined) this.#ofChunk.add(account.reference)
  }

  has({ account: { reference } }: MappedRow): boolean {
    return this.#ofChunk.has(reference) || this.#before.some((chunk) => chunk.has(reference))
  }

  close(): void {
    this.#before.push(this.#ofChunk)
    this.#ofChunk = new Set()
  }
}

const isRecognised = (outcome: RowOutcome): outcome is MappedRow =>
  outcome.outcome === 'mapped' && outcome.known !== undefined

function startOf([first]: readonly ChunkRow[]): Origin {
  const { row, line, byteOffset } = first?.source ?? { row: 1, line: 1, byteOffset: 0 }
  return { row, line, byteOffset }
}

/** Notes the person and the requests of a row. A person without a listed care team may lose care teams. */
function claim(claims: Set<string>, outcome: RowOutcome): void {
  if (outcome.account !== undefined) claims.add(outcome.account.reference)
  // A chunk holds requests alone, or none.
  if (outcome.outcome !== 'mapped' || !(outcome.records[0] instanceof RequestEntry)) return
  for (const entry of outcome.records)
    if (entry instanceof RequestEntry) claims.add(`${REQUEST}${entry.request.reference}`)
}

const REQUEST = 'request '

/** Two people may share the number of a request: then the whole chunk goes behind the chunk before. */
function behindOf(claims: ReadonlySet<string>, before: ReadonlySet<string>): ReadonlySet<string> {
  const common = claims.intersection(before)
  return [...common].some((one) => one.startsWith(REQUEST)) ? claims : common
}

/** Chunks in flight at once: while the first waits for its last answers, the next is mapped and sent. */
const CHUNKS_AT_ONCE = 2

interface Pipeline {
  /** Starts the chunk as soon as there is room. @throws the failure of an earlier chunk */
  add(chunk: Chunk): Promise<void>
  /** Waits until all chunks are settled. @throws the first failure */
  drain(): Promise<void>
}

/**
 * Runs chunks in a pipeline.
 * @param load sends the chunk; resolves when every record has an outcome. `beforeSettled` resolves when the chunk before is
 * settled, and throws the failure of the run
 * @param settle records the outcomes; called in the order of the chunks, one at a time
 * @param begin resolves when the chunk may begin; `add` throws its errors, and chunks in flight continue
 */
export function createPipeline<Loaded>(
  load: (chunk: Chunk, beforeSettled: () => Promise<void>) => Promise<Loaded>,
  settle: (chunk: Chunk, loaded: Loaded) => Promise<void>,
  begin: (chunk: Chunk) => Promise<void> = async () => {},
): Pipeline {
  const underWay = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined
  let lastSettled: Promise<void> = Promise.resolve()

  const throwFailure = (): void => {
    if (failure !== undefined) throw failure.error
  }
  return {
    async add(chunk) {
      while (underWay.size >= CHUNKS_AT_ONCE) await Promise.race(underWay)
      throwFailure()
      await begin(chunk)
      throwFailure()
      const before = lastSettled
      const loading = load(chunk, () => before.then(throwFailure))
      const settled = (async () => {
        try {
          const loaded = await loading
          await before
          if (failure === undefined) await settle(chunk, loaded)
        } catch (error) {
          failure ??= { error }
        }
      })()
      lastSettled = settled
      underWay.add(settled)
      void settled.then(() => underWay.delete(settled))
    },
    async drain() {
      await Promise.all(underWay)
      throwFailure()
    },
  }
}

export interface StopWhen {
  /**
   * Checks a chunk before it is sent.
   * @param underWay true if an earlier process began the chunk: its rows count but stop nothing, as sent records must be settled
   * @throws WaybillError `threshold-passed`
   */
  look(rows: readonly ChunkRow[], underWay: boolean): void
}

/** Settled rows of the run. */
export interface RowsBefore {
  readonly read: number
  readonly rejected: number
  readonly skipped: number
}

const NO_ROWS: RowsBefore = { read: 0, rejected: 0, skipped: 0 }

const STOPS = { rejected: 'rejectedRows', skipped: 'skippedRows' } as const

/**
 * Stops a run by its shares of rejected and skipped rows.
 * @param limit shares, judged once `after` rows were read; undefined: never stops
 * @param before rows read before the run was resumed
 * @param beside rows of other parts by now
 */
export function createStopWhen(
  limit:
    | Readonly<{ rejectedRows?: number | undefined; skippedRows?: number | undefined; after: number }>
    | undefined,
  before: RowsBefore = NO_ROWS,
  beside: () => RowsBefore = () => NO_ROWS,
): StopWhen {
  let { read } = before
  const counted = { rejected: before.rejected, skipped: before.skipped }
  return {
    look(rows, underWay) {
      if (limit === undefined) return
      read += rows.length
      for (const { outcome } of rows) if (outcome.outcome !== 'mapped') counted[outcome.outcome]++
      if (underWay) return
      const others = beside()
      const all = read + others.read
      if (all < limit.after) return
      for (const outcome of ['rejected', 'skipped'] as const) {
        const allowed = limit[STOPS[outcome]] ?? 1
        const count = counted[outcome] + others[outcome]
        if (count / all <= allowed) continue
        const share = (rate: number): string => `${(rate * 100).toFixed(1)} %`
        throw new WaybillError(
          'threshold-passed',
          `${count} of ${all} rows were ${outcome} (${share(count / all)}); stopWhen.${STOPS[outcome]} allows ${share(allowed)}`,
        )
      }
    },
  }
}
