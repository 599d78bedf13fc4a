/** Prints of rows: `src/run/known-rows.ts` recognises by them rows that come again unchanged, before their records are made. */
import type { ContentWords } from '../model/ids.ts'

/** Hash of a row's cells, under the mapping and the version of the program. */
export type CellsHash = (cells: readonly string[]) => ContentWords
