/**
 * node:http as the client, for the calls that a load makes by the thousand: got costs three to five times as much for each
 * (docs/decisions/0026-two-http-clients.md).
 */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { brotliDecompress, unzip } from 'node:zlib'
import {
  bareCause,
  COMMON_HEADERS,
  ENDED,
  type Exchange,
  ExchangeFailure,
  type ExchangeOptions,
  type OutgoingRequest,
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
  { agent, timeouts, maxAnswerBytes }: ExchangeOptions,
  { address, method, headers, body, signal }: OutgoingRequest,
  resolve: (answer: WholeAnswer) => void,
  reject: (failure: unknown) => void,
): void {
  const secure = address.protocol === 'https:'
  const outgoing: ClientRequest = (secure ? requestHttps : requestHttp)(address, {
    method,
    headers: { ...COMMON_HEADERS, ...headers },
    agent: secure ? agent.https : agent.http,
  })
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
    signal?.removeEventListener('abort', end)
    return true
  }
  const fail = (what: string, error?: NodeJS.ErrnoException): void => {
    if (!over()) return
    outgoing.destroy()
    reject(
      new ExchangeFailure(what, {
        // A socket of the pool was connected, even where it was closed between its choice and its use.
        connected: connected || outgoing.reusedSocket,
        status: answer?.statusCode,
        retryAfter: answer?.headers['retry-after'],
        ...(error === undefined ? {} : { cause: bareCause(error) }),
      }),
    )
  }
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
      // A TLS socket carries no byte of the request before the session stands.
      if (secure) begin('secureConnect')
      else sendNow()
    })
    if (secure) (socket as TLSSocket).once('secureConnect', sendNow)
  })
  outgoing.once('finish', () => {
    if (connected && answer === undefined) begin('response')
  })
  outgoing.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.name, error))
  // Of another protocol no call has any use: whoever listens is given the socket (101, RFC 9110 section 15.2.2), and must end it.
  outgoing.once('upgrade', (switched, socket) => {
    socket.destroy()
    answer = switched
    fail('ERR_ABORTED')
  })
  outgoing.once('response', (incoming) => {
    answer = incoming
    clearTimeout(phaseTimer)
    const { statusCode: status = 0, headers: told } = incoming
    const pieces: Buffer[] = []
    let length = 0
    if (Number(told['content-length'] ?? 0) > maxAnswerBytes) return fail(tooLong(maxAnswerBytes))
    incoming.on('data', (piece: Buffer) => {
      pieces.push(piece)
      length += piece.length
      if (length > maxAnswerBytes) fail(tooLong(maxAnswerBytes))
    })
    incoming.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.name, error))
    incoming.once('end', () => {
      if (isOver) return
      const whole = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, length)
      decompress(whole, told['content-encoding'], maxAnswerBytes).then(
        (content) => {
          if (!over()) return
          // An answer that comes before the request has left is all that there will be.
          if (!outgoing.writableFinished) outgoing.destroy()
          resolve({ status, headers: told, body: content })
        },
        (error: NodeJS.ErrnoException) =>
          fail(
            error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLong(maxAnswerBytes) : (error.code ?? error.name),
            error,
          ),
      )
    })
  })
  outgoing.end(body)
  signal?.addEventListener('abort', end)
}

const unzipped = promisify(unzip)
const brotli = promisify(brotliDecompress)

/** @throws Error of node:zlib; `ERR_BUFFER_TOO_LARGE` where it becomes longer than that */
async function decompress(
  body: Buffer,
  encoding: string | undefined,
  maxOutputLength: number,
): Promise<Uint8Array> {
  // An answer without content has none that could be compressed, whatever its header says.
  if (encoding === undefined || body.length === 0) return body
  if (encoding === 'br') return brotli(body, { maxOutputLength })
  return ['gzip', 'x-gzip', 'deflate'].includes(encoding) ? unzipped(body, { maxOutputLength }) : body
}
