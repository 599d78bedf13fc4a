import { z } from 'zod'
import type { AnswerClass } from './answer-class.ts'
import { innerRefusalOf } from './contract/medical-records.ts'
import { documented, EnvelopeError, ErrorEnvelope, RefusalEnvelope } from './contract/shared-objects.ts'

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
  /** The code of the envelope in which the gateway refused, where the body is one. */
  readonly envelopeCode?: number | undefined
  /** The body in which the gateway refused, as JSON gives it. */
  readonly refusal?: unknown
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
    // Not enumerable, so that a logger that prints an error's fields does not print these.
    const { gatewayMessage, refusal } = details
    Object.defineProperties(this, { gatewayMessage: { value: gatewayMessage }, refusal: { value: refusal } })
  }
}

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
