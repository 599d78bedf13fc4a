/** Tables of the schedule: when jobs are due, what became of it, what exports have come, who is told. Instants are milliseconds since the epoch. */
import type { ColumnType, Generated } from 'kysely'
import type { DeadlineState, FireState, NotificationState } from './states.ts'

/** When a job is due, as the schedule has seen it last. */
export interface TimetableTable {
  job_id: number
  cron: string
  zone: string
  /** Fires up to this instant are written down. */
  seen_until: number
}

/** A job of which the schedule begins nothing. */
export interface PauseTable {
  job_id: number
  person: string
  note: string | null
  at: number
}

/** Null until it is known. */
type Later<T> = ColumnType<T | null, T | null | undefined, T | null>

/** An instant at which a job was due, and what became of it. */
export interface FireTable {
  job_id: number
  due: number
  state: FireState
  /** The fire whose run makes up for this one: itself, or a later one. Null where it ran at its time, or nothing makes up for it. */
  made_up_by: Later<number>
  /** Of the process that began its run. */
  owner: Later<string>
  run_id: Later<string>
  begun_at: Later<number>
  ended_at: Later<number>
  /** Exit code that its run came to. */
  exit: Later<number>
  /** Code of the error that ended its run. */
  error: Later<string>
  /** Why it did not run at its time. */
  reason: Later<string>
  /** Who held the job, or where its file was wrong. */
  detail: Later<string>
}

/** A notice on its way to one target. A target is told of a subject once. */
export interface NotificationTable {
  id: Generated<number>
  /** The same in every try, so that a receiver knows one that it has. */
  message_id: string
  job_id: number
  kind: string
  subject: string
  /** Tells the targets of a job apart: a digest, as addresses and commands may hold secrets. */
  target: string
  /** Names the target for people, without secrets. */
  address: string
  /** JSON. */
  notice: string
  state: NotificationState
  /** How often delivery was begun. */
  attempts: ColumnType<number, number | undefined, number>
  /** Not tried before: while a process delivers it, the instant at which that one is taken for dead. */
  next_at: number
  created_at: number
  delivered_at: ColumnType<number | null, number | null | undefined, number | null>
  /** Why it could not be delivered the last time. No secret. */
  error: ColumnType<string | null, string | null | undefined, string | null>
}

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
