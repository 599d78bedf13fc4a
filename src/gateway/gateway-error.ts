/**
 * Classes of answers, and of missing answers, and the error with a class. The retry policy depends on the class alone. The decisive
 * question is whether the gateway may have taken the records: a request may be repeated without reading back only if the gateway cannot
 * have taken it.
 */
import { RefusalEnvelope } from './contract/shared-objects.ts'

export type AnswerClass =
  /** 2xx. */
  | 'accepted'
  /** 2xx, with missing echoes or listed errors. */
  | 'accepted-in-part'
  /** The records may or may not be stored. Read back before sending again. */
  | 'ambiguous'
  /** No connection was established: no byte of the request left. */
  | 'not-sent'
  /** The gateway did not take the request, and says when to retry. */
  | 'not-taken'
  /** The gateway examined the request and refused it, or answered a read with no content (204). The gateway is reachable. */
  | 'refused'
  /** The body exceeds the gateway's limit. */
  | 'too-large'
  /** The credentials have expired. */
  | 'stale-token'
  /** The gateway does not allow this client the call, or redirected it. */
  | 'not-allowed'

/**
 * Classifies a complete status line (RFC 9110 section 15). A 503 counts as not taken only with a Retry-After; without, it may come from a
 * proxy that lost the answer. Redirects are not followed: they would carry health data and credentials to an address that nobody
 * configured.
 */
export function classifyStatus(status: number, hasRetryAfter: boolean): AnswerClass {
  if (status >= 200 && status < 300) return 'accepted'
  if (status >= 300 && status < 400) return 'not-allowed'
  switch (status) {
    case 401:
      return 'stale-token'
    case 403:
      return 'not-allowed'
    case 408:
    case 429:
      return 'not-taken'
    case 413:
      return 'too-large'
    case 503:
      return hasRetryAfter ? 'not-taken' : 'ambiguous'
    default:
      return status >= 400 && status < 500 ? 'refused' : 'ambiguous'
  }
}

/**
 * Classifies a request without a complete answer. `connected`: a connection, including any TLS session, was established, so bytes may have
 * left. The name of the error does not matter.
 */
export function classifyTransportFailure(failure: { readonly connected: boolean }): AnswerClass {
  return failure.connected ? 'ambiguous' : 'not-sent'
}

/**
 * True if the gateway itself reports that nothing exists: 404, in an envelope with this code. Any other 404 may come from a wrong path, or
 * from a proxy that lost the gateway.
 */
export const saysNotFound = (refusal: {
  readonly status: number | undefined
  readonly envelopeCode: number | undefined
}): boolean => refusal.status === 404 && refusal.envelopeCode === 404

/** Forms of an HTTP-date, RFC 9110 section 5.6.7: IMF-fixdate, RFC 850, asctime (implicitly UTC). */
const FULL_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const RFC_850_DATE = /^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}:\d{2}:\d{2}) GMT$/
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/**
 * Parses a Retry-After header (RFC 9110 section 10.2.3: seconds, or an HTTP-date) into milliseconds from `nowMs` (epoch milliseconds).
 * Never negative; undefined if the header is missing or unreadable.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER)
  const instant = parseHttpDate(text, nowMs)
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - nowMs)
}

function parseHttpDate(text: string, nowMs: number): number {
  if (FULL_DATE.test(text)) return Date.parse(text)
  if (ASCTIME_DATE.test(text)) return Date.parse(`${text} GMT`)
  const [, day, month, shortYear, time] = RFC_850_DATE.exec(text) ?? []
  if (shortYear === undefined) return Number.NaN
  // A two-digit year more than 50 years ahead belongs to the previous century (RFC 9110 section 5.6.7).
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + Number(shortYear)
  return Date.parse(`${day} ${month} ${year > thisYear + 50 ? year - 100 : year} ${time} GMT`)
}

/** Credential of a call: a key alone, or `token`, sent beside the key. */
type Credential = 'key' | 'requester-key' | 'token'

export interface GatewayErrorDetails {
  readonly class: AnswerClass
  /** Id of this request in logs; not sent. */
  readonly requestId: string
  /** HTTP status, if a status line arrived. */
  readonly status?: number | undefined
  /** Milliseconds to wait, from a readable Retry-After. */
  readonly retryAfterMs?: number | undefined
  readonly gatewayMessage?: string | undefined
  /** Code of the refusal's envelope; undefined if the body is not an envelope. */
  readonly envelopeCode?: number | undefined
  /** Body of the refusal, parsed as JSON. */
  readonly refusal?: unknown
  readonly carried?: Credential | undefined
  readonly cause?: unknown
}

/**
 * Error of a request without a successful answer. `message` names the call and the event, and may be logged. It never holds the request's
 * body, its query (which identifies a person) or the answer's text.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly class: AnswerClass
  readonly requestId: string
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  /** Credential of the refused call. */
  readonly carried: Credential | undefined
  /** Code of the refusal's envelope; undefined if the body is not an envelope, such as a proxy's page. */
  readonly envelopeCode: number | undefined
  /** Gateway's message, cut at 500 characters. May contain health data: for the rejects file, never for a log. */
  declare readonly gatewayMessage: string | undefined
  /** Body of the refusal, parsed as JSON. For finding the record at fault; never shown. */
  declare readonly refusal: unknown

  constructor(message: string, details: GatewayErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.class = details.class
    this.requestId = details.requestId
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.envelopeCode = details.envelopeCode
    this.carried = details.carried
    // Not enumerable, so that loggers do not print these fields.
    const { gatewayMessage, refusal } = details
    Object.defineProperties(this, { gatewayMessage: { value: gatewayMessage }, refusal: { value: refusal } })
  }
}

/** Returns a call's GatewayError as a value. @throws all other errors */
export const orRefusal = <T>(asked: Promise<T>): Promise<T | GatewayError> =>
  asked.catch((error: unknown) => {
    if (error instanceof GatewayError) return error
    throw error
  })

/** Returns the code of a refusal's envelope; undefined if the body is not a well-formed envelope. */
export function codeOfErrorBody(body: unknown): number | undefined {
  const envelope = RefusalEnvelope.safeParse(body)
  return envelope.success ? Number(envelope.data.code) : undefined
}
