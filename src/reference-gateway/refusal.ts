import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'

/** One thing that is wrong with a request: an item of `errors[]`. Never holds a value that was sent. */
export interface Fault {
  /** What is wrong, beginning with the place: `records[2].value: …`. */
  readonly message: string
  /** Index of the record in the array that was sent, from 0. */
  readonly position?: number
  /** Path of the field: `source.meta`. */
  readonly field?: string
}

/** Ends a request with an error envelope; nothing of the request is stored. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly faults: readonly Fault[]

  constructor(status: number, faults: readonly Fault[]) {
    super(faults[0]?.message ?? STATUS_CODES[status])
    this.status = status
    this.faults = faults
  }
}

/** An answer lists no more faults than this. */
export const MOST_FAULTS = 20

/** The faults of a body that zod refused; its texts name types and forms, never what was sent. */
export function faultsOf(error: z.ZodError, root: string): Fault[] {
  return error.issues.slice(0, MOST_FAULTS).map((issue) => {
    const position = typeof issue.path[0] === 'number' ? issue.path[0] : undefined
    const field = (position === undefined ? issue.path : issue.path.slice(1)).map(String).join('.')
    return faultAt(root, issue.message, position, field)
  })
}

/** The value as the schema has it. 400 naming what is wrong with it and where, where anything is. */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, root: string) {
  const result = schema.safeParse(value)
  if (!result.success) throw new Refusal(400, faultsOf(result.error, root))
  return result.data
}

/** A fault whose message begins with its place: the root, the position in it, the field. */
export function faultAt(root: string, message: string, position?: number, field = ''): Fault {
  const record = position === undefined ? root : `${root}[${position}]`
  const place = [record, field].filter((part) => part !== '').join('.')
  return {
    message: `${place}: ${message}`,
    ...(position === undefined ? {} : { position }),
    ...(field === '' ? {} : { field }),
  }
}

/** The error's status: a refusal's own, that of a request fastify could not read, else 500. */
function statusOf(error: FastifyError | Refusal): number {
  if (error instanceof Refusal) return error.status
  const status = error.statusCode ?? 500
  return status >= 400 && status < 500 ? status : 500
}

/**
 * Section "Envelope": `code` is a string in health-profile answers other than that of biometric create, else an integer.
 * That errors follow the same rule is our choice.
 */
function envelopeCode(status: number, request: FastifyRequest): number | string {
  const [pathname = ''] = request.url.split('?')
  const creates = request.method === 'POST' && pathname.startsWith('/health-profile/biometrics')
  return pathname.startsWith('/health-profile/') && !creates ? String(status) : status
}

/** Answers any error with an envelope: `code`, `message`, `data` (empty) and `errors[]` (`code`, `message`, place). */
export function answerError(
  error: FastifyError | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const status = statusOf(error)
  const code = envelopeCode(status, request)
  const ours =
    error instanceof Refusal
      ? error.faults
      : [{ message: status === 500 ? `internal error (${error.code})` : error.message }]
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  reply.code(status).send(envelopeOf(status, code, ours))
}

/** The envelope of a refusal: `data` is empty, and the items of `errors` bear its code too. */
export function envelopeOf(status: number, code: number | string, faults: readonly Fault[]) {
  return {
    code,
    message: `${status} ${STATUS_CODES[status]?.toUpperCase()}`,
    data: [],
    errors: faults.map((fault) => ({ code, ...fault })),
  }
}

/** Statuses of Node's errors of a connection; 400 of all others. */
const STATUSES: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }

/** Answers with an envelope what is not HTTP, or has more of a head than is read, and ends the connection. */
export function refuseConnection(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = STATUSES[error.code] ?? 400
  const reason = STATUS_CODES[status]
  const body = JSON.stringify(envelopeOf(status, status, [{ message: `request: ${reason}` }]))
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

/** Milliseconds that requests under way have to become whole and be answered, once the gateway ends. */
const GRACE_MS = 1000

/** Lets no request that never becomes whole keep the gateway from ending. */
export function endUnfinishedRequests(app: FastifyInstance): void {
  let grace: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    grace = setTimeout(() => app.server.closeAllConnections(), GRACE_MS)
  })
  app.addHook('onClose', async () => clearTimeout(grace))
}
