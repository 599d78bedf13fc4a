/** The table of the outbox as Kysely sees it. Instants are milliseconds since the epoch. */
import type { ColumnType, Generated } from 'kysely'
import type { NotificationState } from './states.ts'

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
