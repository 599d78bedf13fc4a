/** The tables of who runs a job, and who waits for it. Instants are milliseconds since the epoch. */
import type { ColumnType } from 'kysely'

export interface LeaseTable {
  job_id: number
  run_id: string
  /** `host:pid#…`: of one process alone. */
  owner: string
  token: number
  acquired_at: number
  expires_at: number
  /** 1: the holder lets the job go when another one asks for it. */
  gives_way: ColumnType<number, number | undefined, number>
  /** JSON, while the run waits as nothing gets through to the gateway: since when, why, until when. Null: it does not. */
  outage: ColumnType<string | null, null, string | null>
}

/** Who waits for a job whose holder gives way, and until when that counts unless it is said again. */
export interface WaitingTable {
  job_id: number
  owner: string
  since: number
  expires_at: number
}
