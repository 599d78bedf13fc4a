/**
 * Tickets of runs: requests to run a job, which any worker carries out. A ticket has names and settings alone, no health data. The lease keeps
 * two runs of a job apart; tickets only distribute the work.
 */
import { z } from 'zod'
import { ERROR_CODES, type ErrorCode } from '../model/errors.ts'

/** Request to run a job, as `waybill run` takes it. */
export const RunRequest = z.object({
  job: z.string(),
  limit: z.number().optional(),
  acceptDrift: z.boolean().optional(),
  acceptEnd: z.boolean().optional(),
  unfinishedAlone: z.boolean().optional(),
})
export type RunRequest = z.infer<typeof RunRequest>

/** Result of a run. Codes alone: a message may name files and columns. */
export const TicketEnd = z.object({
  run: z.string().optional(),
  /** Run of an earlier process that was finished first. */
  resumed: z.string().optional(),
  exit: z.number(),
  /** Undefined for a code of another version, or a defect. */
  code: z
    .enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]])
    .optional()
    .catch(undefined),
})
export type TicketEnd = z.infer<typeof TicketEnd>

export interface Ticket {
  readonly id: string
  /** Number of this try, from 0. A later try follows the death of a worker, or an interruption. */
  readonly attempt: number
  readonly request: RunRequest
}

type TicketState = 'queued' | 'taken' | 'gone' | TicketEnd

export interface Tickets {
  /** @param job name with its gateway. @returns id; undefined if the job has an open ticket */
  send(job: string, request: RunRequest): Promise<string | undefined>
  /** Takes the oldest ticket that this version understands. */
  take(): Promise<Ticket | undefined>
  /** Shows that the worker lives. A ticket without this for ten seconds goes to another worker. */
  beat(ticket: Ticket): Promise<void>
  /** Without effect if another worker has the ticket by now, as in `giveBack`. */
  complete(ticket: Ticket, end: TicketEnd): Promise<void>
  /** Lets another worker continue at once. */
  giveBack(ticket: Ticket): Promise<void>
  stateOf(id: string): Promise<TicketState>
  /** Takes a ticket back that no worker has taken. */
  withdraw(id: string): Promise<void>
  close(): Promise<void>
}
