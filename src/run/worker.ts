/** Worker of a run: does the work of its chunks. Sends records (loading.ts), or collects answers about people (collecting.ts). */
import type { ChunkSettlement } from '../ledger/run-ledger.ts'
import type { ChunkToLoad, LoadedChunk } from '../load/load-chunk.ts'
import type { Counts } from '../model/balance.ts'
import type { Chunk, ChunkRow } from './chunks.ts'

/** Facts of the export for the work on a chunk. */
type ChunkAround = Omit<ChunkToLoad, 'chunk' | 'entries' | 'withdrawn' | 'shared' | 'listed' | 'behind'> & {
  /** True if the export lists all care teams of a person. */
  readonly listsTeams: boolean
}

/** Chunk with an outcome for each of its records. */
export interface WorkedChunk extends LoadedChunk {
  /** Rows as the work left them. */
  readonly rows: readonly ChunkRow[]
  readonly counts: Counts
  /** Writes the collected answers, right before the ledger settles the chunk. */
  readonly settle?: () => Promise<ChunkSettlement['collected']>
}

export interface Worker {
  /** Rows of a chunk at most; undefined where the number of records ends a chunk. */
  readonly chunkRows: number | undefined
  /** True where rows delivered before need no records. */
  readonly recognises: boolean
  /** @throws WaybillError where the run must stop */
  work(chunk: Chunk, around: ChunkAround): Promise<WorkedChunk>
  /** Counts of a chunk without outcomes. */
  pending(chunk: Chunk): Counts
  /** Notes the care teams that an export, by its arrival, no longer lists; undefined for a job that keeps them. */
  readonly noteMissing?: ((arrival: number) => Promise<void>) | undefined
  /** Ends the work after the last export. @param isRead true if any export was readable */
  finish(isRead: boolean): Promise<void>
}
