/** Refusals of the reference gateway, in the envelope of the interface and in the other form of medical records. */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { ENDPOINTS, type EndpointName } from '../../../src/gateway/contract/endpoints.ts'

/** Problem of a request: an item of `errors[]`. Never holds a value from the request. */
export interface Fault {
  /** Place and problem: `records[2].value: …`. */
  readonly message: string
  /** Index of the record in the array, from 0. */
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

/** Maximum number of faults in an answer. */
export const MOST_FAULTS = 20

/** Returns the faults of a body that zod refused. Zod's texts name types and forms, never values. */
export function faultsOf(error: z.ZodError, root: string): Fault[] {
  return error.issues.slice(0, MOST_FAULTS).map((issue) => {
    const position = typeof issue.path[0] === 'number' ? issue.path[0] : undefined
    const field = (position === undefined ? issue.path : issue.path.slice(1)).map(String).join('.')
    return faultAt(root, issue.message, position, field)
  })
}

/** Parses a value with a schema. 400 with every problem and its place. */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, root: string) {
  const result = schema.safeParse(value)
  if (!result.success) throw new Refusal(400, faultsOf(result.error, root))
  return result.data
}

/** Builds a fault whose message begins with its place: the root, the position, the field. */
export function faultAt(root: string, message: string, position?: number, field = ''): Fault {
  const record = position === undefined ? root : `${root}[${position}]`
  const place = [record, field].filter((part) => part !== '').join('.')
  return {
    message: `${place}: ${message}`,
    ...(position === undefined ? {} : { position }),
    ...(field === '' ? {} : { field }),
  }
}

/** Status of an error: from a refusal, or from a request that fastify could not read, else 500. */
function statusOf(error: FastifyError | Refusal): number {
  if (error instanceof Refusal) return error.status
  const status = error.statusCode ?? 500
  return status >= 400 && status < 500 ? status : 500
}

/**
 * Section "Envelope": `code` is a string in health-profile answers except biometric create, otherwise an integer. Applying this rule to
 * errors is our choice.
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

/** Builds the envelope of a refusal: `data` is empty, and each item of `errors` repeats the code. */
export function envelopeOf(status: number, code: number | string, faults: readonly Fault[]) {
  return {
    code,
    message: `${status} ${STATUS_CODES[status]?.toUpperCase()}`,
    data: [],
    errors: faults.map((fault) => ({ code, ...fault })),
  }
}

/** Statuses for Node's connection errors; others are 400. */
const STATUSES: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }

/** Answers invalid HTTP or oversized headers with an envelope, and ends the connection. */
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

/** Milliseconds for requests in flight to complete once the gateway ends. */
const GRACE_MS = 1000

/** Closes incomplete requests so that the gateway can end. */
export function endUnfinishedRequests(app: FastifyInstance): void {
  let grace: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    grace = setTimeout(() => app.server.closeAllConnections(), GRACE_MS)
  })
  app.addHook('onClose', async () => clearTimeout(grace))
}

/**
 * Item of the inner envelope's `errors[]` (section "Errors": the integers 0 and 1 occur). Their meaning is our choice: 0 if a required part
 * is missing, null or empty; 1 if a part cannot be used.
 */
export interface RequesterFault {
  readonly code: 0 | 1
  /** Names the field, the block and its position, from 1. Never holds a value from the request. */
  readonly message: string
}

/**
 * Builds the body from the table of section "Errors": `message`, repeated in `errors[]`, is a failure phrase followed by the inner envelope
 * serialised as text.
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
 * Refuses a call of the requester with 400. The wrapped form reports problems inside a request. The bare form, without a failure phrase,
 * reports unreadable bodies and missing blocks.
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

/** Answers errors like `answerError`, with the requester's bodies for every 400, including unreadable JSON, headers and paths. */
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

/** Problem of an item in an array. */
export interface ItemFault extends RequesterFault {
  /** A whole block is missing; the answer takes the bare form. */
  readonly missingBlock?: true
}

/** Returns the place of an item, counted from 1: `request 2 of 3`. */
export const placeOf = (item: 'request' | 'filter', index: number, count: number) =>
  `${item} ${index + 1} of ${count}`

