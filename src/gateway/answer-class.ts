/**
 * What an answer, or the lack of one, means for the records of a request. The retry policy looks only at this class.
 * The line that matters runs between what the gateway cannot have taken and what it may have taken: only the former may
 * be sent again unasked.
 */

export type AnswerClass =
  /** 2xx. */
  | 'accepted'
  /** 2xx, with records that were not echoed or with errors listed. */
  | 'accepted-in-part'
  /** The records may or may not be stored: read back before anything is sent again. */
  | 'ambiguous'
  /** No connection was established: no byte of the request left. */
  | 'not-sent'
  /** The gateway did not take the request, and says when it would. */
  | 'not-taken'
  /** The gateway looked at the request and refused it, or answered a read with no content (204): it is there, and says nothing. */
  | 'refused'
  /** The body is longer than the gateway takes. */
  | 'too-large'
  /** The credentials are no longer good. */
  | 'stale-token'
  /** The gateway does not let this client do this, or sent it elsewhere. */
  | 'not-allowed'

/**
 * The class of a complete status line (RFC 9110 section 15). A 503 counts as not taken only where the gateway says when
 * to come back; without that it may come from a proxy that lost the answer. A redirect is never followed: it would carry
 * health data and credentials to an address that nobody configured.
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
 * The class of a request that got no complete answer. `connected`: a connection, with its TLS session where there is
 * one, was established, so bytes may have left. The name of the error plays no part.
 */
export function classifyTransportFailure(failure: { readonly connected: boolean }): AnswerClass {
  return failure.connected ? 'ambiguous' : 'not-sent'
}

/**
 * Whether the refusal of a read is the gateway's own word that there is nothing: 404, in an envelope of that code. A 404 of
 * anybody else, or with another body, may as well say that the path is wrong, or that a proxy has lost the gateway.
 */
export const saysNotFound = (refusal: {
  readonly status: number | undefined
  readonly envelopeCode: number | undefined
}): boolean => refusal.status === 404 && refusal.envelopeCode === 404

/** The three forms of an HTTP-date, RFC 9110 section 5.6.7: IMF-fixdate, RFC 850, asctime (which is UTC unsaid). */
const FULL_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const RFC_850_DATE = /^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}:\d{2}:\d{2}) GMT$/
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/**
 * The delay that a Retry-After header asks for (RFC 9110 section 10.2.3: seconds, or an HTTP-date), in milliseconds
 * from `nowMs` (epoch milliseconds). Never negative; undefined where there is no header or it is neither form.
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
  // A two-digit year that lies more than 50 years ahead is of the century before (RFC 9110 section 5.6.7).
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + Number(shortYear)
  return Date.parse(`${day} ${month} ${year > thisYear + 50 ? year - 100 : year} ${time} GMT`)
}
