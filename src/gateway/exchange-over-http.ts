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

function exchange(
  { agent, timeouts, room }: ExchangeOptions,
  { address, method, headers, body, signal, maxAnswerBytes }: OutgoingRequest,
  resolve: (answer: WholeAnswer) => void,
  reject: (failure: unknown) => void,
): void {
  const secure = address.protocol === 'https:'
  const outgoing: ClientRequest = (secure ? process.getBuiltinModule('node:https').request : requestHttp)(
    address,
    {
      method,
      headers: { ...COMMON_HEADERS, ...headers },
      agent: secure ? agent.https : agent.http,
    },
  )
  let connected = false
  let answer: IncomingMessage | undefined
  let isOver = false
  let phaseTimer: NodeJS.Timeout | undefined
  const wholeTimer = setTimeout(() => fail(timedOut('request')), timeouts.request)

  const over = (): boolean => {
    if (isOver) return false
    isOver = true
    clearTimeout(wholeTimer)
    clearTimeout(phaseTimer)
    room.leave(reading)
    signal?.removeEventListener('abort', end)
    return true
  }
  const fail = (what: string, error?: NodeJS.ErrnoException): void => {
    if (!over()) return
    outgoing.destroy()
    reject(
      new ExchangeFailure(what, {
        // A socket from the pool was connected, even if it closed between its choice and its use.
        connected: connected || outgoing.reusedSocket,
        status: answer?.statusCode,
        retryAfter: answer?.headers['retry-after'],
        ...(error === undefined ? {} : { cause: bareCause(error) }),
      }),
    )
  }
  const reading: Reading = { bytes: 0, breakOff: (what) => fail(what) }
  const end = (): void => fail(ENDED)
  const begin = (phase: Phase): void => {
    clearTimeout(phaseTimer)
    if (!isOver) phaseTimer = setTimeout(() => fail(timedOut(phase)), timeouts[phase])
  }
  const sendNow = (): void => {
    connected = true
    begin(outgoing.writableFinished ? 'response' : 'send')
  }

  outgoing.once('socket', (socket: Socket) => {
    if (outgoing.reusedSocket || !socket.connecting) return sendNow()
    begin(isIP(address.hostname.replace(/^\[|\]$/g, '')) === 0 ? 'lookup' : 'connect')
    socket.once('lookup', () => begin('connect'))
    socket.once('connect', () => {
      // A TLS socket carries no byte of the request before the session is established.
      if (secure) begin('secureConnect')
      else sendNow()
    })
    if (secure) (socket as TLSSocket).once('secureConnect', sendNow)
  })
  outgoing.once('finish', () => {
    if (connected && answer === undefined) begin('response')
  })
  outgoing.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.name, error))
  // No call uses another protocol. A listener receives the socket of a 101 (RFC 9110 section 15.2.2) and must destroy it.
  outgoing.once('upgrade', (switched, socket) => {
    socket.destroy()
    answer = switched
    fail('ERR_ABORTED')
  })
  outgoing.once('response', (incoming) => {
    answer = incoming
    clearTimeout(phaseTimer)
    const { statusCode: status = 0, headers: received } = incoming
    const pieces: Buffer[] = []
    if (Number(received['content-length'] ?? 0) > maxAnswerBytes) return fail(tooLong(maxAnswerBytes))
    incoming.on('data', (piece: Buffer) => {
      if (isOver) return
      pieces.push(piece)
      room.grow(reading, piece.length)
      if (reading.bytes > maxAnswerBytes) fail(tooLong(maxAnswerBytes))
    })
    incoming.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.name, error))
    incoming.once('end', () => {
      if (!over()) return
      // After an early answer, nothing more will follow: the rest of the request is not sent.
      if (!outgoing.writableFinished) outgoing.destroy()
      const [first = Buffer.alloc(0)] = pieces
      const body = pieces.length > 1 ? Buffer.concat(pieces) : first
      resolve({ status, headers: received, body })
    })
  })
  outgoing.end(body)
  signal?.addEventListener('abort', end)
}