/** Builds the fault of an unusable field in a block. */
export const fieldFault = (block: string, field: string, place: string, why: string): ItemFault => ({
  code: 1,
  message: `the ${block} ${field} cannot be used (${why}) in the ${block} block of ${place}`,
})

/** Zod issue, gathered with `reportInput` to distinguish missing from invalid. The input is never shown. */
type Issue = z.core.$ZodIssue

const isEmpty = ({ input }: Issue) => input === undefined || input === null || input === ''

/** Returns code and words for an issue. Zod's texts name types and forms, never values. */
function problemOf(issue: Issue): { readonly code: 0 | 1; readonly problem: string } {
  return isEmpty(issue)
    ? { code: 0, problem: 'is null or empty' }
    : { code: 1, problem: `cannot be used (${issue.message})` }
}

/** Builds the fault of an item with field, block and place: "with the position of the block in the array". */
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

/** Builds the fault of a filter. Problems of the patient block "ask that the patient block has a valid search parameter". */
export function filterFault(issue: Issue, place: string): ItemFault {
  const [block, ...rest] = issue.path.map(String)
  if (block !== 'patient') return itemFault(issue, place)
  const why = rest.length === 0 ? '' : ` (${rest.join('.')} ${problemOf(issue).problem})`
  return {
    code: 0,
    message: `make sure that the patient block has a valid search parameter in ${place}${why}`,
  }
}

/** Builds the fault of a search outside its filters. */
export function searchFault(issue: Issue): ItemFault {
  const { code, problem } = problemOf(issue)
  const field = issue.path.map(String).join('.')
  return { code, message: `${field === '' ? 'the search' : `the ${field} of the search`} ${problem}` }
}

/** Parses items one by one, up to the maximum number of faults. Refuses if there is a fault. */
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

/** Refuses if there is a fault, in the bare form if a block is missing. */
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
    /** Call of the interface that the route serves; undefined outside the interface. */
    readonly endpoint?: EndpointName
  }
}

/** Serves a call of the interface on its documented method and path. The handler returns the answer's body. */
export function serveEndpoint(
  app: FastifyInstance,
  endpoint: EndpointName,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  const { method, path } = ENDPOINTS[endpoint]
  app.route({ method, url: path.replace(/\{(\w+)\}/g, ':$1'), config: { endpoint }, handler })
}

/** Section "Envelope": outside the health profile, `code` is an integer and there are no `errors`. */
export const success = <Item>(data: Item[]) => ({ code: 200, message: '200 OK', data })
export const profileSuccess = <Item>(data: Item[]) => ({ ...success(data), code: '200', errors: [] })

/**
 * Reads bodies of type application/json only (otherwise 415). A body over the limit is read to its end and dropped, never held whole, so
 * the client sees the 413 and not a broken connection.
 */
export function readJsonBodies(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) =>
    parse(await readBody(request, payload, bodyLimit)),
  )
}

/** Reads the bytes of a body: 413 for more than `bodyLimit`, 415 if compressed. */
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

/** Escape that may be half of a surrogate pair. */
const SURROGATE = /\\u[dD][89a-fA-F]/

/** Parses JSON in valid UTF-8. A refusal quotes nothing. */
function parse(body: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return SURROGATE.test(text) ? JSON.parse(text, wellFormed) : JSON.parse(text)
  } catch {
    throw new Refusal(400, [{ message: 'body: not JSON in UTF-8' }])
  }
}

/**
 * Throws on half a surrogate pair, which JSON can escape and UTF-8 cannot encode (RFC 8259 section 8.2). The store would keep a replacement
 * character, and two accounts could become one.
 */
function wellFormed(key: string, value: unknown): unknown {
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed()))
    throw new TypeError('not Unicode')
  return value
}

/** Writes a record as JSON text. Refuses records nested too deeply to be written. */
export function textOf(record: unknown): string {
  try {
    return JSON.stringify(record)
  } catch {
    throw new Refusal(400, [{ message: 'body: nested too deeply' }])
  }
}
