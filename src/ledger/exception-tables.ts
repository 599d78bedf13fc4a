/** Tables of what runs left behind, and of what has become of it. Instants are milliseconds since the epoch. */
import type { ColumnType, Generated } from 'kysely'
import type { LeftEvent, LeftState } from './states.ts'

/** A row or record that did not simply succeed. */
export interface ExceptionTable {
  id: Generated<number>
  export_row: number
  chunk: number
  row: number
  line: number
  byte_offset: number
  /** Null for a row that was rejected as a whole. */
  kind: string | null
  rule: string | null
  content: string | null
  outcome: 'rejected' | 'in-doubt' | 'warning'
  /** What has become of it since. */
  state: LeftState | 'warning'
  stage: string
  code: string
  field: string | null
  /** Of the gateway's words those alone that are known to be of nobody (`src/load/gateway-words.ts`). */
  message: string
  batch_id: string | null
  /** When the run began in which the same one was met first; null of one that is new (known-since.ts). */
  known_since: ColumnType<number | null, never, number>
}

/** What has befallen an exception after its run: never changed, only added to. */
export interface DecisionTable {
  id: Generated<number>
  exception: number
  event: LeftEvent
  /** The run that it belongs to; null for what a person or a look at the profile has decided. */
  run_id: string | null
  /** What a person has decided; null for what came of itself. */
  resolution: number | null
  at: number
}

export type Decided = 'accept' | 'resend' | 'give-up' | 'acknowledge' | 'undo-acknowledge'

/** What a person has decided on a run, by one command. */
export interface ResolutionTable {
  id: Generated<number>
  run_id: string
  decision: Decided
  /** Of `acknowledge`: the reason that it is about; null where it is all that the run has left. */
  code: ColumnType<string | null, string | null | undefined, never>
  /** Of `acknowledge`: when it was undone. */
  undone_at: ColumnType<number | null, never, number>
  /** Who, */
  person: string
  /** and why, where that was said. */
  note: string | null
  at: number
}
