/** What the reference gateway refuses, and how it says so: in the envelope of the interface, and in the other form of medical records. */
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
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  reply.code(status).send(envelopeOf(status, envelopeCode(status, request), faultsIn(error)))
}

const faultsIn = (error: FastifyError | Refusal): readonly Fault[] =>
  error instanceof Refusal
    ? error.faults
    : [{ message: statusOf(error) === 500 ? `internal error (${error.code})` : error.message }]

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
  if (statusOf(error) !== 400) return void answerError(error, request, reply)
  const { phrase, reasons } =
    error instanceof RequesterRefusal
      ? error
      : { reasons: faultsIn(error).map(({ message }) => ({ code: 1 as const, message })) }
  reply.code(400).send(phrase === undefined ? bareBody(reasons) : wrappedBody(phrase, reasons))
}

/** What is wrong with an item of an array that was sent. */
export interface ItemFault extends RequesterFault {
  /** A whole block is not there: this is told in the bare form. */
  readonly missingBlock?: true
}

/** Where an item stands, counted from 1: `request 2 of 3`. */
export const placeOf = (item: 'request' | 'filter', index: number, count: number) =>
  `${item} ${index + 1} of ${count}`

/** A field of a block that cannot be used, and why. */
export const fieldFault = (block: string, field: string, place: string, why: string): ItemFault => ({
  code: 1,
  message: `the ${block} ${field} cannot be used (${why}) in the ${block} block of ${place}`,
})

/** An issue of zod, gathered with `reportInput`, which tells what is missing from what is wrong; it is never shown. */
type Issue = z.core.$ZodIssue

const isEmpty = ({ input }: Issue) => input === undefined || input === null || input === ''

/** Code and words for an issue; zod's texts name types and forms, never what was sent. */
function problemOf(issue: Issue): { readonly code: 0 | 1; readonly problem: string } {
  return isEmpty(issue)
    ? { code: 0, problem: 'is null or empty' }
    : { code: 1, problem: `cannot be used (${issue.message})` }
}

/** An issue of an item with its field, its block and its place: "with the position of the block in the array". */
export function itemFault(issue: Issue, place: string): ItemFault {
  const { code, problem } = problemOf(issue)
  const [block, ...rest] = issue.path.map(String)
  const field = rest.join('.')
  if (block === undefined) return { code, message: `${place} ${problem}` }
  if (block === 'referenceNumber') return { code, message: `the ${block} of ${place} ${problem}` }
  if (field !== '')
    return { code, message: `the ${block} ${field} ${problem} in the ${block} block of ${place}` }
  return code === 0
    ? { code, message: `the ${block} block of ${place} is missing`, missingBlock: true }
    : { code, message: `the ${block} block of ${place} ${problem}` }
}

/** An issue of a filter: what is wrong with its patient block "asks that the patient block has a valid search parameter". */
export function filterFault(issue: Issue, place: string): ItemFault {
  const [block, ...rest] = issue.path.map(String)
  if (block !== 'patient') return itemFault(issue, place)
  const why = rest.length === 0 ? '' : ` (${rest.join('.')} ${problemOf(issue).problem})`
  return {
    code: 0,
    message: `make sure that the patient block has a valid search parameter in ${place}${why}`,
  }
}

/** An issue of a search outside its filters. */
export function searchFault(issue: Issue): ItemFault {
  const { code, problem } = problemOf(issue)
  const field = issue.path.map(String).join('.')
  return { code, message: `${field === '' ? 'the search' : `the ${field} of the search`} ${problem}` }
}

/** Reads items one by one, and no further than an answer lists faults. Refuses where there is any. */
export function readItems<Item>(
  items: readonly unknown[],
  schema: z.ZodType<Item>,
  phrase: string,
  faultOf: (issue: Issue, index: number) => ItemFault,
): Item[] {
  const faults: ItemFault[] = []
  const read: Item[] = []
  for (const [index, item] of items.entries()) {
    const result = schema.safeParse(item, { reportInput: true })
    if (result.success) read.push(result.data)
    else for (const issue of result.error.issues.slice(0, MOST_FAULTS)) faults.push(faultOf(issue, index))
    if (faults.length >= MOST_FAULTS) break
  }
  refuseAny(phrase, faults)
  return read
}

/** Refuses where there is a fault, in the bare form where a block is missing. */
export function refuseAny(phrase: string, faults: readonly ItemFault[]): void {
  if (faults.length === 0) return
  const bare = faults.some(({ missingBlock }) => missingBlock === true)
  throw new RequesterRefusal(
    bare ? undefined : phrase,
    faults.slice(0, MOST_FAULTS).map(({ code, message }) => ({ code, message })),
  )
}
