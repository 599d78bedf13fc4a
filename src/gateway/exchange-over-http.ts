/**
 * HTTP client over node:http, for calls that a load makes by the thousand: got costs three to five times as much per call
 * (docs/decisions/0026-two-http-clients.md).
 */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import {
  bareCause,
  COMMON_HEADERS,
  ENDED,
  type Exchange,
  ExchangeFailure,
  type ExchangeOptions,
  type OutgoingRequest,
  type Reading,
  type Timeouts,
  timedOut,
  tooLong,
  type WholeAnswer,
} from './exchange.ts'

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
