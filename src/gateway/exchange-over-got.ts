/** HTTP client over got, for all calls that a load does not make by the thousand. got is loaded with the first call. */
import type { RequestError, RequestPromise, Response } from 'got'
import {
  bareCause,
  COMMON_HEADERS,
  ENDED,
  type Exchange,
  ExchangeFailure,
  type ExchangeOptions,
  type Reading,
  timedOut,
  tooLong,
} from './exchange.ts'

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
 * between the last piece and the end of the request, so a stored batch stays unanswered. got sends an iterable unchanged.
 *
 * The private field hides the bytes from `structuredClone`. got clones every body object in case of a redirect, and would copy all the
 * memory that holds the bytes for each request.
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
