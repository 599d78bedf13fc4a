/**
 * Tickets in pg-boss, in a schema beside the ledger's. The name of the queue has the version of the tickets: an older worker takes no newer
 * ticket.
 */
import type pg from 'pg'
import { type JobWithMetadata, PgBoss } from 'pg-boss'
import { z } from 'zod'
import type { AccountIdCipher, SealedId } from '../sealed-ids.ts'
import {
  EndWords,
  type Lane,
  laneOf,
  RunRequest,
  type SentTicket,
  TicketEnd,
  type Tickets,
} from '../tickets.ts'
import { shownAddress } from './address.ts'
import { ledgerError, type PostgresAddress, poolOf } from './database.ts'

const VERSION = 4
const LANES: readonly Lane[] = ['run', 'backfill', 'part']

/** A lost heartbeat counts as a try. */
const MOST_TRIES = 10_000
/** A worker is missed after the shortest silence of pg-boss, by looks as frequent as the heartbeats. */
const SILENCE_SECONDS = 10
const LOOK_SECONDS = 5
/** Longest time of a run with one ticket. The next try finds the lease held, and waits. */
const LONGEST_SECONDS = 86_399

interface OpeningTickets {
  /** True to look for silent workers. */
  readonly supervises: boolean
  /** Seals by the key of the installation. Equal texts are sealed alike. */
  readonly cipher: AccountIdCipher
  /** For tests: version of the tickets. */
  readonly version?: number | undefined
}

/** @throws `ledger-unusable` */
export async function openTickets(
  address: PostgresAddress,
  { supervises, cipher, version = VERSION }: OpeningTickets,
): Promise<Tickets> {
  const where = shownAddress(address.url)
  const pool = poolOf(address)
  const refuse = (error: unknown): never => {
    throw ledgerError(where, error)
  }
  try {
    const boss = await startBoss(pool, supervises, refuse)
    const queueOf = (lane: Lane): string => `${lane}.v${version}`
    for (const lane of LANES)
      await boss.createQueue(queueOf(lane), {
        policy: 'exclusive',
        retryLimit: MOST_TRIES,
        expireInSeconds: LONGEST_SECONDS,
        heartbeatSeconds: SILENCE_SECONDS,
      })
    return ticketsIn(boss, queueOf, cipher, async () => {
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
  // Each call reports errors; maintenance is repeated.
  boss.on('error', () => {})
  return boss.start()
}

/** Data of a ticket, and the words of the end, as stored by the queue. */
const SealedRequest = z.object({ sealed: z.string() })
const StoredEnd = TicketEnd.extend({ words: z.string().optional(), report: z.string().optional() })
const Report = z.object({ report: z.unknown() })

function sealing({ seal, open }: AccountIdCipher) {
  return {
    sealed: (value: object): string => String(seal(JSON.stringify(value))),
    opened<Value>(text: string, form: z.ZodType<Value>): Value | undefined {
      const known: unknown = text
      const json = open(known as SealedId)
      return json === null ? undefined : form.parse(JSON.parse(json))
    },
  }
}

function ticketsIn(
  boss: PgBoss,
  queueOf: (lane: Lane) => string,
  cipher: AccountIdCipher,
  close: () => Promise<void>,
): Tickets {
  const { sealed, opened } = sealing(cipher)
  const attemptOf = ({ id, attempt }: { readonly id: string; readonly attempt: number }) => ({
    id,
    retryCount: attempt,
  })
  const found = async ({ id, lane }: SentTicket): Promise<JobWithMetadata<unknown> | undefined> =>
    (await boss.findJobs(queueOf(lane), { id }))[0]
  return {
    async send(job, request) {
      const lane = laneOf(request)
      const id = await boss.send(queueOf(lane), { sealed: sealed(request) }, { singletonKey: job })
      return id === null ? undefined : { id, lane }
    },
    async find(job, request) {
      const lane = laneOf(request)
      const same = { key: job, data: { sealed: sealed(request) } }
      const newest = (await boss.findJobs(queueOf(lane), same)).at(-1)
      return newest && { id: newest.id, lane }
    },
    async take(lane) {
      const [taken] = await boss.fetch(queueOf(lane), { batchSize: 1, includeMetadata: true })
      if (taken === undefined) return undefined
      const { id, retryCount: attempt, createdOn } = taken
      const request = opened(SealedRequest.parse(taken.data).sealed, RunRequest)
      return { id, lane, attempt, sentAt: createdOn.getTime(), request }
    },
    async beat(ticket) {
      await boss.touch(queueOf(ticket.lane), attemptOf(ticket))
    },
    async complete(ticket, { words, report, ...end }) {
      const output = {
        ...end,
        ...(words === undefined ? {} : { words: sealed(words) }),
        ...(report === undefined ? {} : { report: sealed({ report }) }),
      }
      await boss.complete(queueOf(ticket.lane), attemptOf(ticket), output)
    },
    async giveBack(ticket) {
      await boss.fail(queueOf(ticket.lane), attemptOf(ticket))
    },
    async stateOf(ticket) {
      const job = await found(ticket)
      if (job === undefined || job.state === 'cancelled' || job.state === 'failed') return 'gone'
      if (job.state !== 'completed') return job.state === 'active' ? 'taken' : 'queued'
      const { words, report, ...end } = StoredEnd.parse(job.output)
      return {
        ...end,
        ...(words === undefined ? {} : { words: opened(words, EndWords) }),
        ...(report === undefined ? {} : opened(report, Report)),
      }
    },
    async withdraw({ id, lane }) {
      await boss.cancel(queueOf(lane), id)
    },
    close,
  }
}
