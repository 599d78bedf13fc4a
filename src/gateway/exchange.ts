/** Single request and its whole answer over the wire: by node:http or by got (docs/decisions/0026-two-http-clients.md). */
import {
  type ClientRequest,
  type Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { brotliDecompressSync, unzipSync } from 'node:zlib'
import type { RequestError, RequestPromise, Response } from 'got'
import { codeOf } from '../model/errors.ts'

interface OutgoingRequest {
  readonly address: URL
  readonly method: string
  /** Includes `content-length` if there is a body. */
  readonly headers: Readonly<Record<string, string>>
  /** Bytes must not change before the exchange is over. */
  readonly body: Uint8Array | undefined
  /** Ends the exchange immediately. */
  readonly signal: AbortSignal | undefined
  /** Maximum length of the answer, in bytes. */
  readonly maxAnswerBytes: number
}

/** Complete answer. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

/** Maximum time per phase of a request, in milliseconds; `request` covers the whole. */
export interface Timeouts {
  readonly lookup: number
  readonly connect: number
  readonly secureConnect: number
  readonly send: number
  /** From the last byte sent to the first byte of the answer. */
  readonly response: number
  readonly request: number
}

interface ExchangeOptions {
  /** Connections, shared by all clients of a transport. */
  readonly agent: { readonly http: HttpAgent; readonly https: HttpsAgent }
  readonly timeouts: Timeouts
  readonly room: AnswerRoom
}

/**
 * Sends a request once. Follows no redirect, accepts any status as an answer, and does not decompress.
 *
 * @throws ExchangeFailure if no whole answer arrives
 */
type Exchange = (request: OutgoingRequest) => Promise<WholeAnswer>

/** Facts about a request without a whole answer. Holds nothing of headers and bodies. */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure'
  /** Event for a message: `ECONNRESET`, `time-out of the phase response`. */
  readonly what: string
  /** A connection, including any TLS session, was established: bytes may have left. */
  readonly connected: boolean
  /** Status, if the answer broke off after the status line. */
  readonly status: number | undefined
  /** Retry-After header of that answer. */
  readonly retryAfter: string | undefined

  constructor(
    what: string,
    known: {
      readonly connected: boolean
      readonly status?: number | undefined
      readonly retryAfter?: string | undefined
      readonly cause?: Error
    },
  ) {
    super(what, { cause: known.cause })
    this.what = what
    this.connected = known.connected
    this.status = known.status
    this.retryAfter = known.retryAfter
  }
}

/** Copies the message and code of a network error, without properties added by a client. */
const bareCause = ({
  message,
  code,
}: {
  readonly message: string
  readonly code?: string | undefined
}): Error => Object.assign(new Error(message), { code })

const timedOut = (phase: string): string => `time-out of the phase ${phase}`

/** Reason of an exchange ended by its signal. */
export const ENDED = 'ended by the caller'

const tooLong = (maxAnswerBytes: number): string => `an answer longer than ${maxAnswerBytes} bytes`

/** Answer in arrival. */
export interface Reading {
  bytes: number
  readonly breakOff: (what: string) => void
}

/** Bound on the bytes of all arriving answers, over all connections. */
type AnswerRoom = ReturnType<typeof createAnswerRoom>

/** Creates the bound. @param limit bytes; above it, the longest answer is broken off */
export function createAnswerRoom(limit: number) {
  const open = new Set<Reading>()
  /** Answers broken off or complete. More of their bytes may still arrive. */
  const gone = new WeakSet<Reading>()
  let total = 0
  const leave = (reading: Reading): void => {
    gone.add(reading)
    if (open.delete(reading)) total -= reading.bytes
  }
  return {
    grow(reading: Reading, bytes: number): void {
      if (gone.has(reading)) return
      open.add(reading)
      reading.bytes += bytes
      total += bytes
      // The longest has at least the bytes that have just arrived.
      if (total > limit) {
        const longest = [...open].reduce((one, other) => (other.bytes > one.bytes ? other : one))
        leave(longest)
        longest.breakOff(`answers longer than ${limit} bytes together`)
      }
    },
    leave,
  }
}

/** Maximum ratio of decompression; repetitive JSON reaches 50. Small answers are always decompressed. */
const MAX_RATIO = 200
const ALWAYS_UNPACKED_BYTES = 1024 * 1024

/**
 * Decompresses the body. Synchronous, so that only a single body at a time uses the memory.
 *
 * @throws ExchangeFailure if the body is damaged or too long
 */
export function unpack({ status, headers, body }: WholeAnswer, maxAnswerBytes: number): Uint8Array {
  const encoding = headers['content-encoding'] ?? ''
  // An empty answer needs no decompression, whatever its header.
  if (body.length === 0 || !['gzip', 'x-gzip', 'deflate', 'br'].includes(encoding)) return body
  const maxOutputLength = Math.min(maxAnswerBytes, Math.max(ALWAYS_UNPACKED_BYTES, MAX_RATIO * body.length))
  try {
    return (encoding === 'br' ? brotliDecompressSync : unzipSync)(body, { maxOutputLength })
  } catch (error) {
    const code = codeOf(error)
    const what = code === 'ERR_BUFFER_TOO_LARGE' ? tooLong(maxOutputLength) : code
    throw new ExchangeFailure(what, { connected: true, status, retryAfter: headers['retry-after'] })
  }
}

