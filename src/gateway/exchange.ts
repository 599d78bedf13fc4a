/** One request and the whole of its answer, over the wire: what the transport needs of an HTTP client, whichever it is. */
import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import { brotliDecompressSync, unzipSync } from 'node:zlib'
import { codeOf } from '../model/errors.ts'

/** What goes out. */
export interface OutgoingRequest {
  readonly address: URL
  readonly method: string
  /** With `content-length` where there is a body. */
  readonly headers: Readonly<Record<string, string>>
  /** Bytes must not change before the exchange is over. */
  readonly body: Uint8Array | undefined
  /** Ends the exchange where it stands. */
  readonly signal: AbortSignal | undefined
  /** Bound of the answer, in bytes. */
  readonly maxAnswerBytes: number
}

/** An answer that came whole. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

/** Longest time, in milliseconds, that each phase of a request may take; `request` is the whole of it. */
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
 * Sends one request, once; follows no redirect, takes any status for an answer, and leaves it compressed.
 * @throws ExchangeFailure where no whole answer came
 */
export type Exchange = (request: OutgoingRequest) => Promise<WholeAnswer>

/** What is known of a request that got no whole answer. It holds nothing of headers and bodies. */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure'
  /** What happened, for a message: `ECONNRESET`, `time-out of the phase response`. */
  readonly what: string
  /** A connection, with its TLS session where there is one, was established: bytes may have left. */
  readonly connected: boolean
  /** The status line, where the answer broke off behind it. */
  readonly status: number | undefined
  /** The Retry-After header of such an answer. */
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

/** An error of the network as a cause: its message and code, and nothing of what a client hangs on it. */
export const bareCause = ({
  message,
  code,
}: {
  readonly message: string
  readonly code?: string | undefined
}): Error => Object.assign(new Error(message), { code })

export const timedOut = (phase: string): string => `time-out of the phase ${phase}`

/** By the signal. */
export const ENDED = 'ended by the caller'

export const tooLong = (maxAnswerBytes: number): string => `an answer longer than ${maxAnswerBytes} bytes`

/** One answer while it arrives. */
export interface Reading {
  bytes: number
  readonly breakOff: (what: string) => void
}

/** Bound on the bytes of all arriving answers, over all connections. */
export type AnswerRoom = ReturnType<typeof createAnswerRoom>

/** @param limit bytes; above the limit the longest answer is broken off */
export function createAnswerRoom(limit: number) {
  const open = new Set<Reading>()
  /** Some of their bytes may come once they are broken off. */
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

/** Most bytes unpacked from one byte: repetitive JSON has 50. Small answers are unpacked in any case. */
const MAX_RATIO = 200
const ALWAYS_UNPACKED_BYTES = 1024 * 1024

/**
 * Unpacks the body. Synchronous, so that one body at a time takes the memory.
 * @throws ExchangeFailure for a body that is damaged, or too long unpacked
 */
export function unpack({ status, headers, body }: WholeAnswer, maxAnswerBytes: number): Uint8Array {
  const encoding = headers['content-encoding'] ?? ''
  // An answer without content has none that could be compressed, whatever its header says.
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

/** Headers of every request. `accept-encoding` names the encodings of `unpack`. */
export const COMMON_HEADERS = {
  'user-agent': 'waybill',
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate, br',
}
