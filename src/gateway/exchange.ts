/** One request and the whole of its answer, over the wire: what the transport needs of an HTTP client, whichever it is. */
import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'

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
}

/** An answer that came whole. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** After decompression. */
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
  /** Longest answer that is read, in bytes after decompression. */
  readonly maxAnswerBytes: number
}

/**
 * Sends one request, once; follows no redirect, and takes any status for an answer.
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

/** Of every request. `accept-encoding`: what both clients can decompress. */
export const COMMON_HEADERS = {
  'user-agent': 'waybill',
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate, br',
}