/** Headers of every request. `accept-encoding` lists the encodings of `unpack`. */
const COMMON_HEADERS = {
  'user-agent': 'waybill',
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate, br',
}

/** HTTP client for calls that a load makes by the thousand: got costs three to five times as much per call. */
export const exchangeOverHttp =
  (options: ExchangeOptions): Exchange =>
  (request) =>
    new Promise((resolve, reject) => exchange(options, request, resolve, reject))

type Phase = Exclude<keyof Timeouts, 'request'>

/** Result of an exchange. */
interface Ends {
  readonly resolve: (answer: WholeAnswer) => void
  readonly reject: (failure: unknown) => void
}

/** An exchange in progress, with time limits and a single end. */
class UnderWay {
  connected = false
  answer: IncomingMessage | undefined
  isOver = false
  readonly reading: Reading = { bytes: 0, breakOff: (what) => this.fail(what) }
  private phaseTimer: NodeJS.Timeout | undefined
  private readonly wholeTimer: NodeJS.Timeout
  private readonly outgoing: ClientRequest
  private readonly options: ExchangeOptions
  private readonly signal: AbortSignal | undefined
  private readonly ends: Ends

  constructor(
    outgoing: ClientRequest,
    options: ExchangeOptions,
    signal: AbortSignal | undefined,
    ends: Ends,
  ) {
    this.outgoing = outgoing
    this.options = options
    this.signal = signal
    this.ends = ends
    this.wholeTimer = setTimeout(() => this.fail(timedOut('request')), options.timeouts.request)
  }

  begin(phase: Phase): void {
    clearTimeout(this.phaseTimer)
    if (this.isOver) return
    this.phaseTimer = setTimeout(() => this.fail(timedOut(phase)), this.options.timeouts[phase])
  }

  readonly sendNow = (): void => {
    this.connected = true
    this.begin(this.outgoing.writableFinished ? 'response' : 'send')
  }

  /** The answer has begun. */
  answered(answer: IncomingMessage): void {
    this.answer = answer
    clearTimeout(this.phaseTimer)
  }

  succeed(answer: WholeAnswer): void {
    if (!this.over()) return
    // After an early answer, nothing more will follow: the rest of the request is not sent.
    if (!this.outgoing.writableFinished) this.outgoing.destroy()
    this.ends.resolve(answer)
  }

  fail(what: string, error?: NodeJS.ErrnoException): void {
    if (!this.over()) return
    this.outgoing.destroy()
    this.ends.reject(
      new ExchangeFailure(what, {
        // A socket from the pool was connected, even if closed between choice and use.
        connected: this.connected || this.outgoing.reusedSocket,
        status: this.answer?.statusCode,
        retryAfter: this.answer?.headers['retry-after'],
        ...(error === undefined ? {} : { cause: bareCause(error) }),
      }),
    )
  }

  readonly abort = (): void => this.fail(ENDED)

  readonly failWith = (error: NodeJS.ErrnoException): void => this.fail(error.code ?? error.name, error)

  /** @returns false if the exchange was over before */
  private over(): boolean {
    if (this.isOver) return false
    this.isOver = true
    clearTimeout(this.wholeTimer)
    clearTimeout(this.phaseTimer)
    this.options.room.leave(this.reading)
    this.signal?.removeEventListener('abort', this.abort)
    return true
  }
}

function exchange(
  options: ExchangeOptions,
  request: OutgoingRequest,
  resolve: Ends['resolve'],
  reject: Ends['reject'],
): void {
  const { address, method, headers, body, signal } = request
  const { agent } = options
  const secure = address.protocol === 'https:'
  const outgoing: ClientRequest = (secure ? process.getBuiltinModule('node:https').request : requestHttp)(
    address,
    {
      method,
      headers: { ...COMMON_HEADERS, ...headers },
      agent: secure ? agent.https : agent.http,
    },
  )
  const underWay = new UnderWay(outgoing, options, signal, { resolve, reject })
  outgoing.once('socket', (socket: Socket) => {
    if (outgoing.reusedSocket || !socket.connecting) return underWay.sendNow()
    underWay.begin(isIP(address.hostname.replace(/^\[|\]$/g, '')) === 0 ? 'lookup' : 'connect')
    socket.once('lookup', () => underWay.begin('connect'))
    socket.once('connect', () => {
      // A TLS socket carries no byte of the request before the session is established.
      if (secure) underWay.begin('secureConnect')
      else underWay.sendNow()
    })
    if (secure) (socket as TLSSocket).once('secureConnect', underWay.sendNow)
  })
  outgoing.once('finish', () => {
    if (underWay.connected && underWay.answer === undefined) underWay.begin('response')
  })
  outgoing.on('error', underWay.failWith)
  // No call uses another protocol. A listener receives the socket of a 101 (RFC 9110 section 15.2.2) and must destroy it.
  outgoing.once('upgrade', (switched, socket) => {
    socket.destroy()
    underWay.answer = switched
    underWay.fail('ERR_ABORTED')
  })
  outgoing.once('response', (incoming) => readAnswer(underWay, incoming, options, request))
  outgoing.end(body)
  signal?.addEventListener('abort', underWay.abort)
}

