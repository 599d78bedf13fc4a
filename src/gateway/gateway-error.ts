/**
 * What an answer, or the lack of one, means for the records of a request, and the error that says it. The retry policy looks only at this class.
 * The line that matters runs between what the gateway cannot have taken and what it may have taken: only the former may be sent again unasked.
 */
import { z } from 'zod'
import { innerRefusalOf } from './contract/medical-records.ts'
import { documented, EnvelopeError, ErrorEnvelope, RefusalEnvelope } from './contract/shared-objects.ts'

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

/** Length, in characters, at which the gateway's words are cut. */
const MESSAGE_LIMIT = 500

/** Credential of a call: a key alone, or `token`, which is sent beside the key. */
export type Credential = 'key' | 'requester-key' | 'token'

export interface GatewayErrorDetails {
  readonly class: AnswerClass
  /** Names this one request in logs; it is not sent. */
  readonly requestId: string
  /** HTTP status, where a status line came. */
  readonly status?: number | undefined
  /** Milliseconds to wait, where the gateway gave a readable Retry-After. */
  readonly retryAfterMs?: number | undefined
  readonly gatewayMessage?: string | undefined
  /** The code of the envelope in which the gateway refused, where the body is one. */
  readonly envelopeCode?: number | undefined
  /** The body in which the gateway refused, as JSON gives it. */
  readonly refusal?: unknown
  readonly carried?: Credential | undefined
  readonly cause?: unknown
}

/**
 * A request that was not answered with success. `message` names the call and what happened and may be logged. It never
 * holds the request's body, its query (which names a person) or the answer's text.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly class: AnswerClass
  readonly requestId: string
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  /** Credential of the refused call. */
  readonly carried: Credential | undefined
  /** The code of the envelope in which the gateway refused; undefined where the body is none, as a proxy's page is. */
  readonly envelopeCode: number | undefined
  /** The gateway's own words, cut at 500 characters. They may repeat health data: for the rejects file, never for a log. */
  declare readonly gatewayMessage: string | undefined
  /** What the gateway answered instead, as JSON gives it: to find out which record it means, never to be told. */
  declare readonly refusal: unknown

  constructor(message: string, details: GatewayErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.class = details.class
    this.requestId = details.requestId
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.envelopeCode = details.envelopeCode
    this.carried = details.carried
    // Not enumerable, so that a logger that prints an error's fields does not print these.
    const { gatewayMessage, refusal } = details
    Object.defineProperties(this, { gatewayMessage: { value: gatewayMessage }, refusal: { value: refusal } })
  }
}

/** The error of a call as a value. @throws what is none of the gateway */
export const orRefusal = <T>(asked: Promise<T>): Promise<T | GatewayError> =>
  asked.catch((error: unknown) => {
    if (error instanceof GatewayError) return error
    throw error
  })

/** The code of a refusal's envelope; undefined where the body is no well-formed one. */
export function codeOfErrorBody(body: unknown): number | undefined {
  const envelope = RefusalEnvelope.safeParse(body)
  return envelope.success ? Number(envelope.data.code) : undefined
}

/**
 * `message` and `errors[].message` of an error body (section "Errors"), each once; undefined where it holds neither. Of a
 * text with an inner envelope the reasons inside come first, then the phrase around them.
 */
export function wordsOfErrorBody(body: unknown): string | undefined {
  const envelope = documented(ErrorEnvelope, body)
  if (envelope === undefined) return undefined
  const text = [...new Set([textOf(envelope), ...errorsOf(envelope)].flatMap(unwrap))].join('; ')
  return text === '' ? undefined : text.slice(0, MESSAGE_LIMIT)
}

/** The words of a text, innermost first; of one that wraps no envelope with words, the text itself. */
function unwrap(text: string): string[] {
  const inner = innerRefusalOf({ message: text })
  const reasons = inner === undefined ? [] : [...errorsOf(inner), textOf(inner)].flatMap(unwrap)
  if (reasons.length === 0) return [text].filter((words) => words !== '')
  // Cut before it is searched: a run of blanks without end would take its square in time.
  const phrase = text.slice(0, Math.min(text.indexOf('{'), MESSAGE_LIMIT)).replace(/[\s:]+$/, '')
  return [...reasons, phrase].filter((words) => words !== '')
}

const errorsOf = ({ errors }: ErrorEnvelope): string[] =>
  (documented(z.array(EnvelopeError), errors) ?? []).map(textOf)

function textOf(error: EnvelopeError | ErrorEnvelope): string {
  const text = typeof error === 'string' ? error : error.message
  return typeof text === 'string' ? text : ''
}
