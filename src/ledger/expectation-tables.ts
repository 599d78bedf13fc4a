/** The tables of what has arrived, and of what was judged of it. Instants are milliseconds since the epoch. */
import type { Selectable } from 'kysely'

/** A file that a run has begun with, as its source listed it: by the job's name, whatever the gateway. */
export interface DeliveryTable {
  job: string
  mapping: string
  address: string
  modified_at: number
  bytes: number
  name: string
  /** When the first run that did was begun. */
  taken_at: number
  /** When the latest one was. */
  seen_at: number
}

/** What was found when exports had to have arrived. */
export interface DeadlineTable {
  job: string
  mapping: string
  /** Place and pattern. */
  source: string
  /** Cron line and zone. */
  timetable: string
  due: number
  judged_at: number
  state: DeadlineState
  expected: number
  arrived: number
  /** How many of them are strangely small. */
  small: number
  /** JSON: the files that have arrived by then, which do not count for a later deadline. Null where nobody could look. */
  known: string | null
}

/**
 * `seen`: the first of an expectation, which is not told of. `arrived`: in time; `late`: by now; `missing`: not as many as expected;
 * `unreachable`: nobody could look.
 */
export type DeadlineState = 'seen' | 'arrived' | 'late' | 'missing' | 'unreachable'

export type DeliveryRecord = Selectable<DeliveryTable>
export type DeadlineRecord = Selectable<DeadlineTable>
