import { RequestError, TimeoutError } from 'got'

/** What is known of a request that got no complete answer. */
export interface TransportFailure {
  /** A connection, with its TLS session where there is one, was established: bytes may have left. */
  readonly connected: boolean
  /** The status line, where the answer broke off behind it. */
  readonly status: number | undefined
  /** The Retry-After header of such an answer. */
  readonly retryAfter: string | undefined
  /** What happened, for a message: `ECONNRESET`, `time-out of the phase response`. */
  readonly what: string
  /** The error without got's fields, which hold the request's headers and body. */
  readonly cause: Error
}

/** Reads got's error. `secure`: the connection is a TLS one. Any other error is a defect and is thrown as it is. */
export function readTransportFailure(error: unknown, secure: boolean): TransportFailure {
  if (!(error instanceof RequestError)) throw error
  const response = error.response
  return {
    connected: wasConnected(error, secure),
    status: response?.statusCode,
    retryAfter: response?.headers['retry-after'],
    what: error instanceof TimeoutError ? `time-out of the phase ${error.event}` : error.code,
    cause: Object.assign(new Error(error.message), { code: error.code }),
  }
}

/**
 * A socket taken from the pool was connected, whatever the timings say: got leaves them empty where it was closed
 * between its choice and its use. A TLS socket carries no byte of the request before the session stands.
 */
function wasConnected(error: RequestError, secure: boolean): boolean {
  const request = error.request
  if (request?.reusedSocket === true) return true
  const timings = request?.timings
  return (secure ? timings?.secureConnect : timings?.connect) !== undefined
}