function readAnswer(
  underWay: UnderWay,
  incoming: IncomingMessage,
  { room }: ExchangeOptions,
  { maxAnswerBytes }: OutgoingRequest,
): void {
  underWay.answered(incoming)
  const { statusCode: status = 0, headers } = incoming
  const pieces: Buffer[] = []
  if (Number(headers['content-length'] ?? 0) > maxAnswerBytes) {
    underWay.fail(tooLong(maxAnswerBytes))
    return
  }
  incoming.on('data', (piece: Buffer) => {
    if (underWay.isOver) return
    pieces.push(piece)
    room.grow(underWay.reading, piece.length)
    if (underWay.reading.bytes > maxAnswerBytes) underWay.fail(tooLong(maxAnswerBytes))
  })
  incoming.on('error', underWay.failWith)
  incoming.once('end', () => {
    const [first = Buffer.alloc(0)] = pieces
    underWay.succeed({ status, headers, body: pieces.length > 1 ? Buffer.concat(pieces) : first })
  })
}

/** HTTP client for all other calls. got is loaded with the first call. */
export function exchangeOverGot({ agent, timeouts, room }: ExchangeOptions): Exchange {
  const loading = async () => {
    const { default: got, RequestError, TimeoutError } = await import('got')
    const client = got.extend({
      agent,
      timeout: timeouts,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      https: { rejectUnauthorized: true },
      decompress: false,
      responseType: 'buffer',
      headers: COMMON_HEADERS,
    })
    return { client, RequestError, TimeoutError }
  }
  let loaded: ReturnType<typeof loading> | undefined
  return async ({ address, method, headers, body, signal, maxAnswerBytes }) => {
    loaded ??= loading()
    const { client, RequestError, TimeoutError } = await loaded
    const broken = new AbortController()
    let brokenOff: string | undefined
    const reading: Reading = {
      bytes: 0,
      breakOff(what) {
        brokenOff ??= what
        broken.abort()
      },
    }
    let switchedBy: number | undefined
    const exchanged: RequestPromise<Response<Uint8Array>> = client(address, {
      method: method as 'GET',
      headers,
      signal: signal === undefined ? broken.signal : AbortSignal.any([broken.signal, signal]),
      ...(body === undefined ? {} : { body: new WholeBody(body) }),
    })
    exchanged.on('downloadProgress', ({ transferred, total = 0 }) => {
      room.grow(reading, transferred - reading.bytes)
      if (Math.max(transferred, total) > maxAnswerBytes) reading.breakOff(tooLong(maxAnswerBytes))
    })
    // No call uses another protocol. A listener receives the socket of a 101 (RFC 9110 section 15.2.2) and must destroy it.
    exchanged.on('request', (request) => {
      request.once('upgrade', ({ statusCode = 101 }, socket) => {
        socket.destroy()
        switchedBy = statusCode
        broken.abort()
      })
    })
    try {
      const { statusCode: status, headers: received, rawBody } = await exchanged
      return { status, headers: received, body: rawBody }
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      const { response } = error
      const what = error instanceof TimeoutError ? timedOut(error.event) : error.code
      const ended = signal?.aborted === true ? ENDED : what
      throw new ExchangeFailure(brokenOff ?? ended, {
        connected: switchedBy !== undefined || wasConnected(error, address.protocol === 'https:'),
        status: switchedBy ?? response?.statusCode,
        retryAfter: response?.headers['retry-after'],
        cause: bareCause(error),
      })
    } finally {
      brokenOff ??= ENDED
      room.leave(reading)
    }
  }
}

/**
 * True if the connection was established. A socket from the pool was connected, whatever the timings say: got leaves the timings empty if
 * the socket closed between its choice and its use. A TLS socket carries no byte of the request before the session is established.
 */
function wasConnected({ request }: RequestError, secure: boolean): boolean {
  if (request?.reusedSocket === true) return true
  const timings = request?.timings
  return (secure ? timings?.secureConnect : timings?.connect) !== undefined
}

/**
 * Request body sent in a single piece. got cuts a string or buffer into pieces of 64 KiB, and drops the connection if the answer arrives
 * before the end of the request: a stored batch stays unanswered. got sends an iterable unchanged. The private field hides the bytes from
 * `structuredClone`: got clones every body, in case of a redirect.
 */
export class WholeBody implements Iterable<Uint8Array> {
  readonly #bytes: Uint8Array

  /** Wraps the bytes. @param bytes must not change before the request is over */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  *[Symbol.iterator](): Generator<Uint8Array> {
    yield this.#bytes
  }
}
