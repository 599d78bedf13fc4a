/**
 * Tickets of runs: requests to any worker. The lease keeps two runs of a job apart; tickets only distribute the work. The queue holds request
 * and result sealed with the key of the installation: paths and messages may name people.
 */
import { z } from 'zod'
import { ERROR_CODES, type ErrorCode } from '../model/errors.ts'

const Range = z.object({
  from: z.string(),
  to: z.string(),
  in: z.string().optional(),
  rate: z.number().optional(),
  acceptDrift: z.boolean().optional(),
  acceptEnd: z.boolean().optional(),
})

/** Share of the people to compare, or their number. */
export const SampleSize = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('all') }),
  z.object({ kind: z.literal('share'), share: z.number() }),
  z.object({ kind: z.literal('people'), people: z.number() }),
])

/** Request to run a job, to backfill a range of days, or to retry the records left behind by a run. */
export const RunRequest = z.discriminatedUnion('what', [
  /** Part of an export, for the owner of the run. */
  z.object({
    what: z.literal('part'),
    job: z.string(),
    run: z.string(),
    exportRow: z.number(),
    number: z.number(),
  }),
  z.object({
    what: z.literal('run'),
    job: z.string(),
    /** Paths, readable by each worker; empty: the exports of the job. */
    files: z.array(z.string()).readonly(),
    limit: z.number().optional(),
    acceptDrift: z.boolean().optional(),
    acceptEnd: z.boolean().optional(),
    unfinishedAlone: z.boolean().optional(),
    /** Instant of the fire of a schedule. */
    fire: z.number().optional(),
  }),
  z.object({ what: z.literal('backfill'), job: z.string(), range: Range }),
  z.object({
    what: z.literal('rerun'),
    job: z.string(),
    run: z.string(),
    only: z.enum(['rejected', 'in-doubt', 'left-behind']),
  }),
  z.object({
    what: z.literal('resend'),
    job: z.string(),
    run: z.string(),
    /** Ids of the records; empty: all in doubt. */
    transactions: z.array(z.string()).readonly(),
    by: z.string(),
    note: z.string().nullable(),
  }),
  z.object({
    what: z.literal('reconcile'),
    job: z.string(),
    run: z.string(),
    verify: z.object({ sample: SampleSize, seed: z.string().optional() }).optional(),
  }),
])
export type RunRequest = z.infer<typeof RunRequest>

const Place = z.object({
  file: z.string().optional(),
  line: z.number().optional(),
  column: z.number().optional(),
  key: z.string().optional(),
})

/** Message of an error with the next step. */
export const EndWords = z.object({
  message: z.string(),
  remedy: z.string(),
  place: Place.optional(),
  findings: z.array(z.object({ place: Place, message: z.string() })).readonly(),
})

/** Result of a run. */
export const TicketEnd = z.object({
  run: z.string().optional(),
  /** Run of an earlier process, finished first. */
  resumed: z.string().optional(),
  exit: z.number(),
  /** Undefined for a code of another version, or a defect. */
  code: z
    .enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]])
    .optional()
    .catch(undefined),
  words: EndWords.optional(),
  /** Findings of a reconciliation, in the form of the command. */
  report: z.unknown().optional(),
  /** Instant of the worker's decision about a further try of a fire. */
  decidedAt: z.number().optional(),
})
export type TicketEnd = z.infer<typeof TicketEnd>

/**
 * Backfills have a separate place on each worker: a run that makes a backfill give way must not wait for a place. Parts of exports, too: runs that
 * wait for parts may take all further places.
 */
export type Lane = 'run' | 'backfill' | 'part'

export const laneOf = ({ what }: RunRequest): Lane => (what === 'backfill' || what === 'part' ? what : 'run')

/** A sent ticket. */
export interface SentTicket {
  readonly id: string
  readonly lane: Lane
}

export interface Ticket extends SentTicket {
  /** Number of this try, from 0. A later try follows the death of a worker, or an interruption. */
  readonly attempt: number
  readonly sentAt: number
  /** Undefined if the request was sealed with another key. */
  readonly request: RunRequest | undefined
}

type TicketState = 'queued' | 'taken' | 'gone' | TicketEnd

export interface Tickets {
  /** @param job name with its gateway. @returns undefined if the job has an open ticket of the lane */
  send(job: string, request: RunRequest): Promise<SentTicket | undefined>
  /** Finds the newest ticket with an equal request. */
  find(job: string, request: RunRequest): Promise<SentTicket | undefined>
  /** Takes the oldest ticket of a lane, in a version known here. */
  take(lane: Lane): Promise<Ticket | undefined>
  /** Shows that the worker lives. A ticket without heartbeat for ten seconds goes to another worker. */
  beat(ticket: Ticket): Promise<void>
  /** Without effect if another worker has the ticket by now, as in `giveBack`. */
  complete(ticket: Ticket, end: TicketEnd): Promise<void>
  /** Lets another worker continue at once. */
  giveBack(ticket: Ticket): Promise<void>
  stateOf(ticket: SentTicket): Promise<TicketState>
  /** Withdraws a ticket before a worker has taken the work. */
  withdraw(ticket: SentTicket): Promise<void>
  close(): Promise<void>
}
