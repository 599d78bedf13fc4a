/**
 * What the reference gateway refuses, and how it says so: in the envelope of the interface, and in the other form of medical records.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ENDPOINTS, type EndpointName } from '../gateway/contract/endpoints.ts'

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
function wrappedBody(phrase: string, faults: readonly RequesterFault[]) {
  const message = `${phrase}: ${JSON.stringify({ code: 400, message: '400 BAD REQUEST', errors: faults })}`
  return { code: 400, message, errors: [{ code: 400, message, exception: null }] }
}

/** Section "Errors", "a bare 400 body": `message` is the text of the first fault. */
function bareBody(faults: readonly RequesterFault[]) {
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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which call of the interface the route serves; undefined for what the interface does not have. */
    readonly endpoint?: EndpointName
  }
}

/** Serves one call of the interface on its documented method and path. What the handler returns is the answer's body. */
export function serveEndpoint(
  app: FastifyInstance,
  endpoint: EndpointName,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  const { method, path } = ENDPOINTS[endpoint]
  app.route({ method, url: path.replace(/\{(\w+)\}/g, ':$1'), config: { endpoint }, handler })
}

/** Section "Envelope": `code` is an integer, and there are no `errors`, outside the health profile. */
export const success = <Item>(data: Item[]) => ({ code: 200, message: '200 OK', data })
export const profileSuccess = <Item>(data: Item[]) => ({ ...success(data), code: '200', errors: [] })

/**
 * Reads bodies of type application/json, and no other (415). A body over the limit is read to its end and dropped, so
 * that the client sees the 413 and not a broken connection; it is never held whole.
 */
export function readJsonBodies(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) =>
    parse(await readBody(request, payload, bodyLimit)),
  )
}

/** The bytes of a body: 413 where there are more than `bodyLimit`, 415 where they are compressed. */
export async function readBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  bodyLimit: number,
): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of payload) {
    length += chunk.length
    if (length > bodyLimit) chunks.length = 0
    else chunks.push(chunk)
  }
  if (length > bodyLimit) throw new Refusal(413, [{ message: `body: larger than ${bodyLimit} bytes` }])
  if (encoding !== 'identity') throw new Refusal(415, [{ message: 'body: compressed bodies are not read' }])
  return Buffer.concat(chunks, length)
}

/** An escape that may be half of a surrogate pair. */
const SURROGATE = /\\u[dD][89a-fA-F]/

/** JSON of valid UTF-8, or a refusal that quotes nothing of it. */
function parse(body: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return SURROGATE.test(text) ? JSON.parse(text, wellFormed) : JSON.parse(text)
  } catch {
    throw new Refusal(400, [{ message: 'body: not JSON in UTF-8' }])
  }
}

/**
 * Throws where a text holds half of a surrogate pair, which JSON can escape and UTF-8 cannot encode (RFC 8259 section
 * 8.2): the store would keep a replacement for it, and two accounts would become one.
 */
function wellFormed(key: string, value: unknown): unknown {
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed()))
    throw new TypeError('not Unicode')
  return value
}

/** JSON text of what was sent; a record nested so deeply that it cannot be written again is refused. */
export function textOf(record: unknown): string {
  try {
    return JSON.stringify(record)
  } catch {
    throw new Refusal(400, [{ message: 'body: nested too deeply' }])
  }
}
