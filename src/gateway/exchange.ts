/** Single request and its whole answer over the wire. Interface between the transport and an HTTP client. */
import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import { brotliDecompressSync, unzipSync } from 'node:zlib'
import { codeOf } from '../model/errors.ts'

/** Outgoing request. */
export interface OutgoingRequest {
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

export interface ExchangeOptions {
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
export type Exchange = (request: OutgoingRequest) => Promise<WholeAnswer>

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
export const bareCause = ({
  message,
  code,
}: {
  readonly message: string
  readonly code?: string | undefined
}): Error => Object.assign(new Error(message), { code })

export const timedOut = (phase: string): string => `time-out of the phase ${phase}`

/** Reason of an exchange ended by its signal. */
export const ENDED = 'ended by the caller'

export const tooLong = (maxAnswerBytes: number): string => `an answer longer than ${maxAnswerBytes} bytes`

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
      while (total > limit) {
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
export const COMMON_HEADERS = {
  'user-agent': 'waybill',
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate, br',
}
