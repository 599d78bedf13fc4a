/** Store of delivered rows, as the ledger uses a driver's. */
import type { RowPrint } from '../../model/ids.ts'
import type { KeptSlot, RowToSave } from '../left-records.ts'
import type { MaybePromise, Statements } from './exclusive.ts'

/** A piece of upkeep, done between writes to keep the store small. */
export type Upkeep =
  | { readonly what: 'merge'; readonly level: number }
  | { readonly what: 'remove'; readonly segment: number }
  | { readonly what: 'clear' }

export interface DeliveredStore {
  /** Slots by row key, for keys with slots, oldest first. Call outside of a transaction. */
  read(jobId: number, rowKeys: readonly string[]): MaybePromise<Map<string, readonly KeptSlot[]>>
  /** Prints by row key, for keys with a print. Call outside of a transaction. */
  prints(jobId: number, rowKeys: readonly string[]): MaybePromise<Map<string, RowPrint>>
  /** Replaces the slots of these row keys, in the transaction of the statements. */
  save(jobId: number, rows: readonly RowToSave[], statements: Statements): MaybePromise<void>
  /** Upkeep that is due: one piece of each kind and level. */
  upkeep(jobId: number): Upkeep[]
  /**
   * Does a piece of upkeep, in a separate transaction.
   * @param settled rows settled since the last piece: larger chunks make larger pieces
   */
  keepUp(jobId: number, piece: Upkeep, settled: number): void
}
