/** Worker of a run: does the work of its chunks. Sends records (here), or collects answers about people (collecting.ts). */
import type { ChunkSettlement } from '../ledger/run-writes.ts'
import { settleOwed } from '../load/care-team-owed.ts'
import { type ChunkToLoad, type LoadContext, type LoadedChunk, loadChunk } from '../load/load-chunk.ts'
import { type Counts, countChunk } from '../model/balance.ts'
import type { Chunk, ChunkRow } from './chunks.ts'
import { withTakenBack } from './taken-back.ts'

/** Facts of the export for the work on a chunk. */
type ChunkAround = Omit<ChunkToLoad, 'chunk' | 'entries' | 'withdrawn' | 'shared' | 'listed'> & {
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
  /** Ends the work after the last export. @param isRead true if any export was readable */
  finish(isRead: boolean): Promise<void>
}

/** Sends the records of each chunk, and carries out owed marks and deletions of care teams in the end. */
export function createLoader(load: LoadContext): Worker {
  return {
    chunkRows: undefined,
    // In a copied ledger each record is judged by its date.
    recognises: load.suspicion.until === undefined,
    async work({ number, rows, entries, withdrawn, shared }, { listsTeams, ...around }) {
      const listed = listsTeams ? rows.flatMap(({ outcome }) => outcome.account ?? []) : []
      const loaded = await loadChunk(load, { ...around, chunk: number, entries, withdrawn, shared, listed })
      const kept = withTakenBack(rows, loaded.takenBack ?? [])
      return { ...loaded, rows: kept, counts: countChunk(kept, loaded.outcomes, loaded.rowsCorrected) }
    },
    pending: ({ rows }) => countChunk(rows, [], 0),
    finish: () => settleOwed(load.careTeams),
  }
}
