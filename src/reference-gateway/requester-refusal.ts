import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { answerError, Refusal } from './refusal.ts'

/**
 * An item of the inner envelope's `errors[]` (section "Errors": the integers 0 and 1 occur). Which of them means what is
 * our choice: 0 what is required is missing, null or empty; 1 what is there cannot be used.
 */
export interface RequesterFault {
  readonly code: 0 | 1
  /** Names the field, the block and its position from 1. Never holds a value that was sent. */
  readonly message: string
}

/**
 * The body that section "Errors" has a table for: `message`, and the same text in `errors[]`, are a failure phrase
 * followed by the inner envelope serialised as text.
 */
export function wrappedBody(phrase: string, faults: readonly RequesterFault[]) {
  const message = `${phrase}: ${JSON.stringify({ code: 400, message: '400 BAD REQUEST', errors: faults })}`
  return { code: 400, message, errors: [{ code: 400, message, exception: null }] }
}

/** Section "Errors", "a bare 400 body": `message` is the text of the first fault. */
export function bareBody(faults: readonly RequesterFault[]) {
  return { code: 400, message: faults[0]?.message ?? '400 BAD REQUEST', errors: faults }
}

/**
 * Refuses a call of the requester with 400. The wrapped form tells of what is wrong inside a request; the bare one,
 * without a failure phrase, of a body that cannot be read as requests and of missing blocks.
 */
export class RequesterRefusal extends Refusal {
  readonly phrase: string | undefined
  readonly reasons: readonly RequesterFault[]

  constructor(phrase: string | undefined, reasons: readonly RequesterFault[]) {
    super(400, reasons)
    this.phrase = phrase
    this.reasons = reasons
  }
}

/** As `answerError`, with the requester's bodies for every 400: also for JSON, headers and paths that cannot be read. */
export function answerRequesterError(
  error: FastifyError | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (error instanceof RequesterRefusal && error.phrase !== undefined) {
    reply.code(400).send(wrappedBody(error.phrase, error.reasons))
  } else if (error instanceof RequesterRefusal) {
    reply.code(400).send(bareBody(error.reasons))
  } else if (error instanceof Refusal && error.status === 400) {
    reply.code(400).send(bareBody(error.faults.map(({ message }) => ({ code: 1, message }))))
  } else if (!(error instanceof Refusal) && error.statusCode === 400) {
    reply.code(400).send(bareBody([{ code: 1, message: error.message }]))
  } else {
    answerError(error, request, reply)
  }
}
