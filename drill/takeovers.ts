/** Times that pass until another worker has the jobs of a worker that was killed or halted, by the leases in the ledger. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** Twice the promise: nobody takes the job over any more. */
const LONGEST_WAIT_MS = 60_000
const LOOK_EVERY_MS = 200

export interface Held {
  /** Host of the process. */
  readonly machine: string
  readonly job: number
  readonly token: number
}

export interface Takeovers {
  /** Jobs that are held; none if the server does not answer. */
  held(): Promise<readonly Held[]>
  /**
   * Waits until each job has another holder, or none as its run is over.
   * @returns milliseconds; undefined if the server did not answer meanwhile
   */
  untilTaken(held: readonly Held[]): Promise<number | undefined>
  /** Cuts some connections of all rounds, in the middle of whatever they do. */
  cut(): Promise<void>
}

/** @param url of the ledger */
export function watchTakeovers(url: string): Takeovers {
  const rowsOf = async <Row extends pg.QueryResultRow>(
    query: string,
    values: unknown[],
  ): Promise<Row[] | undefined> => {
    const client = new pg.Client(url)
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query<Row>(query, values)).rows
    } catch {
      return undefined
    } finally {
      await client.end().catch(() => {})
    }
  }
  const HELD = `select split_part(owner, ':', 1) as machine, cast(job_id as int) as job, cast(token as int) as token
    from lease where expires_at > extract(epoch from clock_timestamp()) * 1000`
  const CUT = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'waybill' and random() < 0.3`
  const STILL = 'select 1 from lease where job_id = $1 and token = $2 and expires_at > 0'
  return {
    held: async () => (await rowsOf<{ machine: string; job: number; token: number }>(HELD, [])) ?? [],
    async cut() {
      await rowsOf(CUT, [])
    },
    async untilTaken(held) {
      const since = performance.now()
      for (const { job, token } of held) {
        for (;;) {
          const still = await rowsOf(STILL, [job, token])
          if (still === undefined) return undefined
          if (still.length === 0 || performance.now() - since > LONGEST_WAIT_MS) break
          await delay(LOOK_EVERY_MS)
        }
      }
      return performance.now() - since
    },
  }
}
