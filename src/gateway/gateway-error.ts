import type { AnswerClass } from './answer-class.ts'
import { ErrorEnvelope } from './contract/envelope.ts'

/** Length, in characters, at which the gateway's words are cut. */
const MESSAGE_LIMIT = 500

export interface GatewayErrorDetails {
  readonly class: AnswerClass
  /** Names this one request in logs; it is not sent. */
  readonly requestId: string
  /** HTTP status, where a status line came. */
  readonly status?: number | undefined
  /** Milliseconds to wait, where the gateway gave a readable Retry-After. */
  readonly retryAfterMs?: number | undefined
  readonly gatewayMessage?: string | undefined
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
  /** The gateway's own words, cut at 500 characters. They may repeat health data: for the rejects file, never for a log. */
  declare readonly gatewayMessage: string | undefined

  constructor(message: string, details: GatewayErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.class = details.class
    this.requestId = details.requestId
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    // Not enumerable, so that a logger that prints an error's fields does not print this one.
    Object.defineProperty(this, 'gatewayMessage', { value: details.gatewayMessage, enumerable: false })
  }
}

/** `message` and `errors[].message` of an error body (section "Errors"), undefined where it holds neither. */
export function wordsOfErrorBody(body: unknown): string | undefined {
  const envelope = ErrorEnvelope.safeParse(body)
  if (!envelope.success) return undefined
  const { message, errors = [] } = envelope.data
  const words = [message, ...errors.map((error) => (typeof error === 'string' ? error : error.message))]
  const text = [...new Set(words)].filter((word) => word !== undefined && word !== '').join('; ')
  return text === '' ? undefined : text.slice(0, MESSAGE_LIMIT)
}
