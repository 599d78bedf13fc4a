/**
 * Tickets in pg-boss, in a schema beside that of the ledger. The name of the queue has the version of its tickets: an older worker takes none of
 * a newer version.
 */
import type pg from 'pg'
import { PgBoss } from 'pg-boss'
import { RunRequest, TicketEnd, type Tickets } from '../tickets.ts'
import { shownAddress } from './address.ts'
import { ledgerError, type PostgresAddress, poolOf } from './database.ts'

const VERSION = 1
const queueOf = (version: number): string => `run.v${version}`

/** A lost heartbeat counts as a try. */
const MOST_TRIES = 10_000
/** A worker is missed after the shortest silence that pg-boss knows, by looks as frequent as its heartbeats. */
const SILENCE_SECONDS = 10
const LOOK_SECONDS = 5
/** Longest time of a run with one ticket. The next try finds the lease held, and waits. */
const LONGEST_SECONDS = 86_399

interface OpeningTickets {
  /** True to look for silent workers. */
  readonly supervises: boolean
  /** For tests: version of the tickets. */
  readonly version?: number | undefined
}

/** @throws WaybillError `ledger-unusable` */
export async function openTickets(
  address: PostgresAddress,
  { supervises, version = VERSION }: OpeningTickets,
): Promise<Tickets> {
  const where = shownAddress(address.url)
  const pool = poolOf(address)
  const refuse = (error: unknown): never => {
    throw ledgerError(where, error)
  }
  try {
    const boss = await startBoss(pool, supervises, refuse)
    const queue = queueOf(version)
    await boss.createQueue(queue, {
      policy: 'exclusive',
      retryLimit: MOST_TRIES,
      expireInSeconds: LONGEST_SECONDS,
      heartbeatSeconds: SILENCE_SECONDS,
    })
    return ticketsIn(boss, queue, async () => {
      await boss.stop({ graceful: false })
      await pool.end()
    })
  } catch (error) {
    await pool.end()
    throw error
  }
}

async function startBoss(
  pool: pg.Pool,
  supervises: boolean,
  refuse: (error: unknown) => never,
): Promise<PgBoss> {
  const { rows } = await pool
    .query<{ schema: string; made: boolean }>(
      `select current_schema() || '_queue' as schema, to_regnamespace(quote_ident(current_schema() || '_queue')) is not null as made`,
    )
    .catch(refuse)
  const { schema, made } = rows[0] ?? { schema: 'waybill_queue', made: false }
  const boss = new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values).catch(refuse) },
    schema: `"${schema}"`,
    createSchema: !made,
    schedule: false,
    supervise: supervises,
    superviseIntervalSeconds: LOOK_SECONDS,
    monitorIntervalSeconds: LOOK_SECONDS,
  })
  // Each call reports its own error; maintenance is repeated.
  boss.on('error', () => {})
  return boss.start()
}

function ticketsIn(boss: PgBoss, queue: string, close: () => Promise<void>): Tickets {
  const attemptOf = ({ id, attempt }: { readonly id: string; readonly attempt: number }) => ({
    id,
    retryCount: attempt,
  })
  return {
    send: async (job, request) => (await boss.send(queue, request, { singletonKey: job })) ?? undefined,
    async take() {
      const [taken] = await boss.fetch(queue, { batchSize: 1, includeMetadata: true })
      if (taken === undefined) return undefined
      const ticket = { id: taken.id, attempt: taken.retryCount }
      return { ...ticket, request: RunRequest.parse(taken.data) }
    },
    async beat(ticket) {
      await boss.touch(queue, attemptOf(ticket))
    },
    async complete(ticket, end) {
      await boss.complete(queue, attemptOf(ticket), end)
    },
    async giveBack(ticket) {
      await boss.fail(queue, attemptOf(ticket))
    },
    async stateOf(id) {
      const [found] = await boss.findJobs(queue, { id })
      if (found === undefined || found.state === 'cancelled' || found.state === 'failed') return 'gone'
      if (found.state === 'completed') return TicketEnd.parse(found.output)
      return found.state === 'active' ? 'taken' : 'queued'
    },
    async withdraw(id) {
      await boss.cancel(queue, id)
    },
    close,
  }
}
