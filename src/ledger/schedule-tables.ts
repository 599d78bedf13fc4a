/** Tables of the schedule: timetables, fires, deliveries, deadlines, notifications. Instants are milliseconds since the epoch. */
import type { ColumnType, Generated } from 'kysely'
import type { SealedId } from './sealed-ids.ts'
import type { DeadlineState, FireState, NotificationState } from './states.ts'

/** When a job is due, as last seen by the schedule. */
export interface TimetableTable {
  job_id: number
  cron: string
  zone: string
  /** All fires up to this instant are in the ledger. */
  seen_until: number
}

/** A paused job: the schedule starts nothing. */
export interface PauseTable {
  job_id: number
  person: string
  note: string | null
  at: number
  /** End of the pause; null for a pause that a person ends. */
  until: number | null
}

/** Targets that a job listed when its file was last valid. */
export interface LastTargetsTable {
  job: string
  /** JSON, encrypted by the key of the installation: addresses and commands may hold secrets. */
  targets: SealedId
}

/** Null until known. */
type Later<T> = ColumnType<T | null, T | null | undefined, T | null>

/** A fire: an instant at which a job was due, and the result. */
export interface FireTable {
  job_id: number
  due: number
  state: FireState
  /** The fire whose run makes up for this fire: this or a later fire. Null if the job ran in time, or if nothing makes up for the fire. */
  made_up_by: Later<number>
  /** Owner (process) that began the run. */
  owner: Later<string>
  run_id: Later<string>
  begun_at: Later<number>
  ended_at: Later<number>
  /** Exit code of the run. */
  exit: Later<number>
  /** Code of the error that ended the run. */
  error: Later<string>
  /** Reason why the job did not run in time. */
  reason: Later<string>
  /** Owner that held the job, or place of the error in the job file. */
  detail: Later<string>
  /** Earliest next try of a `retrying` fire. */
  retry_at: Later<number>
}

/** A notice on the way to a target. A target is notified of a subject once. */
export interface NotificationTable {
  id: Generated<number>
  /** Equal in every try: a receiver recognises a notice already received. */
  message_id: string
  job_id: number
  kind: string
  subject: string
  /** Digest that tells the targets of a job apart, as addresses and commands may hold secrets. */
  target: string
  /** Name of the target for people, without secrets. */
  address: string
  /** JSON. */
  notice: string
  state: NotificationState
  /** Number of tries begun. */
  attempts: ColumnType<number, number | undefined, number>
  /** Earliest next try. During a delivery: the instant at which the delivering process counts as dead. */
  next_at: number
  created_at: number
  delivered_at: ColumnType<number | null, number | null | undefined, number | null>
  /** Error of the latest try. No secret. */
  error: ColumnType<string | null, string | null | undefined, string | null>
}

/** A file that a run has begun to read, as listed by the source. Stored under the job's name, regardless of the gateway. */
export interface DeliveryTable {
  job: string
  mapping: string
  address: string
  modified_at: number
  bytes: number
  name: string
  /** Begin of the first run with the file. */
  taken_at: number
  /** Begin of the latest run with the file. */
  seen_at: number
}

/** Judgement of a deadline for exports. */
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
  /** Number of strangely small exports among the arrived. */
  small: number
  /** JSON: files that had arrived by then, which do not count for a later deadline. Null if the source could not be read. */
  known: string | null
}
